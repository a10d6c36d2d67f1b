// Points: what is read of them, and how axes of different units are drawn.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { picture, SITE_DIR, serve, settled, shot, visit } from "./page.mjs";

const { create, put, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const folder = mkdtempSync(join(tmpdir(), "points-"));
let data;

before(async () => {
  data = await serve(folder);
  const dims = [{ name: "height", type: "float64", domain: [0, 2], tile: 1 }, { name: "second", type: "int64", domain: [0, 10 ** 9], tile: 10 ** 8 }];
  const array = await create(join(folder, "uneven"), { type: "sparse", dims, attrs: [{ name: "v", type: "int32" }, { name: "note", type: "string_utf8", cell: "var" }] }, { at: 1 });
  const count = 50;
  await put(array, null, {
    second: BigInt64Array.from({ length: count }, (_, i) => BigInt(i) * 20_000_000n), height: Float64Array.from({ length: count }, (_, i) => (i % 10) / 5),
    v: Int32Array.from({ length: count }, (_, i) => i), note: Array.from({ length: count }, (_, i) => `point ${i}`.repeat(5000)),
  }, { at: 1000 });
  await writeManifest(array);
});
after(() => rmSync(folder, { recursive: true }));

const link = (name, more = "") => `#url=${encodeURIComponent(`${data}${name}`)}${more}`;

/** The share of the rows of a picture in which something is drawn. */
async function heightOf(page) {
  const { width, height, data } = await picture(page);
  const first = data.subarray(0, 3).join();
  const isDrawn = (row) => Array.from({ length: width }, (_, x) => (row * width + x) * 4).some((at) => data.subarray(at, at + 3).join() !== first);
  const rows = Array.from({ length: height }, (_, row) => row).filter(isDrawn);
  return (rows.at(-1) - rows[0]) / height;
}

test("axes of very different lengths have a scale each, and keep it in the link", async () => {
  const { page, errors } = await visit(link("uneven"));
  assert.ok(await page.isChecked("#fill"));
  assert.ok((await heightOf(page)) > 0.4, "the points are on a line");
  await shot(page, "uneven");
  assert.match(await page.textContent("#cursor"), /^50 points in view$/);
  const hash = new URL(await page.url()).hash;
  await page.uncheck("#fill");
  await settled(page);
  assert.ok((await heightOf(page)) < 0.05);
  await page.evaluate((hash) => { location.hash = hash; }, hash);
  await page.waitForFunction(() => document.getElementById("fill")?.checked);
  await settled(page);
  assert.ok((await heightOf(page)) > 0.4);
  assert.deepEqual(await errors(), []);
});

test("the code of stretched points selects what is in view", async () => {
  const { page } = await visit(link("uneven"));
  await page.waitForFunction(() => location.hash.includes("&aspect=536870912"));
  await page.click("#zoom-in");
  await page.click("#zoom-in");
  await settled(page);
  await page.click("#take-away summary");
  const [, low, high] = /height=([\d.]+):([\d.]+)/.exec(await page.textContent("#take-away pre"));
  assert.ok(Number(low) > 0.5 && Number(high) < 1.5, `${low} to ${high}`);
  const inside = Array.from({ length: 50 }, (_, i) => (i % 10) / 5).filter((height) => height >= Number(low) && height <= Number(high)).length;
  const [, shown] = /(\d+) points/.exec(await page.textContent("#cursor"));
  assert.ok(Number(shown) > 0 && Number(shown) <= inside);
});

test("only the fields that are drawn are read, and the others of the point under the pointer", async () => {
  const { page, errors } = await visit(link("uneven", ""), {});
  const received = async () => page.evaluate(() => document.getElementById("traffic").textContent);
  const [, size, unit] = /· ([\d.]+) (\w+)/.exec(await received());
  // All notes together have 2.4 MB.
  assert.ok(unit === "B" || (unit === "KB" && Number(size) < 300), await received());
  await page.goto(`${new URL(await page.url()).origin}/${link("uneven", "&attr=v")}`);
  await page.reload();
  await settled(page);
  const box = await page.locator("#picture").boundingBox();
  let tip = [];
  for (let i = 0; tip.length === 0 && i < 400; i += 1) {
    await page.mouse.move(box.x + box.width * (0.1 + (0.8 * (i % 40)) / 40), box.y + box.height * (0.25 + i / 800));
    tip = await page.locator("#tip tr").allTextContents();
  }
  await settled(page);
  tip = await page.locator("#tip tr").allTextContents();
  const [, v] = /^v(\d+)$/.exec(tip.find((row) => row.startsWith("v")));
  assert.ok(tip.at(-1).startsWith(`notepoint ${v}point ${v}`), tip.at(-1).slice(0, 60));
  assert.deepEqual(await errors(), []);
});
