// Reads dense arrays with zarrita.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as zarr from "zarrita";
import { asZarrita, create, get, HyperslabError, MemoryStore, put } from "hyperslab";

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
