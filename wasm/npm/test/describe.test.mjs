// What arrays and groups mean: arrays of real applications, read over HTTP.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { create, describe, get, levels, MemoryStore, open, put, putMeta } from "hyperslab";
import { Pool } from "hyperslab/pool";
import { serve } from "./serve.mjs";

const conventions = new URL("../../../tests/conventions/", import.meta.url);
/** The description that `hyperslab info --json` gives. */
const expected = async (name) => JSON.parse(await readFile(new URL(`${name}.json`, conventions), "utf8"));
let server;
const pool = new Pool({ workers: 1 });

before(async () => {
  const examples = JSON.parse(gunzipSync(await readFile(new URL("examples.json.gz", conventions))));
  const files = Object.entries(examples).flatMap(([name, own]) => Object.entries(own).map(([path, hex]) => [`${name}/${path}`, Uint8Array.from(Buffer.from(hex, "hex"))]));
  server = await serve(new Map(files));
});
after(async () => {
  pool.close();
  await server.close();
});

test("a group and an array are described as the command line does", async () => {
  const group = `${server.url}/gdal_raster`;
  assert.deepEqual(await describe(group), await expected("gdal_raster"));
  assert.deepEqual(await describe(await open(group, { kind: "group" })), await expected("gdal_raster"));
  const array = `${server.url}/cf_netcdf/per_variable/t2m`;
  for (const source of [array, await open(array), await open(array, { pool })]) assert.deepEqual(await describe(source), await expected("cf_netcdf-per_variable-t2m"));
  assert.deepEqual(await describe(server.url, { path: "bioimg_ome" }), await expected("bioimg_ome"));
});

test("levels are open, finest first, with their scales", async () => {
  const seen = async (source) => (await levels(source)).map(({ array, shape, factors, scale }) => [array.path, shape, factors, scale]);
  assert.deepEqual(await seen(`${server.url}/bioimg_ome`), [
    ["l_0.tdb", [3, 2, 32, 48], [1, 1, 1, 1], [null, 2, 0.5, 0.5]], ["l_1.tdb", [3, 2, 16, 24], [1, 1, 2, 2], [null, 2, 1, 1]],
  ]);
  assert.deepEqual(await seen(await open(`${server.url}/gdal_raster`, { kind: "group" })), [
    ["l_0", [1, 70, 100], [1, 1, 1], [null, 10, 10]], ["l_1", [1, 35, 50], [1, 2, 2], [null, 20, 20]],
  ]);
  const [, coarse] = await levels(`${server.url}/gdal_raster`);
  assert.deepEqual((await get(coarse.array, [1, [0, 1], [0, 1]])).shape, [2, 2]);
  const group = await open(`${server.url}/bioimg_ome`, { kind: "group" });
  const dataset = await describe(group);
  assert.deepEqual((await levels(group, { dataset: { ...dataset, levels: dataset.levels.slice(1) } })).map(({ array }) => array.path), ["l_1.tdb"]);
  const own = await open(`${server.url}/cf_xarray/air`);
  const [only, ...others] = await levels(own);
  assert.deepEqual([only.array === own, only.shape, only.scale, others], [true, [2, 3, 4], [1, 10, 1], []]);
  await assert.rejects(levels(`${server.url}/pandas`), { code: "NotFound" });
});

test("overviews that are out of date or cannot be opened are no levels", async () => {
  const base = new Map();
  const square = (side) => ({ type: "dense", dims: ["y", "x"].map((name) => ({ name, type: "int32", domain: [0, side - 1], tile: side })), attrs: [{ name: "v", type: "int32" }] });
  const made = async (path, side, at) => {
    const array = await create(store, square(side), { path, at: 1 });
    await put(array, null, new Int32Array(side * side), { at });
    return array;
  };
  const store = new MemoryStore(base);
  const array = await made("fine", 8, 1000);
  await made("half", 4, 2000);
  await made("quarter", 2, 3000);
  await putMeta(array, { overviews: JSON.stringify([{ factor: 2, path: "../half" }, { factor: 4, path: "../quarter" }]) }, { at: 1000 });
  const [, , coarse] = await levels(array);
  assert.deepEqual([coarse.factors, coarse.start], [[4, 4], [0, 0]]);
  const paths = async (options) => (await levels(await open(store, { path: "fine", ...options }))).map(({ array }) => array.path);
  assert.deepEqual(await paths({ at: 5000 }), ["fine", "half", "quarter"]);
  assert.deepEqual(await paths({ at: 2500 }), ["fine", "half"], "an overview that nobody had written at that time");
  await put(array, null, new Int32Array(64).fill(1), { at: 2500 });
  assert.deepEqual(await paths({ at: 5000 }), ["fine", "quarter"], "an overview that is older than the array");
  for (const key of [...store.keys()].filter((key) => key.startsWith("quarter/__schema"))) store.delete(key);
  assert.deepEqual(await paths({ at: 5000 }), ["fine"], "an overview without a schema");
});

test("overviews begin where the array was first written", async () => {
  const store = new MemoryStore();
  const dims = (low, high) => ["y", "x"].map((name) => ({ name, type: "int32", domain: [low, high], tile: 4 }));
  const schema = (low, high) => ({ type: "dense", dims: dims(low, high), attrs: [{ name: "v", type: "int32" }] });
  const array = await create(store, schema(1, 16), { path: "fine", at: 1 });
  // Cells from 5 on were written; an overview of factor 4 has them from floor(5 / 4) on.
  await put(array, [[5, 16], [5, 16]], new Int32Array(144), { at: 1000 });
  await put(await create(store, schema(1, 4), { path: "quarter", at: 1 }), null, new Int32Array(16), { at: 2000 });
  await putMeta(array, { overviews: JSON.stringify([{ factor: 4, path: "../quarter" }]) }, { at: 1500 });
  const [fine, quarter] = await levels(await open(store, { path: "fine" }));
  assert.deepEqual([fine.start, quarter.start], [[0, 0], [3, 3]]);
});
