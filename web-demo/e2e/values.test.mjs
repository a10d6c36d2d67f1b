// Checks the values that the viewer shows, in arrays with known cells.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { HYPERSLAB, isBlank, requests, SITE_DIR, serve, settled, shot, visit } from "./page.mjs";

const { create, createGroup, open, put, putMembers, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const folder = mkdtempSync(join(tmpdir(), "viewer-"));
let data;

before(async () => { data = await serve(folder); });
after(() => rmSync(folder, { recursive: true }));

const path = (name) => join(folder, name);
const link = (name, more = "") => `#url=${encodeURIComponent(`${data}${name}`)}${more}`;

async function made(name, type, dims, attrs) {
  return create(path(name), { type, dims, attrs }, { at: 1 });
}

/** Writes the manifest, so that the page makes no failing requests, which Chromium would log. */
async function indexed(...names) {
  for (const name of names) await writeManifest(await open(path(name)));
}

/** Writes metadata: text, or numbers of a type. */
function setMeta(name, key, value, type) {
  execFileSync(HYPERSLAB, ["meta", path(name), "set", ...(type ? ["--type", type] : []), key, "--", value]);
}

/** The text for the cell at these fractions of the picture. */
async function cursorText(page, across, down) {
  const box = await page.locator("#picture").boundingBox();
  await page.mouse.move(box.x + box.width * across, box.y + box.height * down);
  return page.textContent("#cursor");
}

async function zoomIn(page, across, down, times) {
  await cursorText(page, across, down);
  for (let i = 0; i < times; i++) await page.mouse.wheel(0, -500);
  await settled(page);
}

const HIGH = 2000;
const square = [{ name: "y", type: "int32", domain: [1, HIGH], tile: 500 }, { name: "x", type: "int32", domain: [1, HIGH], tile: 500 }];

/** An array with an overview. Of the first 500 rows, only 101 and 102 are written. Each written cell has the number of its row. */
async function withCopy(name) {
  const array = await made(name, "dense", square, [{ name: "v", type: "int32" }]);
  for (const [from, to] of [[101, 102], [501, HIGH]]) {
    const rows = Int32Array.from({ length: (to - from + 1) * HIGH }, (_, i) => from + Math.floor(i / HIGH));
    await put(array, [[from, to], [1, HIGH]], rows, { at: 1000 });
  }
  execFileSync(HYPERSLAB, ["overviews", path(name), "--factors", "2"]);
  await indexed(name, `${name}.2`);
}

test("cells of an overview are shown as means, at the right place", async () => {
  await withCopy("rows");
  const { page, errors } = await visit(link("rows"));
  await shot(page, "overview");
  const [, y, v] = /^y (\d+), x \d+: ([\d,]+) \(mean of 2 × 2 cells\)$/.exec(await cursorText(page, 0.5, 0.7));
  assert.ok(Math.abs(Number(v.replace(",", "")) - Number(y)) <= 1, `row ${y} is cursorText as ${v}`);
  assert.match(await page.textContent("#level"), /mean of 2 × 2 cells/);
  // Inside the overview's domain, and above it.
  for (const down of [0.1, 0.04]) {
    assert.match(await cursorText(page, 0.5, down), /^y \d+, x \d+: no data$/);
    assert.ok(await isBlank(page, 0.5, down));
  }
  await zoomIn(page, 0.5, 0.7, 8);
  const [, row, value] = /^y (\d+), x \d+: ([\d,]+)$/.exec(await cursorText(page, 0.5, 0.7));
  assert.equal(value.replace(",", ""), row);
  assert.equal(await page.textContent("#level"), "");
  assert.deepEqual(await errors(), []);
});

test("a coarser level does not show through cells without a value", async () => {
  const { page, errors } = await visit(link("rows"));
  // Row 500 was not written. The overview has the mean of rows 500 and 501 there.
  await zoomIn(page, 0.5, 0.26, 12);
  const places = Array.from({ length: 90 }, (_, i) => 0.02 + i / 100);
  let [row, place] = ["", 0];
  while (!row.startsWith("y 500,") && places.length > 0) row = await cursorText(page, 0.5, (place = places.shift()));
  assert.match(row, /: -2,147,483,648 \(fill value\)$/);
  assert.ok(await isBlank(page, 0.5, place));
  assert.deepEqual(await errors(), []);
});

test("unwritten cells are blank and labelled as fill values", async () => {
  const array = await made("corner", "dense", square.map((d) => ({ ...d, domain: [1, 8], tile: 4 })), [{ name: "v", type: "int32" }]);
  await put(array, [[1, 8], [1, 4]], Int32Array.from({ length: 32 }, (_, i) => i), { at: 1000 });
  await indexed("corner");
  const { page, errors } = await visit(link("corner"));
  assert.match(await cursorText(page, 0.6, 0.5), /: -2,147,483,648 \(fill value\)$/);
  assert.ok(await isBlank(page, 0.6, 0.5));
  assert.match(await cursorText(page, 0.4, 0.5), /: \d+$/);
  assert.equal(await page.textContent("#legend-lo"), "0");
  assert.deepEqual(await errors(), []);
});

test("only overviews of the shown time are drawn", async () => {
  await withCopy("changed");
  const copied = Date.now();
  const whole = new Int32Array(HIGH * HIGH);
  // The overview is later than the array.
  await put(await open(path("changed.2")), null, new Int32Array(951 * 1001).fill(77), { at: copied + 10 });
  await put(await open(path("changed")), null, whole.fill(-5), { at: copied + 20 });
  await new Promise((done) => setTimeout(done, 50));
  await indexed("changed", "changed.2");
  const values = {};
  for (const at of ["", `&at=${copied}`, "&at=2000"]) {
    const { page, errors } = await visit(link("changed", at));
    values[at] = await cursorText(page, 0.5, 0.7);
    assert.deepEqual(await errors(), []);
  }
  assert.match(values[""], /: -5$/);
  assert.match(values[`&at=${copied}`], /: 1,[\d]+ \(mean of 2 × 2 cells\)$/);
  assert.match(values["&at=2000"], /: 1,[\d]+$/);
});

test("overviews that merge positions of a slider are not drawn", async () => {
  const dims = [{ name: "t", type: "int32", domain: [0, 3], tile: 4 }, ...square];
  const array = await made("cube", "dense", dims, [{ name: "v", type: "uint8" }]);
  const step = (t) => new Uint8Array(HIGH * HIGH).fill(10 + 10 * t);
  for (const t of [0, 1, 2, 3]) await put(array, [[t, t], null, null], step(t), { at: 1000 + t });
  execFileSync(HYPERSLAB, ["overviews", path("cube"), "--factors", "2,2,2"]);
  await indexed("cube", "cube.2x2x2");
  const { page, errors } = await visit(link("cube"));
  await page.locator("#axes input").fill("3");
  await settled(page);
  assert.match(await cursorText(page, 0.5, 0.5), /: 40$/);
  assert.deepEqual(await errors(), []);
});

test("nulls are blank whatever value is stored for them", async () => {
  const dims = square.map((d) => ({ ...d, domain: [1, 4], tile: 4 }));
  const array = await made("nulls", "dense", dims, [{ name: "v", type: "int32", nullable: true }]);
  const values = Int32Array.from({ length: 16 }, (_, i) => (i % 4 < 2 ? i : 1000));
  await put(array, null, { v: { values, validity: Uint8Array.from(values, (v) => Number(v < 1000)) } }, { at: 1000 });
  await indexed("nulls");
  const { page, errors } = await visit(link("nulls"));
  assert.match(await cursorText(page, 0.6, 0.5), /: no data$/);
  assert.ok(await isBlank(page, 0.6, 0.5));
  assert.ok(!(await isBlank(page, 0.4, 0.5)));
  assert.equal(await page.textContent("#legend-hi"), "13");
  assert.deepEqual(await errors(), []);
});

test("64-bit integers are shown exactly, at each time", async () => {
  const dims = square.map((d) => ({ ...d, domain: [1, 4], tile: 4 }));
  const array = await made("long", "dense", dims, [{ name: "v", type: "int64" }]);
  await put(array, null, new BigInt64Array(16).fill(9007199254740993n), { at: 1000 });
  await put(array, null, new BigInt64Array(16).fill(9007199254740995n), { at: 2000 });
  await indexed("long");
  const { page, errors } = await visit(link("long"));
  assert.match(await cursorText(page, 0.5, 0.5), /: 9,007,199,254,740,995$/);
  await page.locator("#moment").fill("0");
  await settled(page);
  // The pointer has not moved.
  assert.match(await page.textContent("#cursor"), /: 9,007,199,254,740,993$/);
  assert.deepEqual(await errors(), []);
});

test("enumerations are shown as labels, and date types as dates", async () => {
  const dims = [{ name: "day", type: "datetime_day", domain: ["1969-12-30", "1970-01-08"], tile: 10 }, { name: "x", type: "int32", domain: [0, 9], tile: 10 }];
  const enumerations = [{ name: "kinds", type: "string_utf8", values: ["élan", "hart"] }];
  const attrs = [
    { name: "kind", type: "int8", enumeration: "kinds", nullable: true },
    { name: "seen", type: "datetime_us" }, { name: "born", type: "datetime_month" }, { name: "took", type: "time_ns" },
  ];
  const array = await create(path("kinds"), { type: "sparse", dims, attrs, enumerations }, { at: 1 });
  await put(array, null, {
    day: BigInt64Array.of(-1n, 1n, 3n), x: Int32Array.of(2, 4, 8),
    kind: { values: Int8Array.of(1, 0, 0), validity: Uint8Array.of(1, 1, 0) },
    seen: BigInt64Array.of(-1n, 1_500_000n, 0n), born: BigInt64Array.of(-1n, 13n, 0n), took: BigInt64Array.of(5n, 6n, 7n),
  }, { at: 1000 });
  await indexed("kinds");
  const tips = {
    "&x=2&y=-1": "x2; day1969-12-31; kindhart; seen1969-12-31 23:59:59.999999; born1969-12; took5 ns",
    "&x=4&y=1": "x4; day1970-01-02; kindélan; seen1970-01-01 00:00:01.5; born1971-02; took6 ns",
    "&x=8&y=3": "x8; day1970-01-04; seen1970-01-01 00:00; born1970-01; took7 ns",
  };
  for (const [place, tip] of Object.entries(tips)) {
    const { page, errors } = await visit(link("kinds", `${place}&z=80`));
    const cursor = await cursorText(page, 0.5, 0.5);
    assert.match(cursor, /^x \d\.\d{3}, day 19(69|70)-\d\d-\d\d · /);
    await settled(page);
    assert.equal((await page.locator("#tip tr").allTextContents()).join("; "), tip);
    assert.match(await page.textContent("#facts"), /datetime_day, 1969-12-30 … 1970-01-08.*enumeration kinds/);
    await shot(page, "labels");
    assert.deepEqual(await errors(), []);
  }
});

test("points with whole coordinates are found at every zoom", async () => {
  const dims = [{ name: "x", type: "int32", domain: [0, 1000], tile: 100 }, { name: "y", type: "int64", domain: [0, 1000], tile: 100 }];
  const array = await made("points", "sparse", dims, [{ name: "length", type: "float64" }]);
  const points = { x: Int32Array.of(500, 500, 10), y: BigInt64Array.of(500n, 501n, 10n), length: Float64Array.of(1, NaN, 3) };
  await put(array, null, points, { at: 1000 });
  await indexed("points");
  const { page, errors } = await visit(link("points"));
  assert.match(await cursorText(page, 0.4, 0.4), /3 points/);
  assert.equal(await page.textContent("#legend-hi"), "3");
  await zoomIn(page, 0.5, 0.5, 6);
  assert.match(await cursorText(page, 0.4, 0.4), /2 points/);
  assert.ok(await page.locator("#message").isHidden());
  assert.deepEqual(await errors(), []);
});

test("the page says why an array cannot be drawn", async () => {
  const dims = [{ name: "a", type: "int32", domain: [0, 1], tile: 2 }, { name: "b", type: "int32", domain: [0, 1], tile: 2 }];
  const words = await made("words", "dense", dims, [{ name: "w", type: "string_utf8" }]);
  await put(words, null, { w: ["a", "b", "c", "d"] }, { at: 1000 });
  await indexed("words");
  const { page, errors } = await visit(link("words"));
  assert.match(await page.textContent("#message"), /cannot be drawn: no attribute has one number per cell/);
  assert.deepEqual(await errors(), []);
});

test("nodata values are blank and not in the legend", async () => {
  const dims = square.map((d) => ({ ...d, domain: [1, 4], tile: 4 }));
  const declared = [
    ["a-fill", { type: "int16", fill: -9999 }],
    ["a-byte", { type: "uint8", fill: 9 }],
    ["cf", { type: "float32" }, ["__tiledb_attr.v._FillValue", "-9999.9", "float64"]],
    ["cf-list", { type: "int64" }, ["missing_value", "-9999,-9998", "int64"]],
    ["text", { type: "float64" }, ["nodata", "-9999"]],
  ];
  for (const [name, attr, meta] of declared) {
    const array = await made(name, "dense", dims, [{ name: "v", ...attr }]);
    const none = { "a-byte": 9, cf: -9999.9, "cf-list": -9998 }[name] ?? -9999;
    const values = Array.from({ length: 16 }, (_, i) => (i % 4 < 2 ? 10 + i : none));
    await put(array, null, attr.type === "int64" ? values.map(BigInt) : values, { at: 1000 });
    if (meta) setMeta(name, ...meta);
    await indexed(name);
    const { page, errors } = await visit(link(name));
    assert.ok(await isBlank(page, 0.6, 0.5), name);
    assert.ok(!(await isBlank(page, 0.4, 0.5)), name);
    assert.equal(await page.textContent("#legend-lo"), "10", name);
    assert.equal(await page.textContent("#legend-hi"), "23", name);
    assert.match(await cursorText(page, 0.6, 0.5), /: .*9(\.9)? \((fill value|no data)\)$|: -9,998 \(no data\)$/);
    assert.deepEqual(await errors(), []);
  }
});

test("slices and coordinates of axes beyond 2^53 are exact", async () => {
  const first = 2n ** 55n + 1n;
  const dims = ["z", "y", "x"].map((name) => ({ name, type: "int64", domain: [first, first + 3n], tile: 2 }));
  const array = await made("far", "dense", dims, [{ name: "v", type: "int32" }]);
  await put(array, null, Int32Array.from({ length: 64 }, (_, i) => i), { at: 1000 });
  await indexed("far");
  const { page, errors } = await visit(link("far"));
  await page.locator("#axes input").fill("3");
  await settled(page);
  assert.match(await page.textContent("#axes output"), /^36028797018963972$/);
  assert.equal(await cursorText(page, 0.55, 0.55), "y 36028797018963971, x 36028797018963971: 58");
  assert.deepEqual(await errors(), []);
});

test("the page says so if no cell in view has a value", async () => {
  const array = await made("unwritten", "dense", square.map((d) => ({ ...d, domain: [1, 4], tile: 4 })), [{ name: "v", type: "float64" }]);
  await put(array, null, new Float64Array(16).fill(NaN), { at: 1000 });
  await indexed("unwritten");
  const { page, errors } = await visit(link("unwritten"));
  assert.match(await page.textContent("#bare"), /nothing to draw here/);
  assert.ok(await page.locator("#bare").isVisible());
  assert.deepEqual(await errors(), []);
});

test("members of groups in groups are shown", async () => {
  const array = await made("outer/inner/rain", "dense", square.map((d) => ({ ...d, domain: [1, 4], tile: 4 })), [{ name: "v", type: "int32" }]);
  await put(array, null, Int32Array.from({ length: 16 }, (_, i) => i), { at: 1000 });
  await createGroup(path("outer/inner"));
  await putMembers(path("outer/inner"), { rain: "rain" });
  await createGroup(path("outer"));
  await putMembers(path("outer"), { inner: "inner" });
  const { page, errors } = await visit(link("outer"));
  assert.equal(await page.getAttribute("#tree", "open"), null);
  await page.click("#members li button");
  await page.waitForFunction(() => document.querySelector("#members li button")?.textContent.startsWith("rain"));
  await page.click("#members li button");
  await settled(page);
  assert.match(await cursorText(page, 0.55, 0.55), /^y 3, x 3: 10$/);
  // The tree stays, and is walked by keyboard.
  await page.focus("#tree [aria-label='Members of inner']");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#tree [aria-current=true]");
  assert.deepEqual(await page.locator("#tree .member").allTextContents(), ["outer", "inner", "rain"]);
  assert.equal(await page.textContent("#tree [aria-current=true]"), "rain");
  await shot(page, "tree");
  await page.click(["#tree .member", "inner"]);
  await page.waitForFunction(() => document.querySelector("#members li button")?.textContent.startsWith("rain"));
  assert.equal(await page.textContent("#tree [aria-current=true]"), "inner");
  await page.evaluate((hash) => { location.hash = hash; }, "#url=data/elevation/elevation");
  await page.waitForFunction(() => !document.querySelector("#tree"));
  await settled(page);
  assert.deepEqual(await errors(), []);
});

test("invalid parts of a link are ignored", async () => {
  const array = await made("plain", "dense", square.map((d) => ({ ...d, domain: [1, 8], tile: 4 })), [{ name: "v", type: "int32" }]);
  await put(array, null, Int32Array.from({ length: 64 }, (_, i) => i), { at: 1000 });
  await indexed("plain");
  const wrong = ["map=constructor", "map=__proto__", "attr=toString", "at=NaN", "at=-1", "at=1e999", "at=9007199254740993", "x=a&y=b&z=c", "x=1e308&y=-1e308&z=1e308", "x=1&y=1&z=-5", "x=1&y=1&z=0", "__proto__=1&constructor=2"];
  const { page, errors } = await visit(link("plain"));
  const follow = async (hash) => {
    await page.evaluate((hash) => (location.hash = hash), hash);
    await settled(page);
  };
  for (const part of wrong) {
    await follow(link("plain", `&${part}`));
    assert.ok(await page.locator("#message").isHidden(), part);
    await page.click("#fit");
    await settled(page);
    assert.match(await cursorText(page, 0.5, 0.5), /^y \d, x \d: \d+$/, part);
    assert.equal(await page.textContent("#legend-hi"), "63", part);
  }
  await follow("#url=http%3A%2F%2F%5B");
  assert.match(await page.textContent("#message"), /http:\/\/\[ is not a URL/);
  assert.deepEqual(await errors(), []);
});

test("overviews that are damaged or in another folder are ignored", async () => {
  const other = await serve(folder);
  const array = await made("deep/many", "dense", square, [{ name: "v", type: "int32" }]);
  await put(array, null, Int32Array.from({ length: HIGH * HIGH }, (_, i) => 1 + Math.floor(i / HIGH)), { at: 1000 });
  execFileSync(HYPERSLAB, ["overviews", path("deep/many"), "--factors", "2"]);
  mkdirSync(path("deep/broken/__schema"), { recursive: true });
  writeFileSync(path("deep/broken/__schema/__1_1_0123456789abcdef0123456789abcdef"), "no schema");
  const paths = ["../broken", "http://[", `${other}deep/many.2`, "../../outside", "../../../etc", "//elsewhere.invalid/x", "../many.2"];
  setMeta("deep/many", "overviews", JSON.stringify([...paths.map((path) => ({ factor: 2, path })), { factor: 4, path: 5 }, null]));
  await indexed("deep/many", "deep/many.2");
  const { page } = await visit();
  const first = requests.length;
  await page.goto(`${new URL(await page.url()).origin}/${link("deep/many")}`);
  await page.reload();
  await settled(page);
  assert.ok(await page.locator("#message").isHidden());
  assert.match(await cursorText(page, 0.5, 0.7), /\(mean of 2 × 2 cells\)$/);
  const named = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
  const strange = [...named, ...requests.slice(first).map(({ url }) => url)].filter((url) => url.startsWith(other) || /outside|etc|elsewhere/.test(url));
  assert.deepEqual(strange, []);
});

test("names are shown as text, and inline scripts are blocked", async () => {
  const name = "<img src=x onerror=document.title='run'>";
  const dims = square.map((d, i) => ({ ...d, name: name + i, domain: [1, 4], tile: 4 }));
  const array = await made("html", "sparse", dims, [name, "constructor"].map((name) => ({ name, type: "int32" })));
  const fields = [...dims.map((d) => d.name), name, "constructor"];
  await put(array, null, Object.fromEntries(fields.map((field) => [field, Int32Array.of(1, 3)])), { at: 1000 });
  await indexed("html");
  const { page, errors } = await visit(link("html"));
  assert.equal(await page.locator("#facts img, #controls img, #tip img, #status img").count(), 0);
  assert.ok((await page.textContent("#facts")).includes(name));
  assert.deepEqual(await page.locator("#attribute option").allTextContents(), [name, "constructor"]);
  await page.selectOption("#attribute", "constructor");
  await settled(page);
  assert.equal(await page.textContent("#legend-hi"), "3");
  assert.equal(await page.title(), "Hyperslab viewer");
  const policy = await page.getAttribute("meta[http-equiv]", "content");
  assert.match(policy, /default-src 'none'; script-src 'self' 'wasm-unsafe-eval';/);
  assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval'.*unsafe-eval|'unsafe-eval'/);
  assert.deepEqual(await errors(), []);
});
