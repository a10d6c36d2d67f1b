// The contenders: each has a reader, its options, and the address of its data. `shown` is its name on the page.
const manifest = { listing: "manifest" };
const nginx = { listing: "index" };

export const DENSE = [
  ...[1, 10, 100].map((fragments) => [fragments, `${fragments} ${fragments === 1 ? "fragment" : "fragments"}`]).flatMap(([fragments, counted]) => [
    { shown: `hyperslab, ${counted}, manifest`, reader: "hyperslab", options: manifest, data: `tiledb-${fragments}-indexed` },
    { shown: `hyperslab, ${counted}, listing`, reader: "hyperslab", options: nginx, data: `tiledb-${fragments}` },
  ]),
  { shown: "hyperslab, 1 fragment, manifest, pool", reader: "hyperslab", options: { ...manifest, pool: true }, data: "tiledb-1-indexed" },
  { shown: "zarrita, plain, best", reader: "zarrita", options: { best: true }, data: "zarr" },
  { shown: "zarrita, plain, default", reader: "zarrita", options: {}, data: "zarr" },
  { shown: "zarrita, sharded, best", reader: "zarrita", options: { best: true }, data: "zarr-sharded" },
  { shown: "zarrita, sharded, default", reader: "zarrita", options: {}, data: "zarr-sharded" },
  { shown: "geotiff, pool", reader: "geotiff", options: { best: true }, data: "dense.tif" },
  { shown: "geotiff, default", reader: "geotiff", options: {}, data: "dense.tif" },
  { shown: "h5wasm", reader: "h5wasm", options: {}, data: "dense.h5" },
];

export const SPARSE = [
  { shown: "hyperslab, sparse", reader: "hyperslab", options: {}, data: "tiledb-sparse-indexed" },
  { shown: "hyperslab, sparse, pool", reader: "hyperslab", options: { pool: true }, data: "tiledb-sparse-indexed" },
  { shown: "hyparquet, best", reader: "hyparquet", options: { best: true }, data: "sparse.parquet" },
  { shown: "hyparquet, default", reader: "hyparquet", options: {}, data: "sparse.parquet" },
  { shown: "parquet-wasm", reader: "parquet-wasm", options: {}, data: "sparse.parquet" },
];

/** The phases of each fresh page. */
export const SESSIONS = {
  dense: [["open", "window", "revisit"], ["open", "pixel", "random"], ["open", "whole"], ["open", "scrub"]],
  sparse: [["open", "box"]],
};
