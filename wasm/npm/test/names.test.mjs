// Fields with any name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, get, MemoryStore, put, query } from "hyperslab";

test("fields may be named like properties of objects", async () => {
  const names = ["length", "columns", "cells", "constructor", "toString", "values", "data", "shape"];
  const attrs = names.map((name) => ({ name, type: "int32" }));
  const dims = [{ name: "hasOwnProperty", type: "int32", domain: [0, 9], tile: 5 }];
  const sparse = await create(new MemoryStore(), { type: "sparse", dims, attrs }, { at: 1 });
  const dense = await create(new MemoryStore(), { type: "dense", dims, attrs }, { at: 1 });
  const cells = Object.fromEntries(names.map((name, i) => [name, Int32Array.of(i + 10, i)]));
  await put(sparse, null, { ...cells, hasOwnProperty: Int32Array.of(3, 4) }, { at: 2 });
  await put(dense, [[3, 4]], cells, { at: 2 });

  const found = await query(await sparse.at(5)).columns();
  assert.equal(found.length, 2);
  assert.deepEqual(Object.keys(found.columns).sort(), [...names, "hasOwnProperty"].sort());
  names.forEach((name, i) => assert.deepEqual([...found.columns[name]], [i + 10, i], name));
  for await (const batch of query(await sparse.at(5))) assert.deepEqual([batch.length, batch.columns.length.at(0)], [2, 10]);
  const chunks = await get(await dense.at(5), { hasOwnProperty: [3, 4] }, { attrs: names });
  names.forEach((name, i) => assert.deepEqual([...chunks[name].data], [i + 10, i], name));
  // There are no columns for other names, and inherited properties of objects select no dimension.
  const some = await query(await sparse.at(5), { attrs: ["shape"] }).columns();
  assert.deepEqual([some.columns.constructor, some.columns.__proto__, some.length], [undefined, undefined, 2]);
  assert.equal((await get(await dense.at(5), {}, { attrs: "data" })).data.length, 10);
  assert.equal((await sparse.meta()).constructor, undefined);
  // Columns that were read can be written.
  const twin = await create(new MemoryStore(), sparse.schema, { at: 1 });
  await put(twin, null, found.columns, { at: 2 });
  assert.deepEqual((await query(await twin.at(5)).columns()).columns, found.columns);
});
