// The parts of SOMA experiments that need no page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, field, load, textColumn } from "./load.mjs";

const { colouringOf, numbers } = await load("soma/colouring.ts");
const { experimentOf, nameColumns } = await load("soma/experiment.ts");
const { box, inOutline } = await load("soma/lasso.ts");
const { extentOf, NearestPoint } = await load("soma/nearest.ts");
const { categoryColour, coloursOf, drawingOrder } = await load("soma/palette.ts");
const { Positions } = await load("soma/positions.ts");
const { findGenes } = await load("soma/read.ts");
const { summarize } = await load("soma/summary.ts");

const all = () => true;
const cells = colouringOf(field("cell", "category", { labels: textColumn(["B", "T"]) }), column(Int32Array.of(1, 0, -1, 1, 5)));

test("identifiers are found whether or not they are consecutive", () => {
  const some = new Positions(BigInt64Array.of(40n, 10n, 11n));
  assert.deepEqual([40, 10n, 11, 12, 9, 41].map((id) => some.rowOf(id)), [0, 1, 2, -1, -1, -1]);
  const consecutive = new Positions(BigInt64Array.of(7n, 8n, 9n));
  assert.deepEqual([7, 9, 6, 10].map((id) => consecutive.rowOf(id)), [0, 2, -1, -1]);
  assert.throws(() => new Positions(BigInt64Array.of(0n, 2n ** 40n)), /too far apart/);
});

test("columns become categories or numbers, with nulls as neither", () => {
  assert.deepEqual([...cells.codes], [1, 0, -1, 1, -1]);
  assert.deepEqual([...cells.counts], [1, 2]);
  const text = colouringOf(field("t", "text"), textColumn(["z", "a", "", "z"], Uint8Array.of(1, 1, 0, 1)));
  assert.deepEqual([text.labels, [...text.codes]], [["a", "z"], [1, 0, -1, 1]]);
  const score = colouringOf(field("s", "float"), column(Float32Array.of(2, NaN, -3, Infinity), Uint8Array.of(1, 1, 1, 1)));
  assert.deepEqual([score.low, score.high], [-3, 2]);
  assert.ok(Number.isNaN(colouringOf(field("n", "integer"), column(BigInt64Array.of(4n, 5n), Uint8Array.of(0, 1))).values[0]));
  assert.throws(() => colouringOf(field("id", "text"), textColumn(Array.from({ length: 2001 }, (_, i) => `cell ${i}`))), /more than 2000 different values/);
});

test("hidden categories are transparent, and rows outside the selection are faint", () => {
  const colours = coloursOf(cells, 5, { hidden: new Set([0]), selected: Uint8Array.of(1, 1, 1, 0, 1) }, []);
  assert.deepEqual([...colours.subarray(0, 3)], categoryColour(1));
  const alphas = [0, 1, 2, 3].map((i) => colours[i * 4 + 3]);
  assert.equal(alphas[1], 0);
  assert.ok(alphas[0] > alphas[2] && alphas[2] > alphas[3] && alphas[3] > 0);
});

test("numbers get the colours of the ramp, from the lowest to the highest", () => {
  const ramp = [10, 20, 30, 255, 40, 50, 60, 255];
  const colours = coloursOf(numbers("g", Float32Array.of(0, 8)), 2, { hidden: new Set(), selected: undefined }, ramp);
  assert.deepEqual([...colours].filter((_, i) => i % 4 < 3), [10, 20, 30, 40, 50, 60]);
});

test("high numbers are drawn last, and rows without one first", () => {
  assert.deepEqual([...drawingOrder(numbers("g", Float32Array.of(5, 0, NaN, 9, 0)), 5)], [2, 1, 4, 0, 3]);
  assert.deepEqual([...drawingOrder(cells, 3)], [0, 1, 2]);
});

test("many categories have different colours", () => {
  assert.equal(new Set(Array.from({ length: 60 }, (_, code) => categoryColour(code).join())).size, 60);
});

test("an outline selects the points in it that are shown", () => {
  const points = Float32Array.of(0, 0, 1, 1, 2, 2, NaN, NaN, 0.5, 1.5);
  assert.deepEqual([...inOutline(points, box([0.4, 0.4], [2.5, 1.8]), all)], [1, 4]);
  assert.deepEqual([...inOutline(points, box([0.4, 0.4], [2.5, 1.8]), (row) => row !== 1)], [4]);
  // A letter U does not hold what is between its arms.
  const u = [[-1, 3], [-1, -1], [3, -1], [3, 3], [1.8, 3], [1.8, 0.5], [0.2, 0.5], [0.2, 3]];
  assert.deepEqual([...inOutline(points, u, all)], [0, 2]);
});

test("the point under the pointer is the nearest one that is shown", () => {
  const points = Float32Array.from({ length: 2000 }, (_, i) => (i % 2 ? Math.floor(i / 2 / 40) : (i / 2) % 40));
  const nearest = new NearestPoint(points, extentOf(points));
  assert.equal(nearest.at(7.2, 3.1, 0.5, all), 127);
  assert.equal(nearest.at(7.2, 3.1, 1.5, (row) => row !== 127), 128);
  assert.equal(nearest.at(-5, 3, 1, all), undefined);
  assert.equal(new NearestPoint(Float32Array.of(NaN, NaN), extentOf(Float32Array.of(NaN, NaN))).at(0, 0, 1, all), undefined);
});

test("a selection is summarized by category and gene", () => {
  const gene = Float32Array.of(4, 0, 1, 2, 0);
  const { count, gene: whole, groups } = summarize(5, Uint32Array.of(0, 1, 2, 3), cells, gene);
  assert.equal(count, 4);
  assert.deepEqual(whole, { mean: 7 / 4, share: 3 / 4 });
  assert.deepEqual(groups.map(({ label, count, gene }) => [label, count, gene.mean]), [["T", 2, 3], ["B", 1, 0], ["(none)", 1, 1]]);
  assert.deepEqual(summarize(5, undefined, undefined, undefined), { count: 5, gene: undefined, groups: [] });
});

test("genes are found by any name, equal ones first", () => {
  const genes = [{ id: 0, names: ["CD19", "ENSG1"] }, { id: 1, names: ["XCD1"] }, { id: 2, names: ["CD1"] }];
  assert.deepEqual(findGenes(genes, "cd1", 9).map(({ id }) => id), [2, 0, 1]);
  assert.deepEqual(findGenes(genes, "ensg1", 9).map(({ id }) => id), [0]);
  assert.equal(findGenes(genes, "", 2).length, 2);
});

test("an experiment has the maps and matrices that belong to its observations", () => {
  const table = (name, path, columns = []) => ({ name, path, columns });
  const axis = (dimension, of) => ({ dimension, table: of });
  const embedding = (name, of, count) => ({ name, table: of, component_count: count });
  const dataset = {
    application: "soma", tables: [table("obs", "obs")],
    children: [{
      application: "soma", name: "RNA", tables: [table("var", "ms/RNA/var")],
      variables: [
        { name: "X/data", axes: [axis("soma_dim_0", "obs"), axis("soma_dim_1", "ms/RNA/var")] },
        { name: "obsp/distances", axes: [axis("soma_dim_0", "obs"), axis("soma_dim_1", "obs")] },
      ],
      embeddings: [embedding("obsm/X_pca", "obs", 50), embedding("obsm/X_umap", "obs", 2), embedding("varm/PCs", "ms/RNA/var", 3), embedding("obsm/one", "obs", 1)],
    }],
  };
  const { maps, layers } = experimentOf(dataset);
  assert.deepEqual(maps.map(({ name }) => name), ["RNA: X_umap", "RNA: X_pca"]);
  assert.deepEqual(layers.map(({ name, genes, rows, columns }) => [name, genes.path, rows, columns]), [["RNA: data", "ms/RNA/var", "soma_dim_0", "soma_dim_1"]]);
  assert.equal(experimentOf({ application: "soma" }), undefined);
});

test("symbols of genes come before identifiers", () => {
  const columns = ["soma_joinid", "remark", "hv", "var_id", "feature_name"].map((name, i) => ({ name, datatype: i === 2 ? "bool" : "string_utf8", dimension: i === 0 }));
  assert.deepEqual(nameColumns({ columns }), ["feature_name", "var_id", "remark"]);
});
