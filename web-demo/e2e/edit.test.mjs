// Painting: a copy on the device, strokes as writes, time travel, and the copy as a zip file that libtiledb reads.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { SITE_DIR, browser, downloaded, serve, settled, shot, stored, visit } from "./page.mjs";

const { create, put, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const { HYPERSLAB_PYTHON } = process.env;
assert.ok(HYPERSLAB_PYTHON, "HYPERSLAB_PYTHON must be set; `cargo xtask test viewer` sets it");
const folder = mkdtempSync(join(tmpdir(), "edit-"));
let data;

before(async () => {
  data = await serve(folder);
  const dims = [{ name: "t", type: "int64", domain: [0, 1], tile: 1 }, { name: "y", type: "int64", domain: [5, 14], tile: 5 }, { name: "x", type: "int64", domain: [-3, 6], tile: 4 }];
  const attrs = [{ name: "v", type: "int16" }, { name: "name", type: "string_utf8", cell: "var" }];
  const array = await create(join(folder, "grid"), { type: "dense", dims, attrs }, { at: 1 });
  await put(array, null, { v: Int16Array.from({ length: 200 }, (_, i) => i), name: Array.from({ length: 200 }, (_, i) => `cell ${i}`) }, { at: 1000 });
  await writeManifest(array);
});
after(() => rmSync(folder, { recursive: true }));

if (browser === "webkit") test("a browser that gives pages no storage is told so", async () => {
  const { page, errors } = await visit(`#url=${encodeURIComponent(`${data}grid`)}`);
  await page.click("#edit button");
  await page.waitForFunction(() => document.querySelector("#edit [role=status]")?.textContent.startsWith("This browser gives pages no storage"));
  assert.deepEqual(await errors(), []);
});

/** The pixel in the middle of a cell of the picture, by its column and row. */
async function pixel(page, column, row) {
  const box = await page.locator("#picture").boundingBox();
  const side = 0.96 * Math.min(box.width, box.height) / 10;
  return [box.x + box.width / 2 + (column - 4.5) * side, box.y + box.height / 2 + (row - 4.5) * side];
}

async function under(page, column, row) {
  await page.mouse.move(...await pixel(page, column, row));
  return page.textContent("#cursor");
}

stored("strokes are writes: they survive a reload, time travel undoes them, and libtiledb reads every moment", async () => {
  const { page, errors } = await visit(`#url=${encodeURIComponent(`${data}grid`)}&@t=1`);
  await page.click("#edit button");
  await page.waitForFunction(() => location.hash.includes("opfs"));
  await settled(page);
  assert.match(await under(page, 2, 3), /^y 8, x -1: 132$/);

  await page.fill("#paint-value", "-7");
  await page.press("#paint-value", "Tab");
  await page.check("#paint");
  await page.mouse.move(...await pixel(page, 2, 3));
  await page.mouse.down();
  await page.mouse.move(...await pixel(page, 5, 3));
  await page.mouse.up();
  await settled(page);
  assert.match(await under(page, 4, 3), /^y 8, x 1: -7$/);
  assert.match(await under(page, 6, 3), /: 136$/);
  await shot(page, "painted");

  await page.reload();
  await settled(page);
  assert.match(await under(page, 2, 3), /: -7$/);
  assert.match(await page.textContent("#copies"), /grid/);
  await page.locator("#moment").fill("0");
  await settled(page);
  assert.match(await under(page, 2, 3), /: 132$/);
  assert.ok(await page.locator("#paint").isDisabled());
  await page.locator("#moment").fill("1");
  await settled(page);

  const saved = await downloaded(page, ["button", "Save as zip"]);
  assert.equal(saved.name, "grid.zip");
  writeFileSync(join(folder, "check.py"), `
import sys, tiledb, zipfile
zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])
with tiledb.open(sys.argv[2]) as now, tiledb.open(sys.argv[2], timestamp=1500) as then:
    a, b = now[:], then[:]
    print([int(v) for v in a["v"][1, 3, 1:7]], [int(v) for v in b["v"][1, 3, 1:7]])
    print((a["v"] != b["v"]).sum(), (a["name"] != b["name"]).sum(), a["name"][1, 3, 2])
`);
  const read = execFileSync(HYPERSLAB_PYTHON, [join(folder, "check.py"), saved.path, join(folder, "out")], { encoding: "utf8" });
  assert.equal(read, "[131, -7, -7, -7, -7, 136] [131, 132, 133, 134, 135, 136]\n4 0 cell 132\n");
  assert.deepEqual(await errors(), []);
});

stored("a stroke keeps the cells of the one before it, which is still being shown", async () => {
  const { page } = await visit(`#url=${encodeURIComponent(`${data}grid`)}`);
  await page.click("#edit button");
  await page.waitForFunction(() => location.hash.includes("opfs"));
  await settled(page);
  await page.check("#paint");
  await page.fill("#paint-value", "-7");
  await page.mouse.click(...await pixel(page, 4, 4));
  await page.fill("#paint-value", "-8");
  await page.mouse.move(...await pixel(page, 3, 3));
  await page.mouse.down();
  await page.mouse.move(...await pixel(page, 6, 3));
  await page.mouse.move(...await pixel(page, 6, 6));
  await page.mouse.up();
  await settled(page);
  assert.match(await under(page, 4, 4), /: -7$/);
  assert.match(await under(page, 6, 5), /: -8$/);
});

stored("values of 64 bits are painted exactly", async () => {
  const dims = ["y", "x"].map((name) => ({ name, type: "int32", domain: [0, 9], tile: 5 }));
  const array = await create(join(folder, "long"), { type: "dense", dims, attrs: [{ name: "v", type: "uint64" }] }, { at: 1 });
  await put(array, null, new BigUint64Array(100), { at: 1000 });
  await writeManifest(array);
  const { page } = await visit(`#url=${encodeURIComponent(`${data}long`)}`);
  await page.click("#edit button");
  await page.waitForFunction(() => location.hash.includes("opfs"));
  await settled(page);
  await page.check("#paint");
  await page.fill("#paint-value", "9007199254740993");
  await page.mouse.click(...await pixel(page, 2, 3));
  await settled(page);
  assert.match(await under(page, 2, 3), /: 9,007,199,254,740,993$/);
  for (const [entered, why] of [["-1", /-1 does not fit into uint64/], ["", /'' is not a number/]]) {
    await page.fill("#paint-value", entered);
    await page.mouse.click(...await pixel(page, 5, 5));
    await page.waitForFunction((why) => new RegExp(why).test(document.getElementById("message").textContent), why.source);
    assert.match(await under(page, 5, 5), /: 0$/);
  }
});

stored("a value that the attribute cannot hold is refused", async () => {
  const { page } = await visit(`#url=${encodeURIComponent(`${data}grid`)}`);
  await page.click("#edit button");
  await page.waitForFunction(() => location.hash.includes("opfs"));
  await settled(page);
  await page.fill("#paint-value", "40000");
  await page.press("#paint-value", "Tab");
  await page.check("#paint");
  await page.mouse.click(...await pixel(page, 2, 3));
  await page.waitForFunction(() => !document.getElementById("message").hidden);
  assert.match(await page.textContent("#message"), /40000 does not fit into int16, which holds -32768 to 32767. Enter another value to paint./);
  assert.match(await under(page, 2, 3), /: 32$/);
});
