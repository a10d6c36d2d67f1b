// Tests the packed and installed package, in Node and in a page.
import assert from "node:assert/strict";
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { serve } from "./serve.mjs";
import { titles } from "./titles.mjs";

const here = fileURLToPath(new URL("..", import.meta.url));
let folder;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "hyperslab-package-"));
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: here, encoding: "utf8" }).trim();
  await writeFile(join(folder, "package.json"), "{}");
  execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", join(folder, packed)], { cwd: folder });
});
after(() => rm(folder, { recursive: true }));

const use = `
  const array = await create(new MemoryStore(), { type: "dense",
    dims: [{ name: "i", type: "int64", domain: [0, 3], tile: 2 }], attrs: [{ name: "a", type: "int64" }] });
  await put(array, null, BigInt64Array.of(1n, 2n, 3n, 4n));
  const sum = (await get(await array.at(Infinity))).data.reduce((a, b) => a + b);
`;

test("the package has its code, README and licences, and nothing else", () => {
  const packed = execFileSync("npm", ["pack", "--dry-run", "--json", "--silent"], { cwd: here, encoding: "utf8" });
  const names = JSON.parse(packed)[0].files.map((file) => file.path);
  const outside = names.filter((name) => !name.startsWith("dist/"));
  assert.deepEqual(outside.sort(), ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "inline/package.json", "package.json", "pool/package.json", "worker/package.json"]);
  for (const name of ["index.js", "inline.js", "node.cjs", "node.d.cts", "index.d.ts", "node.js", "pool.js", "worker.js", "core.wasm", "write.wasm", "view.wasm", "codecs.wasm", "more.wasm"]) assert.ok(names.includes(`dist/${name}`), name);
  assert.ok(names.every((name) => /\.(js|cjs|d\.ts|d\.cts|wasm)$/.test(name) || outside.includes(name)), names.join(" "));
});

test("Node can import and require the package", async () => {
  const run = (args) => execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  const names = "create, get, MemoryStore, put";
  assert.equal(run(["--input-type=module", "-e", `import { ${names} } from "hyperslab"; ${use} console.log(String(sum));`]), "10");
  // Node 22 can require ES modules too.
  const older = process.allowedNodeEnvironmentFlags.has("--experimental-require-module") ? ["--no-experimental-require-module"] : [];
  assert.equal(run([...older, "-e", `const { ${names} } = require("hyperslab"); (async () => { ${use} console.log(String(sum)); })();`]), "10");
});

test("if the engine cannot be loaded, the error says why and what to do", async () => {
  const { init } = await import("hyperslab");
  await assert.rejects(init(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 99)), { name: "HyperslabError", code: "Unsupported", message: /needs WebAssembly SIMD; use Chrome \d+, Firefox \d+, Safari [\d.]+ or later/ });
  const advice = /copy the files dist\/\*\.wasm of the package "hyperslab" to that folder, call init\(\{ core: url \}\) .*, or import "hyperslab\/inline"/;
  const fails = async (source, code, what) => assert.rejects(init(source), (e) => {
    assert.deepEqual([e.name, e.code], ["HyperslabError", code]);
    assert.match(e.message, advice);
    assert.match(e.message, what);
    return true;
  });
  const server = await serve(new Map(), { listing: "page" });
  await fails(`${server.url}/core.wasm`, "Io", /^http:.*\/core\.wasm: expected WebAssembly, but got "<!doctype html>.*" \(text\/html\)/);
  await server.close();
  await fails(`${server.url}/core.wasm`, "Io", /^http:.*\/core\.wasm: the request failed \(fetch failed\)/);
  await fails(new TextEncoder().encode("no"), "Io", /^the source given to init: expected WebAssembly, but got "no"; /);
  await init();
});

test("a page can be one script, which a bundler makes of `hyperslab/inline`", async () => {
  const files = await site("");
  const { outputFiles } = await build({
    entryPoints: ["page.js", "hyperslab/worker"], bundle: true, write: false, outdir: ".", absWorkingDir: folder, entryNames: "[name]",
    plugins: [{ name: "page", setup: ({ onLoad, onResolve }) => {
      onResolve({ filter: /^page\.js$/ }, () => ({ path: join(folder, "page.js"), namespace: "page" }));
      onLoad({ filter: /./, namespace: "page" }, () => ({ resolveDir: folder, contents: `
        import { create, get, MemoryStore, mount, open, Pool, put } from "hyperslab/inline";
        (async () => {
          ${use.replace(`type: "int64" }] });`, `type: "int64", filters: ["bzip2"] }] });`)}
          const pool = new Pool({ workers: 1, worker: "worker.js" });
          const pooled = await get(await open(array.store, { pool }));
          pool.close();
          document.title = JSON.stringify([String(sum), (await mount(array).readDir()).length > 3, pooled.data.length]);
        })();` }));
    } }],
  });
  for (const name of [...files.keys()]) if (name.startsWith("pkg/")) files.delete(name);
  for (const { path, contents } of outputFiles) files.set(basename(path), contents);
  assert.deepEqual(await titles(await serve(files, { listing: "none" }), 1), [["10", true, 4]]);
});

test("TypeScript finds the package's types", async () => {
  await writeFile(join(folder, "use.mts"), `
    import { create, get, MemoryStore, open, query, type Chunk, type Columns, type TileArray, type TypedArray } from "hyperslab";
    import { Pool } from "hyperslab/pool";
    const pool: Pool = new Pool({ workers: 2 });
    const array = await open("x", { pool });
    // The README's first example.
    const { data, shape, stride } = await get(array, null);
    const any: TypedArray = data;
    const x: number[] = shape, y: number[] = stride, sides: readonly number[] = array.shape;
    const { length, columns }: Columns = await query(array).columns();
    const count: number = length;
    const values: TypedArray | undefined = columns["length"]?.values;
    // The types of fields are those of the schema, those that the caller states, or those that were checked.
    const made = await create(new MemoryStore(), { type: "dense",
      dims: [{ name: "i", type: "int32", domain: [0, 3] }], attrs: [{ name: "a", type: "float32" }, { name: "b", type: "int64" }] });
    const a: Float32Array = (await get(made, null, { attrs: "a" })).data;
    const both = await get(made, null, { attrs: ["a", "b"] });
    const b: BigInt64Array = both.b.data;
    interface Stated { t: "string_utf8"; n: "uint8" }
    const stated = await open<Stated>("x");
    const t: Chunk<"string_utf8"> = await get(stated, null, { attrs: "t" });
    const word: string | null = t.at(0);
    const one = await create(new MemoryStore(), { type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 3] }], attrs: [{ name: "a", type: "float32" }] });
    const only: Float32Array = (await get(one)).data;
    const i: Int32Array = (await query(one).columns()).columns.i.values;
    const again: TileArray = await create(new MemoryStore(), one.schema);
    // @ts-expect-error there is no such type
    await create(new MemoryStore(), { type: "dense", dims: [], attrs: [{ name: "a", type: "int3" }] });
    // @ts-expect-error a schema has attributes
    await create(new MemoryStore(), { type: "dense", dims: [] });
    const n: Uint8Array = (await query(stated).columns()).columns.n.values;
    let checked: Float64Array | undefined;
    if (array.is({ depth: "float64" })) checked = (await get(array)).data;
    for (const dim of array.dims) if (dim.type === "int32") { const low: number | undefined = dim.domain?.[0]; console.log(low); }
    // @ts-expect-error there is no such attribute
    await get(made, null, { attrs: "c" });
    // @ts-expect-error 64-bit integers are bigint
    const wrong: Int32Array = both.b.data;
    // @ts-expect-error the columns are one level down
    (await query(array).columns()).a;
    // @ts-expect-error the option does not exist
    await open("x", { att: 1 });
    export { a, again, any, b, checked, count, i, n, only, sides, t, values, word, wrong, x, y };
  `);
  const tsc = join(here, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom", "use.mts"], { cwd: folder, stdio: "inherit" });
});

/** A site with the package and a page that runs `script`. */
async function site(script) {
  const files = new Map();
  const dist = join(folder, "node_modules/hyperslab/dist");
  for (const name of await readdir(dist)) files.set(`pkg/${name}`, await readFile(join(dist, name)));
  files.set("index.html", new TextEncoder().encode(`<!doctype html>
    <meta http-equiv="Content-Security-Policy" content="default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:">
    <link rel="icon" href="data:,"><script type="module" src="page.js"></script>`));
  files.set("page.js", new TextEncoder().encode(script));
  return files;
}

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
    import { consolidate, create, DirectoryStore, get, open, OpfsStore, put, vacuum, writeManifest } from "./pkg/index.js";
    const store = await OpfsStore.open("kept/here");
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
    document.title = JSON.stringify([made, fragments, again, codes, nothing, names.sort(),
      [await store.getSize("race/x") ?? null, await store.get("array") ?? null, (await store.list("nothing/")).length],
      await Promise.all([store, picked, asked, dropped, given].map(sum))]);
  `);
  const server = await serve(files, { listing: "none" });
  const rest = [1, "AlreadyExists", ["AlreadyExists", "AlreadyExists", "done"], "NotFound", ["array", "race"], [null, null, 0], Array(5).fill("10")];
  assert.deepEqual(await titles(server, 2), [[true, ...rest], [false, ...rest]]);
});

test("the package stays small", async () => {
  const dist = join(here, "dist");
  const brotli = async (name) => brotliCompressSync(await readFile(join(dist, name))).length;
  const zipped = async (names) => gzipSync(Buffer.concat(await Promise.all(names.map((n) => readFile(join(dist, n)))))).length;
  const modules = (await readdir(dist)).filter((n) => n.endsWith(".js") && !/^(node|disk|files|pool-node|worker-node|inline)\.js$/.test(n));
  const pool = modules.filter((n) => /^(pool|script|spawn|worker|messages)\.js$/.test(n));
  const [core, write, view, codecs, extra] = await Promise.all(["core", "write", "view", "codecs", "more"].map((part) => brotli(`${part}.wasm`)));
  const [shell, more] = [await zipped(modules.filter((n) => !pool.includes(n))), await zipped(pool)];
  console.log(`# brotli: core ${core}, write ${write}, view ${view}, codecs ${codecs}, more ${extra}; gzip: shell ${shell}, pool ${more}`);
  assert.ok(core <= 465_000, `${core} bytes of wasm to read`);
  assert.ok(core + write + view + codecs + extra <= 1_030_000, `${core + write + view + codecs + extra} bytes of wasm`);
  assert.ok(shell <= 27_000, `${shell} bytes of JavaScript`);
  assert.ok(pool.length === 5 && more <= 4_550, `${more} bytes of JavaScript for ${pool}`);
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
  const all = ["codecs.wasm", "core.wasm", "more.wasm", "view.wasm", "write.wasm"];
  assert.deepEqual(await titles(server, 1), [[[26, ["core.wasm"]], [0, ["codecs.wasm", "core.wasm", "more.wasm", "view.wasm"]], [[10, 10], all]]]);
  // Workers get compiled modules from the page.
  assert.deepEqual(server.log.map((r) => r.path ?? r.url).filter((path) => path.endsWith(".wasm")).map((path) => path.split("/").at(-1)).sort(), all);
});
