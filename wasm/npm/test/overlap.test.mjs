// Changes that are made at the same time.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { create, createGroup, deleteCells, FileStore, get, kindOf, MemoryStore, open, put, query, writer } from "hyperslab";
import { both } from "./both.mjs";
import { line, points } from "./fixtures.mjs";

const folder = await mkdtemp(join(tmpdir(), "hyperslab-"));
after(() => rm(folder, { recursive: true }));

/** A store that lists asynchronously, and answers later listings sooner. */
class Late extends MemoryStore {
  asked = 0;

  async list(prefix) {
    const found = [...super.list(prefix)];
    this.asked += 1;
    for (let turns = Math.max(200 - this.asked, 0); turns > 0; turns -= 1) await Promise.resolve();
    return found;
  }
}

/** How calls ended: the codes of their errors, sorted; `"made"` for those that succeeded. */
const outcomes = async (calls) => (await Promise.all(calls.map((call) => call.then(() => "made", ({ code, message }) => (assert.match(message, /already exists/), code))))).sort();
const oneOf = (count) => [...Array(count - 1).fill("AlreadyExists"), "made"];
const STORES = {
  "in memory": () => { const store = new MemoryStore(); return () => store; },
  "with late listings": () => { const store = new Late(); return () => store; },
  "in Node, by path": () => { const root = join(folder, "arrays"); return () => root; },
  "in Node, in stores of one folder": () => { const root = join(folder, "others"); return () => new FileStore(root); },
};
for (const [name, make] of Object.entries(STORES)) {
  test(`of several calls that create the same, one succeeds: ${name}`, async () => {
    const place = make();
    const times = [1, 2, 3, 4, 5];
    assert.deepEqual(await outcomes(times.map((at) => create(place(), line, { path: "a", at }))), oneOf(5));
    assert.deepEqual(await outcomes(times.map(() => createGroup(place(), { path: "g" }))), oneOf(5));
    assert.deepEqual(await outcomes([create(place(), line, { path: "both" }), createGroup(place(), { path: "both" })]), oneOf(2));
    assert.deepEqual(await outcomes(times.map((at) => create(place(), line, { path: `n${at}` }))), Array(5).fill("made"));
    // A call that fails does not hold up the next.
    await assert.rejects(create(place(), { ...line, dims: [] }, { path: "b" }));
    await create(place(), line, { path: "b" });
    assert.equal(await kindOf(place(), { path: "b" }), "array");
  });
}

both("writes that overlap have timestamps in the order of the calls", async (pool) => {
  const store = new Late();
  await create(store, line, { at: 1 });
  const handles = await Promise.all([1, 2].map(() => open(store, { ...(pool ? { pool } : {}) })));
  const numbers = Array.from({ length: 40 }, (_, i) => i);
  const made = await Promise.all(numbers.map((i) => put(handles[i % 2], null, new Int32Array(10).fill(i))));
  const times = made.map(({ start }) => start);
  assert.ok(times.every((time, i) => i === 0 || time > times[i - 1]), times.join());
  assert.equal((await get(await open(store), [0])).at(), 39);
});

test("the timestamp of a fragment that is being written is not used again", async () => {
  const store = new MemoryStore();
  const array = await create(store, points, { at: 1 });
  const cell = (v) => ({ x: [1n], v: [v] });
  const writers = await Promise.all([1, 2, 3].map(() => writer(array)));
  const last = put(array, null, cell(4));
  for (const [i, out] of writers.entries()) await out.write(cell(i)).then(() => (i === 1 ? out.abort() : out.close()));
  await last;
  assert.equal(array.fragments().length, 3);
  assert.equal(new Set(array.fragments().map(({ start }) => start)).size, 3);
  const { columns } = await query(array).columns();
  assert.deepEqual(Array.from(columns.v), [4]);
  await Promise.all([put(array, null, cell(5)), deleteCells(array, "x == 1"), put(array, null, cell(6))]);
  assert.deepEqual(Array.from((await query(await open(store)).columns()).columns.v), [6]);
});

test("a write that fails leaves the timestamps of others", async () => {
  const store = new MemoryStore();
  const array = await create(store, line, { at: 1 });
  const calls = [put(array, null, new Int32Array(10)), put(array, null, new Int32Array(3)), put(array, null, new Int32Array(10).fill(2))];
  assert.deepEqual((await Promise.allSettled(calls)).map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assert.equal((await get(array)).data[0], 2);
});
