// Integers and times beyond 2^53.
import assert from "node:assert/strict";
import { test } from "node:test";
import { consolidate, create, deleteCells, get, HyperslabError, MemoryStore, open, put, query, slice } from "hyperslab";

const BIG = 2n ** 53n + 1n;
const refused = (work, message) => assert.rejects(work, (e) => e instanceof HyperslabError && e.code === "InvalidArgument" && message.test(e.message), String(message));
const rounded = /the number -?\d+ may be rounded; beyond 2\^53, give a BigInt, such as -?\d+n$/;

/** A sparse array with two neighbouring coordinates that are equal as JavaScript numbers. */
async function neighbours(type) {
  const store = new MemoryStore();
  const dims = [{ name: "id", type, domain: [0, 2n ** 62n], tile: 2n ** 20n }];
  const array = await create(store, { type: "sparse", dims, attrs: [{ name: "v", type: "int64" }] }, { at: 1 });
  const Typed = type === "uint64" ? BigUint64Array : BigInt64Array;
  await put(array, null, { id: Typed.of(BIG - 1n, BIG), v: BigInt64Array.of(BIG - 1n, BIG) }, { at: 2 });
  return open(store);
}

test("integers beyond 2^53 are exact as BigInts, and refused as numbers", async () => {
  for (const type of ["int64", "uint64"]) {
    const array = await neighbours(type);
    const found = await query(array, { ranges: { id: [BIG, BIG] } }).columns();
    assert.deepEqual([...found.columns.v], [BIG]);
    assert.equal(await query(array, { where: `v == ${BIG}` }).count(), 1);
    for (const pair of [[Number(BIG), Number(BIG)], [0, Number(BIG)], [-(2 ** 60), 5]]) {
      await refused(query(array, { ranges: { id: pair } }).count(), /^'id': the number/);
      await refused(query(array, { ranges: { id: [pair, [1, 2]] } }).columns(), rounded);
    }
    await refused(put(array, null, { id: [Number(BIG)], v: [1] }), /^'id': the number.*give a BigInt/);
    await refused(put(array, null, { id: [1], v: [2 ** 60] }), /^'v': the number.*give a BigInt/);
    assert.equal(await query(array, { ranges: { id: [0, Number.MAX_SAFE_INTEGER] } }).count(), 0);
  }
});

test("boxes and schemas refuse numbers that may be rounded", async () => {
  const line = (dim, attr) => ({ type: "dense", dims: [{ name: "i", type: "int64", domain: [0n, BIG + 5n], tile: 10, ...dim }], attrs: [{ name: "a", type: "int64", ...attr }] });
  const made = (dim, attr) => create(new MemoryStore(), line(dim, attr), { at: 1 });
  const array = await made();
  assert.deepEqual(array.dims[0].domain, [0n, BIG + 5n]);
  await put(array, [[BIG, BIG]], BigInt64Array.of(7n), { at: 2 });
  const now = await array.at(5);
  assert.equal((await get(now, [BIG])).at(), 7n);
  assert.equal((await get(now, { i: slice(BIG, BIG + 1n) })).at(0), 7n);
  const box = Number(BIG);
  for (const selection of [[box], [slice(box, null)], [slice(0, box)], [[box, box]], { i: box }, [slice(0, 9, 2 ** 54)]]) {
    await refused(get(now, selection), rounded);
    await refused(put(now, selection, BigInt64Array.of(1n)), rounded);
  }
  await refused(made({ domain: [0, box] }), /^schema\.dims\.0\.domain\.1: the number/);
  await refused(made({ tile: 2 ** 60 }), rounded);
  await refused(made({}, { fill: box }), /^schema\.attrs\.0\.fill: the number/);
  // Floats are never refused.
  const floats = await create(new MemoryStore(), { type: "sparse", dims: [{ name: "x", type: "float64", domain: [-1e300, 1e300] }], attrs: [{ name: "f", type: "float32", fill: 2 ** 60 }] }, { at: 1 });
  await put(floats, null, { x: [2 ** 60, 1e200], f: [2 ** 70, 1] }, { at: 2 });
  assert.equal(await query(await floats.at(5), { ranges: { x: [2 ** 60, 1e250] } }).count(), 2);
});

test("times that may be rounded are refused", async () => {
  const { store, array } = await moments();
  assert.equal((await get(await open(store, { at: Infinity }))).data[0], 2);
  assert.equal((await get(await open(store, { at: Number.MAX_SAFE_INTEGER }))).data[0], 2);
  const unknown = /invalid time \d+; give a Date since 1970, or milliseconds up to 2\^53 or Infinity$/;
  for (const at of [Number(BIG), BIG, [0, 2 ** 60], [2n ** 60n, Infinity]]) {
    await refused(open(store, { at }), unknown);
    await refused(array.at(at), unknown);
    await refused(consolidate(array, { at }), unknown);
  }
  for (const at of [2 ** 60, 2n ** 64n]) {
    await refused(put(array, null, Int32Array.of(3), { at }), unknown);
    await refused(create(new MemoryStore(), array.schema, { at }), unknown);
    await refused(deleteCells(array, "a > 1", { at }), unknown);
  }
});

async function moments() {
  const store = new MemoryStore();
  const dims = [{ name: "i", type: "int32", domain: [0, 0], tile: 1 }];
  const array = await create(store, { type: "dense", dims, attrs: [{ name: "a", type: "int32" }] }, { at: 1 });
  await put(array, null, Int32Array.of(1), { at: 5n });
  await put(array, null, Int32Array.of(2), { at: Number.MAX_SAFE_INTEGER });
  return { store, array };
}
