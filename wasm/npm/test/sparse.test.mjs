// The forms in which other libraries take cells.
import assert from "node:assert/strict";
import { test } from "node:test";
import { copy, create, csr, get, MemoryStore, open, points, put, query, toDense } from "hyperslab";

const dim = (name) => ({ name, type: "int32", domain: [0, 99], tile: 10 });

/** The cells of a sparse matrix of five cells. */
async function cells(options) {
  const store = new MemoryStore();
  const array = await create(store, { type: "sparse", dims: [dim("gene"), dim("cell")], attrs: [{ name: "n", type: "uint16" }, { name: "w", type: "float64", nullable: true }] }, { at: 1 });
  await put(array, null, { gene: Int32Array.of(3, 0, 3, 1, 0), cell: Int32Array.of(1, 2, 0, 1, 0), n: Uint16Array.of(31, 2, 30, 11, 9), w: [1, null, 2, 3, 4] }, { at: 2 });
  return query(await array.at(5), options).columns();
}

test("points are interleaved, in two or three dimensions", async () => {
  const found = await cells({ order: "row" });
  const two = points(found, { x: "gene", y: "cell" });
  assert.deepEqual([two.length, two.size, [...two.positions]], [5, 2, [0, 0, 0, 2, 1, 1, 3, 0, 3, 1]]);
  assert.deepEqual([...points(found, { x: "gene", y: "cell", z: "n" }).positions.slice(0, 6)], [0, 0, 9, 0, 2, 2]);
  assert.throws(() => points(found, { x: "gene", y: "no" }), { code: "InvalidArgument", message: /no field 'no'; their fields are/ });
  assert.throws(() => points(found, { x: "gene", y: "w" }), { code: "InvalidArgument", message: /'w' has nulls; .*w != null/ });
});

test("cells become a sparse matrix by rows, whatever their order", async () => {
  for (const order of ["row", "col", "unordered"]) {
    const { shape, indptr, indices, data } = csr(await cells({ order }), { row: "gene", column: "cell", value: "n" });
    assert.deepEqual([shape, [...indptr], data.constructor], [[4, 3], [0, 2, 3, 3, 5], Uint16Array]);
    const row = (r) => Array.from({ length: indptr[r + 1] - indptr[r] }, (_, i) => [indices[indptr[r] + i], data[indptr[r] + i]]).sort();
    assert.deepEqual([0, 1, 2, 3].map(row), [[[0, 9], [2, 2]], [[1, 11]], [], [[0, 30], [1, 31]]]);
  }
  const wide = csr(await cells(), { row: "gene", column: "cell", value: "n", shape: [100, 100] });
  assert.deepEqual([wide.shape, wide.indptr.length, wide.indptr[100]], [[100, 100], 101, 5]);
  assert.throws(() => csr({ length: 0, columns: {} }, { row: "r", column: "c", value: "v" }), { code: "InvalidArgument" });
});

test("cells become a full matrix, with a value for other places", async () => {
  const fields = { row: "gene", column: "cell", value: "n" };
  assert.deepEqual(toDense(await cells(), fields), { shape: [4, 3], data: Uint16Array.of(9, 0, 2, 0, 11, 0, 0, 0, 0, 30, 31, 0) });
  assert.deepEqual([...toDense(await cells({ where: "n > 10" }), { ...fields, shape: [4, 2], fill: 7 }).data], [7, 7, 7, 11, 7, 7, 30, 31]);
  assert.throws(() => toDense({ length: 1, columns: {} }, fields), { code: "InvalidArgument" });
  const found = await cells();
  assert.throws(() => toDense(found, { ...fields, shape: [3, 3] }), { code: "InvalidArgument", message: /reach to row 3 and column 2, outside of the shape 3 by 3/ });
  assert.throws(() => toDense(found, { ...fields, shape: [2 ** 20, 2 ** 20] }), { code: "LimitExceeded" });
  for (const shape of [[1000, 1000.5], [NaN, NaN], [-1, 5], [2 ** 33, 4]]) assert.throws(() => csr(found, { ...fields, shape }), { code: "InvalidArgument", message: /two whole numbers/ }, String(shape));
});

test("indices of categories are decoded on request", async () => {
  const schema = {
    type: "sparse", dims: [dim("i")],
    enumerations: [{ name: "species", type: "string_utf8", cell: "var", ordered: false, values: ["cat", "dog"] }],
    attrs: [{ name: "kind", type: "int8", nullable: true, enumeration: "species" }],
  };
  const array = await create(new MemoryStore(), schema, { at: 1 });
  await put(array, null, { i: Int32Array.of(0, 1, 2), kind: [1, null, 0] }, { at: 2 });
  const now = await array.at(5);
  const { columns } = await query(now, { order: "row" }).columns();
  assert.deepEqual(await now.decoded(columns.kind), ["dog", null, "cat"]);
});

test("a copy is complete before it is visible, and replaces nothing", async () => {
  const from = new MemoryStore();
  const array = await create(from, { type: "dense", dims: [dim("i")], attrs: [{ name: "a", type: "int32" }] }, { path: "deep/array", at: 1 });
  await put(array, null, Int32Array.from({ length: 100 }, (_, i) => i), { at: 2 });
  const written = [];
  class Recorder extends MemoryStore {
    set(key, ...rest) { written.push(key); return super.set(key, ...rest); }
  }
  const to = new Recorder();
  const steps = [];
  assert.equal(await copy(from, to, { path: "deep", onProgress: (done) => steps.push(done) }), from.size);
  assert.ok(written.at(-1).includes("/__schema/"), written.join());
  assert.deepEqual([steps.length, steps.at(-1).files, steps.at(-1).bytes], [from.size, from.size, [...from.values()].reduce((sum, { length }) => sum + length, 0)]);
  assert.equal((await get(await open(to, { path: "deep/array" }))).data[42], 42);
  const slashed = new MemoryStore();
  await copy(from, slashed, { path: "/deep/array/" });
  assert.equal((await get(await open(slashed, { path: "deep/array" }))).data[42], 42);
  // A group is marked after its members.
  const group = new MemoryStore([...from].map(([key, bytes]) => [`g/${key}`, bytes]));
  group.set("g/__group/__1_1_x", new Uint8Array(1)).set("g/__tiledb_group.tdb", new Uint8Array());
  written.length = 0;
  await copy(group, new Recorder());
  const at = (part) => written.findIndex((key) => key.includes(part));
  assert.ok(at("/__schema/") < at("g/__group/") && at("g/__group/") < at("g/__tiledb_group.tdb"), written.join());
  await assert.rejects(copy(from, to), { code: "AlreadyExists" });
  const other = new MemoryStore();
  await create(other, { type: "dense", dims: [dim("i")], attrs: [{ name: "b", type: "int8" }] }, { path: "deep/array" });
  const files = other.size;
  await assert.rejects(copy(from, other), { code: "AlreadyExists", message: /in 'deep\/array' already; copy to an empty store/ });
  assert.equal(other.size, files);
  await assert.rejects(copy(from, to, { path: "no" }), { code: "NotFound", message: /no files to copy in 'no'/ });
  await assert.rejects(copy(from, { get: () => undefined }), { code: "Unsupported", message: /read-only/ });
  await assert.rejects(copy(from, new MemoryStore(), { signal: AbortSignal.abort(new Error("enough")) }), /enough/);
});
