// Calls with wrong arguments fail with an error that names the argument, not with a TypeError of the code inside.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as hyperslab from "hyperslab";
import { Pool } from "hyperslab/pool";
import { exportZip, ZipStore } from "hyperslab/zip";

const { consolidate, copy, create, createGroup, deleteCells, evolve, get, kindOf, MemoryStore, mount, open, prefetch, put, putMembers, putMeta, query, vacuum, writeManifest, writer } = hyperslab;
const schema = { type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 9], tile: 5 }], attrs: [{ name: "a", type: "int32" }] };
const store = new MemoryStore();
const array = await create(store, schema, { at: 1 });
await put(array, null, new Int32Array(10), { at: 2 });

const WRONG = {
  array: [null, undefined, 5, "x", {}, store],
  options: [null, 5, "x"],
  where: [5, null, {}],
  path: [5, null, {}],
  attrs: [5, null, [5], {}],
  signal: [null, {}, true],
  pool: [null, {}, 2],
  order: [5, null],
  ranges: [5, null, "x"],
  out: [[], null],
  data: [null, undefined, 5, "x"],
  entries: [null, undefined, 5], members: [null, undefined, 5], changes: [null, undefined, "x"], schema: [null, undefined, 5],
  onRequest: [5, null], onProgress: [5, null], onTile: [5, null], priority: [5, null], tileCacheBytes: ["x", null], kind: [5, null],
  from: [null, "x", {}], to: [null, undefined],
  mode: [5, null], dryRun: ["yes", null], batchBytes: ["x", NaN], http: [null, 5],
};
const CALLS = {
  open: [{ options: (x) => open(store, x) }, ["path", "signal", "pool", "onRequest", "http", "tileCacheBytes", "kind"]],
  kindOf: [{ options: (x) => kindOf(store, x) }, ["path", "signal"]],
  explain: [{ options: (x) => array.explain(null, x) }, ["attrs", "order", "where", "signal"]],
  prefetch: [{ array: (x) => prefetch(x), options: (x) => prefetch(array, null, x) }, ["attrs", "order", "where", "signal", "priority"]],
  at: [{ options: (x) => array.at(5, x) }, ["signal"]],
  meta: [{ options: (x) => array.meta(x) }, ["signal"]],
  get: [{ array: (x) => get(x), options: (x) => get(array, null, x) }, ["attrs", "order", "where", "signal", "out", "priority", "onTile", "onProgress"]],
  query: [{ array: (x) => query(x), options: (x) => query(array, x) }, ["ranges", "attrs", "order", "where", "signal", "batchBytes", "priority"]],
  create: [{ schema: (x) => create(new MemoryStore(), x), options: (x) => create(new MemoryStore(), schema, x) }, ["path"]],
  put: [{ array: (x) => put(x, null, new Int32Array(10)), data: (x) => put(array, null, x), options: (x) => put(array, null, new Int32Array(10), x) }, ["order", "signal"]],
  writer: [{ array: (x) => writer(x), options: (x) => writer(array, x) }, []],
  write: [{ data: async (x) => { const out = await writer(array); return out.write(x).finally(() => out.abort()); } }, []],
  evolve: [{ array: (x) => evolve(x, {}), changes: (x) => evolve(array, x), options: (x) => evolve(array, {}, x) }, []],
  putMeta: [{ entries: (x) => putMeta(array, x), options: (x) => putMeta(store, {}, x) }, ["path"]],
  putMembers: [{ members: (x) => putMembers(store, x), options: (x) => putMembers(store, {}, x) }, ["path"]],
  createGroup: [{ options: (x) => createGroup(new MemoryStore(), x) }, ["path"]],
  deleteCells: [{ array: (x) => deleteCells(x, "a > 1"), where: (x) => deleteCells(array, x), options: (x) => deleteCells(array, "a > 1", x) }, ["dryRun"]],
  consolidate: [{ array: (x) => consolidate(x), options: (x) => consolidate(array, x) }, ["mode"]],
  vacuum: [{ array: (x) => vacuum(x), options: (x) => vacuum(array, x) }, ["mode"]],
  writeManifest: [{ array: (x) => writeManifest(x) }, []],
  copy: [{ from: (x) => copy(x, store), to: (x) => copy(store, x), options: (x) => copy(store, new MemoryStore(), x) }, ["path", "signal", "onProgress"]],
  mount: [{ options: (x) => mount(store, x) }, ["path", "pool"]],
  exportZip: [{ options: (x) => exportZip(array, x) }, ["path", "signal"]],
  "ZipStore.open": [{ http: (x) => ZipStore.open(new Uint8Array(), x) }, []],
};

for (const [name, [own, options]] of Object.entries(CALLS)) {
  test(`${name} names the argument that is wrong`, async () => {
    const before = [...store];
    const refused = async (what, argument, call, value) => {
      const run = async () => call(value);
      await assert.rejects(run, (error) => {
        assert.ok(error instanceof hyperslab.HyperslabError, `${argument} ${String(value)}: ${error.stack}`);
        assert.equal(error.code, "InvalidArgument");
        assert.ok(error.message.startsWith(`the ${what} '${argument}' must be `), error.message);
        return true;
      }, `${argument} ${String(value)}`);
    };
    for (const [argument, call] of Object.entries(own)) for (const value of WRONG[argument]) await refused("argument", argument, call, value);
    for (const option of options) for (const value of WRONG[option]) await refused("option", option, (x) => own.options({ [option]: x }), value);
    if (own.options) await assert.rejects(async () => own.options({ unknown: 1, signal: undefined }), (error) => error.code === "InvalidArgument" && error.message.startsWith("there is no option 'unknown'; the options are "));
    if (!["consolidate", "writeManifest", "put", "exportZip", "putMeta", "vacuum", "writer", "write", "putMembers"].includes(name)) assert.deepEqual([...store], before);
  });
}

test("messages say what was given", async () => {
  const message = (call) => call.then(assert.fail, (error) => error.message);
  assert.equal(await message(get(null)), "the argument 'array' must be an open array, not null");
  assert.equal(await message(get(array, null, { where: 5 })), "the option 'where' must be a string, not 5");
  assert.equal(await message(get(array, null, { attrs: { a: 1 } })), "the option 'attrs' must be a string, or a list of strings, not an object: Object");
  assert.equal(await message(open(store, { pool: "x" })), `the option 'pool' must be a Pool of hyperslab/pool, not "x"`);
  const pool = new Pool({ workers: 1 });
  assert.deepEqual((await get(await open(store, { pool, signal: new AbortController().signal }), null, { attrs: ["a"], order: "col" })).a.data, new Int32Array(10));
  pool.close();
});
