// The package in a page, in the browser that HYPERSLAB_BROWSER chooses.
import assert from "node:assert/strict";
import { build } from "esbuild";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { browser, simd } from "./browser.mjs";
import { distFiles } from "./dist.mjs";
import { use } from "./fixtures.mjs";
import { serve } from "./serve.mjs";
import { titles } from "./titles.mjs";

const here = fileURLToPath(new URL("..", import.meta.url));
let folder;

before(async () => { folder = await mkdtemp(join(tmpdir(), "hyperslab-pages-")); });
after(() => rm(folder, { recursive: true }));

/** A site with the package and a page that runs `script`. */
async function site(script) {
  const files = await distFiles("pkg/");
  files.set("index.html", new TextEncoder().encode(`<!doctype html>
    <meta http-equiv="Content-Security-Policy" content="default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:">
    <link rel="icon" href="data:,"><script type="module" src="page.js"></script>`));
  files.set("page.js", new TextEncoder().encode(script));
  return files;
}

test("a page can be one script, which a bundler makes of `hyperslab/inline`", async () => {
  const files = await site("");
  const { outputFiles } = await build({
    entryPoints: ["page.js", "hyperslab/worker"], bundle: true, write: false, outdir: ".", absWorkingDir: here, entryNames: "[name]", logLevel: "error",
    plugins: [{ name: "page", setup: ({ onLoad, onResolve }) => {
      onResolve({ filter: /^page\.js$/ }, () => ({ path: join(here, "page.js"), namespace: "page" }));
      onLoad({ filter: /./, namespace: "page" }, () => ({ resolveDir: here, contents: `
        import { create, get, MemoryStore, mount, open, Pool, put } from "hyperslab/inline";
        (async () => {
          ${use.replace(`type: "int64" }] });`, `type: "int64", filters: ["bzip2"] }] });`)}
          const pool = new Pool({ workers: 1, worker: "worker.js" });
          const pooled = await get(await open(array.store, { pool }));
          pool.close();
          document.title = JSON.stringify([String(sum), (await mount(array).readDir()).length > 3, pooled.data.length]);
        })().catch((error) => { document.title = JSON.stringify(error.message); });` }));
    } }],
  });
  for (const name of [...files.keys()]) if (name.startsWith("pkg/")) files.delete(name);
  for (const { path, contents } of outputFiles) files.set(basename(path), contents);
  const [found] = await titles(await serve(files, { listing: "none" }), 1);
  if (simd) assert.deepEqual(found, ["10", true, 4]);
  else assert.match(found, /no WebAssembly SIMD, and "hyperslab\/inline" contains no core-baseline\.wasm; import "hyperslab"/);
});

test("a page can import the package without a bundler, under a strict policy", async () => {
  const files = await site(`
    import { create, get, MemoryStore, mount, open, put, writeManifest } from "./pkg/index.js";
    ${use}
    const files = await mount(array).readDir();
    await writeManifest(array);
    const remote = await open("data/array", { http: { listing: "manifest" } });
    const chunk = await get(remote, "1:3");
    document.title = JSON.stringify([String(sum), files.length > 3, [...chunk.data].map(String)]);
  `);
  const { FileStore, create, put, writeManifest } = await import("hyperslab");
  const place = join(folder, "array");
  const array = await create(new FileStore(place), {
    type: "dense", dims: [{ name: "i", type: "int64", domain: [0, 3], tile: 2 }], attrs: [{ name: "a", type: "int64" }],
  });
  await put(array, null, BigInt64Array.of(5n, 6n, 7n, 8n));
  await writeManifest(array);
  for (const entry of await readdir(place, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile()) files.set(`data/array/${relative(place, path)}`, await readFile(path));
  }

  const server = await serve(files, { listing: "none" });
  assert.deepEqual(await titles(server, 1), [["10", true, ["6", "7"]]]);
  assert.ok(server.log.every((r) => r.method === "GET"), "no preflight, no HEAD");
});

test("reads in workers do not block the page", async () => {
  const files = await site(`
    import { create, get, MemoryStore, open, put } from "./pkg/index.js";
    import { Pool } from "./pkg/pool.js";
    const store = new MemoryStore();
    const side = 4000;
    const dim = (name) => ({ name, type: "int32", domain: [0, side - 1], tile: 500 });
    await put(await create(store, { type: "dense", dims: [dim("y"), dim("x")], attrs: [{ name: "a", type: "int32", filters: ["zstd"] }] }), null,
      Int32Array.from({ length: side * side }, (_, i) => (i * 2654435761) % 65536));
    /** Reads the array, and counts the turns of the event loop meanwhile. */
    const turns = async (array) => {
      let turns = 0;
      const channel = new MessageChannel();
      channel.port1.onmessage = () => channel.port2.postMessage(turns += 1);
      channel.port2.postMessage(0);
      const rows = Array.from({ length: 8 }, (_, i) => get(array, [[i * 500, i * 500 + 499], null]));
      const found = await Promise.all(rows);
      channel.port1.close();
      return { turns, sum: found.reduce((sum, { data }) => data.reduce((s, v) => s + v, sum), 0) };
    };
    const alone = await turns(await open(store));
    const pool = new Pool({ workers: 2 });
    const pooled = await turns(await open(store, { pool }));
    pool.close();
    document.title = JSON.stringify([pooled.sum === alone.sum && alone.sum > 0, pooled.turns, alone.turns]);
  `);
  const [[same, pooled, alone]] = await titles(await serve(files, { listing: "none" }), 1);
  assert.ok(same);
  assert.ok(pooled > 100 * (alone + 1), `${pooled} turns with workers, ${alone} without`);
});

test("a page can use its own storage and the user's folders", async () => {
  const files = await site(`
    const { consolidate, create, DirectoryStore, get, open, OpfsStore, put, vacuum, writeManifest } = await import("./pkg/index.js");
    const store = await OpfsStore.open("kept/here").catch(({ code }) => { document.title = JSON.stringify(code); throw code; });
    const sum = async (from) => String((await get(await open(from, { path: "array" }))).data.reduce((a, b) => a + b));
    const made = (await store.list("")).length === 0;
    const schema = { type: "dense", dims: [{ name: "i", type: "int64", domain: [0, 3], tile: 2 }], attrs: [{ name: "a", type: "int64" }] };
    if (made) {
      const array = await create(store, schema, { path: "array" });
      await put(array, null, BigInt64Array.of(1n, 2n, 3n, 4n));
      await writeManifest(array);
      await writeManifest(array);
      await put(array, [[1, 2]], BigInt64Array.of(2n, 3n));
      await consolidate(array);
      await vacuum(array);
    }
    const fragments = (await store.list("array/__fragments/")).length;
    const again = await create(store, schema, { path: "array" }).catch((e) => e.code);
    const twins = [store, await OpfsStore.open("kept/here"), store].map((own) => create(own, schema, { path: "twin" }).then(() => "done", (e) => e.code));
    const created = (await Promise.all(twins)).sort();
    const race = await Promise.allSettled([1, 2, 3].map((n) => store.set("race/x", Uint8Array.of(n), { ifNoneMatch: "*" })));
    const codes = race.map((r) => r.reason?.code ?? "done").sort();
    await store.delete("race/x");
    await store.delete("race/x");

    const picked = new DirectoryStore(store.root);
    globalThis.showDirectoryPicker = async ({ mode }) => (mode === "readwrite" ? store.root : null);
    const asked = await DirectoryStore.pick({ mode: "readwrite" });
    const item = (handle) => ({ getAsFileSystemHandle: async () => handle });
    const dropped = await DirectoryStore.fromDrop([{}, item(null), item(store.root)]);
    const nothing = await DirectoryStore.fromDrop([item(null)]).catch((e) => e.code);
    const flat = async (folder, path) => (await Promise.all((await store.list(path)).map(async ({ key, dir }) => {
      if (dir) return flat(folder, key + "/");
      const file = new File([await store.get(key)], key.split("/").at(-1));
      Object.defineProperty(file, "webkitRelativePath", { value: "folder/" + key });
      return [file];
    }))).flat();
    const given = DirectoryStore.fromFiles(await flat(store, ""));
    const names = [];
    for await (const name of store.root.keys()) names.push(name);
    document.title = JSON.stringify([made, created, fragments, again, codes, nothing, names.sort(),
      [await store.getSize("race/x") ?? null, await store.get("array") ?? null, (await store.list("nothing/")).length],
      await Promise.all([store, picked, asked, dropped, given].map(sum))]);
  `);
  const server = await serve(files, { listing: "none" });
  // WebKitGTK has no such storage.
  if (browser === "webkit") return assert.deepEqual(await titles(server, 1), ["Unsupported"]);
  const one = ["AlreadyExists", "AlreadyExists", "done"];
  const rest = [1, "AlreadyExists", one, "NotFound", ["array", "race", "twin"], [null, null, 0], Array(5).fill("10")];
  assert.deepEqual(await titles(server, 2), [[true, one, ...rest], [false, Array(3).fill("AlreadyExists"), ...rest]]);
});

test("a page and its workers load each file of the engine once, when it is first needed", async () => {
  const files = await site(`
    import { create, get, MemoryStore, mount, open, put } from "./pkg/index.js";
    import { Pool } from "./pkg/pool.js";
    const array = (filters) => ({ type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 3], tile: 2 }], attrs: [{ name: "a", type: "int32", filters }] });
    const loaded = () => performance.getEntriesByType("resource").map((r) => r.name.split("/").at(-1)).filter((n) => n.endsWith(".wasm")).sort();
    const steps = [];
    const plain = await open("data/array", { http: { listing: "manifest" } });
    const sum = async (array) => (await get(array)).data.reduce((a, b) => a + b, 0);
    steps.push([await sum(plain), loaded()]);
    await mount(plain).readDir();
    steps.push([0, loaded()]);
    const store = new MemoryStore();
    await put(await create(store, array(["bzip2"])), null, Int32Array.of(1, 2, 3, 4));
    const pool = new Pool({ workers: 2 });
    const pooled = await open(store, { pool });
    steps.push([await Promise.all([sum(pooled), sum(pooled)]), loaded()]);
    pool.close();
    document.title = JSON.stringify(steps);
  `);
  const { FileStore, create, put, writeManifest } = await import("hyperslab");
  const place = join(folder, "plain");
  const array = await create(new FileStore(place), {
    type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 3], tile: 2 }], attrs: [{ name: "a", type: "int32", filters: ["zstd"] }],
  });
  await put(array, null, Int32Array.of(5, 6, 7, 8));
  await writeManifest(array);
  for (const entry of await readdir(place, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile()) files.set(`data/array/${relative(place, path)}`, await readFile(path));
  }
  const server = await serve(files, { listing: "none" });
  const named = (...parts) => parts.map((part) => `${part}${simd ? "" : "-baseline"}.wasm`);
  const all = named("codecs", "core", "describe", "more", "view", "write");
  assert.deepEqual(await titles(server, 1), [[[26, named("core")], [0, named("codecs", "core", "describe", "more", "view")], [[10, 10], all]]]);
  // Workers get compiled modules from the page.
  assert.deepEqual(server.log.map((r) => r.path ?? r.url).filter((path) => path.endsWith(".wasm")).map((path) => path.split("/").at(-1)).sort(), all);
});
