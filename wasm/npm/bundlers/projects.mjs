// Projects that install the packed package, with pinned versions of tools from the npm registry.
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "../test/driver.mjs";
import { serve } from "../test/serve.mjs";
import { titles } from "../test/titles.mjs";
import { EXPECTED } from "./check.js";

export const here = fileURLToPath(new URL("..", import.meta.url));
const root = join(here, "../..");
const cache = join(resolve(root, process.env.CARGO_TARGET_DIR ?? "target"), "bundlers");

/** Packs the package, and returns the unpacked files. */
async function packed() {
  const folder = await mkdtemp(join(tmpdir(), "hyperslab-pack-"));
  const name = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: here, encoding: "utf8" }).trim();
  execFileSync("tar", ["-xzf", join(folder, name), "-C", folder]);
  process.on("exit", () => execFileSync("rm", ["-r", folder]));
  return { folder: join(folder, "package"), tarball: join(folder, name) };
}
export const pack = await packed();
/** The parts of the engine. */
export const parts = (await readdir(join(pack.folder, "dist"))).filter((name) => name.endsWith(".wasm")).map((name) => name.replace(".wasm", ""));

/**
 * Makes a fresh project with the package, `check.js` and these `files`, which are texts by path. Only the installed
 * `tools` are kept between runs.
 */
export async function project(name, tools, files) {
  const folder = join(cache, name);
  const manifest = JSON.stringify({ private: true, type: "module", dependencies: tools });
  const before = existsSync(join(folder, "installed.json")) && `${await readFile(join(folder, "installed.json"))}`;
  if (before !== manifest) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), manifest);
    if (Object.keys(tools).length > 0) await run(folder, "npm", ["install", "--silent", "--no-audit", "--no-fund"]);
    await writeFile(join(folder, "installed.json"), manifest);
  }
  const kept = ["node_modules", "package-lock.json", "installed.json"];
  for (const entry of await readdir(folder)) if (!kept.includes(entry)) await rm(join(folder, entry), { recursive: true });
  for (const old of ["hyperslab", ".vite", ".cache"]) await rm(join(folder, "node_modules", old), { recursive: true, force: true });
  await cp(pack.folder, join(folder, "node_modules/hyperslab"), { recursive: true });
  const all = { "package.json": manifest, "check.js": await readFile(new URL("check.js", import.meta.url)), ...files };
  for (const [path, text] of Object.entries(all)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

const execute = promisify(execFile);

/** Runs a program, and returns its output. The error of a program that fails has its output too. */
export async function run(cwd, program, args, env = {}) {
  try {
    return (await execute(program, args, { cwd, env: { ...process.env, NO_COLOR: "1", ...env }, timeout: 300_000, maxBuffer: 1 << 26 })).stdout.trim();
  } catch (error) {
    throw new Error(`${program} ${args.join(" ")}: ${error.message}\n${error.stdout}\n${error.stderr}`);
  }
}

/** Runs the script of an installed tool in Node. */
export const tool = (folder, script, ...args) => run(folder, process.execPath, [join("node_modules", script), ...args], { NODE_ENV: undefined, CI: "1" });

/** Starts a tool that serves a page at `PORT`, and returns its server. */
export async function started(folder, script, ...args) {
  const port = await freePort();
  const child = spawn(process.execPath, [join("node_modules", script), ...args.map((arg) => arg.replace("PORT", port))], { cwd: folder, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, CI: "1", NEXT_TELEMETRY_DISABLED: "1", PORT: port, HOSTNAME: "127.0.0.1" } });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => { said += text; });
  const exited = new Promise((done) => child.on("exit", done));
  const url = `http://127.0.0.1:${port}`;
  for (let i = 0; ; i += 1) {
    if (await fetch(url).then((r) => r.text(), () => undefined) !== undefined) break;
    if (i === 300 || child.exitCode !== null) throw new Error(`${script} does not serve: ${said}`);
    await new Promise((done) => setTimeout(done, 100));
  }
  return { url, said: () => said, close: () => { child.kill(); return exited; } };
}

/** The files in a folder, by path. */
export async function filesOf(folder, prefix = "") {
  const files = new Map();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile()) files.set(prefix + relative(folder, path), await readFile(path));
  }
  return files;
}

/** A server of two small arrays. `rare` has a filter that needs `codecs.wasm`. */
export async function dataServer() {
  const { create, MemoryStore, put, writeManifest } = await import("hyperslab");
  const files = new Map();
  for (const [name, filter, factor] of [["plain", "zstd", 1], ["rare", "bzip2", 10]]) {
    const store = new MemoryStore();
    const array = await create(store, { type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 3], tile: 2 }], attrs: [{ name: "a", type: "int32", filters: [filter] }] });
    await put(array, null, Int32Array.of(5, 6, 7, 8).map((v) => v * factor));
    await writeManifest(array);
    for (const [key, bytes] of store) files.set(`${name}/${key}`, bytes);
  }
  return serve(files, { listing: "none" });
}

/** A page's script that runs the check. `how` says how it imports the package and with which options of the pool. */
export const script = (data, { entry = "hyperslab", pool = "hyperslab/pool", options = "{}", before = "", zip = entry === "hyperslab" } = {}) => `
  import * as hyperslab from "${entry}";
  import { Pool } from "${pool}";
  ${zip ? `import * as zip from "hyperslab/zip";` : "const zip = undefined;"}
  import { check } from "./check.js";
  ${before}
  check(hyperslab, Pool, "${data}", ${options}, zip).catch((e) => [e.code, e.message]).then((found) => { document.title = JSON.stringify(found); });
`;

/** The strictest policy that the package needs. */
export const strict = "script-src 'self' 'wasm-unsafe-eval'";

export const page = (source, policy = strict) => `<!doctype html><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="icon" href="data:,"><body><script type="module" src="${source}"></script></body>`;

/** Opens the page of a server, and expects that all of the check works. */
export async function works(server) {
  assert.deepEqual(await titles(server, 1), [EXPECTED]);
}

/** Serves a folder, opens its page, and expects that the check works. Each file of the engine is there and loaded once, or not at all. */
export async function outputWorks(folder, copies = 1) {
  const files = await filesOf(folder);
  const server = await serve(files, { listing: "none" });
  await works(server);
  if (copies) await hasEngineOnce(files);
  else assert.deepEqual(hashes(files), []);
  const loaded = server.log.filter(({ path }) => path.endsWith(".wasm")).map(({ path }) => path);
  assert.ok(new Set(loaded).size === loaded.length && loaded.length >= (copies && 4), `each file of the engine is loaded once: ${loaded}`);
}

/** Expects each file of the engine once. */
export async function hasEngineOnce(files) {
  assert.deepEqual(hashes(files), hashes(await filesOf(join(pack.folder, "dist"))));
}

/** The hashes of the WebAssembly files. */
const hashes = (files) => [...files].filter(([path]) => path.endsWith(".wasm")).map(([, bytes]) => createHash("sha256").update(bytes).digest("hex")).sort();
