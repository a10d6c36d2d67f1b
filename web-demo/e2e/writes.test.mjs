// The strip of writes: fragments as tiledb-py lists them, their boxes, and the write that each cell came from.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { SITE_DIR, serve, settled, shot, visit } from "./page.mjs";

const { consolidate, create, open, put, vacuum, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const { HYPERSLAB_PYTHON } = process.env;
assert.ok(HYPERSLAB_PYTHON, "HYPERSLAB_PYTHON must be set; `cargo xtask test viewer` sets it");
const folder = mkdtempSync(join(tmpdir(), "writes-"));
let data;

const SIDE = 8;
const BOXES = [[[10, 17], [-4, 3]], [[11, 14], [-3, 1]], [[13, 13], [-4, 3]], [[12, 15], [0, 0]]];

before(async () => { data = await serve(folder); });
after(() => rmSync(folder, { recursive: true }));

/** An array whose cells have the number of the write that they came from. */
async function made(name) {
  const dims = [{ name: "y", type: "int64", domain: [10, 17], tile: 3 }, { name: "x", type: "int64", domain: [-4, 3], tile: 3 }];
  const array = await create(join(folder, name), { type: "dense", dims, attrs: [{ name: "v", type: "int32" }] }, { at: 1 });
  for (const [i, box] of BOXES.entries()) {
    await put(array, box, new Int32Array(box.reduce((size, [low, high]) => size * (high - low + 1), 1)).fill(i + 1), { at: 1000 * (i + 1) });
  }
  await writeManifest(array);
  return open(join(folder, name));
}

function python(name, script) {
  return JSON.parse(execFileSync(HYPERSLAB_PYTHON, ["-c", `import json, tiledb\nuri = ${JSON.stringify(join(folder, name))}\n${script}`], { encoding: "utf8" }));
}

async function pixel(page, column, row) {
  const box = await page.locator("#picture").boundingBox();
  const side = 0.96 * Math.min(box.width, box.height) / SIDE;
  return [box.x + box.width / 2 + (column - SIDE / 2 + 0.5) * side, box.y + box.height / 2 + (row - SIDE / 2 + 0.5) * side];
}

test("each cell names the write that it came from, which is the one whose value tiledb-py reads", async () => {
  await made("grid");
  const { page, errors } = await visit(`#url=${encodeURIComponent(`${data}grid`)}`);
  await page.check("#show-writes");
  const cells = python("grid", `with tiledb.open(uri) as array: print(json.dumps(array[:]["v"].tolist()))`);
  // The strip hides the last rows.
  for (let row = 0; row < 6; row++) {
    for (let column = 0; column < SIDE; column++) {
      await page.mouse.move(...await pixel(page, column, row));
      await page.waitForFunction((start) => document.getElementById("cursor").textContent.startsWith(start), `y ${row + 10}, x ${column - 4}: `);
      const write = cells[row][column];
      assert.equal(await page.textContent("#origin"), `Under the pointer: written at 1970-01-01 00:00:0${write} (write ${write})`);
    }
  }
  await page.locator("#moment").fill("1");
  await settled(page);
  await page.mouse.move(...await pixel(page, 2, 3));
  await page.waitForFunction(() => document.getElementById("origin").textContent.endsWith("(write 2)"));
  assert.deepEqual(await errors(), []);
});

test("a mark and the slider show the time, the cells and the box of a write", async () => {
  await made("boxes");
  const { page, errors } = await visit(`#url=${encodeURIComponent(`${data}boxes`)}`);
  await page.check("#show-writes");
  const found = python("boxes", `f = tiledb.array_fragments(uri)\nprint(json.dumps([[int(t[0]), int(n), [[int(a), int(b)] for a, b in d]] for t, n, d in zip(f.timestamp_range, f.cell_num, f.nonempty_domain)]))`);
  assert.deepEqual(found.map(([, , box]) => box), BOXES);
  const bar = await page.locator("#writes svg").boundingBox();
  const box = await page.locator("#picture").boundingBox();
  for (const [i, [time, , [rows, columns]]] of found.entries()) {
    if (i % 2 === 0) await page.locator("#write-index").fill(String(i));
    else await page.mouse.move(bar.x + Math.min(bar.width - 2, bar.width * ((time - 1000) / 3000)), bar.y + 20);
    const text = `Write ${i + 1} of 4: 1970-01-01 00:00:0${time / 1000}, `;
    await page.waitForFunction((text) => document.getElementById("write").textContent.startsWith(text), text);
    const path = await page.getAttribute("#write-boxes path:last-child", "d");
    const [left, top, right, bottom] = path.match(/-?[\d.]+/g).map(Number);
    const [[x0, y0], [x1, y1]] = [await pixel(page, columns[0] + 4, rows[0] - 10), await pixel(page, columns[1] + 4, rows[1] - 10)];
    const half = (await pixel(page, 1, 0))[0] / 2 - (await pixel(page, 0, 0))[0] / 2;
    [[left, x0 - half - box.x], [top, y0 - half - box.y], [right, x1 + half - box.x], [bottom, y1 + half - box.y]].forEach(([is, should]) => assert.ok(Math.abs(is - should) < 0.01, `${path}: ${is}, not ${should}`));
    await page.mouse.move(bar.x, bar.y - 200);
  }
  await page.locator("#write-index").fill("1");
  await shot(page, "writes");
  assert.deepEqual(await errors(), []);
});

test("a cell of merged writes says so", async () => {
  const array = await made("merged");
  await consolidate(array);
  await vacuum(array);
  await writeManifest(await open(join(folder, "merged")));
  const { page } = await visit(`#url=${encodeURIComponent(`${data}merged`)}`);
  await page.check("#show-writes");
  await page.mouse.move(...await pixel(page, 2, 3));
  await page.waitForFunction(() => /written in a merge of writes from 1970-01-01 00:00:01 to 1970-01-01 00:00:04 \(write 1\)$/.test(document.getElementById("origin").textContent));
});

test("the writes of points have boxes, and a point names the newest write whose box holds it", async () => {
  const { page, errors } = await visit("#url=data/earthquakes/earthquakes");
  await page.check("#show-writes");
  await page.locator("#write-index").fill("3");
  await page.waitForFunction(() => document.getElementById("write").textContent.startsWith("Write 4 of 8: "));
  assert.match(await page.getAttribute("#write-boxes path:last-child", "d"), /^M.*Z$/);
  await shot(page, "writes-points");
  assert.deepEqual(await errors(), []);
});
