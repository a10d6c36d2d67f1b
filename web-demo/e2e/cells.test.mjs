// Edits cells, rows and points: fills, single cells, and added, changed and deleted rows. libtiledb reads every moment.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";
import { SITE_DIR, downloaded, serve, settled, shot, stored, visit } from "./page.mjs";

const { create, put, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const folder = mkdtempSync(join(tmpdir(), "rows-"));
let data;

before(async () => {
  data = await serve(folder);
  const plane = ["y", "x"].map((name) => ({ name, type: "int32", domain: [0, 9], tile: 5 }));
  const fields = await create(join(folder, "fields"), { type: "dense", dims: plane, attrs: [{ name: "v", type: "uint8", nullable: true }] }, { at: 1 });
  // Two regions of ones that touch only at corners, and a null.
  await put(fields, null, { v: { values: Uint8Array.from({ length: 100 }, (_, i) => (i % 10 === Math.floor(i / 10) ? 9 : 1)), validity: Uint8Array.from({ length: 100 }, (_, i) => Number(i !== 2)) } }, { at: 1000 });
  await writeManifest(fields);
  const birds = await create(join(folder, "birds"), {
    type: "sparse", dims: [{ name: "id", type: "int64", domain: [0, 10 ** 6], tile: 1000 }],
    attrs: [{ name: "name", type: "string_utf8", cell: "var" }, { name: "mass", type: "float32", nullable: true }, { name: "kind", type: "int8", enumeration: "kinds" }, { name: "seen", type: "datetime_day" }],
    enumerations: [{ name: "kinds", type: "string_utf8", values: ["owl", "heron's kin"] }],
  }, { at: 1 });
  await put(birds, null, { id: BigInt64Array.of(3n, 5n, 9n, 12n), name: ["ann", "bea", "cid", "dot"], mass: Float32Array.of(1.5, 2.5, 3.5, 4.5), kind: Int8Array.of(0, 0, 1, 1), seen: ["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"] }, { at: 1000 });
  await writeManifest(birds);
  const spots = await create(join(folder, "spots"), { type: "sparse", dims: [{ name: "y", type: "float32", domain: [0, 10], tile: 5 }, { name: "x", type: "float64", domain: [0, 10], tile: 5 }], attrs: [{ name: "v", type: "int32" }, { name: "note", type: "string_utf8", cell: "var" }] }, { at: 1 });
  await put(spots, null, { y: Float32Array.of(5, 2.1, 8), x: Float64Array.of(5, 7.3, 1 / 3), v: Int32Array.of(1, 2, 3), note: ["one", "two", "three"] }, { at: 1000 });
  await writeManifest(spots);
  const classed = await create(join(folder, "classed"), { type: "sparse", dims: ["y", "x"].map((name) => ({ name, type: "float64", domain: [0, 10], tile: 5 })), attrs: [{ name: "kind", type: "int8", enumeration: "kinds" }], enumerations: [{ name: "kinds", type: "string_utf8", values: ["owl", "heron"] }] }, { at: 1 });
  await put(classed, null, { y: Float64Array.of(2, 8), x: Float64Array.of(3, 7), kind: Int8Array.of(1, 0) }, { at: 1000 });
  await writeManifest(classed);
  const often = await create(join(folder, "often"), { type: "sparse", dims: ["y", "x", "time"].map((name) => ({ name, type: "int32", domain: [0, 10], tile: 5 })), attrs: [{ name: "v", type: "int32" }] }, { at: 1 });
  await put(often, null, { y: Int32Array.of(2, 2, 8), x: Int32Array.of(3, 3, 7), time: Int32Array.of(1, 2, 1), v: Int32Array.of(10, 10, 30) }, { at: 1000 });
  await writeManifest(often);
});
after(() => rmSync(folder, { recursive: true }));

const link = (name, more = "") => `#url=${encodeURIComponent(`${data}${name}`)}${more}`;

/** Opens a copy of an array. */
async function copied(name, more) {
  const { page, errors } = await visit(link(name, more));
  await page.click("#edit button");
  await page.waitForFunction(() => location.hash.includes("opfs"));
  await settled(page);
  return { page, errors };
}

/** The output of a Python script for the saved copy: the cells at the time of each write. */
async function read(page, name, columns) {
  const { path: zip } = await downloaded(page, ["#edit button", "Save as zip"]);
  const script = `
import json, sys, numpy, tiledb, zipfile
zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])
times = sorted({t for f in tiledb.array_fragments(sys.argv[2]) for t in f.timestamp_range} | {int(p.split("/")[-1].split("_")[2]) for p in tiledb.VFS().ls(sys.argv[2] + "/__commits") if p.endswith(".del")})
shown = lambda v: None if v is numpy.ma.masked else v.decode() if isinstance(v, bytes) else str(v)
out = []
for time in times:
    with tiledb.open(sys.argv[2], timestamp=(0, time)) as array:
        cells = array[:]
        if array.schema.sparse:
            out.append([list(row) for row in zip(*[[shown(v) for v in numpy.ma.asarray(cells[name])] for name in json.loads(sys.argv[3])])])
        else:
            values = numpy.ma.asarray(cells["v"] if isinstance(cells, dict) else cells)
            out.append([None if v is numpy.ma.masked else int(v) for v in values.ravel()])
print(json.dumps(out))
`;
  return JSON.parse(execFileSync(process.env["HYPERSLAB_PYTHON"], ["-c", script, zip, mkdtempSync(join(folder, `${name}-`)), JSON.stringify(columns ?? [])], { encoding: "utf8" }));
}

/** The pixel in the middle of a cell of a picture of ten by ten. */
async function pixel(page, column, row) {
  const box = await page.locator("#picture").boundingBox();
  const side = 0.96 * Math.min(box.width, box.height) / 10;
  return [box.x + box.width / 2 + (column - 4.5) * side, box.y + box.height / 2 + (row - 4.5) * side];
}

stored("a fill covers the connected cells of equal value, and one cell is set by its coordinates", async () => {
  const { page, errors } = await copied("fields");
  await page.check("#fill-cells");
  await page.fill("#paint-value", "5");
  await page.mouse.click(...await pixel(page, 8, 2));
  await settled(page);
  await page.check("#one-cell");
  await page.mouse.click(...await pixel(page, 4, 6));
  await shot(page, "one-cell");
  assert.equal(await page.inputValue("[aria-label='Coordinate along y']"), "6");
  for (const wrong of ["150", "2.5"]) {
    await page.fill("[aria-label='Coordinate along x']", wrong);
    await page.press("[aria-label='Coordinate along x']", "Tab");
    await page.click(["#edit button", "Write"]);
    assert.equal(await page.textContent("#edit form [role=alert]"), `x: '${wrong}' is not a coordinate. Enter an integer from 0 to 9.`);
  }
  await page.fill("[aria-label='Coordinate along x']", "3");
  await page.press("[aria-label='Coordinate along x']", "Tab");
  await page.fill("#cell-value", "77");
  await page.press("#cell-value", "Enter");
  await settled(page);
  // The null separates the cell before it from the region.
  const before = Array.from({ length: 100 }, (_, i) => (i === 2 ? null : i % 10 === Math.floor(i / 10) ? 9 : 1));
  const filled = before.map((value, i) => (value === 1 && i !== 1 && i % 10 > Math.floor(i / 10) ? 5 : value));
  const set = filled.map((value, i) => (i === 63 ? 77 : value));
  assert.deepEqual(await read(page, "fields"), [before, filled, set]);
  assert.deepEqual(await errors(), []);
});

stored("a second finger does not end a stroke, and Enter writes to the coordinate that was just entered", async () => {
  const { page, errors } = await copied("fields");
  await page.check("#paint");
  await page.fill("#paint-value", "7");
  await page.mouse.move(...await pixel(page, 5, 8));
  await page.mouse.down();
  await page.evaluate(() => {
    for (const type of ["pointerdown", "pointermove", "pointerup"]) document.querySelector("#stroke").dispatchEvent(new PointerEvent(type, { pointerId: 2, isPrimary: false, pointerType: "touch", bubbles: true }));
  });
  await page.mouse.move(...await pixel(page, 6, 8));
  await page.mouse.up();
  await settled(page);
  await page.check("#one-cell");
  await page.fill("#cell-value", "8");
  await page.fill("[aria-label='Coordinate along y']", "4");
  await page.focus("[aria-label='Coordinate along x']");
  await page.keyboard.press("End");
  await page.keyboard.press("Backspace");
  await page.keyboard.type("2");
  await page.keyboard.press("Enter");
  await settled(page);
  // Fills by keyboard, too.
  await page.fill("#cell-value", "6");
  await page.fill("[aria-label='Coordinate along y']", "8");
  await page.fill("[aria-label='Coordinate along x']", "5");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await settled(page);
  const [before, painted, set, filled] = await read(page, "fields");
  assert.deepEqual(painted, before.map((value, i) => (i === 85 || i === 86 ? 7 : value)));
  assert.deepEqual(set, painted.map((value, i) => (i === 42 ? 8 : value)));
  assert.deepEqual(filled, set.map((value) => (value === 7 ? 6 : value)));
  assert.deepEqual(await errors(), []);
});

stored("rows are changed, added and deleted", async () => {
  const { page, errors } = await copied("birds");
  await page.click("#cell-1-0");
  await page.click(["#edit button", "Edit active row"]);
  assert.equal(await page.inputValue(".row-form [name=seen]"), "2020-01-02");
  await page.fill(".row-form [name=mass]", "");
  await page.fill(".row-form [name=kind]", "heron's kin");
  await page.fill(".row-form [name=seen]", "2021-02-03");
  await shot(page, "row-form");
  await page.click(["#edit button", "Write row"]);
  await settled(page);
  await page.click(["#edit button", "New row"]);
  await page.fill(".row-form [name=id]", "2000000");
  await page.fill(".row-form [name=name]", "eve");
  await page.fill(".row-form [name=kind]", "owl");
  await page.fill(".row-form [name=seen]", "2020-01-05");
  await page.click(["#edit button", "Add row"]);
  await page.waitForFunction(() => /outside|domain/.test(document.querySelector("#edit [role=alert]")?.textContent ?? ""));
  await page.fill(".row-form [name=id]", "20");
  await page.fill(".row-form [name=mass]", "x");
  await page.click(["#edit button", "Add row"]);
  await page.waitForFunction(() => document.querySelector("#edit [role=alert]")?.textContent === "mass: 'x' does not fit. Enter float32; leave it empty for null.");
  await page.fill(".row-form [name=mass]", "0.1");
  await page.click(["#edit button", "Add row"]);
  await settled(page);
  assert.equal(await page.textContent(".table-count"), "5 rows");
  await page.click("#cell-0-0");
  await page.click("#cell-2-0", { modifiers: ["Control"] });
  await page.click(["#edit button", "Delete 2 selected"]);
  await settled(page);
  assert.equal(await page.textContent(".table-count"), "3 rows");
  // Nothing is selected now, so a second click on the button deletes nothing.
  assert.equal(await page.textContent("#edit button[disabled]"), "Delete 0 selected");
  await page.evaluate(() => { window.confirm = () => true; });
  await page.fill("#table-where", "mass > 4");
  await page.click(".table-where button");
  await settled(page);
  await page.click(["#edit button", "Delete all rows found"]);
  await settled(page);
  assert.equal(await page.textContent(".table-count"), "0 rows found");
  const [ann, bea, cid, dot, eve] = [["3", "ann", "1.5", "2020-01-01"], ["5", "bea", null, "2021-02-03"], ["9", "cid", "3.5", "2020-01-03"], ["12", "dot", "4.5", "2020-01-04"], ["20", "eve", "0.1", "2020-01-05"]];
  const old = ["5", "bea", "2.5", "2020-01-02"];
  const moments = await read(page, "birds", ["id", "name", "mass", "seen"]);
  assert.deepEqual(moments, [[ann, old, cid, dot], [ann, bea, cid, dot], [ann, bea, cid, dot, eve], [bea, dot, eve], [bea, eve]]);
  assert.deepEqual(await errors(), []);
});

stored("the rows that were selected at the click are deleted, whatever is selected and sorted then", async () => {
  const { page, errors } = await copied("birds");
  await page.click("#cell-1-0");
  await page.evaluate(() => {
    [...document.querySelectorAll("#edit button")].find(({ textContent }) => textContent.startsWith("Delete")).click();
    document.querySelector("#cell-3-0").click();
    document.querySelector("[role=columnheader][id]").click();
  });
  await settled(page);
  const [, after] = await read(page, "birds", ["id"]);
  assert.deepEqual(after, [["3"], ["9"], ["12"]]);
  assert.deepEqual(await errors(), []);
});

stored("a point whose fields are all drawn keeps its label when it is written", async () => {
  const { page, errors } = await copied("classed", "&x=5&y=5&z=60");
  const box = await page.locator("#picture").boundingBox();
  await page.mouse.click(box.x + box.width / 2 - 2 * 60, box.y + box.height / 2 + 3 * 60);
  await page.waitForSelector(".row-form");
  assert.equal(await page.inputValue(".row-form [name=kind]"), "heron");
  await page.fill(".row-form [name=x]", "4");
  await page.click(["#edit button", "Write point"]);
  await settled(page);
  const moments = (await read(page, "classed", ["x", "kind"])).map((rows) => rows.map((row) => row.join(" ")).sort());
  const [heron] = moments[0].filter((row) => row.startsWith("3"));
  assert.deepEqual(moments[1], [...moments[0], heron.replace("3.0", "4.0")].sort());
  assert.deepEqual(await errors(), []);
});

stored("the point that is drawn is edited, not another one at its place", async () => {
  const { page, errors } = await copied("often", "&x=5&y=5&z=60&where=time+%3D%3D+2");
  const box = await page.locator("#picture").boundingBox();
  await page.mouse.click(box.x + box.width / 2 - 2 * 60, box.y + box.height / 2 + 3 * 60);
  await page.waitForSelector(".row-form");
  assert.equal(await page.inputValue(".row-form [name=time]"), "2");
  await page.click(["#edit button", "Delete point"]);
  await settled(page);
  assert.deepEqual((await read(page, "often", ["time", "v"])).map((rows) => rows.map((row) => row.join(" ")).sort().join()), ["1 10,1 30,2 10", "1 10,1 30"]);
  assert.deepEqual(await errors(), []);
});

stored("a fill that fails says so, also while an earlier one is being written", async () => {
  const { page, errors } = await copied("fields");
  await page.check("#fill-cells");
  const [first, second] = [await pixel(page, 8, 2), await pixel(page, 2, 8)];
  await page.evaluate(async (first, second) => {
    const value = document.querySelector("#paint-value");
    for (const [text, [clientX, clientY]] of [["5", first], ["999", second]]) {
      value.value = text;
      value.dispatchEvent(new Event("input", { bubbles: true }));
      document.querySelector("#stroke").dispatchEvent(new PointerEvent("pointerdown", { pointerId: 1, isPrimary: true, button: 0, clientX, clientY, bubbles: true }));
    }
  }, first, second);
  await settled(page);
  assert.match(await page.textContent("#message"), /999 does not fit/);
  const moments = await read(page, "fields");
  assert.deepEqual([moments.length, moments[1][28], moments[1][82]], [2, 5, 1]);
  assert.deepEqual(await errors(), []);
});

stored("points are changed, added and deleted where they are clicked", async () => {
  const { page, errors } = await copied("spots", "&x=5&y=5&z=60");
  const box = await page.locator("#picture").boundingBox();
  const at = (x, y) => [box.x + box.width / 2 + (x - 5) * 60, box.y + box.height / 2 - (y - 5) * 60];
  await page.mouse.move(...at(7.3, 2.1));
  await settled(page);
  await page.mouse.click(...at(7.3, 2.1));
  await page.waitForSelector(".row-form");
  assert.equal(await page.inputValue(".row-form [name=note]"), "two");
  await page.fill(".row-form [name=note]", "changed");
  await page.click(["#edit button", "Write point"]);
  await settled(page);
  await page.mouse.move(...at(3, 6));
  await settled(page);
  await page.mouse.click(...at(3, 6));
  await page.fill(".row-form [name=x]", "3.25");
  await page.fill(".row-form [name=y]", "6.5");
  await page.fill(".row-form [name=v]", "4");
  await page.fill(".row-form [name=note]", "four");
  await shot(page, "edit-points");
  await page.click(["#edit button", "Add point"]);
  await settled(page);
  assert.match(await page.textContent("#cursor"), /4 points/);
  for (const [x, y] of [[7.3, 2.1], [1 / 3, 8]]) {
    await page.mouse.move(...at(x, y));
    await settled(page);
    await page.mouse.click(...at(x, y));
    await page.click(["#edit button", "Delete point"]);
    await settled(page);
  }
  assert.match(await page.textContent("#cursor"), /2 points/);
  const moments = (await read(page, "spots", ["v", "note"])).map((rows) => rows.map(([v, note]) => `${v} ${note}`).sort().join(", "));
  assert.deepEqual(moments, ["1 one, 2 two, 3 three", "1 one, 2 changed, 3 three", "1 one, 2 changed, 3 three, 4 four", "1 one, 3 three, 4 four", "1 one, 4 four"]);
  assert.deepEqual(await errors(), []);
});

stored("a folder of this device is edited in place, once the user allows it", async () => {
  const { page, errors } = await visit(link("fields"));
  // The test uses a folder of the page's storage in place of one that the user picks.
  await page.evaluate(async (from) => {
    const { copy, HttpStore, OpfsStore } = await import("./hyperslab/index.js");
    await copy(new HttpStore(from), await OpfsStore.open("picked"));
    window.showDirectoryPicker = async () => (await navigator.storage.getDirectory()).getDirectoryHandle("picked");
  }, `${data}fields`);
  await page.click("#pick");
  await page.waitForSelector("#edit-folder");
  await settled(page);
  assert.equal(await page.locator("#paint").count(), 0);
  await page.click("#edit-folder");
  await page.check("#paint");
  await page.fill("#paint-value", "33");
  await page.mouse.click(...await pixel(page, 7, 7));
  await settled(page);
  await page.mouse.move(...await pixel(page, 7, 7));
  assert.match(await page.textContent("#cursor"), /: 33$/);
  const fragments = () => page.evaluate(async () => {
    const found = [];
    const root = await (await navigator.storage.getDirectory()).getDirectoryHandle("picked");
    for await (const name of (await root.getDirectoryHandle("__fragments")).keys()) found.push(name);
    return found.length;
  });
  assert.equal(await fragments(), 2, "the write is in the folder itself");
  await page.click(["#edit button", "Merge writes"]);
  await settled(page);
  await page.evaluate(() => { window.confirm = () => false; });
  await page.click(["#edit button", "Remove merged files"]);
  await settled(page);
  assert.equal(await fragments(), 3, "nothing is removed unless the user confirms it");
  await page.evaluate(() => { window.confirm = () => true; });
  await page.click(["#edit button", "Remove merged files"]);
  await settled(page);
  assert.equal(await fragments(), 1);
  await page.mouse.move(...await pixel(page, 7, 7));
  assert.match(await page.textContent("#cursor"), /: 33$/);
  assert.deepEqual(await errors(), []);
});
