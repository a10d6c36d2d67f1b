// Deletes, consolidation and vacuum.
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { consolidate, create, deleteCells, FileStore, get, MemoryStore, open, put, query, vacuum, writeManifest } from "hyperslab";
import { Pool } from "hyperslab/pool";
import { line } from "./fixtures.mjs";

const points = {
  type: "sparse",
  dims: [{ name: "x", type: "int32", domain: [0, 99], tile: 10 }],
  attrs: [{ name: "v", type: "float64" }, { name: "word", type: "string_utf8", cell: "var" }],
};

/** Makes three overlapping writes, and returns the cells after them. */
async function drawn(store) {
  const array = await create(store, line, { at: 1 });
  await put(array, null, new Int32Array(10).fill(1), { at: 10 });
  await put(array, [[2, 6]], new Int32Array(5).fill(2), { at: 20 });
  await put(array, [[4, 4]], new Int32Array(1).fill(3), { at: 30 });
  return Int32Array.of(1, 1, 2, 2, 3, 2, 2, 1, 1, 1);
}

/** Writes three cells, and two more at a later time. */
async function scattered(store) {
  const array = await create(store, points, { at: 1 });
  await put(array, null, { x: [1, 2, 3], v: [0.5, 1.5, 2.5], word: ["a", "", "ccc"] }, { at: 10 });
  await put(array, null, { x: [2, 9], v: [7.5, 9.5], word: ["later", "new"] }, { at: 20 });
}

const seen = async (store, at, options) => {
  const { x, v, word } = (await query(await open(store, { at, ...options })).columns()).columns;
  return Array.from({ length: x.length }, (_, i) => [x.at(i), v.at(i), word.at(i)]);
};

test("dense fragments are consolidated and vacuumed, in memory and on disk", async () => {
  const folder = await mkdtemp(join(tmpdir(), "hyperslab-"));
  for (const store of [new MemoryStore(), new FileStore(folder)]) {
    const expected = await drawn(store);
    const array = await open(store);
    const names = array.fragments().map((f) => f.name);
    const [merged, ...more] = await consolidate(array);
    assert.deepEqual(more, []);
    assert.ok(!names.includes(merged));
    // The times in between stay readable until vacuum.
    assert.equal((await get(await open(store, { at: 25 }))).data[4], 2);
    assert.deepEqual((await get(await open(store))).data, expected);
    const gone = await vacuum(array);
    for (const name of names) assert.ok(gone.some((path) => path.includes(name)), `${name} in ${gone}`);
    const after = await open(store);
    assert.deepEqual(after.fragments().map((f) => [f.name, f.start, f.end]), [[merged, 10, 30]]);
    assert.deepEqual((await get(after)).data, expected);
    assert.deepEqual([await consolidate(after), await vacuum(after)], [[], []]);
  }
  assert.equal((await readdir(join(folder, "__fragments"))).length, 1);
  await rm(folder, { recursive: true });
});

test("sparse cells keep their times through consolidations and deletes", async () => {
  const store = new MemoryStore();
  await scattered(store);
  const before = [[1, 0.5, "a"], [2, 1.5, ""], [3, 2.5, "ccc"]];
  const after = [[1, 0.5, "a"], [2, 7.5, "later"], [3, 2.5, "ccc"], [9, 9.5, "new"]];
  const left = [[2, 7.5, "later"], [9, 9.5, "new"]];
  await deleteCells(await open(store), "v < 3 and x != 9", { at: 30 });
  const check = async () => assert.deepEqual([await seen(store, 15), await seen(store, 25), await seen(store)], [before, after, left]);
  await check();
  assert.equal((await consolidate(await open(store))).length, 1);
  await check();
  assert.ok((await vacuum(await open(store))).length > 0);
  await check();
  assert.equal((await open(store)).fragments().length, 1);
});

test("consolidating a time window leaves other fragments alone", async () => {
  const store = new MemoryStore();
  const expected = await drawn(store);
  await consolidate(await open(store), { at: [5, 25] });
  await vacuum(await open(store));
  const array = await open(store);
  assert.deepEqual(array.fragments().map((f) => [f.start, f.end]), [[10, 20], [30, 30]]);
  assert.deepEqual((await get(array)).data, expected);
});

test("boxes that are far apart are not merged, unless `amplification` allows it", async () => {
  const store = new MemoryStore();
  const array = await create(store, { ...line, dims: [{ ...line.dims[0], domain: [0, 99] }] }, { at: 1 });
  await put(array, [[0, 1]], Int32Array.of(1, 2), { at: 10 });
  await put(array, [[98, 99]], Int32Array.of(3, 4), { at: 20 });
  assert.deepEqual(await consolidate(array), []);
  await assert.rejects(consolidate(array, { amplification: 0 }), { code: "InvalidArgument", message: /must be at least 1, not 0/ });
  // The box has 100 cells, its two tiles have 5 each.
  assert.deepEqual(await consolidate(array, { amplification: 9.9 }), []);
  assert.equal((await consolidate(array, { amplification: 10 })).length, 1);
  const { data } = await get(await open(store), [[0, 99]]);
  assert.deepEqual([data[0], data[1], data[2], data[98], data[99]], [1, 2, -(2 ** 31), 3, 4]);
});

test("each mode consolidates its files, and the manifest is updated", async () => {
  const store = new MemoryStore();
  const expected = await drawn(store);
  await writeManifest(await open(store));
  const listed = () => Object.keys(JSON.parse(new TextDecoder().decode(store.get("__manifest.json"))).files);
  for (const [mode, ending] of [["fragment-meta", ".meta"], ["commits", ".con"]]) {
    const [written] = await consolidate(await open(store), { mode });
    assert.ok(written.endsWith(ending), written);
    assert.ok(listed().includes(written), `${written} in the manifest`);
    await vacuum(await open(store), { mode });
    assert.deepEqual((await get(await open(store))).data, expected);
  }
  assert.equal(listed().filter((path) => path.endsWith(".wrt")).length, 0);
  assert.deepEqual(await consolidate(await open(store), { mode: "array-meta" }), []);
  await assert.rejects(consolidate(await open(store), { mode: "all" }), { code: "InvalidArgument", message: /unknown mode .all.; use fragments/ });
});

test("unsupported deletes are refused", async () => {
  const [dense, sparse] = [new MemoryStore(), new MemoryStore()];
  await drawn(dense);
  await scattered(sparse);
  await assert.rejects(deleteCells(await open(dense), "a = 1"), (e) => /dense/.test(e.message));
  await assert.rejects(deleteCells(await open(sparse), "w = 1"), (e) => e.code === "InvalidArgument" && /'w'/.test(e.message));
  await assert.rejects(deleteCells(await open(sparse), "v <"), { code: "InvalidArgument" });
  const unwritable = { get: (key) => dense.get(key), list: (prefix) => dense.list(prefix) };
  await assert.rejects(consolidate(await open(unwritable)), { code: "Unsupported", message: /read-only/ });
});

test("workers can consolidate and delete", async () => {
  const pool = new Pool({ workers: 2 });
  try {
    const store = new MemoryStore();
    await scattered(store);
    await deleteCells(await open(store, { pool }), "x == 1", { at: 30 });
    assert.equal((await consolidate(await open(store, { pool }))).length, 1);
    await vacuum(await open(store, { pool }));
    assert.deepEqual(await seen(store, undefined, { pool }), [[2, 7.5, "later"], [3, 2.5, "ccc"], [9, 9.5, "new"]]);
  } finally {
    pool.close();
  }
});

test("without a time, a change sorts after a write by a clock that is ahead, and is visible at once", async () => {
  const pool = new Pool({ workers: 1 });
  try {
    for (const options of [{}, { pool }]) {
      const store = new MemoryStore();
      const array = await create(store, points, { at: 1 });
      const cell = (v) => ({ x: [1], v: [v], word: ["w"] });
      await put(array, null, cell(1), { at: Date.now() + 1500 });
      await put(await open(store, options), null, cell(2));
      assert.deepEqual(await seen(store), [[1, 2, "w"]]);
      await put(array, null, cell(3), { at: Date.now() + 1500 });
      await deleteCells(await open(store, options), "x == 1");
      assert.deepEqual([await seen(store), await seen(store, [0, Infinity])], [[], []]);
    }
  } finally {
    pool.close();
  }
});

test("if the array is far ahead of the clock, a change needs a time", async () => {
  const store = new MemoryStore();
  const array = await create(store, points, { at: 1 });
  const cell = (v) => ({ x: [1], v: [v], word: ["w"] });
  const later = Date.now() + 1e6;
  await put(array, null, cell(1), { at: later });
  const refused = { code: "InvalidArgument", message: /sort before it\..*at: Date\.now\(\)/ };
  await assert.rejects(put(array, null, cell(2)), refused);
  await assert.rejects(deleteCells(array, "x == 1"), refused);
  await put(array, null, cell(3), { at: Date.now() });
  assert.deepEqual([await seen(store), await seen(store, later)], [[[1, 3, "w"]], [[1, 1, "w"]]]);
});

test("a dry run counts cells by fragment and deletes nothing", async () => {
  const pool = new Pool({ workers: 1 });
  try {
    for (const options of [{}, { pool }]) {
      const store = new MemoryStore();
      await scattered(store);
      const array = await open(store, options);
      const [first, second] = array.fragments().map((f) => f.name);
      const before = await seen(store);
      assert.deepEqual(await deleteCells(array, "v > 2", { dryRun: true }), { cells: 3, fragments: { [first]: 1, [second]: 2 } });
      assert.deepEqual(await deleteCells(array, "v > 2", { dryRun: true, at: 15 }), { cells: 1, fragments: { [first]: 1 } });
      await assert.rejects(deleteCells(array, "w = 1", { dryRun: true }), { code: "InvalidArgument" });
      assert.deepEqual(await seen(store), before);
    }
  } finally {
    pool.close();
  }
});
