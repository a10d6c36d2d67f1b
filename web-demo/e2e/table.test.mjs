// Checks tables: cells, order, conditions, keys, and what is taken away.
import assert from "node:assert/strict";
import { readFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { python, unpack } from "./examples.mjs";
import { SITE_DIR, downloaded, serve, settled, shot, visit } from "./page.mjs";

const { create, open, put, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const folder = mkdtempSync(join(tmpdir(), "viewer-"));
let data;

before(async () => {
  data = await serve(folder);
  unpack(folder, "pandas", "dense");
});
after(() => rmSync(folder, { recursive: true }));

const link = (name, more = "") => `#url=${encodeURIComponent(`${data}${name}`)}${more}`;

/** The texts of the visible cells, row by row. */
async function cells(page) {
  return page.$$eval(".table-row", (rows) => rows.map((row) => [...row.querySelectorAll("[role=gridcell]")].map((cell) => cell.textContent)));
}

async function column(page, name) {
  const names = await page.$$eval(".table-header .table-name", (found) => found.map((cell) => cell.textContent.replace(/ [▲▼]$/, "")));
  return (await cells(page)).map((row) => row[names.indexOf(name)]);
}

async function filter(page, condition) {
  await page.fill("#table-where", condition);
  await page.click(".table-where button");
  await settled(page);
}

const READ_PANDAS = `
import json, sys, numpy, tiledb
with tiledb.open(sys.argv[1]) as array:
    cells = array[:]
    shown = lambda v: None if v is numpy.ma.masked else v.item() if hasattr(v, "item") else v.decode() if isinstance(v, bytes) else str(v)
    columns = {name: [shown(v) for v in numpy.ma.asarray(cells[name])] for name in ["a", "f", "s", "b", "Ii", "bt"]}
    columns["t"] = [str(t)[:16].replace("T", " ") for t in cells["t"]]
    columns["c"] = [str(label) for label in cells["c"]]
    print(json.dumps(columns))
`;

test("a table of pandas shows what Python reads", async () => {
  const expected = python(READ_PANDAS, join(folder, "pandas/dense"));
  const { page, errors } = await visit(link("pandas/dense"), { viewport: { width: 1600, height: 800 } });
  for (const [name, values] of Object.entries(expected)) {
    assert.deepEqual(await column(page, name), values.map((value) => (value === null ? "null" : String(value))), name);
  }
  await shot(page, "table");
  assert.deepEqual(await errors(), []);
});

test("rows are sorted, and found by a condition; a wrong one is explained beside the box", async () => {
  const { page } = await visit(link("pandas/dense"), { viewport: { width: 1600, height: 800 } });
  await page.click([".table-header .table-cell", "f"]);
  await page.click([".table-header .table-cell", "f"]);
  await settled(page);
  assert.deepEqual(await column(page, "f"), ["1", "0.8", "0.6000000000000001", "0.4", "0.2", "0"]);
  assert.equal(await page.getAttribute([".table-header .table-cell", "f"], "aria-sort"), "descending");
  await filter(page, "a >= 2 and c != 'p'");
  assert.deepEqual(await column(page, "a"), ["5", "3"]);
  assert.equal(await page.textContent(".table-count"), "2 rows found");
  await filter(page, "nope > 1");
  assert.match(await page.textContent("#table-wrong"), /there is no field 'nope'; the fields are __tiledb_rows, a, f/);
  // The rows of the last condition stay.
  assert.deepEqual(await column(page, "a"), ["5", "3"]);
});

test("the state of a table is in the link", async () => {
  const { page } = await visit(link("pandas/dense", `&where=${encodeURIComponent("a < 3")}&sort=-a`));
  assert.deepEqual(await column(page, "a"), ["2", "1", "0"]);
  assert.equal(await page.inputValue("#table-where"), "a < 3");
});

test("conditions are completed by keyboard", async () => {
  const { page } = await visit(link("pandas/dense"), { viewport: { width: 1600, height: 800 } });
  await page.focus("#table-where");
  await page.keyboard.type("c");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.type("==");
  await page.keyboard.press("Space");
  await page.keyboard.type("q");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.inputValue("#table-where"), "c == 'q' ");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.deepEqual(await column(page, "c"), ["q", "q"]);
});

const ROWS = 400_000;

/** A table with more rows than fit on a screen, with gaps between their keys. */
async function withMany(name) {
  const array = await create(join(folder, name), {
    type: "sparse",
    dims: [{ name: "id", type: "int64", domain: [0, 10 ** 12], tile: 10 ** 6 }],
    attrs: [{ name: "v", type: "float64" }, { name: "text", type: "string_utf8", cell: "var" }],
  }, { at: 1 });
  const ids = BigInt64Array.from({ length: ROWS }, (_, i) => BigInt(i) * 3n);
  const v = Float64Array.from(ids, (_, i) => (i * 7919) % ROWS);
  const text = Array.from(ids, (_, i) => (i === 1 ? "<img src=x onerror=alert(1)><b>bold</b>" : `row ${i}`));
  await put(array, null, { id: ids, v, text }, { at: 2 });
  await writeManifest(await open(join(folder, name)));
}

test("many rows are reached by keyboard, and only the visible ones are elements", async () => {
  await withMany("many");
  const { page, errors } = await visit(link("many"));
  assert.equal(await page.textContent(".table-count"), "400,000 rows");
  assert.ok((await cells(page)).length < 60);
  // Text of the data is text.
  assert.equal((await column(page, "text"))[1], "<img src=x onerror=alert(1)><b>bold</b>");
  assert.equal(await page.getAttribute(".table-grid", "aria-rowcount"), String(ROWS + 1));
  await page.focus(".table-grid");
  await page.keyboard.press("Control+End");
  await settled(page);
  assert.equal((await column(page, "id")).at(-1), String((ROWS - 1) * 3));
  await page.keyboard.press("PageUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("End");
  await settled(page);
  const active = await page.getAttribute(".table-grid", "aria-activedescendant");
  const [, row] = active.split("-").map(Number);
  assert.equal(await page.textContent(`#${active}`), `row ${row}`);
  assert.ok(row < ROWS - 10);
  await page.keyboard.press("Control+Home");
  await settled(page);
  assert.equal((await column(page, "id"))[0], "0");
  await page.click([".table-header .table-cell", "v"]);
  await page.click([".table-header .table-cell", "v"]);
  await settled(page);
  assert.deepEqual((await column(page, "v")).slice(0, 3), [ROWS - 1, ROWS - 2, ROWS - 3].map(String));
  await filter(page, "v < 100 and id >= 600000");
  const wanted = Array.from({ length: ROWS }, (_, i) => i).filter((i) => (i * 7919) % ROWS < 100 && i * 3 >= 600000);
  assert.equal(await page.textContent(".table-count"), `${wanted.length} rows found`);
  await shot(page, "many");
  assert.deepEqual(await errors(), []);
});

test("selected rows are copied and saved as CSV, and all rows saved as Arrow, with their exact values", async () => {
  await withMany("saved");
  const { page } = await visit(link("saved", `&where=${encodeURIComponent("id < 3000")}`));
  assert.equal(await page.textContent(".table-count"), "1,000 rows found");
  await page.click("#cell-1-0");
  await page.click("#cell-4-0", { modifiers: ["Shift"] });
  await page.click("#cell-3-0", { modifiers: ["Control"] });
  assert.equal(await page.textContent(".table-count"), "1,000 rows found, 3 selected");
  const csv = await saved(page, "Save CSV");
  assert.equal(csv.toString(), 'id,v,text\r\n3,7919,<img src=x onerror=alert(1)><b>bold</b>\r\n6,15838,row 2\r\n12,31676,row 4\r\n');
  await page.focus(".table-grid");
  await page.keyboard.press("Control+c");
  // Reading the clipboard needs a permission; pasting needs none.
  await page.evaluate(() => Object.assign(document.body.appendChild(document.createElement("textarea")), { id: "pasted" }));
  await page.press("#pasted", "Control+v");
  await page.waitForFunction(() => document.getElementById("pasted").value !== "");
  // The clipboard of some systems changes the ends of lines.
  const copied = (await page.inputValue("#pasted")).replaceAll("\r\n", "\n");
  await page.evaluate(() => document.getElementById("pasted").remove());
  await page.focus(".table-grid");
  assert.equal(copied, csv.toString().replaceAll("\r\n", "\n").replaceAll(",", "\t"));
  await page.click([".table-header .table-cell", "v"]);
  await page.click([".table-header .table-cell", "v"]);
  await settled(page);
  await page.click("#cell-0-0");
  await page.click("#cell-2-0", { modifiers: ["Shift"] });
  const highest = Array.from({ length: 1000 }, (_, i) => i).sort((a, b) => (b * 7919) % ROWS - (a * 7919) % ROWS).slice(0, 3);
  const chosen = python(READ_ARROW, (await saved(page, "Save Arrow")).toString("base64"));
  assert.deepEqual(chosen.id, highest.map((i) => 3 * i).sort((a, b) => a - b));
  await page.focus(".table-grid");
  await page.keyboard.press("Escape");
  const arrow = await saved(page, "Save Arrow");
  const table = python(READ_ARROW, arrow.toString("base64"));
  assert.equal(table.id.length, 1000);
  assert.deepEqual([...table.id].sort((a, b) => a - b), Array.from({ length: 1000 }, (_, i) => i * 3));
  assert.deepEqual(table.v, table.id.map((id) => ((id / 3) * 7919) % ROWS));
});

const READ_ARROW = `
import json, sys, base64, pyarrow.ipc
table = pyarrow.ipc.open_stream(base64.b64decode(sys.argv[1])).read_all()
print(json.dumps({name: table[name].to_pylist() for name in table.column_names}))
`;

/** The file that a button saves. */
async function saved(page, button) {
  return readFileSync((await downloaded(page, [".table-actions button", button])).path);
}

test("rows with text as their key are read as far as the user scrolls", async () => {
  const array = await create(join(folder, "words"), {
    type: "sparse", dims: [{ name: "word", type: "string_ascii" }, { name: "year", type: "int32", domain: [1900, 2100], tile: 201 }], attrs: [{ name: "count", type: "uint64" }],
  }, { at: 1 });
  const word = Array.from({ length: 3000 }, (_, i) => `w${String(i).padStart(5, "0")}`);
  await put(array, null, { word, year: Int32Array.from(word, (_, i) => 1900 + (i % 200)), count: BigUint64Array.from(word, (_, i) => 2n ** 60n + BigInt(i)) }, { at: 2 });
  await writeManifest(await open(join(folder, "words")));
  const { page, errors } = await visit(link("words"));
  assert.equal(await page.textContent(".table-count"), "3,000 rows");
  assert.deepEqual((await cells(page))[0], ["w00000", "1900", String(2n ** 60n)]);
  await page.focus(".table-grid");
  await page.keyboard.press("Control+End");
  await settled(page);
  assert.deepEqual((await cells(page)).at(-1), ["w02999", "2099", String(2n ** 60n + 2999n)]);
  await filter(page, "word like 'w0001%' and year > 1915");
  assert.deepEqual(await column(page, "word"), ["w00016", "w00017", "w00018", "w00019"]);
  assert.deepEqual(await errors(), []);
});

test("an empty table can be sorted and filtered", async () => {
  await create(join(folder, "empty"), { type: "dense", dims: [{ name: "d", type: "uint64", domain: [0, 9], tile: 5 }], attrs: [{ name: "v", type: "float32" }, { name: "w", type: "int8" }] }, { at: 1 });
  await writeManifest(await open(join(folder, "empty")));
  const { page } = await visit(link("empty"));
  assert.equal(await page.textContent(".table-count"), "0 rows");
  await page.click([".table-header .table-cell", "v"]);
  await filter(page, "v > 1");
  assert.equal(await page.textContent(".table-count"), "0 rows found");
  assert.equal(await page.locator(".table-failure").count(), 0);
  await filter(page, "u > 1");
  assert.match(await page.textContent("#table-wrong"), /there is no field 'u'/);
});
