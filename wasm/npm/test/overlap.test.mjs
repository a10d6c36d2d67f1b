// Changes that are made at the same time.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { create, createGroup, FileStore, kindOf, MemoryStore } from "hyperslab";
import { line } from "./fixtures.mjs";

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
