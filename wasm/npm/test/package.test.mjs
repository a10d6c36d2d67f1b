// Tests the packed and installed package.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { serve } from "./serve.mjs";
import { use } from "./fixtures.mjs";

const here = fileURLToPath(new URL("..", import.meta.url));
let folder;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "hyperslab-package-"));
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: here, encoding: "utf8" }).trim();
  await writeFile(join(folder, "package.json"), "{}");
  execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", join(folder, packed)], { cwd: folder });
});
after(() => rm(folder, { recursive: true }));

test("the package has its code, README and licences, and nothing else", () => {
  const packed = execFileSync("npm", ["pack", "--dry-run", "--json", "--silent"], { cwd: here, encoding: "utf8" });
  const names = JSON.parse(packed)[0].files.map((file) => file.path);
  const outside = names.filter((name) => !name.startsWith("dist/"));
  assert.deepEqual(outside.sort(), ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "deck/package.json", "inline/package.json", "package.json", "pool/package.json", "worker/package.json", "zip/package.json"]);
  const files = ["core", "write", "view", "codecs", "more", "describe"].flatMap((part) => [`${part}.wasm`, `${part}-baseline.wasm`]);
  for (const name of ["index.js", "inline.js", "node.cjs", "node.d.cts", "index.d.ts", "node.js", "pool.js", "worker.js", "zip.js", "zip.cjs", "deck/index.js", "deck/index.d.ts", "LICENSES.txt", ...files]) assert.ok(names.includes(`dist/${name}`), name);
  assert.ok(names.every((name) => /\.(js|cjs|d\.ts|d\.cts|wasm)$|LICENSES/.test(name) || outside.includes(name)), names.join(" "));
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
  await assert.rejects(init(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 99)), { name: "HyperslabError", code: "Unsupported", message: /needs WebAssembly with reference types; use Chrome \d+, Firefox \d+, Safari [\d.]+ or later/ });
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

test("TypeScript finds the package's types", async () => {
  await writeFile(join(folder, "use.mts"), `
    import { create, evolve, get, type Group, MemoryStore, open, query, type Chunk, type Columns, type TileArray, type TypedArray } from "hyperslab";
    import { Pool } from "hyperslab/pool";
    import { exportZip, ZipStore } from "hyperslab/zip";
    const pool: Pool = new Pool({ workers: 2 });
    const array = await open("x", { pool });
    // The README's first example.
    const { data, shape, stride } = await get(array, null);
    const any: TypedArray = data;
    const x: number[] = shape, y: number[] = stride, sides: readonly number[] = array.shape;
    const { length, columns }: Columns = await query(array).columns();
    const count: number = length;
    const values: TypedArray | undefined = columns["length"]?.values;
    // The types of fields come from the schema, from the caller, or from a check.
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
    const zip: ZipStore = await ZipStore.open(new Blob([await new Response(exportZip(array)).arrayBuffer()]));
    const grown = await evolve(made, { addAttrs: [{ name: "c", type: "int8" }], dropAttrs: ["a"] });
    const c: Int8Array = (await get(grown, null, { attrs: "c" })).data;
    // @ts-expect-error the attribute was dropped
    await get(grown, null, { attrs: "a" });
    // @ts-expect-error there is no such attribute
    await get(made, null, { attrs: "c" });
    // @ts-expect-error 64-bit integers are bigint
    const wrong: Int32Array = both.b.data;
    // @ts-expect-error the columns are one level down
    (await query(array).columns()).a;
    // The kind says what is opened.
    const group: Group = await open("x", { kind: "group" });
    const member: TileArray<Stated> = await group.open<Stated>("a");
    const either: TileArray | Group = await open("x", { kind: "any" });
    const entries: string[] | undefined = either.kind === "group" ? either.members.map((m) => m.name) : undefined;
    // @ts-expect-error the option does not exist
    await open("x", { att: 1 });
    export { a, again, any, b, c, checked, count, entries, i, member, n, only, sides, t, values, word, wrong, x, y, zip };
  `);
  const tsc = join(here, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom", "use.mts"], { cwd: folder, stdio: "inherit" });
});

test("the package stays small", async () => {
  const dist = join(here, "dist");
  const brotli = async (name) => brotliCompressSync(await readFile(join(dist, name))).length;
  const zipped = async (names) => gzipSync(Buffer.concat(await Promise.all(names.map((n) => readFile(join(dist, n)))))).length;
  const modules = (await readdir(dist)).filter((n) => n.endsWith(".js") && !/^(node|disk|files|pool-node|worker-node|inline)\.js$/.test(n));
  const pool = modules.filter((n) => /^(pool|script|spawn|worker|messages)\.js$/.test(n));
  const seldom = ["arrow.js", "zip.js"];
  const layers = await zipped(["deck/index.js"]);
  const [arrow, zip] = await Promise.all(seldom.map(async (name) => zipped([name])));
  const [core, write, view, codecs, extra, meaning] = await Promise.all(["core", "write", "view", "codecs", "more", "describe"].map((part) => brotli(`${part}.wasm`)));
  const [shell, more] = [await zipped(modules.filter((n) => ![...pool, ...seldom].includes(n))), await zipped(pool)];
  console.log(`# brotli: core ${core}, write ${write}, view ${view}, codecs ${codecs}, more ${extra}, describe ${meaning}; gzip: shell ${shell}, pool ${more}, arrow ${arrow}, zip ${zip}, deck ${layers}`);
  assert.ok(core <= 468_000, `${core} bytes of wasm to read`);
  assert.ok(core + write + view + codecs + extra + meaning <= 1_278_000, `${core + write + view + codecs + extra + meaning} bytes of wasm`);
  const baseline = await brotli("core-baseline.wasm");
  assert.ok(baseline <= 1.05 * core, `${baseline} bytes of wasm to read without SIMD`);
  assert.ok(shell <= 38_750, `${shell} bytes of JavaScript`);
  assert.ok(arrow <= 5_400 && zip <= 8_200, `${arrow} bytes of JavaScript for Arrow, ${zip} for zip files`);
  assert.ok(layers <= 16_600, `${layers} bytes of JavaScript for deck.gl`);
  assert.ok(pool.length === 5 && more <= 4_700, `${more} bytes of JavaScript for ${pool}`);
});

