// What changed between two moments, compared with tiledb-py at both timestamps.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { colourAt, picture, SITE_DIR, serve, settled, shot, visit } from "./page.mjs";

const { create, open, put, putMeta, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const { HYPERSLAB_PYTHON } = process.env;
assert.ok(HYPERSLAB_PYTHON, "HYPERSLAB_PYTHON must be set; `cargo xtask test viewer` sets it");
const folder = mkdtempSync(join(tmpdir(), "compare-"));
let data;

const SIDE = 8;
const path = (name) => join(folder, name);
const link = (name, more = "") => `#url=${encodeURIComponent(`${data}${name}`)}${more}`;
const square = (type, side = SIDE) => ["y", "x"].map((name) => ({ name, type, domain: [0, side - 1], tile: 4 }));

before(async () => {
  data = await serve(folder);
  const attrs = [{ name: "long", type: "int64", nullable: true }, { name: "rain", type: "int16", fill: -1 }, { name: "kind", type: "uint8", enumeration: "kinds", nullable: true }];
  const array = await create(path("grid"), { type: "dense", dims: square("int64"), attrs, enumerations: [{ name: "kinds", type: "string_utf8", values: ["hart", "élan", "boar"] }] }, { at: 1 });
  const cells = (length, of) => Array.from({ length }, (_, i) => of(i));
  const write = async (rows, columns, step, at) => {
    const length = (rows[1] - rows[0] + 1) * (columns[1] - columns[0] + 1);
    await put(array, [rows, columns], {
      long: { values: BigInt64Array.from(cells(length, (i) => 2n ** 60n + BigInt(step * i))), validity: Uint8Array.from(cells(length, (i) => Number((i + step) % 3 > 0))) },
      rain: Int16Array.from(cells(length, (i) => ((i * step) % 4 === 0 ? -1 : i * step))),
      kind: { values: Uint8Array.from(cells(length, (i) => (i * step) % 3)), validity: Uint8Array.from(cells(length, (i) => Number(i % 5 > 0))) },
    }, { at });
  };
  await write([0, 5], [0, 7], 1, 1000);
  await write([1, 3], [1, 4], 2, 2000);
  await write([3, 7], [2, 6], 3, 3000);
  await putMeta(array, { "__tiledb_attr.rain.units": "mm", "__tiledb_attr.rain.scale_factor": { type: "float64", value: 0.5 } }, { at: 900 });
  await writeManifest(array);
});
after(() => rmSync(folder, { recursive: true }));

/** Each cell at both moments by tiledb-py: `[before, after]`, row by row; `null` for no data, and integers as text. */
function python(attribute, from, to, rows = SIDE) {
  const code = `
import json, tiledb, numpy as np
def cells(time):
    with tiledb.open(${JSON.stringify(path("grid"))}, timestamp=time, attr="${attribute}") as array:
        values = array[0:${rows}]
        missing = np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else np.zeros(values.shape, bool)
        data = np.ma.getdata(values)
        if "${attribute}" == "rain": missing = data == -1
        if "${attribute}" == "long": missing = missing | (data == np.iinfo("i8").min)
        return [None if m else str(v) for v, m in zip(data.ravel().tolist(), missing.ravel())]
print(json.dumps(list(zip(cells(${from}), cells(${to})))))`;
  return JSON.parse(execFileSync(HYPERSLAB_PYTHON, ["-c", code], { encoding: "utf8" }));
}

/** The text under the pointer for each cell, without its coordinates. */
async function texts(page, rows = SIDE) {
  const box = await page.locator("#picture").boundingBox();
  const side = 0.96 * Math.min(box.width / SIDE, box.height / rows);
  const found = [];
  for (let i = 0; i < SIDE * rows; i++) {
    const [column, row] = [i % SIDE, Math.floor(i / SIDE)];
    await page.mouse.move(box.x + box.width / 2 + (column - SIDE / 2 + 0.5) * side, box.y + box.height / 2 + (row - rows / 2 + 0.5) * side);
    await page.waitForFunction((start) => document.getElementById("cursor").textContent.startsWith(start), `y ${row}, x ${column}: `);
    const text = await page.textContent("#cursor");
    found.push(text.replace(/^[^:]*: /, "").replaceAll(",", ""));
  }
  return found;
}

async function counts(page) {
  const [, changed, appeared, vanished] = /(\d+) changed(\d+) appeared(\d+) disappeared/.exec((await page.textContent("#changes ul")).replaceAll(",", ""));
  return [changed, appeared, vanished].map(Number);
}

const expected = (pairs) => [
  pairs.filter(([a, b]) => a !== null && b !== null && a !== b).length,
  pairs.filter(([a, b]) => a === null && b !== null).length,
  pairs.filter(([a, b]) => a !== null && b === null).length,
];

for (const [at, other] of [[3000, 1000], [2000, 3000], [3000, 2000]]) {
  test(`the changes of 64-bit integers between ${at} and ${other} are exact, cell by cell`, async () => {
    const { page, errors } = await visit(link("grid", `&attr=long&at=${at}&with=${other}`));
    // Before the last write, the picture has fewer rows.
    const rows = at === 2000 ? 6 : SIDE;
    const pairs = python("long", Math.min(at, other), Math.max(at, other), rows);
    const found = await texts(page, rows);
    assert.equal(/Show the later moment/.test(await page.textContent("#changes")), other > at);
    pairs.forEach(([before, after], i) => {
      const change = before !== null && after !== null ? BigInt(after) - BigInt(before) : undefined;
      const why = before === null ? "appeared" : after === null ? "disappeared" : `${change < 0n ? "−" : "+"}${change < 0n ? -change : change}`;
      if (before !== after) assert.equal(found[i], `${before ?? "no data"} → ${after ?? "no data"} (${why})`, `cell ${i}`);
      else assert.match(found[i], new RegExp(`^${before ?? "(no data|-9223372036854775808 \\(fill value\\))"} \\(unchanged\\)$`), `cell ${i}`);
    });
    assert.deepEqual(await counts(page), expected(pairs));
    assert.ok(expected(pairs).every((count) => count > 0), String(expected(pairs)));
    await shot(page, `changes-${at}-${other}`);
    assert.deepEqual(await errors(), []);
  });
}

test("changes are drawn in their colours, and in no other place", async () => {
  const { page, errors } = await visit(link("grid", "&attr=rain&at=3000"));
  await page.check("#compare input[type=checkbox]");
  await page.locator("#compared").fill("0");
  await settled(page);
  await page.waitForFunction(() => /[#&]with=1000/.test(location.hash));
  const pairs = python("rain", 1000, 3000);
  assert.deepEqual(await counts(page), expected(pairs));
  const most = Math.max(...pairs.flatMap(([a, b]) => (a === null || b === null ? [] : [Math.abs(b - a) * 0.5])));
  assert.equal(await page.textContent("#legend-hi"), `+${most}`);
  await shot(page, "changes-rain");
  const drawn = await picture(page);
  const side = 0.96 * Math.min(drawn.width, drawn.height) / SIDE;
  pairs.forEach(([before, after], i) => {
    const [x, y] = [drawn.width / 2 + ((i % SIDE) - SIDE / 2 + 0.3) * side, drawn.height / 2 + (Math.floor(i / SIDE) - SIDE / 2 + 0.3) * side];
    const [r, g, b] = colourAt(drawn, x / drawn.width, y / drawn.height);
    const what = before === after ? (Math.max(r, g, b) - Math.min(r, g, b) < 12 ? "same" : "") : before === null ? "appeared" : after === null ? "disappeared" : Number(after) > Number(before) ? "more" : "less";
    const colour = Math.max(r, g, b) - Math.min(r, g, b) < 12 ? "same" : `${[r, g, b]}` === "27,158,119" ? "appeared" : `${[r, g, b]}` === "255,176,0" ? "disappeared" : r > b ? "more" : "less";
    assert.equal(colour, what, `cell ${i}: ${before} → ${after} is ${[r, g, b]}`);
  });
  assert.deepEqual(await errors(), []);
});

test("labels that have changed are named, and have no difference", async () => {
  const { page } = await visit(link("grid", "&attr=kind&with=1000"));
  const found = await texts(page);
  const label = (stored) => (stored === null ? null : ["hart", "élan", "boar"][stored]);
  python("kind", 1000, 3000, 6).forEach(([old, now], i) => {
    const [before, after] = [label(old), label(now)];
    if (before !== null && after !== null && before !== after) assert.equal(found[i], `${before} → ${after} (changed)`);
    if (before === after && before !== null) assert.equal(found[i], `${before} (unchanged)`);
  });
  assert.match(await page.textContent("#changes"), /From 1970-01-01 00:00:01 to now/);
});

test("of a large array only the written boxes are read, and too many cells are refused until the user zooms in", async () => {
  const side = 4000;
  const array = await create(path("vast"), { type: "dense", dims: square("int32", side).map((dim) => ({ ...dim, tile: 500 })), attrs: [{ name: "v", type: "int32" }] }, { at: 1 });
  await put(array, null, new Int32Array(side * side).fill(5), { at: 1000 });
  await put(array, [[3000, 3009], [100, 104]], new Int32Array(50).fill(9), { at: 2000 });
  await put(array, null, new Int32Array(side * side).fill(6), { at: 3000 });
  await writeManifest(await open(path("vast")));
  const { page, errors } = await visit(link("vast", "&at=2000&with=1000"));
  assert.deepEqual(await counts(page), [50, 0, 0]);
  await page.locator("#compared").fill("2");
  await settled(page);
  assert.match(await page.textContent("#changes [role=alert]"), /16,000,000 cells in view may have changed; at most 4,000,000 are compared. Zoom in/);
  assert.equal(await page.locator("#changes ul").count(), 0);
  for (let i = 0; i < 4; i++) await page.click("#zoom-in");
  await settled(page);
  const [changed] = await counts(page);
  assert.ok(changed > 80_000 && changed < 4_000_000, String(changed));
  assert.deepEqual(await errors(), []);
});
