// Every public function, with wrong values for each argument: it fails with an error of this package, or the value is valid.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as hyperslab from "hyperslab";
import * as pools from "hyperslab/pool";
import * as zips from "hyperslab/zip";
import { counted, line, points as pointsSchema } from "./fixtures.mjs";

const { asZarrita, consolidate, copy, create, createGroup, csr, deleteCells, describe, DirectoryStore, evolve, FileStore, get, HttpStore, kindOf, levels, list, MemoryStore, mount, open, OpfsStore, points, prefetch, put, putMembers, putMeta, query, respond, slice, toDense, vacuum, writeManifest, writer } = hyperslab;
const { Pool } = pools;
const { exportZip, ZipStore } = zips;

const store = new MemoryStore();
const array = await create(store, line, { at: 1 });
await put(array, null, counted, { at: 2 });
const sparse = await create(new MemoryStore(), pointsSchema, { at: 1 });
await put(sparse, null, { x: [1], v: [2] }, { at: 2 });
const cells = await query(sparse).columns();
const groups = new MemoryStore();
await createGroup(groups);
const group = await open(groups, { kind: "group" });
const files = mount(store);
const request = new Request("http://localhost/mnt/a/x");
const fresh = () => new MemoryStore();
const fields = { row: "x", column: "x", value: "v" };
const inWriter = async (use) => {
  const out = await writer(array);
  return use(out).finally(() => out.abort());
};

const WRONG = { undefined, null: null, number: 5, string: "x", object: {}, unknown: { unknownOption: 1 }, list: ["x", null], symbol: Symbol("s") };

/** Options may be left out. */
const OPTIONS = ["undefined", "object"];
/** The selection of everything; a dimension may be left out. */
const ALL = ["undefined", "null", "object"];
/** By function and argument: a call, and the values that are valid. */
const ENTRIES = {
  open: { source: [(x) => open(x)], options: [(x) => open(store, x), OPTIONS], at: [(x) => open(store, { at: x }), ["undefined", "number"]], key: [(x) => open(store, { key: x }), ["undefined"]], http: [(x) => open("http://127.0.0.1:1/", { http: x })] },
  kindOf: { source: [(x) => kindOf(x), ["string"]], options: [(x) => kindOf(store, x), OPTIONS] },
  "TileArray.at": { at: [(x) => array.at(x), ["undefined", "number"]], options: [(x) => array.at(5, x), OPTIONS] },
  "TileArray.meta": { options: [(x) => array.meta(x), OPTIONS] },
  "TileArray.explain": { selection: [(x) => array.explain(x), ALL], ranges: [(x) => sparse.explain(x), ALL], options: [(x) => array.explain(null, x), OPTIONS] },
  "TileArray.tiles": { selection: [(x) => array.tiles(x), ALL], options: [(x) => array.tiles(null, x), OPTIONS] },
  "TileArray.enumeration": { name: [(x) => array.enumeration(x)] },
  "TileArray.decoded": { column: [(x) => array.decoded(x)] },
  "TileArray.is": { attributes: [async (x) => array.is(x), ["object", "unknown"]] },
  "Group.open": { name: [(x) => group.open(x)], options: [(x) => group.open("x", x)] },
  "Group.meta": { options: [(x) => group.meta(x), OPTIONS] },
  "Group.tree": { options: [(x) => group.tree(x), OPTIONS], depth: [(x) => group.tree({ depth: x }), ["undefined", "number"]], limit: [(x) => group.tree({ limit: x }), ["undefined", "number"]] },
  get: { array: [(x) => get(x)], selection: [(x) => get(array, x), ALL], axis: [(x) => get(array, [x]), ["undefined", "null", "number"]], options: [(x) => get(array, null, x), OPTIONS] },
  slice: { stop: [(x) => get(array, [slice(x)]), ["undefined", "null", "number"]], step: [(x) => get(array, [slice(0, 5, x)]), ["undefined", "null", "number"]] },
  list: { coordinates: [async (x) => get(array, [list(x)])], coordinate: [(x) => get(array, [list([x])]), ["number"]], own: [(x) => get(array, [{ list: x }])] },
  query: { array: [async (x) => query(x)], options: [async (x) => query(sparse, x), OPTIONS], ranges: [(x) => query(sparse, { ranges: x }).columns(), ["undefined", "object"]], range: [(x) => query(sparse, { ranges: { x } }).columns()], limit: [(x) => query(sparse, { limit: x }).columns(), ["undefined", "number"]] },
  points: { cells: [async (x) => points(x, { x: "x", y: "v" })], fields: [async (x) => points(cells, x)] },
  csr: { cells: [async (x) => csr(x, fields)], fields: [async (x) => csr(cells, x)], shape: [async (x) => csr(cells, { ...fields, shape: x }), ["undefined", "null"]] },
  toDense: { cells: [async (x) => toDense(x, fields)], fields: [async (x) => toDense(cells, x)] },
  prefetch: { array: [(x) => prefetch(x)], selection: [(x) => prefetch(array, x), ALL], options: [(x) => prefetch(array, null, x), OPTIONS] },
  copy: { from: [(x) => copy(x, fresh())], to: [(x) => copy(store, x)], options: [(x) => copy(store, fresh(), x), OPTIONS] },
  create: { place: [(x) => create(x === "x" ? "" : x, { ...line, dims: [] })], schema: [(x) => create(fresh(), x)], options: [(x) => create(fresh(), line, x), OPTIONS], dims: [(x) => create(fresh(), { ...line, dims: x })], dim: [(x) => create(fresh(), { ...line, dims: [x] })], attr: [(x) => create(fresh(), { ...line, attrs: [x] })], filters: [(x) => create(fresh(), { ...line, attrs: [{ ...line.attrs[0], filters: x }] }), ["undefined", "null"]] },
  put: { array: [(x) => put(x, null, counted)], selection: [(x) => put(array, x, counted), ALL], data: [(x) => put(array, null, x)], column: [(x) => put(array, null, { a: x })], offsets: [(x) => put(array, null, { a: { values: counted, offsets: x } }), ["undefined", "null"]], validity: [(x) => put(array, null, { a: { values: counted, validity: x } }), ["undefined", "null"]], options: [(x) => put(array, null, counted, x), OPTIONS] },
  writeManifest: { array: [(x) => writeManifest(x)] },
  writer: { array: [(x) => writer(x)], options: [(x) => writer(array, x), OPTIONS], box: [(x) => writer(array, { box: x }), ALL] },
  "FragmentWriter.write": { data: [(x) => inWriter((out) => out.write(x))] },
  evolve: { array: [(x) => evolve(x, {})], changes: [(x) => evolve(array, x)], options: [(x) => evolve(array, {}, x)], addAttrs: [(x) => evolve(array, { addAttrs: x })], dropAttrs: [(x) => evolve(array, { dropAttrs: x })], dropName: [(x) => evolve(array, { dropAttrs: [x] })], addEnumerations: [(x) => evolve(array, { addEnumerations: x })], extendEnumerations: [(x) => evolve(array, { extendEnumerations: x })], values: [(x) => evolve(array, { extendEnumerations: { a: x } })], dropEnumerations: [(x) => evolve(array, { dropEnumerations: x })], currentDomain: [(x) => evolve(array, { currentDomain: x })], range: [(x) => evolve(array, { currentDomain: { i: x } })] },
  createGroup: { place: [(x) => createGroup(x === "x" ? { get() {} } : x)], options: [(x) => createGroup(fresh(), x), OPTIONS] },
  putMembers: { place: [(x) => putMembers(x === "x" ? { get() {} } : x, {})], members: [(x) => putMembers(groups, x), ["object"]], member: [(x) => putMembers(groups, { x })], uri: [(x) => putMembers(groups, { x: { uri: x, kind: "array" } }), ["string"]], kind: [(x) => putMembers(groups, { x: { uri: "x", kind: x } })], options: [(x) => putMembers(groups, { x: { uri: "x", kind: "group" } }, x), OPTIONS] },
  putMeta: { target: [(x) => putMeta(x === "x" ? { get() {} } : x, {})], entries: [(x) => putMeta(array, x), ["object", "unknown"]], entry: [(x) => putMeta(array, { x }), ["null", "number", "string"]], type: [(x) => putMeta(array, { x: { type: x, value: 1 } })], value: [(x) => putMeta(array, { x: { type: "int32", value: x } }), ["number"]], options: [(x) => putMeta(groups, {}, x), OPTIONS] },
  deleteCells: { array: [(x) => deleteCells(x, "v > 9")], where: [(x) => deleteCells(sparse, x)], options: [(x) => deleteCells(sparse, "v > 9", x), OPTIONS] },
  consolidate: { array: [(x) => consolidate(x)], options: [(x) => consolidate(array, x), OPTIONS], amplification: [(x) => consolidate(array, { amplification: x }), ["undefined", "number"]] },
  vacuum: { array: [(x) => vacuum(x)], options: [(x) => vacuum(array, x), OPTIONS] },
  describe: { source: [async (x) => describe(x)], options: [async (x) => describe(store, x), OPTIONS] },
  levels: { source: [async (x) => levels(x)], options: [async (x) => levels(store, x), OPTIONS] },
  mount: { source: [async (x) => mount(x), ["string"]], options: [async (x) => mount(store, x), OPTIONS] },
  "Mount.readFile": { path: [(x) => files.readFile(x)], options: [(x) => files.readFile("x", x)] },
  "Mount.stat": { path: [(x) => files.stat(x), ["string"]], options: [(x) => files.stat("x", x), OPTIONS] },
  "Mount.readDir": { path: [(x) => files.readDir(x), ["undefined"]], options: [(x) => files.readDir("", x), OPTIONS] },
  respond: { request: [(x) => respond(x, { a: files })], mounts: [(x) => respond(request, x), ["object", "unknown"]], mount: [(x) => respond(request, { a: x }), ["undefined", "null"]], options: [(x) => respond(request, { a: files }, x), OPTIONS] },
  asZarrita: { source: [async (x) => asZarrita(x), ["string"]], options: [async (x) => asZarrita(store, x), OPTIONS] },
  HttpStore: { url: [async (x) => new HttpStore(x)], options: [async (x) => new HttpStore("http://a/", x), OPTIONS], ...Object.fromEntries(["fetch", "sign", "headers"].map((name) => [name, [async (x) => new HttpStore("http://a/", { [name]: x }), name === "headers" ? ["undefined", "object", "unknown"] : ["undefined"]]])) },
  FileStore: { root: [async (x) => new FileStore(x), ["string"]] },
  DirectoryStore: { root: [async (x) => new DirectoryStore(x)] },
  "DirectoryStore.pick": { options: [(x) => DirectoryStore.pick(x)] },
  "DirectoryStore.fromDrop": { items: [(x) => DirectoryStore.fromDrop(x)] },
  "DirectoryStore.fromFiles": { files: [async (x) => DirectoryStore.fromFiles(x), ["string", "list"]] },
  OpfsStore: { path: [(x) => OpfsStore.open(x)] },
  Pool: { options: [async (x) => new Pool(x).close(), OPTIONS], workers: [async (x) => new Pool({ workers: x }).close(), ["undefined", "number"]] },
  exportZip: { source: [async (x) => exportZip(x)], options: [async (x) => exportZip(array, x), OPTIONS] },
  ZipStore: { source: [(x) => ZipStore.open(x)], http: [(x) => ZipStore.open(new Uint8Array(), x)] },
};
/** Classes whose objects other functions return, and functions that take anything. */
const OTHERS = ["Column", "FragmentWriter", "Group", "HyperslabError", "MemoryStore", "Mount", "Query", "TileArray", "init", "isHyperslabError", "provideWorkers"];

test("every public function is tried with wrong arguments", () => {
  const exported = [hyperslab, pools, zips].flatMap((module) => Object.keys(module).filter((name) => typeof module[name] === "function"));
  assert.deepEqual(exported.filter((name) => !ENTRIES[name]).sort(), OTHERS);
});

for (const [name, args] of Object.entries(ENTRIES)) {
  test(`${name} says what is wrong with an argument`, async () => {
    for (const [argument, [call, valid = []]] of Object.entries(args)) {
      for (const [what, value] of Object.entries(WRONG)) {
        const error = await (async () => call(value))().then(() => undefined, (error) => error);
        const where = `${name}, ${argument}: ${what}`;
        if (valid.includes(what)) assert.equal(error, undefined, where);
        else {
          assert.ok(error instanceof hyperslab.HyperslabError, `${where}: ${error?.stack ?? "no error"}`);
          assert.doesNotMatch(error.message, /Cannot (read|convert|use)|is not (iterable|a function)|object Object\]?$/, where);
          assert.ok(error.message.length > 20, `${where}: ${error.message}`);
        }
      }
    }
  });
}
