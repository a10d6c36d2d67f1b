// The page explains why something cannot be opened, and offers the command or the header to copy.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";
import { serve as serveFiles } from "../../wasm/npm/test/serve.mjs";
import { SITE_DIR, settled, shot, visit } from "./page.mjs";

const { create, MemoryStore, put } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const files = new MemoryStore();
const hosts = [];

before(async () => {
  const dims = ["y", "x"].map((name) => ({ name, type: "int32", domain: [0, 3], tile: 2 }));
  await put(await create(files, { type: "dense", dims, attrs: [{ name: "v", type: "int32" }] }), null, Int32Array.from({ length: 16 }, (_, i) => i));
});
after(async () => { for (const host of hosts) await host.close(); });

async function host(contents, options) {
  const found = await serveFiles(contents, options);
  hosts.push(found);
  return found.url;
}

/** What the page says of this address, and the lines that it offers to copy. */
async function opened(address) {
  const { page } = await visit(`#url=${encodeURIComponent(address)}`);
  await settled(page);
  assert.ok(await page.locator("#message").isVisible(), `${address} opened`);
  const lines = await page.$$eval("#message code", (found) => found.map((line) => line.textContent));
  return { page, text: await page.textContent("#message"), lines };
}

test("a server without CORS: the header to add", async () => {
  const { page, text, lines } = await opened(await host(files, { cors: false }));
  assert.match(text, /The likely cause is CORS/);
  assert.match(lines.join(), /^Access-Control-Allow-Origin: http:\/\/127\.0\.0\.1:\d+$/);
  await shot(page, "doctor-cors");
  await page.click(["#message button", "Copy"]);
  await page.waitForFunction(() => document.querySelector("#message button").textContent === "Copied");
});

test("a server without a listing: the command that writes one", async () => {
  const { text, lines } = await opened(await host(files, { listing: "none" }));
  assert.match(text, /has no __manifest\.json and no listing/);
  assert.deepEqual(lines, ["hyperslab index <array>"]);
});

test("a server that refuses: its status, and the command", async () => {
  const { text, lines } = await opened(await host(files, { listing: "refused" }));
  assert.match(text, /the server returned 403/);
  assert.deepEqual(lines, ["hyperslab index <array>"]);
});

test("a web page instead of an array: what is missing there", async () => {
  const { text } = await opened(`${await host(files, { listing: "page" })}/nothing`);
  assert.match(text, /no array found at .*\/nothing/);
});

test("a folder with other files: that it is no array", async () => {
  const { text } = await opened(await host(new Map([["notes.txt", new Uint8Array(9)]])));
  assert.match(text, /no array/i);
});

test("no server: never the browser's words alone", async () => {
  const address = await serveFiles(files);
  await address.close();
  const { text } = await opened(address.url);
  assert.match(text, /: no server responds; check the address and that the server runs/);
});
