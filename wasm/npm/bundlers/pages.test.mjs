// Pages without a bundler, and service workers.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { browser, simd } from "../test/browser.mjs";
import { serve } from "../test/serve.mjs";
import { titles } from "../test/titles.mjs";
import { EXPECTED } from "./check.js";
import { dataServer, filesOf, here, pack, page, parts, script, strict, works } from "./projects.mjs";

const data = await dataServer();
const library = await filesOf(join(pack.folder, "dist"), "hyperslab/");
const elsewhere = await serve(library, { listing: "none" });
after(async () => { await data.close(); await elsewhere.close(); });
const text = (string) => new TextEncoder().encode(string);

/** A site with the package and these files. */
async function site(files) {
  const checks = await filesOf(join(here, "bundlers"));
  const all = { "check.js": checks.get("check.js"), ...files };
  return serve(new Map([...library, ...Object.entries(all).map(([path, file]) => [path, typeof file === "string" ? text(file) : file])]), { listing: "none" });
}
const imports = (from, to) => `<!doctype html><link rel="icon" href="data:,">
  <script type="importmap">{ "imports": { "hyperslab": "${from}/index.js", "hyperslab/pool": "${from}/pool.js", "hyperslab/inline": "${from}/inline.js", "hyperslab/zip": "${from}/zip.js" } }</script>
  <script type="module" src="${to}"></script>`;

test("a page with an import map", async () => {
  await works(await site({ "index.html": imports("./hyperslab", "main.js"), "main.js": script(data.url) }));
});

test("a page with the package from another origin", async () => {
  await works(await site({ "index.html": imports(`${elsewhere.url}/hyperslab`, "main.js"), "main.js": script(data.url) }));
  const inline = { entry: "hyperslab/inline", pool: "hyperslab/inline" };
  await works(await site({ "index.html": imports(`${elsewhere.url}/hyperslab`, "main.js"), "main.js": script(data.url, inline) }));
});

test("a page with a strict policy", async () => {
  const direct = { entry: "./hyperslab/index.js", pool: "./hyperslab/pool.js" };
  await works(await site({ "index.html": page("main.js"), "main.js": script(data.url, direct) }));
  const inline = { entry: "./hyperslab/inline.js", pool: "./hyperslab/inline.js" };
  await works(await site({ "index.html": page("main.js", `${strict}; worker-src blob:`), "main.js": script(data.url, inline) }));
  await works(await site({ "index.html": page("main.js"), "main.js": script(data.url, { ...inline, options: `{ worker: "./hyperslab/worker.js" }` }) }));
  const [[code, message]] = await titles(await site({ "index.html": page("main.js"), "main.js": script(data.url, inline) }), 1, /Content Security Policy/);
  // WebKit refuses at once, so that the pool does not start; other browsers say it later.
  assert.equal(code, browser === "webkit" ? "Unsupported" : "Io");
  assert.match(message, /worker.*; .*new Pool\(\{ worker: url \}\)/);
});

test("a page that says where the files are", async () => {
  const files = parts.map((part) => `"${part}": "/moved/${part}.wasm"`);
  const options = { entry: "./hyperslab/index.js", pool: "./hyperslab/pool.js", before: `await hyperslab.init({ ${files} });` };
  const moved = Object.fromEntries([...library].map(([path, bytes]) => [path.replace(/^hyperslab\/(.*\.wasm)$/, "moved/$1"), bytes]));
  const server = await site({ ...moved, "index.html": page("main.js"), "main.js": script(data.url, options) });
  await works(server);
  const loaded = server.log.map(({ path }) => path).filter((path) => path.endsWith(".wasm"));
  assert.ok(loaded.length >= 4 && loaded.every((path) => path.startsWith("moved/") && path.includes("-baseline") === !simd), `${loaded}`);
});

test("a service worker, of several files or of one", async () => {
  for (const entry of ["index", "inline"]) {
    const [found] = await titles(await site({
      "index.html": page("main.js"),
      "main.js": `
        const claimed = new Promise((done) => navigator.serviceWorker.addEventListener("controllerchange", done));
        await navigator.serviceWorker.register("worker.js", { type: "module" });
        await claimed;
        const answer = await fetch("answer.json");
        document.title = await answer.text();`,
      "worker.js": `
        import * as hyperslab from "./hyperslab/${entry}.js";
        import { check } from "./check.js";
        addEventListener("install", (event) => event.waitUntil(skipWaiting()));
        addEventListener("activate", (event) => event.waitUntil(clients.claim()));
        const found = () => check(hyperslab, undefined, "${data.url}").catch((e) => [e.code, e.message]);
        addEventListener("fetch", (event) => {
          if (event.request.url.endsWith("answer.json")) event.respondWith(found().then((value) => new Response(JSON.stringify(value))));
        });`,
    }), 1);
    assert.deepEqual(found, EXPECTED.slice(0, 4));
  }
});
