// The layers for deck.gl, in a page: pixels and picked cells are compared with what `get` and `query` return.
import assert from "node:assert/strict";
import { build } from "esbuild";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";
import { distFiles } from "./dist.mjs";
import { serve } from "./serve.mjs";

const here = fileURLToPath(new URL("..", import.meta.url));
let page;
let server;

before(async () => {
  const { outputFiles } = await build({ entryPoints: ["test/deck-page.js"], bundle: true, write: false, format: "esm", absWorkingDir: here, outdir: ".", logLevel: "error" });
  const files = new Map([["page.js", outputFiles[0].contents], ["index.html", Buffer.from(`<!doctype html><link rel="icon" href="data:,"><script type="module" src="page.js"></script>`)]]);
  for (const [name, bytes] of await distFiles()) if (name.endsWith(".wasm")) files.set(name, bytes);
  server = await serve(files, { listing: "none" });
  page = await launch();
  await page.visit(`${server.url}/index.html`);
  await page.wait("return globalThis.scenarios ? true : undefined");
});
after(async () => {
  await page?.close();
  await server?.close();
});

/** An opaque gray. */
const gray = (value) => [value, value, value, 255];

/** Runs a scenario of the page. */
async function run(name) {
  const found = await page.runAsync(`scenarios["${name}"]().then(done, (error) => done({ error: String(error.stack ?? error) }))`);
  assert.equal(found?.error, undefined);
  return found;
}

test("draws each cell in its colour, and none for null, NaN and fill values", async () => {
  assert.deepEqual(await run("cells"), []);
});

test("draws the level that suits the view, whose factors differ by axis and do not divide the array", async () => {
  const { factors, coarse, outside, drawn, picked, fine } = await run("levels");
  assert.deepEqual(factors, [[1, 1], [2, 3]]);
  // Pixel x is cell 4 · (x - 20) + 50 + 2 of the array.
  assert.deepEqual(coarse, [[0, 0, 0, 0], gray(200 + 6), gray(200 + 25)]);
  assert.deepEqual([outside, drawn], [[0, 0, 0, 0], [[1, [3, 2]]]]);
  assert.deepEqual(picked, { value: 233, factor: 3, factors: [3, 2], coordinates: { x: 99, y: 49 } });
  assert.deepEqual(fine, []);
});

test("changes ranges, scales, colours and packing without a read", async () => {
  const { linear, log, packed, category, viridis, ends, flat, reads } = await run("colours");
  const steps = [0, 2, 25, 255].map(gray);
  assert.deepEqual([linear, packed], [steps, steps]);
  assert.deepEqual(log, [0, 85, 170, 255].map(gray));
  assert.deepEqual(category, [0, 1, 2, 3].map(() => [0, 255, 0, 255]), "powers of ten are 1 modulo 3");
  assert.deepEqual(ends, [68, 1, 84, 255, 253, 231, 37, 255]);
  assert.deepEqual([viridis[0], viridis[3]], [ends.slice(0, 4), ends.slice(4)]);
  assert.deepEqual([flat, reads], [[128, 128, 128, 128].map(gray), 0]);
});

test("adds channels, and draws three bands as they are", async () => {
  const { rgb, added, values, coordinates } = await run("channels");
  assert.deepEqual([rgb, added], [[100, 50, 200, 255], [255, 128, 128, 255]]);
  assert.deepEqual([values, coordinates], [[100, 200], { band: 0, y: 2, x: 1 }]);
});

test("reads channels that are far apart without those between them", async () => {
  const { color, planes } = await run("farChannels");
  assert.deepEqual(color, [55, 60, 250, 255]);
  assert.ok(planes >= 3 && planes < 4, `${planes} planes were read`);
});

test("draws cells of several values, transposed arrays and arrays with one dimension", async () => {
  const { rgb, turned, line } = await run("layouts");
  assert.deepEqual([rgb, turned, line], [[7 * 27, 7 * 28, 7 * 29, 255], [], []]);
});

test("places cells upwards, and on a map by degrees from 0 to 360", async () => {
  const { up, picked, map } = await run("places");
  assert.deepEqual([up, picked], [[], [3, 0]]);
  for (const [difference, value] of map) assert.ok(Math.abs(difference) <= 1 && value === 0, JSON.stringify(map));
});

test("picks stored values with their coordinates", async () => {
  assert.deepEqual(await run("picking"), [
    [`{"t":8,"x":23,"y":10}`, String(2n ** 60n + 1n + 16n + 3n)],
    [`{"t":8,"x":21,"y":11}`, "null"],
  ]);
});

test("keeps the picture until that of another time has come, and aborts reads of times in between", async () => {
  const { busy: [most, last], ...found } = await run("times");
  assert.deepEqual(found, { first: 50, meanwhile: 50, waiting: true, aborted: true, still: 50, last: 150 });
  assert.ok(most >= 4 && last === 0, `${most} ${last}`);
});

test("tells once that a tile cannot be read, and tries it again when it comes back into view", async () => {
  assert.deepEqual(await run("failures"), { said: [true, true], empty: [0, 0, 0, 0], again: [9, 9, 9, 255] });
});

test("tells once which props do not fit the array", async () => {
  assert.deepEqual(await run("mistakes"), [
    "the array has no attribute 'w'; it has v",
    "the array has no dimension 'z', which the prop 'x' names; it has y, x",
    "the prop 'place' must be six numbers that map cells to different places, not [0, 0, 0, 0, 0, 0]",
    "`levels` is empty; give an array, or the result of levels()",
    "there is no colour map 'jet'; choose one of gray, terrain, viridis, magma, inferno, cividis, turbo, RdBu, tab20, or give colours as a Uint8Array",
    "the array has no dimension 'c', which a channel names; it has y, x",
  ]);
});

test("reads nothing if the cells in view do not fit in the cache", async () => {
  assert.deepEqual(await run("tooMany"), { views: [true, false], empty: [0, 0, 0, 0], near: [0, 0, 0, 255] });
});

test("hands out the values in view, unpacked and without fill values", async () => {
  const { done, values } = await run("data");
  const odd = Array.from({ length: 50 }, (_, i) => i).filter((i) => i % 2 === 1);
  assert.deepEqual([done, values], [true, odd.map((i) => 2 * i)]);
});

test("takes props from a description", async () => {
  const { samples, grid, valid } = await run("described");
  assert.deepEqual(samples, [5 * 18, 5 * 19, 5 * 20, 255]);
  assert.deepEqual(grid, {
    attribute: "v", x: "x", y: "y", first: { time: 4 }, stride: {}, place: [10, 0, 0, 0, -10, 45], decode: { scale: 0.5, offset: 1 },
    missing: [7], valid: [5, null], scale: "category", colors: [0, 0, 255, 255, 0, 0, 0, 0, 0, 255, 0, 255],
  }, "JSON has null for infinity");
  assert.deepEqual(valid, []);
});

test("draws points of a query by colour and size, and picks their fields", async () => {
  const { colours, between, object, rows, some, narrow, rgb, counts } = await run("points");
  assert.deepEqual(colours, [gray(0), gray(128), gray(253), [255, 0, 0, 255]]);
  assert.deepEqual([between, object, rows], [[0, 0, 0, 0], { x: 30, y: 10, v: 50, kind: "owl" }, [[50, 99], [70, null]]]);
  assert.deepEqual(some, [false, true, true], "the condition leaves out 30, and the point at 50 has a radius of 9");
  assert.deepEqual([narrow, counts], [2, [[4, true, false], [1, true, false], [2, true, true], [2, true, false]]]);
  assert.deepEqual(rgb, [[0, 0, 0, 255], [128, 3, 3, 255]]);
});

test("follows the view with its query", async () => {
  assert.deepEqual(await run("follow"), [41, 30]);
});

test("sends values to the GPU once", async () => {
  const { cells, points, styles, moved } = await run("uploads");
  assert.ok(cells === 4 * 4096 && points >= 5000 * 4 * 4, `${cells} ${points}`);
  assert.deepEqual([styles, moved], [0, 0]);
});
