// Reads dense arrays with zarrita.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as zarr from "zarrita";
import { asZarrita, create, get, HttpStore, HyperslabError, MemoryStore, open, put } from "hyperslab";
import { samples } from "./samples.mjs";
import { serve } from "./serve.mjs";

async function sample(store) {
  const array = await create(store, {
    type: "dense",
    dims: [{ name: "y", type: "int32", domain: [10, 19], tile: 4 }, { name: "x", type: "int32", domain: [0, 6], tile: 5 }],
    attrs: [{ name: "a", type: "int16", fill: -1 }, { name: "b", type: "int64" }, { name: "c", type: "uint64" }, { name: "d", type: "float64", fill: 12345678901234568 }],
  });
  const a = Int16Array.from({ length: 4 * 7 }, (_, i) => i);
  await put(array, [[10, 13], null], { a, b: BigInt64Array.from(a, BigInt), c: BigUint64Array.from(a, BigInt), d: Float64Array.from(a) });
  return array.at(Infinity);
}

test("zarrita reads the same cells as get(), and fill values for unwritten cells", async () => {
  const array = await sample(new MemoryStore());
  const group = await zarr.open(asZarrita(array), { kind: "group" });
  for (const attrs of ["a", "b", "c", "d"]) {
    const theirs = await zarr.get(await zarr.open(group.resolve(attrs), { kind: "array" }));
    const ours = await get(array, null, { attrs });
    assert.deepEqual(theirs.data, ours.data);
    assert.deepEqual([theirs.shape, theirs.stride], [ours.shape, ours.stride]);
  }
  const part = await zarr.get(await zarr.open(group.resolve("a"), { kind: "array" }), [zarr.slice(2, 6), 3]);
  assert.deepEqual([...part.data], [17, 24, -1, -1]);
});

test("partial reads work, missing files are undefined, lost files are errors", async () => {
  const store = new MemoryStore();
  const files = asZarrita(await sample(store));
  const chunk = await files.get("/a/c/0/0");
  assert.equal(chunk.length, 4 * 5 * 2);
  assert.deepEqual(await files.getRange("/a/c/0/0", { offset: 3, length: 8 }), chunk.slice(3, 11));
  assert.deepEqual(await files.getRange("/a/c/0/0", { suffixLength: 5 }), chunk.slice(-5));
  for (const absent of ["/a/c/2/0", "/nothing", "/a", "/.zarray"]) assert.equal(await files.get(absent), undefined, absent);
  const abort = new AbortController();
  abort.abort();
  await assert.rejects(files.get("/zarr.json", { signal: abort.signal }), { name: "AbortError" });

  for (const key of [...store.keys()].filter((k) => k.endsWith("a0.tdb"))) store.delete(key);
  const cold = asZarrita(new class extends MemoryStore {}(store));
  await assert.rejects(cold.get("/a/c/0/0"), (e) => e.code === "NotFound");
  // An error of a custom store is never read as a fill value.
  const odd = asZarrita({ get: () => { throw new HyperslabError("InvalidArgument", "not like this"); }, list: (prefix) => store.list(prefix) });
  await assert.rejects(odd.get("/a/c/0/0"), (e) => e.message.includes("not like this"));
});

test("chunks that are read together need the requests of one read", async () => {
  const server = await serve(await samples());
  const ranges = [];
  const fresh = async () => {
    const array = await open(new HttpStore(`${server.url}/arrays/elevation`, { onRequest: ({ range }) => ranges.push(range) }));
    ranges.length = 0;
    return array;
  };
  const window = [zarr.slice(512, 1024), zarr.slice(256, 768)];
  const ours = await get(await fresh(), window);
  const expected = ranges.map(String).sort();
  assert.equal(expected.length, 4);
  const elevation = await zarr.open(new zarr.Location(asZarrita(await fresh())).resolve("elevation"), { kind: "array" });
  ranges.length = 0;
  const theirs = await zarr.get(elevation, window);
  assert.deepEqual(ranges.map(String).sort(), expected);
  assert.deepEqual(theirs.data, ours.data);

  // Calls that share a request may be aborted one by one.
  const abort = new AbortController();
  const files = asZarrita(await fresh());
  const [left, stays] = await Promise.allSettled([files.get("/elevation/c/0/2", { signal: abort.signal }), files.get("/elevation/c/0/3"), abort.abort()]);
  assert.deepEqual([left.status, left.reason.name, stays.value?.length], ["rejected", "AbortError", 128 * 128 * 2]);
  await server.close();
});

test("the error for what zarrita cannot read says what to use", async () => {
  const dims = [{ name: "i", type: "int32", domain: [0, 9], tile: 5 }];
  const attrs = [{ name: "n", type: "int32" }, { name: "label", type: "string_utf8", cell: "var" }, { name: "code", type: "char", cell: 2 }];
  const [dense, sparse] = [new MemoryStore(), new MemoryStore()];
  const array = await create(dense, { type: "dense", dims, attrs });
  await create(sparse, { type: "sparse", dims, attrs });
  const root = zarr.root(asZarrita(array));
  const fails = (read, message) => assert.rejects(read, { name: "HyperslabError", code: "Unsupported", message });
  await fails(zarr.open(root.resolve("label"), { kind: "array" }), /'label' has variable-length cells, .*; use get\(array, selection, \{ attrs: "label" \}\)/);
  await fails(zarr.open(root.resolve("code"), { kind: "array" }), /'code' has cells of type char/);
  await fails(zarr.open(asZarrita(sparse), { kind: "group" }), /the array is sparse, .*; use query\(array\)/);
  await fails(zarr.open(asZarrita(await open(sparse))), /the array is sparse/);
  await assert.rejects(zarr.open(root.resolve("nothing"), { kind: "array" }), (e) => !(e instanceof HyperslabError));
});
