// Which rows were added, removed or changed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { changesOf } = await load("rows/changes.ts");
const rows = (...all) => ({ length: all.length, at: (i) => all[i] });
const told = (before, after, keys = 1) => changesOf(rows(...before), rows(...after), keys).map(({ kind, before: a, after: b }) => [kind, a?.join(), b?.join()]);

test("rows are told apart by their keys", () => {
  assert.deepEqual(told([["1", "a"], ["2", "b"], ["3", "c"]], [["3", "c"], ["2", "B"], ["4", "d"]]), [["changed", "2,b", "2,B"], ["added", undefined, "4,d"], ["removed", "1,a", undefined]]);
  assert.deepEqual(told([["1", "x", "a"]], [["1", "y", "a"]], 2), [["added", undefined, "1,y,a"], ["removed", "1,x,a", undefined]]);
  assert.deepEqual(told([], []), []);
});

test("keys with several rows lose those that are equal", () => {
  assert.deepEqual(told([["1", "a"], ["1", "a"], ["1", "b"]], [["1", "a"], ["1", "b"], ["1", "c"]]), [["changed", "1,a", "1,c"]]);
  assert.deepEqual(told([["1", "a"], ["1", "b"]], [["1", "b"]]), [["removed", "1,a", undefined]]);
  assert.deepEqual(told([["1", "a"]], [["1", "b"], ["1", "c"]]).map(([kind]) => kind), ["added", "added", "removed"]);
});

test("texts with separators do not mix keys", () => {
  assert.deepEqual(told([["a,b", "c"]], [["a", "b,c"]], 2).map(([kind]) => kind), ["added", "removed"]);
});

test("rows are compared only if they fit in memory", async () => {
  const { readRows } = await load("rows/texts.ts");
  const { create, MemoryStore, open, put } = await import("../../wasm/npm/dist/node.js");
  const store = new MemoryStore();
  const array = await create(store, { type: "sparse", dims: [{ name: "id", type: "int32", domain: [0, 9999], tile: 100 }], attrs: [{ name: "text", type: "string_utf8", cell: "var" }, { name: "n", type: "int8", nullable: true }] });
  await put(array, null, { id: Int32Array.from({ length: 3000 }, (_, i) => i), text: Array.from({ length: 3000 }, (_, i) => `${i}`.padStart(1000, "x")), n: { values: new Int8Array(3000).fill(7), validity: Uint8Array.from({ length: 3000 }, (_, i) => Number(i > 0)) } });
  const field = (name, sort, type) => ({ name, sort, type, nullable: name === "n", dimension: name === "id" });
  const side = { array: await open(store), fields: [field("id", "integer", "int32"), field("text", "text", "string_utf8"), field("n", "integer", "int8")] };
  const read = (bytes, where = "") => readRows(side, ["id", "text", "n"], where, new AbortController().signal, bytes);
  const rows = await read(2 ** 23);
  assert.equal(rows.length, 3000);
  assert.deepEqual([rows.at(0)[2], rows.at(2999).map((text) => text.slice(-5))], ["\0", ["2999", "x2999", "7"]]);
  await assert.rejects(read(2 ** 20), /The rows take more than 1 MiB. Enter a condition that fewer rows meet/);
  assert.equal((await read(2 ** 20, "id < 100")).length, 100);
});
