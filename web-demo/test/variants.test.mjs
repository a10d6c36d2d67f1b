// Regions of variant calls.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { cellRange, contigsOf, parseRegion, recordsIn, regionText } = await load("variants/region.ts");

test("regions count from 1, places from 0", () => {
  assert.deepEqual(parseRegion("chr1:1,000-2,000"), { contig: "chr1", from: 999, to: 1999 });
  assert.deepEqual(parseRegion(" X:5 "), { contig: "X", from: 4, to: 4 });
  assert.equal(regionText(parseRegion("HLA*01")), "HLA*01");
  assert.equal(regionText(parseRegion("chr1:1000-2000")), "chr1:1000-2000");
  for (const wrong of ["", "chr1:0", "chr1:9-5", "chr1:a-b", "chr1:1-9999999999"]) assert.equal(parseRegion(wrong), undefined, wrong);
});

test("each record in a place is listed once", () => {
  const gap = 100;
  // Records as they are stored: a cell at the start and an anchor after every gap.
  const records = [[50, 60], [120, 480], [190, 201], [250, 250], [310, 320]];
  const cells = records.flatMap(([begins, ends]) => Array.from({ length: Math.floor((ends - begins) / gap) + 1 }, (_, k) => [begins + k * gap, begins, ends]));
  for (const [from, to] of [[0, 1000], [200, 260], [455, 470], [300, 309], [61, 119]]) {
    const [low, high] = cellRange({ from, to }, gap);
    const read = cells.filter(([at]) => at >= low && at <= high);
    const columns = Object.fromEntries(["start_pos", "real_start_pos", "end_pos"].map((name, i) => [name, { values: Uint32Array.from(read, (cell) => cell[i]) }]));
    const kept = read.filter((_, i) => recordsIn({ from, to }, gap)({ columns })(i)).map(([, begins, ends]) => [begins, ends]);
    assert.deepEqual(kept.sort(([a], [b]) => a - b), records.filter(([begins, ends]) => begins <= to && ends >= from), `${from} to ${to}`);
  }
});

test("contigs come from the header", () => {
  const header = '##fileformat=VCFv4.2\n##contig=<ID=chr1,length=248956422>\n##contig=<length=7,ID=MT>\n##contig=<ID=odd>\n##INFO=<ID=DP>\n';
  assert.deepEqual(contigsOf(header), [{ name: "chr1", length: 248956422 }, { name: "MT", length: 7 }, { name: "odd", length: undefined }]);
});
