// The priority of reads.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { create, get, HttpStore, MemoryStore, open, put, query } from "hyperslab";
import { Pool } from "hyperslab/pool";
import { named } from "./fixtures.mjs";
import { serve } from "./serve.mjs";
import { gate, until } from "./wait.mjs";

const store = new MemoryStore();
const dims = ["y", "x"].map((name) => ({ name, type: "int32", domain: [0, 63], tile: 16 }));
const dense = await create(store, { type: "dense", dims, attrs: [{ name: "a", type: "float64" }] }, { path: "dense", at: 1 });
await put(dense, null, Float64Array.from({ length: 64 * 64 }, Math.sin), { at: 2 });
const sparse = await create(store, named, { path: "sparse", at: 1 });
const xs = Float64Array.from({ length: 100 }, (_, i) => i + 0.5);
store.set("file", new Uint8Array(2 ** 19));
await put(sparse, null, { x: xs, name: Array.from(xs, String), v: Int32Array.from(xs) }, { at: 2 });

const pool = new Pool({ workers: 2 });
after(() => pool.close());

/** A server that holds the responses to requests for tiles. */
async function held() {
  const { opened, open: release } = gate();
  let holds = false;
  const slow = await serve(store, { held: () => (holds ? opened : undefined) });
  return { ...slow, hold: () => { holds = true; slow.log.length = 0; }, release };
}

test("a low read waits until no other runs, and few run at a time", async () => {
  const slow = await held();
  const source = new HttpStore(slow.url);
  slow.hold();
  // Far apart, so that they are not merged.
  const apart = 2 ** 16;
  const read = (i, priority) => source.getRange("file", { offset: i * apart, length: 1 }, { priority });
  const offsets = () => slow.log.map(({ range }) => Number(/\d+/.exec(range)[0]) / apart);
  const first = read(0, "high");
  const low = [1, 2, 3, 4].map((offset) => read(offset, "low"));
  const later = read(5, "high");
  // Joins a low read, which becomes urgent.
  const joined = read(3, "high");
  assert.ok(await until(() => slow.log.length === 3));
  assert.deepEqual(offsets().sort(), [0, 3, 5]);
  slow.release();
  await Promise.all([first, later, joined, ...low]);
  assert.deepEqual(offsets().slice(3), [1, 2, 4]);
  await slow.close();
});

for (const pooled of [false, true]) {
  test(`get and query pass their priority to the store${pooled ? ", with a pool" : ""}`, async () => {
    const seen = [];
    const spy = new MemoryStore(store);
    spy.getRange = (key, { offset, length }, { priority } = {}) => (seen.push([key.split("/").at(-1), priority]), store.get(key)?.subarray(offset, offset + length));
    const options = pooled ? { pool } : {};
    const array = await open(spy, { path: "dense", ...options });
    await get(array, [5, 5], { attrs: "a", priority: "low" });
    await get(array, [50, 50], { attrs: "a" });
    const tiles = seen.filter(([name]) => name === "a0.tdb");
    assert.deepEqual(tiles.map(([, priority]) => priority), ["low", undefined]);
    seen.length = 0;
    const cells = await open(spy, { path: "sparse", ...options });
    await query(cells, { ranges: { x: [0, 5] }, priority: "low" }).columns();
    await query(cells, { ranges: { x: [50, 55] } }).columns();
    const columns = seen.filter(([name]) => !name.startsWith("__")).map(([name, priority]) => `${name} ${priority}`);
    assert.deepEqual([...new Set(columns)].sort(), ["a0.tdb low", "a0.tdb undefined", "a0_var.tdb low", "a0_var.tdb undefined", "a1.tdb low", "a1.tdb undefined", "d0.tdb low", "d0.tdb undefined"]);
    await assert.rejects(get(array, [5, 5], { attrs: "a", priority: "higher" }), (e) => e.code === "InvalidArgument");
  });
}
