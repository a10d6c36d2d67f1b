"""Writes the same cells in every format: `data.py FOLDER`. Writes `cells.json` last, with what to read and the answers.

Dense: a matrix of 4096 x 4096 16-bit integers, in tiles of 512 x 512, compressed with zstd (GeoTIFF and HDF5: gzip,
which their browser libraries read without plugins). Sparse: 10 million points with a value.
"""

import json
import os
import shutil
import sys

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tifffile
import tiledb
import zarr

SIDE, TILE, POINTS, EXTENT = 4096, 512, 10_000_000, 1_000_000
SHARD = 2048
ROW_GROUP = 100_000


def matrix():
    """Hills with some noise, so that they compress like elevations."""
    y, x = np.mgrid[0:SIDE, 0:SIDE].astype("f4")
    hills = 2000 + 900 * np.sin(x / 310) * np.cos(y / 170) + 300 * np.sin((x + y) / 57)
    return (hills + np.random.default_rng(1).integers(0, 8, (SIDE, SIDE))).astype("u2")


def filters():
    return tiledb.FilterList([tiledb.ZstdFilter(level=3)])


def dense_array(path, cells, fragments):
    """The first fragment has every cell. Each later one writes a box of 256 x 256 cells again."""
    dims = [tiledb.Dim(name, domain=(0, SIDE - 1), tile=TILE, dtype="i4") for name in ("y", "x")]
    schema = tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=[tiledb.Attr("v", dtype="u2", filters=filters())])
    tiledb.Array.create(path, schema)
    rng = np.random.default_rng(2)
    for n in range(fragments):
        top, left, side = (0, 0, SIDE) if n == 0 else (*rng.integers(0, SIDE - 256, 2), 256)
        with tiledb.open(path, "w", timestamp=n + 1) as array:
            array[top:top + side, left:left + side] = cells[top:top + side, left:left + side]


def dense(folder, cells):
    for fragments in (1, 10, 100):
        dense_array(os.path.join(folder, f"tiledb-{fragments}"), cells, fragments)
    codecs = {"compressors": zarr.codecs.ZstdCodec(level=3)}
    for name, layout in (("zarr", {"chunks": (TILE, TILE)}), ("zarr-sharded", {"chunks": (TILE, TILE), "shards": (SHARD, SHARD)})):
        zarr.create_array(os.path.join(folder, name), shape=cells.shape, dtype="u2", **layout, **codecs)[:] = cells
    with h5py.File(os.path.join(folder, "dense.h5"), "w") as file:
        file.create_dataset("v", data=cells, chunks=(TILE, TILE), compression="gzip", compression_opts=6)
    tifffile.imwrite(os.path.join(folder, "dense.tif"), cells, tile=(TILE, TILE), compression="zlib")


def points():
    """Points around 40 centres of different sizes, in the order of a space-filling grid, as Parquet's users sort them."""
    rng = np.random.default_rng(3)
    centres = rng.uniform(0, EXTENT, (40, 2))
    weights = 1 / np.arange(1, 41)
    at = centres[rng.choice(40, POINTS, p=weights / weights.sum())] + rng.normal(0, 60_000, (POINTS, 2))
    x, y = np.clip(np.rint(at), 0, EXTENT - 1).astype("i4").T
    order = np.lexsort((x, y, x // 10_000, y // 10_000))
    return x[order], y[order], rng.integers(0, 10_000, POINTS).astype("i4")


def sparse(folder, x, y, v):
    dims = [tiledb.Dim(name, domain=(0, EXTENT - 1), tile=10_000, dtype="i4", filters=filters()) for name in ("y", "x")]
    schema = tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=[tiledb.Attr("v", dtype="i4", filters=filters())],
                                sparse=True, allows_duplicates=True, capacity=10_000)
    path = os.path.join(folder, "tiledb-sparse")
    tiledb.Array.create(path, schema)
    with tiledb.open(path, "w", timestamp=1) as array:
        array[y, x] = v
    table = pa.table({"x": x, "y": y, "v": v})
    pq.write_table(table, os.path.join(folder, "sparse.parquet"), compression="zstd", row_group_size=ROW_GROUP, write_page_index=True)


def main(folder):
    done = os.path.join(folder, "cells.json")
    if os.path.exists(done):
        return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    cells = matrix()
    dense(folder, cells)
    x, y, v = points()
    sparse(folder, x, y, v)
    rng = np.random.default_rng(4)
    pixels = rng.integers(0, SIDE, (200, 2)).tolist()
    window = [1100, 1300, 1024]
    box = [300_000, 420_000, 300_000, 420_000]
    inside = (x >= box[0]) & (x <= box[1]) & (y >= box[2]) & (y <= box[3])
    top, left, side = window
    answers = {
        "window": int(cells[top:top + side, left:left + side].sum()),
        "pixel": int(cells[tuple(pixels[0])]),
        "random": int(sum(int(cells[r, c]) for r, c in pixels)),
        "whole": int(cells.sum()),
        "scrub": int(cells[2000:2512, 60 * 32:60 * 32 + 512].sum()),
        "box": int(v[inside].sum()),
    }
    with open(done, "w") as file:
        json.dump({"side": SIDE, "window": window, "pixels": pixels, "box": box, "found": int(inside.sum()), "answers": answers}, file)


main(sys.argv[1])
