// Arrays that are opened by their own URL or path find the values of their axes in the arrays next to them.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { copy, create, createGroup, FileStore, get, MemoryStore, open, put, writeManifest } from "hyperslab";
import { Pool } from "hyperslab/pool";
import { serve } from "./serve.mjs";

/** A group with temperatures by latitude, from 90 in steps of -30; with `latitudes`, also the array that says so. */
async function climate(latitudes = true) {
  const store = new MemoryStore();
  await createGroup(store, { path: "climate" });
  const line = async (path, attr, cells) => {
    const dims = [{ name: "lat", type: "int64", domain: [0, 6], tile: 7 }];
    const array = await create(store, { type: "dense", dims, attrs: [{ name: attr, type: "float64" }] }, { path: `climate/${path}`, at: 1 });
    await put(array, null, Float64Array.from(cells), { at: 2 });
    await writeManifest(array);
  };
  if (latitudes) await line("lat", "lat.data", [90, 60, 30, 0, -30, -60, -90]);
  await line("temp", "temp", [0, 1, 2, 3, 4, 5, 6]);
  return store;
}

const files = await climate();
const folder = await mkdtemp(join(tmpdir(), "hyperslab-neighbours-"));
await copy(files, new FileStore(folder));
const pool = new Pool({ workers: 1 });
const servers = [];
after(async () => {
  pool.close();
  await Promise.all(servers.map((server) => server.close()));
  await rm(folder, { recursive: true });
});
const server = async (options, served = files) => {
  servers.push(await serve(served, options));
  return servers.at(-1);
};

/** The temperatures between the equator and 60° north: places 1 to 3, or the cells 0 to 59 if nothing says more. */
const north = async (array) => [...(await get(array, "lat=0:60")).data];

test("a named range selects by value, however the array is opened", async () => {
  const { url } = await server();
  const { url: unlisted } = await server({ listing: "none" });
  const group = await open(`${url}/climate`, { kind: "group" });
  const opened = {
    "by its group": await open(group.store, { path: "temp" }),
    "by its URL": await open(`${url}/climate/temp`),
    "by its URL, with a slash": await open(`${url}/climate/temp/`),
    "by its URL, in a pool": await open(`${url}/climate/temp`, { pool }),
    "by its URL, with manifests alone": await open(`${unlisted}/climate/temp`),
    "by its path": await open(join(folder, "climate/temp")),
  };
  for (const [how, array] of Object.entries(opened)) {
    assert.deepEqual(await north(array), [1, 2, 3], how);
    assert.deepEqual([...(await get(array, "lat=-50")).data], [5], how);
    assert.deepEqual([...(await get(array, "lat=@0:2")).data], [0, 1], how);
  }
});

test("neighbours are requested when a range needs them, with the array's options", async () => {
  const { url, log } = await server();
  const seen = [];
  const ask = async (request) => {
    seen.push([new URL(request.url).pathname, request.headers.get("X-Token")]);
    return fetch(request);
  };
  const array = await open(`${url}/climate/temp`, { http: { headers: { "X-Token": "t" }, fetch: ask } });
  await get(array, "0:2");
  const isOwn = ({ path }) => path.startsWith("climate/temp");
  assert.ok(log.length > 0 && log.every(isOwn));
  await north(array);
  const beside = seen.filter(([path]) => path.startsWith("/climate/lat"));
  assert.ok(beside.length > 0 && beside.every(([, token]) => token === "t"));
  const count = log.length;
  await north(array);
  assert.equal(log.slice(count).filter((request) => !isOwn(request)).length, 0, "the values are kept");
});

test("without a readable neighbour, a range counts cells", async () => {
  const alone = await climate(false);
  const inRoot = new Map([...files].map(([path, bytes]) => [path.replace(/^climate\//, ""), bytes]));
  const all = [0, 1, 2, 3, 4, 5, 6];
  const { url } = await server({}, alone);
  assert.deepEqual(await north(await open(`${url}/climate/temp`)), all);
  const { url: refusing } = await server({ listing: "refused" }, alone);
  assert.deepEqual(await north(await open(`${refusing}/climate/temp`)), all);
  // A server's root is in no folder, and neither is a store of one's own.
  const { url: root } = await server({}, new Map([...files].map(([path, bytes]) => [path.replace(/^climate\/temp\//, ""), bytes])));
  assert.deepEqual(await north(await open(root)), all);
  assert.deepEqual(await north(await open(new MemoryStore([...inRoot].filter(([path]) => path.startsWith("temp/")).map(([path, bytes]) => [path.slice(5), bytes])))), all);
});
