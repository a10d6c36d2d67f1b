// Selections by lists of coordinates, and with steps.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { create, get, list, MemoryStore, open, put, query, slice } from "hyperslab";
import { Pool } from "hyperslab/pool";

const store = new MemoryStore();
const [rows, columns] = [40, 30];
const dims = [
  { name: "y", type: "int64", domain: [-20, 19], tile: 8 },
  { name: "x", type: "int64", domain: [100, 129], tile: 10 },
];
const written = await create(store, { type: "dense", dims, attrs: [{ name: "a", type: "int32" }, { name: "b", type: "string_utf8", cell: "var" }] }, { at: 1 });
const value = (y, x) => (y + 20) * columns + (x - 100);
const all = Array.from({ length: rows * columns }, (_, i) => i);
await put(written, null, { a: Int32Array.from(all), b: all.map(String) }, { at: 2 });
const pool = new Pool({ workers: 1 });
after(() => pool.close());
const arrays = [["", await open(store)], [", with a pool", await open(store, { pool })]];

const expected = (ys, xs) => ys.flatMap((y) => xs.map((x) => value(y, x)));

for (const [name, array] of arrays) {
  test(`lists select every combination, in their order${name}`, async () => {
    for (const order of ["row", "col"]) {
      const chunk = await get(array, [list([5, -20, 5]), Int32Array.of(129, 100, 101)], { attrs: "a", order });
      assert.deepEqual(chunk.shape, [3, 3]);
      const cells = [0, 1, 2].flatMap((i) => [0, 1, 2].map((j) => chunk.at(i, j)));
      assert.deepEqual(cells, expected([5, -20, 5], [129, 100, 101]));
    }
    const text = await get(array, { x: list([129n, 100]), y: 3 }, { attrs: "b" });
    assert.deepEqual([text.shape, text.at(0), text.at(1)], [[2], String(value(3, 129)), String(value(3, 100))]);
  });

  test(`lists go with every other selection${name}`, async () => {
    const read = async (x) => {
      const { data, shape } = await get(array, [list([1, 2, 7]), x], { attrs: "a" });
      return [[...data], shape];
    };
    const through = (from, to, step = 1) => Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => from + i * step);
    for (const [x, xs] of [
      [null, through(100, 130)], [slice(110, 114), through(110, 114)], [slice(110), through(100, 110)], [slice(125, null), through(125, 130)],
      [[110, 112], through(110, 113)], [slice(100, 130, 7), through(100, 130, 7)], [slice(110, 500), through(110, 130)], [slice(null, null, 9), through(100, 130, 9)],
    ]) assert.deepEqual(await read(x), [expected([1, 2, 7], xs), [3, xs.length]]);
    assert.deepEqual(await read(104), [expected([1, 2, 7], [104]), [3]]);
    assert.deepEqual((await get(array, [list([4]), 104], { attrs: "a" })).shape, [1]);
  });
}

test("lists that do not fit are refused", async () => {
  const array = await open(store);
  const refused = (selection, message) => assert.rejects(get(array, selection, { attrs: "a" }), (e) => e.code === "InvalidArgument" && message.test(e.message));
  await refused([list([])], /list of 'y' is empty/);
  await refused([list([99])], /99/);
  await refused({ z: list([1]) }, /no dimension 'z'/);
  await refused([list([1]), null, null], /2 dimensions/);
  await refused([list([2 ** 60])], /BigInt/i);
  await assert.rejects(put(array, [list([1, 2])], { a: new Int32Array(60), b: Array(60).fill("") }), (e) => e.code === "InvalidArgument" && /fills a box/.test(e.message));
});

test("reads with steps and lists fetch only the tiles they need", async () => {
  const array = await open(store);
  // Of five rows of tiles, those with -20 and 12.
  assert.equal((await array.tiles([slice(-20, 20, 32), [100, 109]], { attrs: "a" })).length, 2);
  assert.equal((await array.tiles([list([-20, 12]), [100, 109]], { attrs: "a" })).length, 2);
  assert.deepEqual((await array.tiles([list([-20, 12]), 100], { attrs: "a" })).map(({ domain }) => domain[0]), [[-20n, -13n], [12n, 19n]]);
});

test("null and undefined are no coordinates", async () => {
  const [, array] = arrays[0];
  for (const selection of [[list([5, undefined])], [list([null])], [[undefined, 5]], [[null, 5]]]) {
    await assert.rejects(get(array, selection, { attrs: "a" }), { code: "InvalidArgument", message: /a coordinate of 'y' is (null|undefined)/ });
  }
  await assert.rejects(query(array, { ranges: { y: [undefined, undefined] } }).columns(), { code: "InvalidArgument", message: /a coordinate of 'y' is undefined/ });
  await assert.rejects(put(array, [[null, 0], [100, 100]], { a: new Int32Array(1), b: [""] }), { code: "InvalidArgument", message: /a coordinate of 'y' is null/ });
});

test("a slice may end after the greatest coordinate of a type", async () => {
  const bytes = await create(new MemoryStore(), { type: "dense", dims: [{ name: "i", type: "int8", domain: [0, 127], tile: 1 }], attrs: [{ name: "a", type: "int8" }] });
  await put(bytes, null, Int8Array.from({ length: 128 }, (_, i) => i));
  for (const end of [128, 1000]) assert.deepEqual([...(await get(bytes, [slice(125, end)])).data], [125, 126, 127]);
});
