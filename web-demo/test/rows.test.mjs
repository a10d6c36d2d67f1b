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
