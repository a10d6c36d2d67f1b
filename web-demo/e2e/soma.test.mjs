// Checks SOMA experiments: the map, its colours, genes, selections, and their summary.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { python, unpack } from "./examples.mjs";
import { HYPERSLAB, SITE_DIR, serve, settled, shot, visit } from "./page.mjs";

const { create, createGroup, put, putMembers, putMeta } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);

const folder = mkdtempSync(join(tmpdir(), "viewer-"));
let data;
let expected;

const READ = `
import json, sys, numpy, tiledb
root = sys.argv[1]
with tiledb.open(root + "/obs") as obs:
    types = [str(label) for label in obs[:]["cell_type"]]
with tiledb.open(root + "/ms/RNA/var") as var:
    genes = [v.decode() if isinstance(v, bytes) else str(v) for v in var[:]["gene_name"]]
with tiledb.open(root + "/ms/RNA/X/data") as x:
    stored = x[:]
    matrix = numpy.zeros((len(types), len(genes)))
    matrix[stored["soma_dim_0"], stored["soma_dim_1"]] = stored["soma_data"]
with tiledb.open(root + "/ms/RNA/obsm/X_umap") as umap:
    stored = umap[:]
    places = numpy.zeros((len(types), 2))
    places[stored["soma_dim_0"], stored["soma_dim_1"]] = stored["soma_data"]
print(json.dumps({"types": types, "genes": genes, "matrix": matrix.tolist(), "places": places.tolist()}))
`;

before(async () => {
  data = await serve(folder);
  expected = python(READ, unpack(folder, "soma_experiment"));
});
after(() => rmSync(folder, { recursive: true }));

const link = (more = "") => `#url=${encodeURIComponent(`${data}soma_experiment`)}${more}`;
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
/** A number as the page shows it. */
const shown = (value) => String(Number(value.toPrecision(6)));

/** The rows of the summary. */
async function summary(page) {
  return page.$$eval(".soma-summary tbody tr", (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
}

async function pickGene(page, name) {
  await page.fill("#soma-gene", name);
  await page.keyboard.press("Enter");
  await settled(page);
}

test("observations are counted by category, as Python counts them", async () => {
  const { page, errors } = await visit(link());
  const counts = new Map();
  for (const type of expected.types) counts.set(type, (counts.get(type) ?? 0) + 1);
  const legend = await page.$$eval(".soma-legend button", (rows) => rows.map((row) => [row.querySelector("span").textContent, Number(row.querySelector("small").textContent)]));
  assert.deepEqual(Object.fromEntries(legend), Object.fromEntries(counts));
  assert.equal(await page.textContent(".soma-summary h2"), `${expected.types.length} observations`);
  assert.equal(await page.textContent(".table-count"), `${expected.types.length} rows`);
  await shot(page, "soma");
  assert.deepEqual(await errors(), []);
});

test("a gene has the range and the means that Python computes from the matrix", async () => {
  const { page, errors } = await visit(link("&layer=RNA%3A%20data"));
  const gene = 3;
  await pickGene(page, expected.genes[gene]);
  const values = expected.matrix.map((row) => row[gene]);
  assert.deepEqual(await page.$$eval(".soma-ramp input", (ends) => ends.map((end) => end.value)), [Math.min(...values), Math.max(...values)].map(shown));
  for (const [type, count, , average] of await summary(page)) {
    const own = values.filter((_, i) => expected.types[i] === type);
    assert.equal(Number(count), own.length);
    assert.ok(Math.abs(Number(average) - mean(own)) <= 1e-5 * Math.max(1, mean(own)), `${type}: ${average} is not ${mean(own)}`);
  }
  assert.ok((await summary(page)).length > 1);
  // The gene is in the link.
  const again = await visit(link(`&layer=RNA%3A%20data&gene=${gene}`));
  assert.equal(await again.page.inputValue("#soma-gene"), expected.genes[gene]);
  assert.deepEqual(await errors(), []);
});

test("a box selects observations for the table and the summary, but not hidden ones", async () => {
  const { page, errors } = await visit(link());
  const middle = [...expected.places.map(([x]) => x)].sort((a, b) => a - b)[Math.floor(expected.places.length / 2)];
  const wanted = expected.places.filter(([x]) => x > middle).length;
  const [, first] = [...expected.places.map(([x]) => x)].sort((a, b) => a - b).slice(Math.floor(expected.places.length / 2));
  const from = (await cameraX(page, (middle + first) / 2));
  await selectFrom(page, from);
  assert.equal(await page.textContent(".soma-summary h2"), `${wanted} selected`);
  assert.equal(await page.textContent(".table-count"), `${wanted} rows found`);
  const ids = await page.$$eval(".table-row", (rows) => rows.map((row) => Number(row.querySelector("[role=gridcell]").textContent)));
  assert.deepEqual(ids, expected.places.flatMap(([x], i) => (x > middle ? [i] : [])).slice(0, ids.length));
  // Hide the first category, and select again.
  const hidden = await page.textContent(".soma-legend button span");
  await page.click(".soma-legend button");
  await selectFrom(page, from);
  const left = expected.places.filter(([x], i) => x > middle && expected.types[i] !== hidden).length;
  assert.ok(left < wanted);
  assert.equal(await page.textContent(".soma-summary h2"), `${left} selected`);
  await shot(page, "soma-selected");
  await page.click(["button", "Clear selection"]);
  await settled(page);
  assert.equal(await page.textContent(".table-count"), `${expected.types.length} rows`);
  assert.deepEqual(await errors(), []);
});

/** An experiment whose observations are indexed by name. Their identifiers have gaps and another order. */
const NAMED = [["anna", 70, "B", 5], ["ben", 10, "T", -5], ["carl", 40, "B", 6], ["dora", 41, "T", -6]];

async function withNames(name) {
  const place = (...parts) => join(folder, name, ...parts);
  const tagged = async (at, kind) => putMeta(at, { soma_object_type: kind, soma_encoding_version: "1.1.0" });
  const groups = [[[], "SOMAExperiment"], [["ms"], "SOMACollection"], [["ms", "RNA"], "SOMAMeasurement"], [["ms", "RNA", "obsm"], "SOMACollection"]];
  for (const [path, kind] of groups) {
    await createGroup(place(...path));
    await tagged(place(...path), kind);
  }
  const obs = await create(place("obs"), { type: "sparse", dims: [{ name: "obs_id", type: "string_ascii" }], attrs: [{ name: "soma_joinid", type: "int64" }, { name: "kind", type: "string_utf8", cell: "var" }] });
  await put(obs, null, { obs_id: NAMED.map(([id]) => id), soma_joinid: BigInt64Array.from(NAMED, ([, joinid]) => BigInt(joinid)), kind: NAMED.map(([, , kind]) => kind) });
  await tagged(place("obs"), "SOMADataFrame");
  const dim = (name) => ({ name, type: "int64", domain: [0, 99], tile: 100 });
  const umap = await create(place("ms", "RNA", "obsm", "X_umap"), { type: "sparse", dims: [dim("soma_dim_0"), dim("soma_dim_1")], attrs: [{ name: "soma_data", type: "float64" }] });
  const cells = NAMED.flatMap(([, joinid, , x], i) => [[joinid, 0, x], [joinid, 1, i]]);
  await put(umap, null, { soma_dim_0: BigInt64Array.from(cells, ([row]) => BigInt(row)), soma_dim_1: BigInt64Array.from(cells, ([, column]) => BigInt(column)), soma_data: Float64Array.from(cells, ([, , value]) => value) });
  await tagged(place("ms", "RNA", "obsm", "X_umap"), "SOMASparseNDArray");
  await putMembers(place("ms", "RNA", "obsm"), { X_umap: "X_umap" });
  await putMembers(place("ms", "RNA"), { obsm: "obsm" });
  await putMembers(place("ms"), { RNA: "RNA" });
  await putMembers(place(), { obs: "obs", ms: "ms" });
  execFileSync(HYPERSLAB, ["index", place()], { stdio: "pipe" });
}

test("observations that are indexed by name are joined by their identifiers", async () => {
  await withNames("named");
  const { page, errors } = await visit(`#url=${encodeURIComponent(`${data}named`)}&by=kind`);
  assert.deepEqual(await summary(page), [["B", "2", "50.0"], ["T", "2", "50.0"]]);
  await selectFrom(page, await cameraX(page, 0));
  assert.deepEqual(await summary(page), [["B", "2", "100.0"]]);
  assert.equal(await page.textContent(".table-count"), "2 rows");
  assert.deepEqual(await page.$$eval(".table-row", (rows) => rows.map((row) => row.querySelector("[role=gridcell]").textContent)), ["anna", "carl"]);
  assert.deepEqual(await errors(), []);
});

/** The pixel of the map at this x, from the state in the link. */
async function cameraX(page, x) {
  await page.waitForFunction(() => /[#&]z=/.test(location.hash));
  const hash = new URLSearchParams(new URL(await page.url()).hash.slice(1));
  const { width } = await page.locator(".soma-map").boundingBox();
  return (x - Number(hash.get("x"))) * Number(hash.get("z")) + width / 2;
}

/** Selects everything on the map right of a pixel. */
async function selectFrom(page, from) {
  await page.click([".soma-tools button", "Box"]);
  const { x, y, width, height } = await page.locator(".soma-map").boundingBox();
  await page.mouse.move(x + from, y + height - 2);
  await page.mouse.down();
  await page.mouse.move(x + width - 2, y + 2, { steps: 4 });
  await page.mouse.up();
  await settled(page);
}
