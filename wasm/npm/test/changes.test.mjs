// Metadata, groups and changes of schemas.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, createGroup, evolve, get, kindOf, MemoryStore, mount, open, put, putMembers, putMeta, query, writeManifest } from "hyperslab";
import { Pool } from "hyperslab/pool";

const line = {
  type: "dense",
  dims: [{ name: "i", type: "int32", domain: [0, 9], tile: 5 }],
  attrs: [{ name: "a", type: "int32", filters: ["zstd"] }],
};
const counted = Int32Array.from({ length: 10 }, (_, i) => i);
const refused = (code, message) => (error) => error.code === code && message.test(error.message);
const text = (bytes) => new TextDecoder().decode(bytes);

test("metadata of every type is written, replaced and removed", async () => {
  const store = new MemoryStore();
  const array = await create(store, line, { at: 1 });
  const date = new Date("2020-03-01T12:30:00.250Z");
  const given = { units: "µK", n: -5, half: 0.5, "-0": -0, big: 2n ** 60n, huge: 2n ** 64n - 1n, yes: true, date, list: [1, 2, 3], floats: Float32Array.of(0.5, 1.5), empty: "" };
  await putMeta(array, given);
  await putMeta(array, { day: { type: "datetime_day", value: 18_322n }, small: { type: "float32", value: 1.5 }, ascii: { type: "string_ascii", value: "abc" } });
  const { date: stored, list, floats, "-0": zero, ...rest } = await array.meta();
  assert.deepEqual({ ...rest }, { units: "µK", n: -5, half: 0.5, big: 2n ** 60n, huge: 2n ** 64n - 1n, yes: true, empty: "", day: 18_322n, small: 1.5, ascii: "abc" });
  assert.ok(Object.is(zero, -0));
  assert.deepEqual([stored, list, floats], [BigInt(date.getTime()), Int32Array.of(1, 2, 3), Float32Array.of(0.5, 1.5)]);
  await putMeta(array, { n: null, half: null, units: "K", absent: null });
  const { units, n, half } = await (await open(store)).meta();
  assert.deepEqual([units, n, half], ["K", undefined, undefined]);
  assert.equal((await array.meta()).units, "K");
  await putMeta(store, { units: "C" }, { at: 5 });
  assert.equal((await (await open(store, { at: 6 })).meta()).units, "C");
  for (const [value, message] of [[2 ** 60, /'x': the number .* may be rounded/], [["a", "b"], /'x': metadata cannot hold a list of text/], [{ type: "string_utf8", value: ["a", "b"] }, /'x': metadata cannot hold a list of text/], [{ type: "char", value: ["a"] }, /list of text/], [[1, "a"], /'x': metadata is text/], [{}, /'x': metadata is text/], [undefined, /'x': metadata is text/], [{ type: "datetime_day", value: "2020" }, /'x': give a date/], [{ type: "int8", value: 300 }, /'x' of type int8/]]) {
    await assert.rejects(putMeta(array, { x: value }), refused("InvalidArgument", message));
  }
  await assert.rejects(putMeta(new MemoryStore(), { x: 1 }), refused("NotFound", /./));
});

test("metadata of an encrypted array, through a pool", async () => {
  const [store, key, pool] = [new MemoryStore(), new Uint8Array(32).fill(7), new Pool({ workers: 2 })];
  await create(store, line, { at: 1, key });
  const array = await open(store, { key, pool });
  await putMeta(array, { units: "K" });
  assert.equal((await array.meta()).units, "K");
  assert.ok(![...store.values()].some((bytes) => text(bytes).includes("units")));
  pool.close();
});

test("a group is created, filled and changed", async () => {
  const store = new MemoryStore();
  await createGroup(store);
  await create(store, line, { path: "maps/height" });
  await create(store, line, { path: "depth" });
  await createGroup(store, { path: "inner" });
  assert.deepEqual([await kindOf(store), await kindOf(store, { path: "inner" })], ["group", "group"]);
  await putMembers(store, { height: "maps/height", depth: "depth/", inner: "inner" });
  await putMembers(store, { depth: null, far: "https://example.org/x", soon: { uri: "later", kind: "array" } });
  const found = (await open(store, { kind: "group" })).members.map(({ name, kind, uri, relative }) => [name, kind, uri, relative]).sort();
  assert.deepEqual(found, [
    ["far", "unknown", "https://example.org/x", false], ["height", "array", "maps/height", true],
    ["inner", "group", "inner", true], ["soon", "array", "later", true],
  ]);
  assert.equal(await kindOf(store, { path: "depth" }), "array");
  await putMembers(store, { mine: "maps/height" }, { at: 5 });
  await putMembers(store, { deep: "x" }, { path: "inner" }).then(assert.fail, (error) => assert.equal(error.code, "NotFound"));
  await putMeta(store, { title: "all" });
  await putMeta(store, { title: "part" }, { path: "inner" });
  const shown = async (path) => JSON.parse(text(await mount(store, { path }).readFile("metadata.json"))).title;
  assert.deepEqual([(await shown("")).value ?? (await shown("")), (await shown("inner")).value ?? (await shown("inner"))], ["all", "part"]);
  await assert.rejects(createGroup(store), refused("AlreadyExists", /./));
  await assert.rejects(putMembers(store, { "a/b": "depth" }), refused("InvalidArgument", /'a\/b' is not a valid name/));
  await assert.rejects(putMembers(store, { gone: null }), refused("NotFound", /no member 'gone'/));
  await assert.rejects(putMembers(store, { nothing: "nothing" }), refused("NotFound", /cannot add 'nothing'.*create it first, or give its type/));
  await assert.rejects(putMembers(new MemoryStore(), { a: "b" }), refused("NotFound", /./));
});

for (const pooled of [false, true]) {
  test(`a schema evolves${pooled ? ", with a pool" : ""}`, async () => {
    const pool = pooled ? new Pool({ workers: 2 }) : undefined;
    const [store, then] = [new MemoryStore(), Date.parse("2020-01-01")];
    const kinds = { name: "kinds", type: "string_utf8", values: ["wren"] };
    await create(store, { ...line, dims: [{ ...line.dims[0], domain: [0, 99] }], current_domain: [[0, 9]], attrs: [...line.attrs, { name: "kind", type: "uint8", enumeration: "kinds", fill: 0 }], enumerations: [kinds] }, { at: then });
    const array = await open(store, pool ? { pool } : {});
    await put(array, null, { a: counted, kind: new Uint8Array(10) }, { at: then + 1 });
    const same = await evolve(array, { extendEnumerations: { kinds: ["owl", "tit"] }, currentDomain: { i: [0, 14] } });
    assert.equal(same, array);
    assert.deepEqual([array.shape, array.dims[0].domain], [[15], [0, 14]]);
    await put(array, [[10, 11]], { a: Int32Array.of(10, 11), kind: ["owl", "tit"] });
    assert.deepEqual(await array.decoded((await query(array, { ranges: { i: [9, 11] }, attrs: "kind" }).columns()).columns.kind), ["wren", "owl", "tit"]);
    await evolve(array, {
      addAttrs: [{ name: "depth", type: "float32", fill: -1, filters: ["byteshuffle", ["zstd", { level: 3 }]] }, { name: "hue", type: "int8", enumeration: "hues" }],
      addEnumerations: [{ name: "hues", values: ["red"] }], dropAttrs: ["kind"], dropEnumerations: ["kinds"],
    });
    assert.deepEqual(array.attrs.map(({ name }) => name), ["a", "depth", "hue"]);
    assert.deepEqual([...(await get(array, [[8, 9]], { attrs: "depth" })).data], [-1, -1]);
    assert.deepEqual(array.schema.attributes[1].filters.length, 2);
    assert.equal((await open(store)).attrs.length, 3);
    assert.deepEqual((await open(store, { at: then + 2 })).attrs.map(({ name }) => name), ["a", "kind"]);
    const fixed = await open(store, { at: Date.now() + 10_000 });
    await evolve(fixed, { dropAttrs: ["hue"] });
    assert.equal(fixed.attrs.length, 3);
    for (const [changes, message] of [
      [{}, /no change given/], [{ dropAttrs: ["x"] }, /'x'.*does not exist/], [{ currentDomain: { j: [0, 1] } }, /no dimension 'j'; the dimensions are i/],
      [{ addAttrs: [{ name: "b", type: "int33" }] }, /int33/], [{ currentDomain: { i: [0, 2 ** 60] } }, /changes\.currentDomain.*may be rounded/],
    ]) await assert.rejects(evolve(await open(store), changes), refused("InvalidArgument", message));
    pool?.close();
  });
}

test("changes renew the manifest", async () => {
  const store = new MemoryStore();
  const array = await create(store, line);
  await writeManifest(array);
  await putMeta(array, { units: "K" });
  await evolve(array, { addAttrs: [{ name: "b", type: "int8" }] });
  // A store without `list` relies on the manifest.
  const opened = await open({ get: (key) => store.get(key) });
  assert.deepEqual([opened.attrs.length, (await opened.meta()).units], [2, "K"]);
});
