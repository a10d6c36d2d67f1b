// Bundlers whose output runs in a page.
import assert from "node:assert/strict";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { titles } from "../test/titles.mjs";
import { dataServer, filesOf, outputWorks, pack, page, parts, project, run, script, started, strict, tool, works } from "./projects.mjs";
import { serve } from "../test/serve.mjs";

const data = await dataServer();
after(() => data.close());
/** Vite's development server and Parcel add inline scripts to pages. */
const inlineScripts = "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'";
const inline = { entry: "hyperslab/inline", pool: "hyperslab/inline" };
const worker = { ...inline, options: `{ worker: "worker.js" }` };

for (const version of ["7.3.8", "8.3.8"]) {
  const name = `vite-${version}`;
  const vite = "vite/bin/vite.js";
  test(`Vite ${version}: development server and build`, async () => {
    const folder = await project(name, { vite: version }, {
      "index.html": page("/main.js", inlineScripts), "main.js": script(data.url),
      "vite.config.js": `export default { build: { target: "es2022" } };`,
    });
    await works(await started(folder, vite, "--port", "PORT", "--strictPort", "--host", "127.0.0.1"));
    await tool(folder, vite, "build", "--logLevel", "warn");
    await outputWorks(join(folder, "dist"));
  });
}

test("Vite 7 with another folder for its cache", async () => {
  const folder = await project("vite-7.3.8", { vite: "7.3.8" }, {
    "index.html": page("/main.js", inlineScripts), "main.js": script(data.url),
    "vite.config.js": `export default { cacheDir: "cache", optimizeDeps: { exclude: ["hyperslab"] } };`,
  });
  await works(await started(folder, "vite/bin/vite.js", "--port", "PORT", "--strictPort", "--host", "127.0.0.1"));
});

test("webpack 5", async () => {
  const folder = await project("webpack", { webpack: "5.113.0", "webpack-cli": "7.3.1" }, { "main.js": script(data.url) });
  await tool(folder, "webpack/bin/webpack.js", "--mode", "production", "--entry", "./main.js");
  await writeFile(join(folder, "dist/index.html"), page("main.js"));
  await outputWorks(join(folder, "dist"));
});

test("Parcel 2", async () => {
  const folder = await project("parcel", { parcel: "2.16.4" }, { "index.html": page("./main.js", inlineScripts), "main.js": script(data.url) });
  await tool(folder, "parcel/lib/bin.js", "build", "index.html", "--no-cache", "--no-source-maps", "--log-level", "warn");
  await outputWorks(join(folder, "dist"));
});

/** Builds entries with esbuild, and writes a page. */
async function esbuilt(entry, policy, ...options) {
  const folder = await project("esbuild", { esbuild: "0.28.2" }, { "main.js": script(data.url, entry) });
  await run(folder, "node_modules/.bin/esbuild", ["main.js", "--bundle", "--outdir=dist", "--log-level=error", ...options]);
  await writeFile(join(folder, "dist/index.html"), page("main.js", policy));
  return join(folder, "dist");
}

/** The same with Rollup. */
async function rolledUp(entry, policy, ...options) {
  const folder = await project("rollup", { rollup: "4.68.8", "@rollup/plugin-node-resolve": "16.0.3" }, { "main.js": script(data.url, entry) });
  await tool(folder, "rollup/dist/bin/rollup", "-i", "main.js", ...options, "-p", "@rollup/plugin-node-resolve={browser:true}", "-d", "dist", "--silent");
  await writeFile(join(folder, "dist/index.html"), page("main.js", policy));
  return join(folder, "dist");
}

for (const [name, build, withWorker, asModule] of [
  ["esbuild", esbuilt, ["worker=hyperslab/worker"], ["--format=esm"]],
  ["Rollup", rolledUp, ["-i", "worker=hyperslab/worker"], []],
]) {
  test(`${name} with hyperslab/inline`, async () => {
    await outputWorks(await build(inline, `${strict}; worker-src blob:`), 0);
    await outputWorks(await build(worker, strict, ...withWorker), 0);
  });
  test(`${name} with copied files`, async () => {
    const dist = await build({}, strict, ...withWorker, ...asModule);
    const place = String.raw`http://127\.0\.0\.1:\d+/core\.wasm`;
    await fails(dist, "page", `^${place}: expected WebAssembly, but got "<!doctype html>.*" \\(text/html\\); copy the files .* or import "hyperslab/inline"`);
    await fails(dist, "none", `^${place}: the server answered 404; copy the files`);
    for (const part of parts) await cp(join(pack.folder, `dist/${part}.wasm`), join(dist, `${part}.wasm`));
    await outputWorks(dist);
  });
}

test("esbuild's classic scripts do not know their address", async () => {
  await fails(await esbuilt({}, strict), "none", "^core.wasm: its address is unknown, because the bundle is not an ES module; .* or import \"hyperslab/inline\"");
});

/** Expects that the page fails with a message like this. */
async function fails(dist, listing, pattern) {
  const [[code, message]] = await titles(await serve(await filesOf(dist), { listing }), 1, /404/);
  assert.equal(code, "Io", message);
  assert.match(message, new RegExp(pattern));
}
