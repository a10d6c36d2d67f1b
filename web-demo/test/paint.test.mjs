// Unit tests of strokes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { Stroke, STROKE_MAX, strokeMax } = await load("grid/paint.ts");

test("a stroke tells which cells are new, and has each once", () => {
  const stroke = new Stroke(10, 10);
  assert.deepEqual(stroke.cover([2.5, 3.5], 1, undefined), [[2, 3]]);
  assert.deepEqual(stroke.cover([4.5, 3.5], 1, [2.5, 3.5]), [[3, 3], [4, 3]]);
  assert.deepEqual(stroke.cover([0.5, 0.5], 3, undefined), [[0, 0], [1, 0], [0, 1], [1, 1]]);
  assert.deepEqual([...stroke.covered()].sort().join(" "), "0,0 0,1 1,0 1,1 2,3 3,3 4,3");
  assert.deepEqual(stroke.around, { c0: 0, c1: 4, r0: 0, r1: 3 });
});

test("a stroke ends when the box around it would be too large", () => {
  const stroke = new Stroke(2 ** 40, 2 ** 40);
  stroke.cover([1e9, 1e9], 1, undefined);
  assert.throws(() => stroke.cover([1e9 + 5000, 1e9 + 5000], 1, [1e9, 1e9]), /at most 4,000,000 cells/);
  const cells = [...stroke.covered()];
  assert.ok(cells.length > 1999 && cells.length < 5000);
  assert.deepEqual([cells[0], cells[1]], [[1e9, 1e9], [1e9 + 1, 1e9 + 1]]);
  const { c0, c1, r0, r1 } = stroke.around;
  assert.ok((c1 - c0 + 1) * (r1 - r0 + 1) <= STROKE_MAX);
});

test("a fill covers connected cells that are alike, and no more than its limit", async () => {
  const { areAlike, connected, FILL_MAX } = await load("grid/fill.ts");
  const cells = [1, 1, 2, NaN, 2, 1, NaN, NaN, 1];
  const validity = [1, 1, 1, 1, 1, 1, 1, 1, 0];
  const at = (start) => connected(3, 3, start, (cell) => areAlike(cells, validity, cell, start)).sort();
  assert.deepEqual([at(0), at(2), at(3), at(4), at(5), at(8)], [[0, 1], [2], [3, 6, 7], [4], [5], [8]]);
  assert.throws(() => connected(1100, 1100, 0, () => true), /More than 1,000,000 connected cells/);
  assert.equal(connected(1000, 1000, 999, () => true).length, FILL_MAX);
});

test("the box around a stroke is bounded by the bytes of all attributes", () => {
  const loaded = (attrs, stride) => ({ levels: [{ array: { attrs } }], x: { axis: stride ? { stride } : {} }, y: undefined });
  const attr = (type, more) => ({ type, cell: 1, nullable: false, ...more });
  assert.equal(strokeMax(loaded([attr("uint8")])), STROKE_MAX);
  assert.equal(strokeMax(loaded(Array(20).fill(attr("float64")))), Math.floor(2 ** 27 / 160));
  assert.equal(strokeMax(loaded([attr("int32"), attr("datetime_ms", { nullable: true }), attr("float64", { cell: 16 })], 3)), Math.floor(2 ** 27 / (3 * (4 + 9 + 128))));
  assert.equal(strokeMax(loaded([attr("string_utf8", { cell: "var" })])), Math.floor(2 ** 27 / 64));
  const stroke = new Stroke(100, 100, 6);
  assert.throws(() => stroke.cover([9.5, 0.5], 1, [0.5, 0.5]), /at most 6 cells/);
  assert.equal([...stroke.covered()].length, 6);
});
