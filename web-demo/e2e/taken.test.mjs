// Code and files that users take away: for the cells in view, and for the values along an axis.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { HYPERSLAB, SITE_DIR, downloaded, serve, settled, shot, visit } from "./page.mjs";

const { create, open, put, putMeta, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const folder = mkdtempSync(join(tmpdir(), "taken-"));
let data;

before(async () => {
  data = await serve(folder);
  const dims = [{ name: "time", type: "int32", domain: [0, 3], tile: 2 }, { name: "y", type: "int32", domain: [10, 19], tile: 5 }, { name: "x", type: "int32", domain: [0, 9], tile: 5 }];
  const array = await create(join(folder, "rain"), { type: "dense", dims, attrs: [{ name: "rain", type: "int16", fill: -1 }] }, { at: 1 });
  const cells = Int16Array.from({ length: 400 }, (_, i) => (i === 155 ? -1 : i));
  await put(array, null, cells, { at: 1000 });
  await putMeta(array, { "__tiledb_attr.rain.units": "mm", "__tiledb_attr.rain.scale_factor": { type: "float64", value: 0.5 } }, { at: 1000 });
  await writeManifest(array);
  const points = await create(join(folder, "points"), { type: "sparse", dims: ["lat", "lon"].map((name) => ({ name, type: "float64", domain: [-90, 90], tile: 30 })), attrs: [{ name: "mag", type: "float64" }] }, { at: 1 });
  await put(points, null, { lat: Float64Array.of(1, 2, 80), lon: Float64Array.of(1, 2, -80), mag: Float64Array.of(4, 5, 3) }, { at: 1000 });
  await writeManifest(points);
});
after(() => rmSync(folder, { recursive: true }));

const link = (name, more = "") => `#url=${encodeURIComponent(`${data}${name}`)}${more}`;

/** Runs a line of the command line, and returns the file that it writes. Meanwhile this process serves the array. */
async function run(line) {
  const written = line.split(" ")[3];
  await promisify(execFile)("sh", ["-c", line], { cwd: folder, env: { ...process.env, PATH: `${dirname(HYPERSLAB)}:${process.env["PATH"]}` } });
  return readFileSync(join(folder, written));
}

/** The 16-bit values of a NumPy file. */
function values(npy) {
  const header = 10 + npy.readUInt16LE(8);
  return [npy.toString("latin1", 10, header), Array.from({ length: (npy.length - header) / 2 }, (_, i) => npy.readInt16LE(header + 2 * i))];
}

test("the lines of code and the saved file have the cells in view", async () => {
  // Four by four cells are in view.
  const { page, errors } = await visit(link("rain", "&@time=2&x=4&y=4&z=64"));
  const box = await page.locator("#picture").boundingBox();
  const [columns, rows] = [Math.min(10, Math.ceil(box.width / 64 / 2 + 4)), Math.min(10, Math.ceil(box.height / 64 / 2 + 4))];
  await page.click("#take-away summary");
  await page.waitForSelector("#take-away pre");
  const [command, mount, script, python] = await page.locator("#take-away pre").allTextContents();
  const select = `2,10:${10 + rows},0:${columns}`;
  assert.ok(mount.includes(`rain@${select}.npy`), mount);
  assert.ok(script.includes(`"${select}", { attrs: "rain" }`), script);
  assert.ok(python.includes(`array.multi_index[2, 10:${10 + rows - 1}, 0:${columns - 1}]["rain"]`), python);
  const [header, cells] = values(await run(command));
  assert.match(header, new RegExp(`'shape': \\(${rows}, ${columns}\\)`));
  assert.deepEqual(cells, Array.from({ length: rows * columns }, (_, i) => 200 + 10 * Math.floor(i / columns) + (i % columns)));
  const saved = await downloaded(page, ["button", "Save NumPy"]);
  assert.equal(saved.name, `rain.rain.${select.replaceAll(":", "-").replaceAll(",", "_")}.npy`);
  assert.deepEqual(values(readFileSync(saved.path)), [header, cells]);
  assert.deepEqual(await errors(), []);
});

test("lines are exact for 64-bit coordinates and for dates", async () => {
  const first = 2n ** 55n + 1n;
  const dims = {
    big: ["y", "x"].map((name) => ({ name, type: "int64", domain: [first, first + 9n], tile: 5 })),
    days: ["y", "x"].map((name) => ({ name, type: "datetime_ns", domain: ["2020-01-01T00:00:00.000000001", "2020-01-01T00:00:00.000000010"], tile: 5 })),
  };
  for (const [name, both] of Object.entries(dims)) {
    const array = await create(join(folder, name), { type: "dense", dims: both, attrs: [{ name: "v", type: "int16" }] }, { at: 1 });
    await put(array, null, Int16Array.from({ length: 100 }, (_, i) => i), { at: 1000 });
    await writeManifest(array);
    // Without its first row and column.
    const { page, errors } = await visit(link(name, "&x=10&y=10&z=54"));
    await page.click("#take-away summary");
    await page.waitForSelector("#take-away pre");
    const [command, , , python] = await page.locator("#take-away pre").allTextContents();
    const [, cells] = values(await run(command));
    const code = python.replace(/tiledb\.open\("[^"]*"/, `tiledb.open(${JSON.stringify(join(folder, name))}`);
    const read = execFileSync(process.env["HYPERSLAB_PYTHON"], ["-c", `import tiledb, json, numpy as np\n${code}\nprint(json.dumps(values.ravel().tolist()))`], { encoding: "utf8" });
    assert.deepEqual(JSON.parse(read), cells);
    assert.ok(cells.length < 100 && cells.at(-1) === 99, `${command}: ${cells}`);
    assert.deepEqual(await errors(), []);
  }
});

test("the line of points reads those in view that meet the condition", async () => {
  // The point that is out of view meets the condition, too.
  const { page, errors } = await visit(link("points", "&where=mag+%3C+4.5&x=0&y=0&z=20"));
  await page.click("#take-away summary");
  await page.waitForSelector("#take-away pre");
  const [command] = await page.locator("#take-away pre").allTextContents();
  assert.equal((await run(command)).toString(), "lat,lon,mag\n1.0,1.0,4.0\n");
  assert.deepEqual(await errors(), []);
});

test("the line of points with whole coordinates and dates has both ends", async () => {
  const array = await create(join(folder, "events"), { type: "sparse", dims: [{ name: "x", type: "int64", domain: [0, 3], tile: 2 }, { name: "day", type: "datetime_day", domain: ["2020-01-01", "2020-01-04"], tile: 2 }], attrs: [{ name: "v", type: "int32" }] }, { at: 1 });
  await put(array, null, { x: BigInt64Array.of(0n, 3n), day: ["2020-01-01", "2020-01-04"], v: Int32Array.of(1, 2) }, { at: 1000 });
  await writeManifest(array);
  const { page } = await visit(link("events"));
  await page.click("#take-away summary");
  await page.waitForSelector("#take-away pre");
  const [command, , python] = await page.locator("#take-away pre").allTextContents();
  assert.equal((await run(command)).toString(), "x,day,v\n0,2020-01-01,1\n3,2020-01-04,2\n");
  const code = python.replace(/tiledb\.open\("[^"]*"/, `tiledb.open(${JSON.stringify(join(folder, "events"))}`);
  const read = execFileSync(process.env["HYPERSLAB_PYTHON"], ["-c", `import tiledb, numpy as np\n${code}\nprint(len(columns["v"]))`], { encoding: "utf8" });
  assert.equal(read, "2\n");
});

test("the plan of a read says what it requests, before it runs", async () => {
  const shown = async (hash) => {
    const { page, errors } = await visit(hash);
    await page.click("#take-away summary");
    await page.waitForSelector("#plan");
    assert.deepEqual(await errors(), []);
    return page.textContent("#plan");
  };
  const { requests, tiles } = await (await open(join(SITE_DIR, "data/land/land"))).explain(undefined, { attrs: "land" });
  const found = /^Reading these cells takes ([\d,]+) requests for [\d.,]+ [KM]B, from ([\d,]+) tiles\.$/.exec(await shown("#url=data/land/land"));
  assert.deepEqual(found?.slice(1).map((count) => Number(count.replaceAll(",", ""))), [requests.length, tiles]);
  assert.match(await shown(link("rain")), /^Reading these cells requests nothing: \d+ tiles? of them (is|are) in the cache\.$/);
  assert.match(await shown(link("points")), /^Reading these cells (takes|requests) /);
});

test("a click shows the values along the axis with a slider, and a click there moves the slider", async () => {
  const { page, errors } = await visit(link("rain"));
  const box = await page.locator("#picture").boundingBox();
  await page.mouse.click(box.x + box.width / 2 + 5, box.y + box.height / 2 + 5);
  await settled(page);
  // Column 5 and row 5: the cells 55, 155 (missing), 255 and 355, each half a millimetre.
  assert.match(await page.textContent("#profile figcaption"), /^time at y 15, x 5.*0: 27\.5 mm/);
  assert.match(await page.textContent("#profile .ends"), /27\.5 mm … 177\.5 mm/);
  const chart = await page.locator("#profile svg").boundingBox();
  await page.mouse.move(chart.x + chart.width / 3, chart.y + 40);
  assert.match(await page.textContent("#profile-value"), /^1: no data$/);
  await page.mouse.click(chart.x + chart.width - 10, chart.y + 40);
  await settled(page);
  assert.match(await page.textContent("#axes output"), /^3$/);
  // Arrow keys move through the values, and Enter moves the slider as a click does.
  await page.focus("#profile svg");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  assert.match(await page.textContent("#profile-value"), /^1: no data$/);
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await page.textContent("#axes output"), /^1$/);
  await shot(page, "profile");
  assert.deepEqual(await errors(), []);
});
