// Checks variant calls in an array of TileDB-VCF's layout.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { HYPERSLAB, SITE_DIR, serve, settled, shot, visit } from "./page.mjs";

const { create, createGroup, put, putMembers, putMeta } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const folder = mkdtempSync(join(tmpdir(), "viewer-"));
const GAP = 1000;
/** contig, first and last position from 0, sample, alleles. */
const RECORDS = [
  ["chr1", 99, 99, "anna", "A,T"], ["chr1", 99, 99, "ben", "A,T"], ["chr1", 5000, 8200, "anna", "G,<NON_REF>"],
  ["chr1", 6000, 6001, "ben", "CT,C"], ["chr2", 10, 10, "ben", "G,C"],
];
let data;

before(async () => {
  data = await serve(folder);
  const place = (name) => join(folder, "calls", name);
  await createGroup(place(""));
  await createGroup(place("metadata"));
  const ascii = (name) => ({ name, type: "string_ascii" });
  const calls = await create(place("data"), {
    type: "sparse", dims: [ascii("contig"), { name: "start_pos", type: "uint32", domain: [0, 2 ** 32 - 2], tile: 2 ** 32 - 1 }, ascii("sample")],
    attrs: [{ name: "real_start_pos", type: "uint32" }, { name: "end_pos", type: "uint32" }, { name: "qual", type: "float32" }, { name: "alleles", type: "char", cell: "var" }, { name: "info", type: "uint8", cell: "var" }],
  });
  const cells = RECORDS.flatMap(([contig, first, last, sample, alleles]) =>
    Array.from({ length: Math.floor((last - first) / GAP) + 1 }, (_, k) => ({ contig, start_pos: first + k * GAP, sample, real_start_pos: first, end_pos: last, qual: 30.5, alleles, info: new Uint8Array(2) })));
  await put(calls, null, Object.fromEntries(Object.keys(cells[0]).map((name) => [name, cells.map((cell) => cell[name])])));
  await putMeta(place("data"), { version: { type: "uint32", value: 4 }, anchor_gap: { type: "uint32", value: GAP } });
  const headers = await create(place("metadata/vcf_headers"), { type: "sparse", dims: [ascii("sample")], attrs: [{ name: "header", type: "char", cell: "var" }] });
  const header = "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=9000>\n##contig=<ID=chr2,length=500>\n";
  await put(headers, null, { sample: ["anna", "ben"], header: [header, header] });
  await putMembers(place("metadata"), { vcf_headers: "vcf_headers" });
  await putMembers(place(""), { data: "data", metadata: "metadata" });
  await putMeta(place(""), { dataset_type: "vcf" });
  execFileSync(HYPERSLAB, ["index", place("")], { stdio: "pipe" });
});
after(() => rmSync(folder, { recursive: true }));

const link = (more = "") => `#url=${encodeURIComponent(`${data}calls`)}${more}`;

/** Contig, first position, sample and last position of the listed records. */
async function listed(page) {
  const names = await page.$$eval(".table-header .table-name", (found) => found.map((cell) => cell.textContent));
  const rows = await page.$$eval(".table-row", (found) => found.map((row) => [...row.querySelectorAll("[role=gridcell]")].map((cell) => cell.textContent)));
  const shown = ["contig", "real_start_pos", "end_pos", "sample", "alleles"].map((name) => names.indexOf(name));
  return rows.map((row) => shown.map((column, i) => (i === 1 || i === 2 ? Number(row[column]) : row[column])));
}

async function show(page, region, samples) {
  await page.fill("#variants-region", region);
  await page.fill("#variants-samples", samples);
  await page.click(["form button", "Show"]);
  await settled(page);
}

const sorted = (records) => [...records].sort((a, b) => a.join() < b.join() ? -1 : 1);

test("records are listed by region and sample, long ones once", async () => {
  const { page, errors } = await visit(link());
  assert.equal(await page.inputValue("#variants-region"), "chr1:1-1000000");
  assert.deepEqual(sorted(await listed(page)), sorted(RECORDS.slice(0, 4)));
  await shot(page, "variants");
  // In the middle of a long record, of which only an anchor is near.
  await show(page, "chr1:7,500-7,600", "");
  assert.deepEqual(await listed(page), [RECORDS[2]]);
  await show(page, "chr1:1-9000", "ben");
  assert.deepEqual(sorted(await listed(page)), sorted([RECORDS[1], RECORDS[3]]));
  await show(page, "chr2", "");
  assert.deepEqual(await listed(page), [RECORDS[4]]);
  await show(page, "chr2:", "");
  assert.match(await page.textContent(".table-failure"), /chr2: is not a region; enter one such as chr1:1-1000000/);
  assert.deepEqual(await errors(), []);
});

test("the region and the samples are in the link", async () => {
  const { page } = await visit(link(`&region=${encodeURIComponent("chr1:6001-6002")}&samples=ben&where=${encodeURIComponent("qual > 30")}`));
  assert.deepEqual(await listed(page), [RECORDS[3]]);
});
