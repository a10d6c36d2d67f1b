// Statistics of parts, the cells along a line, and the places that a user enters.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { Totals } = await load("grid/measure/totals.ts");
const { cellsOf } = await load("grid/measure/line.ts");
const { enteredOf, positionOf } = await load("grid/measure/positions.ts");

const { partsOf, tilesOf } = await load("grid/cells.ts");

const PLAIN = { missing: [], valid: undefined, scale: 1, offset: 0 };
const totals = (reading, ...parts) => {
  const found = new Totals({ ...PLAIN, ...reading });
  for (const part of parts) found.add(part);
  return found.statistics;
};

test("sums of 64-bit integers are exact, and their deviations keep small differences", () => {
  const far = 2n ** 62n;
  const { count, min, max, sum, deviation } = totals({}, [far, far + 2n], [null, far + 4n]);
  assert.deepEqual([count, min, max, sum], [3, far, far + 4n, 3n * far + 6n]);
  assert.equal(deviation, Math.sqrt(8 / 3));
});

test("sums of 32-bit integers are exact beyond 2^53", () => {
  const part = Int32Array.from({ length: 1000 }, (_, i) => 2 ** 31 - 1 - i);
  const { sum } = totals({}, ...Array.from({ length: 5000 }, () => part));
  assert.equal(sum, 5000n * part.reduce((a, b) => a + BigInt(b), 0n));
  assert.ok(sum > 2n ** 53n);
});

test("sums of fractions lose nothing that cancels out", () => {
  assert.equal(totals({}, [1e100, 1.5, -1e100], [0.25]).sum, 1.75);
});

test("missing values do not count, and packed ones are unpacked", () => {
  const { count, missing, min, max, sum, mean, deviation } = totals({ missing: [-9], valid: [-5, 100], scale: -0.5, offset: 10 }, [-9, 2, 4, null, 200, NaN]);
  assert.deepEqual({ count, missing, min, max, sum, mean, deviation }, { count: 2, missing: 4, min: 8, max: 9, sum: 17, mean: 8.5, deviation: 0.5 });
  const none = totals({}, [NaN, null]);
  assert.deepEqual([none.count, none.missing, none.min, none.sum], [0, 2, undefined, 0n]);
});

test("a line visits each column or row once", () => {
  assert.deepEqual(cellsOf([0, 0], [4, 2]), [[0, 0], [1, 1], [2, 1], [3, 2], [4, 2]]);
  assert.deepEqual(cellsOf([0, 0], [1, 2]), [[0, 0], [1, 1], [1, 2]]);
  assert.deepEqual(cellsOf([1, 5], [1, 3]), [[1, 5], [1, 4], [1, 3]]);
  assert.deepEqual(cellsOf([7, 7], [7, 7]), [[7, 7]]);
});

test("entered coordinates are those of the axis, or of the array if it has none", () => {
  const falling = { axis: { coordinates: { type: "regular" }, unit: "degrees_north" }, length: 10, value: (i) => 45 - 10 * i, coordinate: (i) => i };
  assert.deepEqual(["45", "14", "-999", "1e9", "", "x"].map((text) => positionOf(falling, text)), [0, 3, 9, 0, undefined, undefined]);
  assert.equal(enteredOf(falling, 2), "25");
  const far = 2n ** 60n + 1n;
  const plain = { axis: { coordinates: { type: "none" } }, length: 10, value: (i) => i, coordinate: (i) => far + BigInt(i) };
  assert.deepEqual([String(far + 3n), "0", "1.5"].map((text) => positionOf(plain, text)), [3, 0, undefined]);
  assert.equal(enteredOf(plain, 3), String(far + 3n));
});

test("the parts of a box are whole tiles, and hold each cell once", () => {
  const box = { c0: 5, c1: 47, r0: 3, r1: 38 };
  for (const [most, tiles] of [[1000, { columns: 10, rows: 8, c0: -3, r0: -1 }], [100, { columns: 10, rows: 8, c0: 0, r0: 0 }], [60, { columns: 10, rows: 8, c0: 0, r0: 0 }], [1, undefined], [100, undefined], [7, { columns: 7, rows: 1, c0: 2 ** 40, r0: 0 }], [1e6, { columns: 10, rows: 8, c0: 0, r0: 0 }]]) {
    const parts = partsOf(box, most, tiles);
    const cells = new Set();
    let count = 0;
    for (const { c0, c1, r0, r1 } of parts) {
      const size = (c1 - c0 + 1) * (r1 - r0 + 1);
      assert.ok(size > 0 && size <= most, `${size} of ${most}`);
      count += size;
      for (let r = r0; r <= r1; r += 1) for (let c = c0; c <= c1; c += 1) cells.add(r * 1000 + c);
    }
    assert.deepEqual([count, cells.size], [43 * 36, 43 * 36]);
    if (!tiles || tiles.columns * tiles.rows > most) continue;
    const tileOf = (at, first, side) => Math.floor((at - first) / side);
    const read = parts.flatMap(({ c0, c1, r0, r1 }) => {
      const found = [];
      for (let r = tileOf(r0, tiles.r0, tiles.rows); r <= tileOf(r1, tiles.r0, tiles.rows); r += 1) for (let c = tileOf(c0, tiles.c0, tiles.columns); c <= tileOf(c1, tiles.c0, tiles.columns); c += 1) found.push(`${r} ${c}`);
      return found;
    });
    assert.equal(new Set(read).size, read.length, "no tile is in two parts");
  }
});

test("tiles are counted from the start of the array's domain", () => {
  const axis = (dimension, first, stride) => ({ axis: { dimension, ...(stride ? { stride } : {}) }, coordinate: (i) => first + i * (stride ?? 1) });
  const array = { dims: [{ name: "y", tile: 10 }, { name: "x", tile: 12 }], schema: { dimensions: [{ name: "y", domain: [-5, 94] }, { name: "x", domain: [0, 99] }] } };
  assert.deepEqual(tilesOf(array, { x: axis("x", 3, 3), y: axis("y", 0) }), { columns: 4, rows: 10, c0: -1, r0: -5 });
  assert.deepEqual(tilesOf(array, { x: axis("x", 1, 5), y: undefined }), { columns: 1, rows: 1, c0: 0, r0: 0 });
});
