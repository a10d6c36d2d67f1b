// Measuring: statistics of a box and values along a line, compared with numpy over tiledb-py.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { SITE_DIR, downloaded, serve, settled, shot, visit } from "./page.mjs";

const { create, put, putMeta, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const { HYPERSLAB_PYTHON } = process.env;
assert.ok(HYPERSLAB_PYTHON, "HYPERSLAB_PYTHON must be set; `cargo xtask test viewer` sets it");
const folder = mkdtempSync(join(tmpdir(), "measure-"));
let data;

before(async () => {
  data = await serve(folder);
  const dims = [{ name: "t", type: "int64", domain: [0, 1], tile: 1 }, { name: "y", type: "int64", domain: [5, 24], tile: 5 }, { name: "x", type: "int64", domain: [-10, 9], tile: 4 }];
  const attrs = [{ name: "rain", type: "int16", fill: -1 }, { name: "heat", type: "float32" }, { name: "long", type: "int64", nullable: true }];
  const array = await create(join(folder, "grid"), { type: "dense", dims, attrs }, { at: 1 });
  const cells = Array.from({ length: 800 }, (_, i) => i);
  await put(array, null, {
    rain: Int16Array.from(cells, (i) => (i % 7 === 0 ? -1 : (i * 37) % 1000)),
    heat: Float32Array.from(cells, (i) => (i % 11 === 0 ? NaN : Math.sin(i) * 100)),
    long: { values: BigInt64Array.from(cells, (i) => 2n ** 53n + BigInt(i * i)), validity: Uint8Array.from(cells, (i) => Number(i % 5 > 0)) },
  }, { at: 1000 });
  await putMeta(array, { "__tiledb_attr.rain.units": "mm", "__tiledb_attr.rain.scale_factor": { type: "float64", value: 0.5 }, "__tiledb_attr.rain.add_offset": { type: "float64", value: 3 } }, { at: 1000 });
  await writeManifest(array);
});
after(() => rmSync(folder, { recursive: true }));

const link = (more = "") => `#url=${encodeURIComponent(`${data}grid`)}${more}`;

/** The JSON that a Python script prints. `v` has the cells of t = 1, `m` says which are missing. */
function python(script) {
  const code = `
import json, math, tiledb, numpy as np
with tiledb.open(${JSON.stringify(join(folder, "grid"))}) as array:
    cells = array[1]
rain = np.where(cells["rain"] == -1, np.nan, cells["rain"] * 0.5 + 3)
heat = cells["heat"].astype("f8")
long = cells["long"]
${script}`;
  return JSON.parse(execFileSync(HYPERSLAB_PYTHON, ["-c", code], { encoding: "utf8" }));
}

/** The pixel in the middle of a cell of the picture, by its column and row. */
async function pixel(page, column, row) {
  const box = await page.locator("#picture").boundingBox();
  const side = 0.96 * Math.min(box.width, box.height) / 20;
  return [box.x + box.width / 2 + (column - 9.5) * side, box.y + box.height / 2 + (row - 9.5) * side];
}

async function drag(page, from, to) {
  await page.mouse.move(...await pixel(page, ...from));
  await page.mouse.down();
  await page.mouse.move(...await pixel(page, ...to), { steps: 3 });
  await page.mouse.up();
  await settled(page);
}

async function statistics(page) {
  const rows = await page.$$eval("#statistics tr", (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  return Object.fromEntries(rows.map(([name, value]) => [name, /^[-\d.,e]+$/.test(value) ? Number(value.replaceAll(",", "")) : value]));
}

const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1e-12 * Math.max(1, Math.abs(b)), `${what}: ${a}, not ${b}`);

test("a box that is drawn with Shift has the statistics of numpy", async () => {
  const { page, errors } = await visit(link("&@t=1&attr=rain"));
  await page.keyboard.hold(["Shift"], () => drag(page, [12, 8], [3, 2]));
  const found = await statistics(page);
  const box = python(`b = rain[2:9, 3:13]\nprint(json.dumps([int(np.isfinite(b).sum()), int(np.isnan(b).sum()), np.nanmin(b), np.nanmax(b), np.nanmean(b), np.nanstd(b), np.nansum(b)]))`);
  const names = ["Cells with a value", "Cells without", "Lowest", "Highest", "Mean", "Standard deviation", "Sum"];
  names.forEach((name, i) => near(found[name], box[i], name));
  assert.equal(found["Unit"], "mm");
  assert.match(await page.textContent("#statistics b"), /^y 7 … 13, x -7 … 2$/);
  await page.evaluate(() => { navigator.clipboard.writeText = async (text) => { document.body.dataset.copied = text; }; });
  await page.click(["#statistics button", "Copy"]);
  assert.match(await page.evaluate(() => document.body.dataset.copied), /^Cells with a value\t\d+\nCells without\t\d+\nLowest\t[\d.]+\n/);
  await shot(page, "statistics");
  // The same box of other cells.
  await page.selectOption("#attribute", "heat");
  await settled(page);
  const heat = await statistics(page);
  const other = python(`b = heat[2:9, 3:13]\nprint(json.dumps([int(np.isfinite(b).sum()), int(np.isnan(b).sum()), np.nanmin(b), np.nanmax(b), np.nanmean(b), np.nanstd(b), np.nansum(b)]))`);
  // Ends are the shortest text of 32-bit floats.
  names.forEach((name, i) => near(/est$/.test(name) ? Math.fround(heat[name]) : heat[name], other[i], name));
  await page.waitForFunction(() => location.hash.includes("box=3%2C2%2C12%2C8"));
  assert.deepEqual(await errors(), []);
});

test("a box is entered by its coordinates, and sums of 64-bit integers are exact", async () => {
  const { page, errors } = await visit(link("&@t=1&attr=long"));
  await page.check("#measure input[value=box]");
  for (const [name, value] of [["x from", -9], ["x to", 8], ["y from", 6], ["y to", 23]]) await page.fill(`#measure input[name="${name}"]`, String(value));
  await page.press(`#measure input[name="y to"]`, "Enter");
  await settled(page);
  const rows = Object.fromEntries(await page.$$eval("#statistics tr", (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.replaceAll(",", "")))));
  const box = python(`b = long[1:19, 1:19]\nv = [int(i) for i in np.asarray(b.data if hasattr(b, "data") else b).ravel()]\nk = [bool(i) for i in (~np.ma.getmaskarray(b)).ravel()]\ns = [v for v, k in zip(v, k) if k]\nprint(json.dumps([str(len(s)), str(len(k) - len(s)), str(min(s)), str(max(s)), str(sum(s))]))`);
  assert.deepEqual(["Cells with a value", "Cells without", "Lowest", "Highest", "Sum"].map((name) => rows[name]), box);
  assert.ok(BigInt(rows["Sum"]) > 2n ** 60n);
  await page.fill(`#measure input[name="y to"]`, "north");
  await page.press(`#measure input[name="y to"]`, "Enter");
  assert.match(await page.textContent("#measure [role=alert]"), /Enter a number in each field: coordinates of x and y/);
  assert.deepEqual(await errors(), []);
});

test("a line has the values of the nearest cells, and is saved as CSV", async () => {
  const { page, errors } = await visit(link("&@t=1&attr=rain"));
  await page.check("#measure input[value=line]");
  await drag(page, [2, 3], [15, 9]);
  await page.waitForSelector("#line");
  const { path } = await downloaded(page, ["#line button", "Save CSV"]);
  const saved = readFileSync(path, "utf8").trim().split("\r\n").map((row) => row.split(","));
  assert.deepEqual(saved[0], ["y", "x", "rain"]);
  const line = python(`
p = [(math.floor(3 + 6 * i / 13 + .5), math.floor(2 + 13 * i / 13 + .5)) for i in range(14)]
print(json.dumps([[r + 5, c - 10, None if math.isnan(rain[r, c]) else float(rain[r, c])] for r, c in p]))`);
  assert.deepEqual(saved.slice(1).map(([y, x, value]) => [Number(y), Number(x), value === "" ? null : Number(value)]), line);
  const chart = await page.locator("#line svg").boundingBox();
  await page.mouse.move(chart.x + ((8 + (12 / 13) * 504) / 520) * chart.width, chart.y + 50);
  const [y, x, value] = line[12];
  assert.notEqual(value, null);
  assert.equal(await page.textContent("#line-value"), `y ${y}, x ${x}: ${value} mm`);
  // The same value by keyboard.
  await page.focus("#line svg");
  for (const key of ["End", "ArrowLeft"]) await page.keyboard.press(key);
  assert.equal(await page.textContent("#line-value"), `y ${y}, x ${x}: ${value} mm`);
  assert.equal(await page.getAttribute("#line svg", "aria-valuetext"), `y ${y}, x ${x}: ${value} mm`);
  await shot(page, "line");
  await page.reload();
  await settled(page);
  assert.equal(await page.locator("#line").count(), 1, "the link keeps the line");
  assert.deepEqual(await errors(), []);
});

test("a box of too many cells is refused, and a long read can be stopped", async () => {
  const dims = ["y", "x"].map((name) => ({ name, type: "int32", domain: [0, 19_999], tile: 1000 }));
  const array = await create(join(folder, "vast"), { type: "dense", dims, attrs: [{ name: "v", type: "int8" }] }, { at: 1 });
  await put(array, [[0, 99], [0, 99]], new Int8Array(10_000).fill(3), { at: 1000 });
  await writeManifest(array);
  const { page } = await visit(`#url=${encodeURIComponent(`${data}vast`)}&box=0,0,19999,19999`);
  await page.waitForSelector("#statistics [role=alert]");
  assert.match(await page.textContent("#statistics [role=alert]"), /This box has 400,000,000 cells; at most 100,000,000 are measured. Choose a smaller box/);
  await page.evaluate(() => { location.hash = location.hash.replace(/box=[^&]*/, "box=0%2C0%2C9999%2C9999"); });
  await page.waitForFunction(() => document.querySelector("#statistics progress")?.value > 0);
  // The link does not wait for the measurement.
  await page.selectOption("#colours", "magma");
  await page.waitForFunction(() => location.hash.includes("map=magma"));
  assert.equal(await page.locator("#statistics progress").count(), 1, "the box is still being read");
  await page.click(["#statistics button", "Stop"]);
  await settled(page);
  const { "Cells with a value": count, "Cells without": missing } = await statistics(page);
  assert.match(await page.textContent("#statistics"), /Stopped/);
  assert.ok(count + missing > 0 && count + missing < 100_000_000, `${count + missing} cells`);
});
