// Arrays on the local disk, in Node.
import assert from "node:assert/strict";
import { mkdtemp, open as openFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { create, FileStore, get, MemoryStore, open, put, writeManifest } from "hyperslab";

const folder = await mkdtemp(join(tmpdir(), "hyperslab-"));
after(() => rm(folder, { recursive: true }));

test("an array on disk can be written and read", async () => {
  const path = join(folder, "array");
  const array = await create(new FileStore(path), {
    type: "dense",
    dims: [{ name: "i", type: "int16", domain: [0, 9], tile: 5 }],
    attrs: [{ name: "a", type: "uint8" }],
  });
  await put(array, null, Uint8Array.from({ length: 10 }, (_, i) => i));
  for (const source of [path, pathToFileURL(path), `${pathToFileURL(path)}`]) {
    assert.deepEqual((await get(await open(source))).data, Uint8Array.from({ length: 10 }, (_, i) => i));
  }
  assert.ok((await readdir(path)).every((name) => name.startsWith("__")), "no temporary file is left");
});

test("the error for a missing array names its path", async () => {
  const place = join(folder, "nothing");
  const notFound = (name) => (e) => e.code === "NotFound" && e.message.startsWith(`${name}: there is no `);
  await assert.rejects(open(place), notFound(place));
  await assert.rejects(open(new FileStore(place)), notFound(place));
  await assert.rejects(open(pathToFileURL(place)), notFound(place));
  await assert.rejects(open(place, { kind: "group" }), notFound(place));
  await assert.rejects(open(new MemoryStore()), notFound("the store"));
  await assert.rejects(open(new MemoryStore(), { path: "a/b" }), notFound("a/b"));
});

test("a new file never replaces another", async () => {
  const store = new FileStore(folder);
  await store.set("x/y", Uint8Array.of(1), { ifNoneMatch: "*" });
  await assert.rejects(store.set("x/y", Uint8Array.of(2), { ifNoneMatch: "*" }), (e) => e.code === "AlreadyExists");
  assert.deepEqual([...(await store.get("x/y"))], [1]);
  assert.equal(await store.get("x/none"), undefined);
  assert.throws(() => store.place("../x"));
});

test("a file is replaced atomically, and a failed write leaves no file", async () => {
  const root = join(folder, "replaced");
  const store = new FileStore(root);
  await store.set("x/y", Uint8Array.of(1, 2, 3));
  const reader = await openFile(join(root, "x/y"));
  await store.set("x/y", Uint8Array.of(4));
  assert.deepEqual([...(await reader.readFile())], [1, 2, 3]);
  await reader.close();
  assert.deepEqual([...(await store.get("x/y"))], [4]);
  await assert.rejects(store.set("x", Uint8Array.of(5)));
  assert.deepEqual([await readdir(root), await readdir(join(root, "x"))], [["x"], ["y"]]);
});
