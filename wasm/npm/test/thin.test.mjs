// Selections that are thinned along several dimensions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, get, list, MemoryStore, open, put, slice } from "hyperslab";
import { both } from "./both.mjs";

const SHAPE = [7, 12, 9];
const attrs = [{ name: "a", type: "int32" }, { name: "b", type: "uint8", nullable: true }, { name: "c", type: "int16", cell: 3 }, { name: "d", type: "float64" }, { name: "t", type: "string_utf8", cell: "var" }];
const store = new MemoryStore();
await create(store, { type: "dense", dims: SHAPE.map((n, i) => ({ name: `d${i}`, type: "int64", domain: [-2, n - 3], tile: 4 })), attrs }, { at: 1 });
const count = SHAPE.reduce((a, b) => a * b);
const cells = Array.from({ length: count }, (_, i) => i);
await put(await open(store), null, {
  a: Int32Array.from(cells), b: cells.map((i) => (i % 5 === 0 ? null : i % 251)), c: Int16Array.from(cells.flatMap((i) => [i, 1 - i, i * 3])), d: Float64Array.from(cells), t: cells.map((i) => `${i}`),
}, { at: 2 });

/** Selections with the coordinates that they select, by dimension. */
const every = (low, high, step) => Array.from({ length: Math.ceil((high - low) / step) }, (_, i) => low + i * step);
const all = SHAPE.map((n) => every(-2, n - 2, 1));
const SELECTIONS = {
  "steps": [[slice(-2, 5, 2), slice(-1n, 10n, 3), slice(-2, 7, 4)], [every(-2, 5, 2), every(-1, 10, 3), every(-2, 7, 4)]],
  "two steps": [[null, slice(-2n, 10n, 2), slice(null, null, 3)], [all[0], every(-2, 10, 2), every(-2, 7, 3)]],
  "lists": [[list([4, -2, 1]), list([9n, 0n, 0n, 3n]), null], [[4, -2, 1], [9, 0, 0, 3], all[2]]],
  "a list and steps": [{ d2: slice(-1, 7, 2), d0: list([0, 3]) }, [[0, 3], all[1], every(-1, 7, 2)]],
  "a typed list, a step and a coordinate": [[BigInt64Array.of(3n, 1n, -1n), slice(-2n, 9n, 5), 2], [[3, 1, -1], every(-2, 9, 5), [2]]],
  "steps past the ends": [[slice(-50, 500, 3), slice(-2n, 1000n, 2), null], [every(-2, 5, 3), every(-2, 10, 2), all[2]]],
};

both("each thinned selection has its cells", async (pool) => {
  const array = await open(store, { ...(pool ? { pool } : {}) });
  for (const [name, [selection, places]] of Object.entries(SELECTIONS)) {
    for (const order of ["row", "col"]) {
      const axes = order === "row" ? [0, 1, 2] : [2, 1, 0];
      const expected = axes.reduce((found, d) => found.flatMap((at) => places[d].map((p) => [...at, p + 2])), [[]])
        .map((at) => axes.reduce((sum, d, i) => sum + at[i] * SHAPE.slice(d + 1).reduce((a, b) => a * b, 1), 0));
      // A single coordinate has no axis.
      const shape = places.map(({ length }) => length).filter((n) => n > 1);
      const { a, b, c, d } = await get(array, selection, { order, attrs: ["a", "b", "c", "d"] });
      assert.deepEqual([a.shape, c.shape], [shape, [...shape, 3]], `${name}, ${order}`);
      assert.deepEqual([...a.data], expected, `${name}, ${order}`);
      assert.deepEqual([...d.data], expected);
      assert.deepEqual([...b.validity], expected.map((i) => (i % 5 === 0 ? 0 : 1)));
      assert.deepEqual([...c.data], expected.flatMap((i) => [i, 1 - i, i * 3]));
      const text = await get(array, selection, { order, attrs: "t" });
      assert.deepEqual(Array.from(text.offsets.subarray(1), (end, i) => new TextDecoder().decode(text.data.subarray(text.offsets[i], end))), expected.map(String));
      const out = new Int32Array(expected.length);
      assert.equal((await get(array, selection, { order, attrs: "a", out })).data, out);
      assert.deepEqual([...out], expected);
      await assert.rejects(get(array, selection, { order, attrs: "a", out: new Int32Array(expected.length + 1) }), { code: "InvalidArgument" });
    }
  }
});

test("the engine thins one dimension, unless that means to read many more cells", async () => {
  const array = await open(store);
  const thinned = [];
  const { raw } = array;
  const read = raw.get.bind(raw);
  raw.get = (json, ...rest) => {
    const axes = JSON.parse(json);
    thinned.push(Object.values(axes).filter((axis) => axis.step > 1 || axis.length > 1).length);
    return read(json, ...rest);
  };
  for (const [selection] of Object.values(SELECTIONS)) await get(array, selection, { attrs: "a" });
  await get(array, [slice(0, 5, 2), list([-2, 9]), list([-2, 6])], { attrs: "a" });
  await get(array, [null, slice(0, 9, 2), null], { attrs: "a" });
  assert.deepEqual(thinned, [1, 1, 1, 1, 1, 1, 3, 1]);
});
