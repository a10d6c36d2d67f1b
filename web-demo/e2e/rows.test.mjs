// Rows that were added, removed or changed between two moments, compared with tiledb-py at both timestamps.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { SITE_DIR, downloaded, serve, settled, shot, visit } from "./page.mjs";

const { create, deleteCells, put, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const { HYPERSLAB_PYTHON } = process.env;
assert.ok(HYPERSLAB_PYTHON, "HYPERSLAB_PYTHON must be set; `cargo xtask test viewer` sets it");
const folder = mkdtempSync(join(tmpdir(), "rows-"));
let data;

before(async () => { data = await serve(folder); });
after(() => rmSync(folder, { recursive: true }));

const path = (name) => join(folder, name);
const link = (name, more = "") => `#url=${encodeURIComponent(`${data}${name}`)}${more}`;

/** The changes by tiledb-py: lines such as "added 1 5 a", sorted. */
function python(name, keys, from, to, where = "") {
  const code = `
import json, math, tiledb
def rows(time):
    with tiledb.open(${JSON.stringify(path(name))}, timestamp=time) as array:
        cells = (array.query(cond="${where}") if "${where}" else array)[:]
        names = [array.dim(i).name for i in range(array.ndim)] + [array.attr(i).name for i in range(array.nattr)]
        return {tuple(row[:${keys}]): row for row in zip(*[[v.decode() if isinstance(v, bytes) else str(v) for v in cells[n]] for n in names])}
old, new = rows(${from}), rows(${to})
found = ["added " + " ".join(r) for k, r in new.items() if k not in old] + ["removed " + " ".join(r) for k, r in old.items() if k not in new]
found += [f"changed {' '.join(old[k])} | {' '.join(new[k])}" for k in new if k in old and old[k] != new[k]]
print(json.dumps(sorted(found)))`;
  return JSON.parse(execFileSync(HYPERSLAB_PYTHON, ["-c", code], { encoding: "utf8" }));
}

/** The same from the table of the page. */
async function listed(page) {
  await page.waitForFunction(() => / added, /.test(document.getElementById("row-changes")?.textContent ?? ""));
  const rows = await page.$$eval("#row-changes tbody tr", (all) => all.map((row) => [row.className, [...row.querySelectorAll("td")].map((cell) => [(cell.querySelector("del") ?? cell).textContent, (cell.querySelector("ins") ?? cell).textContent])]));
  return rows.map(([kind, cells]) => {
    const [before, after] = [0, 1].map((i) => cells.map((cell) => cell[i]).join(" "));
    return kind === "changed" ? `changed ${before} | ${after}` : `${kind} ${after}`;
  }).sort();
}

test("points that were added, moved away, deleted or changed are listed as tiledb-py finds them", async () => {
  const dims = [{ name: "x", type: "int64", domain: [0, 999], tile: 100 }, { name: "y", type: "int64", domain: [0, 999], tile: 100 }];
  const array = await create(path("points"), { type: "sparse", dims, attrs: [{ name: "long", type: "int64" }, { name: "size", type: "float64" }] }, { at: 1 });
  const write = async (from, to, step, at) => {
    const ids = Array.from({ length: to - from }, (_, i) => from + i);
    await put(array, null, { x: BigInt64Array.from(ids, BigInt), y: BigInt64Array.from(ids, (i) => BigInt((i * 7) % 50)), long: BigInt64Array.from(ids, (i) => 2n ** 60n + BigInt(i % 3 === 0 ? i : i * step)), size: Float64Array.from(ids, (i) => (i % 4 === 0 ? 0.1 : 0.1 * step)) }, { at });
  };
  await write(0, 20, 1, 1000);
  await write(10, 30, 2, 2000);
  await put(array, null, { x: BigInt64Array.of(500n), y: BigInt64Array.of(500n), long: BigInt64Array.of(1n), size: Float64Array.of(2.5) }, { at: 3000 });
  await deleteCells(array, "x < 5", { at: 4000 });
  await writeManifest(array);
  const { page, errors } = await visit(link("points", "&with=1000"));
  const expected = python("points", 2, 1000, 5000);
  assert.ok(["added", "removed", "changed"].every((kind) => expected.some((row) => row.startsWith(kind))), String(expected));
  assert.deepEqual(await listed(page), expected);
  await shot(page, "rows-points");
  const saved = await downloaded(page, ["#row-changes button", "Save CSV"]);
  const lines = readFileSync(saved.path, "utf8").trim().split("\r\n");
  assert.equal(lines[0], "change,x,y,long,size");
  assert.equal(lines.length - 1, expected.length + expected.filter((row) => row.startsWith("changed")).length);
  await page.locator("#compared").fill("1");
  await page.waitForFunction(() => /From 1970-01-01 00:00:02 to now/.test(document.querySelector("#row-changes b").textContent));
  assert.deepEqual(await listed(page), python("points", 2, 2000, 5000));
  assert.deepEqual(await errors(), []);
});

test("rows of a table that meet a condition are compared", async () => {
  const dims = [{ name: "id", type: "int64", domain: [0, 999], tile: 100 }];
  const array = await create(path("table"), { type: "sparse", dims, attrs: [{ name: "name", type: "string_utf8", cell: "var" }, { name: "n", type: "int32" }] }, { at: 1 });
  await put(array, null, { id: BigInt64Array.of(1n, 2n, 3n, 4n), name: ["a", "b, c", "d\"e", "f"], n: Int32Array.of(1, 2, 3, 4) }, { at: 1000 });
  await put(array, null, { id: BigInt64Array.of(2n, 3n, 9n), name: ["b, c", "<b>", "z"], n: Int32Array.of(2, 30, 9) }, { at: 2000 });
  await writeManifest(array);
  const { page, errors } = await visit(link("table", "&with=1000"));
  await settled(page);
  assert.deepEqual(await listed(page), ["added 9 z 9", "changed 3 d\"e 3 | 3 <b> 30"]);
  assert.deepEqual(await listed(page), python("table", 1, 1000, 2000));
  await page.fill("#table-where", "n >= 4");
  await page.press("#table-where", "Enter");
  await page.waitForFunction(() => /meet the condition/.test(document.querySelector("#row-changes b").textContent));
  assert.deepEqual(await listed(page), ["added 3 <b> 30", "added 9 z 9"]);
  assert.deepEqual(await listed(page), python("table", 1, 1000, 2000, "n >= 4"));
  await shot(page, "rows-table");
  assert.deepEqual(await errors(), []);
});
