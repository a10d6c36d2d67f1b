// Tests what the program does with the built viewer: `view`, `publish`, and `serve` with the viewer.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { HYPERSLAB, SITE_DIR, colours, settled, shot, visit } from "./page.mjs";
import { printedUrl } from "./server.mjs";

const viewer = fileURLToPath(new URL("../dist/", import.meta.url));
const elevation = join(SITE_DIR, "data/elevation/elevation");
const running = [];
let folder;

before(async () => { folder = await mkdtemp(join(tmpdir(), "hyperslab-program-")); });
after(async () => {
  for (const child of running) child.kill();
  await rm(folder, { recursive: true });
});

/** Starts a command that serves until the tests end, and returns the URL that it prints. */
async function start(...args) {
  const child = spawn(HYPERSLAB, args, { stdio: ["ignore", "pipe", "inherit"] });
  running.push(child);
  return printedUrl(child, args[0]);
}

/** Opens the page at a URL, and checks that it draws the elevation. */
async function drawsElevation(url, name) {
  const { page, errors } = await visit();
  await errors();
  await page.goto(url);
  await settled(page);
  await shot(page, name);
  assert.ok((await colours(page)) > 100, "the picture has few colours");
  assert.deepEqual(await errors(), []);
  return page;
}

test("view shows an array", async () => {
  const url = await start("view", elevation, "--no-open", "--viewer", viewer);
  const page = await drawsElevation(url, "program-view");
  assert.match(await page.url(), /\/[0-9a-f]{32}\/#url=data%2Felevation/);
});

test("view shows the arrays of a folder", async () => {
  const url = await start("view", join(SITE_DIR, "data/elevation"), "--no-open", "--viewer", viewer);
  await drawsElevation(url, "program-folder");
});

test("a published site shows its array on a host that cannot list", async () => {
  const site = join(folder, "site");
  const { status, stderr } = spawnSync(HYPERSLAB, ["publish", elevation, site, "--viewer", viewer], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  await drawsElevation(await start("serve", site, "--port", "0", "--no-viewer"), "program-site");
});

test("serve sends a browser to the viewer", async () => {
  const url = await start("serve", join(SITE_DIR, "data/elevation"), "--port", "0", "--viewer", viewer);
  const page = await drawsElevation(url, "program-serve");
  assert.match(await page.url(), /\/\.viewer\/#url=/);
});
