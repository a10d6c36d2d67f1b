// Large reads in parts: progress, early parts, and memory.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { create, get, HttpStore, MemoryStore, open, put, slice } from "hyperslab";
import { Pool } from "hyperslab/pool";
import start from "../dist/core.js";
import { serve } from "./serve.mjs";

const side = 2600;
const store = new MemoryStore();
// Tiles start at -1, and 2600 is no multiple of 256.
const dims = ["y", "x"].map((name) => ({ name, type: "int32", domain: [-1, side - 2], tile: 256 }));
const written = await create(store, { type: "dense", dims, attrs: [{ name: "a", type: "float32", filters: ["byteshuffle", "zstd"] }] }, { path: "a", at: 1 });
const data = Float32Array.from({ length: side * side }, (_, i) => i % 1000);
await put(written, null, data, { at: 2 });
const small = await create(store, {
  type: "dense",
  dims: [{ name: "i", type: "int32", domain: [0, 2 ** 17 - 1], tile: 2 ** 12 }],
  attrs: [{ name: "n", type: "int64", nullable: true, filters: ["zstd"] }, { name: "t", type: "string_utf8", cell: "var" }],
}, { path: "b", at: 1 });
const numbers = BigInt64Array.from({ length: 2 ** 17 }, (_, i) => BigInt(i));
await put(small, null, { n: { values: numbers, validity: Uint8Array.from(numbers, (n) => Number(n % 3n !== 0n)) }, t: Array.from(numbers, (n) => "x".repeat(Number(n % 5n))) }, { at: 2 });

const server = await serve(store);
const pool = new Pool({ workers: 2 });
after(() => Promise.all([server.close(), pool.close()]));
const at = (path, options = {}) => open(new HttpStore(`${server.url}/${path}`, options));

for (const pooled of [false, true]) {
  const name = pooled ? ", with a pool" : "";
  const opened = (path) => open(new HttpStore(`${server.url}/${path}`), pooled ? { pool } : {});

  test(`a large read has the same cells in every order${name}`, async () => {
    const array = await opened("a");
    const whole = await get(array);
    assert.deepEqual([whole.shape, whole.stride, whole.data.length], [[side, side], [side, 1], side * side]);
    assert.ok(whole.data.every((v, i) => v === data[i]));
    const columns = await get(array, [slice(3, 2500), slice(-1, side)], { order: "col" });
    assert.deepEqual(columns.stride, [1, 2497]);
    for (const [i, j] of [[0, 0], [2496, side - 1], [255, 256], [1000, 2000]]) assert.equal(columns.at(i, j), data[(i + 4) * side + j]);
    const steps = await get(array, [slice(0, null, 3), null]);
    assert.deepEqual(steps.shape, [Math.ceil((side - 1) / 3), side]);
    assert.ok(steps.data.every((v, i) => v === data[(1 + 3 * Math.floor(i / side)) * side + (i % side)]));
  });

  test(`parts arrive early and make up the result${name}`, async () => {
    const array = await opened("a");
    const parts = [];
    const box = [[100, 1399], [50, 1149]];
    const { data: found, shape } = await get(array, box, { onTile: (part) => parts.push(part) });
    assert.equal(parts.length, 6);
    const rows = parts.map(({ start, chunk }) => [start[0], chunk.shape[0]]).sort(([a], [b]) => a - b);
    // The borders of parts are those of tiles.
    assert.deepEqual(rows, [[0, 155], [155, 256], [411, 256], [667, 256], [923, 256], [1179, 121]]);
    for (const { name, start, chunk } of parts) {
      assert.deepEqual([name, start[1], chunk.shape[1]], ["a", 0, shape[1]]);
      assert.deepEqual(chunk.data, found.subarray(start[0] * shape[1], (start[0] + chunk.shape[0]) * shape[1]));
    }
  });

  test(`parts of nulls, texts and several attributes make up the result${name}`, async () => {
    const array = await opened("b");
    const parts = [];
    const { n, t } = await get(array, null, { attrs: ["n", "t"], onTile: (part) => parts.push(part) });
    assert.ok(parts.length > 4 && parts.length % 2 === 0, `${parts.length} parts`);
    assert.ok(n.data.every((v, i) => v === numbers[i]));
    assert.deepEqual([n.at(3), n.at(4), t.at(104), t.at(2 ** 17 - 1)], [null, 4n, "xxxx", "x".repeat((2 ** 17 - 1) % 5)]);
    const one = await get(array, null, { attrs: "n", onTile: () => {} });
    assert.deepEqual(one.validity, n.validity);
    assert.equal(one.validity.length, 2 ** 17);
  });

  test(`progress counts the bytes that arrive${name}`, async () => {
    const array = await opened("a");
    const steps = [];
    await get(array, null, { onProgress: (step) => steps.push({ ...step }) });
    const { bytes } = await at("a").then((array) => array.explain());
    assert.ok(steps.length > 2, JSON.stringify(steps));
    assert.deepEqual([steps[0], steps.at(-1)], [{ loaded: 0, total: bytes, unit: "bytes" }, { loaded: bytes, total: bytes, unit: "bytes" }]);
    assert.ok(steps.every(({ loaded }, i) => i === 0 || loaded > steps[i - 1].loaded));
  });
}

test("the plan of a large read has the bytes that are requested", async () => {
  const array = await at("a");
  const { bytes, requests } = await array.explain();
  assert.equal(requests.length, 4);
  server.log.length = 0;
  await get(array);
  // The store may merge requests of parts that are read at the same time.
  const sent = server.log.map(({ range }) => /(\d+)-(\d+)/.exec(range).slice(1).map(Number));
  assert.equal(sent.reduce((sum, [from, to]) => sum + to + 1 - from, 0), bytes);
});

test("`out` is filled by a large read, and must fit", async () => {
  const array = await at("a");
  const out = new Float32Array(side * side);
  assert.equal((await get(array, null, { out })).data, out);
  assert.ok(out.every((v, i) => v === data[i]));
  const before = new Float32Array(side * side + 1).fill(9);
  await assert.rejects(get(array, null, { out: before }), (e) => e.code === "InvalidArgument" && /box has/.test(e.message));
  assert.ok(before.every((v) => v === 9));
});

test("a large read can be aborted, and fails as a whole", async () => {
  const array = await at("a");
  const controller = new AbortController();
  const read = get(array, null, { signal: controller.signal, onTile: () => controller.abort() });
  await assert.rejects(read, { name: "AbortError" });
  const broken = new MemoryStore([...store].map(([key, bytes]) => [key, key.endsWith("a0.tdb") ? bytes.slice(0, bytes.length / 2) : bytes]));
  await assert.rejects(get(await open(broken, { path: "a" })), (e) => e.code === "Io" || e.code === "Corrupt");
});

test("the memory of the engine stays small in a large read", async () => {
  const { memory } = await start();
  const large = new MemoryStore();
  const dims = [{ name: "i", type: "int32", domain: [0, 2 ** 26 - 1], tile: 2 ** 20 }];
  const array = await create(large, { type: "dense", dims, attrs: [{ name: "a", type: "uint8", filters: ["zstd"] }] }, { at: 1 });
  for (let i = 0; i < 4; i += 1) await put(array, [[i * 2 ** 24, (i + 1) * 2 ** 24 - 1]], new Uint8Array(2 ** 24).fill(i + 1), { at: i + 2 });
  const before = memory.buffer.byteLength;
  const { data } = await get(await open(large));
  assert.deepEqual([data.length, data[0], data.at(-1)], [2 ** 26, 1, 4]);
  // The result has 64 MiB.
  assert.ok(memory.buffer.byteLength - before < 3 * 2 ** 24, `${memory.buffer.byteLength - before} bytes more than before`);
});

test("all parts of a large read are of one state", async () => {
  const files = new MemoryStore();
  const dims = ["y", "x"].map((name) => ({ name, type: "int32", domain: [0, 2199], tile: 220 }));
  const array = await create(files, { type: "dense", dims, attrs: [{ name: "a", type: "int32" }] });
  await put(array, null, new Int32Array(2200 * 2200).fill(1));
  let change;
  const { data } = await get(array, null, { onTile: () => { change ??= put(array, [[0, 2199], [0, 0]], new Int32Array(2200).fill(2)); } });
  await change;
  assert.ok(data.every((v) => v === 1));
  assert.equal((await get(array, [2199, 0])).data[0], 2);
});
