// Fragments that are written in parts.
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, FileStore, get, MemoryStore, open, query, writer } from "hyperslab";
import { both } from "./both.mjs";
import { counted, invalid, line, points } from "./fixtures.mjs";


both("a dense fragment is written in parts", async (pool) => {
  const store = new MemoryStore();
  await create(store, line, { at: 1 });
  const array = await open(store, { ...(pool ? { pool } : {}) });
  const out = await writer(array, { at: 2 });
  await out.write(counted.subarray(0, 3));
  await out.write({ a: counted.subarray(3) });
  assert.equal(array.fragments().length, 0);
  const fragment = await out.close();
  assert.deepEqual([fragment.start, fragment.cells, fragment.nonEmptyDomain], [2, 10, [[0, 9]]]);
  assert.deepEqual((await get(array)).data, counted);
  await assert.rejects(out.write(counted), invalid(/this write has ended/));
  const half = await writer(array, { box: [[5, 9]] });
  await half.write(Int32Array.of(1, 2));
  await assert.rejects(half.write(new Int32Array(4)), invalid(/only 3 cells left/));
  await assert.rejects(half.close(), invalid(/call abort\(\) after a failed one/));
  await half.abort();
  const short = await writer(array, { box: [[5, 9]] });
  await short.write(Int32Array.of(1, 2));
  await assert.rejects(short.close(), invalid(/still missing 3 cells/));
  await assert.rejects(writer(array, { box: [[1, 3]] }), invalid(/whole tiles/));
  assert.deepEqual((await get(await open(store))).data, counted);
});

both("a sparse fragment is written in parts, or given up without a trace", async (pool) => {
  const store = new MemoryStore();
  await create(store, { ...points, capacity: 100 }, { at: 1 });
  const array = await open(store, { ...(pool ? { pool } : {}) });
  const before = [...store.keys()];
  const part = (from) => Array.from({ length: 150 }, (_, i) => from + i);
  const lost = await writer(array);
  await lost.write({ x: part(0), v: part(0) });
  await assert.rejects(lost.write({ x: part(100), v: part(0) }), (e) => e.code === "InvalidArgument");
  await lost.abort();
  await lost.abort();
  assert.deepEqual([...store.keys()], before);
  const out = await writer(array, { at: 3 });
  for (const from of [0, 150, 300]) await out.write({ x: part(from), v: part(from) });
  const { cells, start } = await out.close();
  assert.deepEqual([cells, start, await query(array).count()], [450, 3, 450]);
  assert.deepEqual((await query(array, { ranges: { x: [149, 151] } }).columns()).columns.v.values, Float64Array.of(149, 150, 151));
  await assert.rejects(writer(array, { box: [[0, 9]] }), invalid(/sparse/));
});

both("large files go to the store in parts, which are removed if the write is given up", async (pool) => {
  const folder = await mkdtemp(join(tmpdir(), "hyperslab-writing-"));
  const big = { ...line, dims: [{ name: "i", type: "int32", domain: [0, 2 ** 23 - 1], tile: 2 ** 18 }], attrs: [{ name: "a", type: "int32" }] };
  await create(new FileStore(folder), big, { at: 1 });
  const array = await open(new FileStore(folder), pool ? { pool } : {});
  const part = Int32Array.from({ length: 2 ** 20 }, (_, i) => i);
  const files = async () => (await readdir(folder, { recursive: true })).filter((name) => /\.tmp|__fragments./.test(name));
  const lost = await writer(array);
  for (let i = 0; i < 3; i += 1) await lost.write(part);
  assert.deepEqual((await files()).map((name) => /\.tmp$/.test(name)), [true]);
  await lost.abort();
  assert.deepEqual(await files(), []);
  const out = await writer(array);
  for (let i = 0; i < 8; i += 1) await out.write(part);
  const { bytes } = await out.close();
  assert.ok(bytes >= 2 ** 25 && (await files()).every((name) => !/\.tmp$/.test(name)));
  assert.deepEqual([...(await get(array, [[2 ** 20 - 1, 2 ** 20 + 1]])).data], [2 ** 20 - 1, 0, 1]);
  await rm(folder, { recursive: true });
});

both("a fragment without the cells of a refused part is not committed", async (pool) => {
  const store = new MemoryStore();
  await create(store, points, { at: 1 });
  const array = await open(store, { ...(pool ? { pool } : {}) });
  const out = await writer(array, { at: 2 });
  const cells = (...x) => ({ x: BigInt64Array.from(x.map(BigInt)), v: Float64Array.from(x) });
  await out.write(cells(10, 11));
  await assert.rejects(out.write(cells(30, 29)));
  await out.write(cells(40));
  await assert.rejects(out.close(), invalid(/cells would be missing/));
  await out.abort();
  assert.equal(await query(await open(store)).count(), 0);
});
