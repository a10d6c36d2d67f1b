// The layers for deck.gl, in a page: pixels and picked cells are compared with what `get` and `query` return.
import assert from "node:assert/strict";
import { build } from "esbuild";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { browser, launch } from "./browser.mjs";
import { serve } from "./serve.mjs";

const here = fileURLToPath(new URL("..", import.meta.url));
let page;
let server;

before(async () => {
  const { outputFiles } = await build({ entryPoints: ["test/deck-page.js"], bundle: true, write: false, format: "esm", absWorkingDir: here, outdir: ".", logLevel: "error" });
  const files = new Map([["page.js", outputFiles[0].contents], ["index.html", Buffer.from(`<!doctype html><link rel="icon" href="data:,"><script type="module" src="page.js"></script>`)]]);
  for (const name of await readdir(join(here, "dist"))) if (name.endsWith(".wasm")) files.set(name, await readFile(join(here, "dist", name)));
  server = await serve(files, { listing: "none" });
  page = await launch();
  await page.visit(`${server.url}/index.html`);
  await page.wait("return globalThis.scenarios ? true : undefined");
});
after(async () => {
  await page?.close();
  await server?.close();
});

/** Runs a scenario of the page. */
async function run(name) {
  const found = await page.runAsync(`scenarios["${name}"]().then(done, (error) => done({ error: String(error.stack ?? error) }))`);
  assert.equal(found?.error, undefined);
  return found;
}

test("draws each cell in its colour, and none for null, NaN and fill values", async () => {
  assert.deepEqual(await run("cells"), []);
});
