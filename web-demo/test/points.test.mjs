// Unit tests of points: how many are read, and where they are drawn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { pointsMax } = await load("points/limit.ts");
const { fillingAspect, spanOf, startAspect } = await load("points/space.ts");

test("fewer points are read if they have more bytes", () => {
  assert.equal(pointsMax([{ type: "int8" }]), 5_000_000);
  const wide = Array.from({ length: 20 }, () => ({ type: "float64" }));
  assert.equal(pointsMax(wide), Math.floor(2 ** 28 / (20 * 9 + 24)));
  assert.ok(pointsMax(wide) * 20 * 8 < 2 ** 28);
});

test("axes of very different lengths are scaled by a power of two", () => {
  const uneven = { x: [0, 1e9], y: [0, 2] };
  assert.equal(fillingAspect(uneven), 2 ** 29);
  assert.equal(startAspect(uneven, undefined), 2 ** 29);
  assert.equal(startAspect({ x: [0, 10], y: [0, 2] }, undefined), 1);
  assert.equal(startAspect({ x: [0, 10], y: [0, 2] }, "0.25"), 0.25);
  for (const wrong of ["3", "0", "-2", "x", "Infinity", ""]) assert.equal(startAspect({ x: [0, 10], y: [0, 2] }, wrong), 1, wrong);
});

test("what is in view is clamped to the domain, in the type of the dimension", () => {
  const array = { dims: [{ name: "x", type: "int64", domain: [0n, 9n] }, { name: "y", type: "float32", domain: [0, 9] }] };
  assert.deepEqual(spanOf(array, "x", [-5.5, 3.2]), { type: "int64", lo: 0n, hi: 4n });
  assert.deepEqual(spanOf(array, "x", [20, 30]), { type: "int64", lo: 9n, hi: 9n });
  assert.deepEqual(spanOf(array, "y", [-5.5, 3.2]), { type: "float32", lo: 0, hi: 3.2 });
});
