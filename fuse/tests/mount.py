"""Writes arrays with libtiledb, then compares the mount with libtiledb's results.

usage: mount.py write FOLDER | mount.py check FOLDER MOUNT
"""

import csv
import json
import os
import sys
import warnings

import numpy as np
import pyarrow
import pyarrow.ipc
import tiledb
import zarr
import zarrs  # noqa: F401 (registers the pipeline)


def write(folder):
    rng = np.random.default_rng(1)
    dims = [
        tiledb.Dim("x", domain=(-20, 79), tile=10, dtype="int32"),
        tiledb.Dim("y", domain=(0, 59), tile=20, dtype="int32"),
    ]
    attrs = [
        tiledb.Attr("temp", dtype="float32", filters=[tiledb.ZstdFilter()]),
        tiledb.Attr("n", dtype="int16", filters=[tiledb.GzipFilter()]),
    ]
    dense = f"{folder}/dense"
    tiledb.Array.create(dense, tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=attrs, sparse=False))
    with tiledb.open(dense, "w", timestamp=1000) as a:
        n = rng.integers(-1000, 1000, (100, 60)).astype("int16")
        a[:] = {"temp": rng.random((100, 60), dtype="float32"), "n": n}
    with tiledb.open(dense, "w", timestamp=2000) as a:
        a[0:10, 5:10] = {"temp": np.ones((10, 5), "float32"), "n": np.full((10, 5), 7, "int16")}
    with tiledb.open(dense, "w") as a:
        a.meta["units"] = "K"

    deep = f"{folder}/nested/deep"
    os.mkdir(f"{folder}/nested")
    dims = [tiledb.Dim(n, domain=(0, s - 1), tile=t, dtype="uint8") for n, s, t in (("a", 30, 7), ("b", 20, 20), ("c", 25, 6))]
    tiledb.Array.create(deep, tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=[tiledb.Attr("", dtype="uint8")], sparse=False))
    with tiledb.open(deep, "w") as a:
        a[:] = rng.integers(0, 255, (30, 20, 25)).astype("uint8")

    days = f"{folder}/days"
    day = tiledb.Dim("t", domain=(np.datetime64("2020-01-01"), np.datetime64("2020-12-31")), tile=np.timedelta64(30, "D"), dtype="datetime64[D]")
    tiledb.Array.create(days, tiledb.ArraySchema(domain=tiledb.Domain(day), attrs=[tiledb.Attr("v", dtype="int64")], sparse=False))
    with tiledb.open(days, "w") as a:
        a[:] = np.arange(366)

    quakes = f"{folder}/quakes"
    dims = [
        tiledb.Dim("lon", domain=(-180.0, 180.0), tile=10.0, dtype="float64"),
        tiledb.Dim("lat", domain=(-90.0, 90.0), tile=10.0, dtype="float64"),
    ]
    attrs = [tiledb.Attr("mag", dtype="float32"), tiledb.Attr("place", dtype=str, var=True)]
    tiledb.Array.create(quakes, tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=attrs, sparse=True))
    with tiledb.open(quakes, "w") as a:
        places = np.array([f'place {i}, "{i % 7}"' for i in range(1000)], dtype=object)
        a[rng.uniform(-180, 180, 1000), rng.uniform(-90, 90, 1000)] = {"mag": rng.random(1000, dtype="float32"), "place": places}
    os.mkdir(f"{folder}/sharded")
    write_sharded(folder)


# Arrays whose tiles are Zarr shards, except for those in UNPACKED: domain and extent of each dimension, type, filter, order.
ZSTD, GZIP, LZ4 = tiledb.ZstdFilter(5), tiledb.GzipFilter(6), tiledb.LZ4Filter()
SHARDED = {
    "plain": ([(0, 511, 256), (0, 299, 256)], "float64", None, "row-major"),
    "zstd": ([(7, 518, 256), (0, 299, 256)], "float64", ZSTD, "row-major"),
    "gzip": ([(0, 99, 32), (5, 70, 32), (0, 70, 64)], "float32", GZIP, "row-major"),
    "line": ([(1, 100000, 16384)], "int32", ZSTD, "col-major"),
    "cells": ([(0, 3, 1), (0, 4, 1)], "uint8", GZIP, "row-major"),
    "pairs": ([(0, 99, 30), (0, 49, 30)], [("", "uint8"), ("", "uint8"), ("", "uint8")], ZSTD, "row-major"),
    # These are decoded on read too: rows split by chunks, column-major order, another filter.
    "rows": ([(0, 399, 200), (0, 299, 300)], "float64", ZSTD, "row-major"),
    "columns": ([(0, 39, 20), (0, 29, 10)], "int64", ZSTD, "col-major"),
    "lz4": ([(0, 39, 20), (0, 29, 10)], "int64", LZ4, "row-major"),
}
UNPACKED = ("rows", "columns", "lz4", "gzip", "cells")
# Two independent readers: zarr-python, and zarrs as its codec pipeline in strict mode.
READERS = ({}, {"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True})


def write_sharded(folder):
    rng = np.random.default_rng(3)
    for name, (sides, dtype, packed, order) in SHARDED.items():
        dims = [tiledb.Dim(f"d{i}", domain=(lo, hi), tile=tile, dtype="int64") for i, (lo, hi, tile) in enumerate(sides)]
        attr = tiledb.Attr("v", dtype=np.dtype(dtype), filters=[packed] if packed else [])
        schema = tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=[attr], sparse=False, cell_order=order)
        path = f"{folder}/sharded/{name}"
        tiledb.Array.create(path, schema)

        def cells(shape):
            if name == "pairs":
                found = np.zeros(shape, dtype=attr.dtype)
                for field in found.dtype.names:
                    found[field] = rng.integers(0, 250, shape)
                return found
            return rng.integers(0, 250, shape).astype(dtype)

        # Write all cells, then a whole tile, then part of another tile: the last cell.
        whole = tuple(slice(lo, hi + 1) for lo, hi, _ in sides)
        first = tuple(slice(lo, min(lo + tile, hi + 1)) for lo, hi, tile in sides)
        last = tuple(slice(hi, hi + 1) for _, hi, _ in sides)
        for time, box in ((1000, whole), (2000, first), (3000, last)):
            with tiledb.open(path, "w", timestamp=time) as a:
                a[box] = cells([s.stop - s.start for s in box])
    empty = tiledb.ArraySchema(domain=tiledb.Domain(tiledb.Dim("d", domain=(0, 9), tile=4, dtype="int64")), attrs=[tiledb.Attr("v", dtype="int16", fill=-5, filters=[ZSTD])], sparse=False)
    tiledb.Array.create(f"{folder}/sharded/empty", empty)


def numbers(cells):
    """Cells of several values as an additional axis, as in Zarr."""
    return np.stack([cells[f] for f in cells.dtype.names], axis=-1) if cells.dtype.names else cells


def check_sharded(folder, mount):
    warnings.filterwarnings("ignore", message="Numcodecs codecs")
    for name, (sides, *_) in SHARDED.items():
        path, shown = f"{folder}/sharded/{name}", f"{mount}/sharded/{name}"
        for time in (None, 1000, 2500, 3000):
            with tiledb.open(path, timestamp=time) as a:
                cells = a[:]
                expect = numbers(cells["v"] if isinstance(cells, dict) else cells)
            # Parts of chunks are found with the index.
            part = tuple(slice(n // 5, n // 2 + 1) for n in expect.shape)
            for reader in READERS:
                with zarr.config.set(reader):
                    array = zarr.open_group(f"{shown}/at/{time}ms/zarr" if time else f"{shown}/zarr", mode="r")["v"]
                    assert (array.shards is None) == (name in UNPACKED), name
                    np.testing.assert_array_equal(array[...], expect, f"{name} at {time}")
                    np.testing.assert_array_equal(array[part], expect[part], f"{name} at {time}")
        for place, _, files in os.walk(f"{shown}/zarr/v/c"):
            for file in files:
                with open(f"{place}/{file}", "rb") as f:
                    assert len(f.read()) == os.stat(f.name).st_size, f.name
        where = os.getxattr(f"{shown}/zarr/v/c/{'/'.join('0' for _ in expect.shape)}", "user.hyperslab.shard") if name not in UNPACKED else b"bytes "
        assert where.startswith(b"bytes "), (name, where)
    assert (zarr.open_array(f"{mount}/sharded/empty/zarr/v", mode="r")[:] == -5).all()


def same(path, expect):
    """Checks that the file equals the array, both loaded and memory-mapped."""
    for got in (np.load(path), np.load(path, mmap_mode="r")):
        assert got.dtype == expect.dtype and got.shape == expect.shape, (path, got.dtype, got.shape, expect.shape)
        np.testing.assert_array_equal(got, expect, path)


def check(folder, mount):
    with tiledb.open(f"{folder}/dense") as a:
        full = a[:]
    temp, n = full["temp"], full["n"]
    dense = f"{mount}/dense"
    same(f"{dense}/slices/temp@all.npy", temp)
    same(f"{dense}/slices/temp@0:50,5:20.npy", temp[20:70, 5:20])
    same(f"{dense}/slices/temp@0..50,5..20.npy", temp[20:70, 5:20])
    same(f"{dense}/slices/n@:,3.npy", n[:, 3])
    same(f"{dense}/slices/n@y=3.npy", n[:, 3])
    same(f"{dense}/slices/n@-20.npy", n[0])
    same(f"{dense}/slices/n@5,7.npy", n[25, 7])
    same(f"{dense}/slices/n@-10:20:3,::7.npy", n[10:40:3, ::7])
    same(f"{dense}/tiles/temp/2/0.npy", temp[20:30, 0:20])
    same(f"{dense}/tiles/n/9/2.npy", n[90:, 40:])
    both = np.load(f"{dense}/slices/-10:10,:.npy")
    np.testing.assert_array_equal(both["temp"], temp[10:30])
    np.testing.assert_array_equal(both["n"], n[10:30])
    raw = np.fromfile(f"{dense}/slices/n@5:9,2:4.bin", dtype="<i2").reshape(4, 2)
    np.testing.assert_array_equal(raw, n[25:29, 2:4])
    with tiledb.open(f"{folder}/dense", timestamp=1000) as a:
        same(f"{dense}/at/1000ms/slices/temp@all.npy", a[:]["temp"])
    with open(f"{dense}/slices/5:7,3:5.csv") as f:
        rows = list(csv.DictReader(f))
    assert [(int(r["x"]), int(r["y"])) for r in rows] == [(5, 3), (5, 4), (6, 3), (6, 4)]
    assert [np.float32(r["temp"]) for r in rows] == list(temp[25:27, 3:5].ravel())
    with open(f"{dense}/metadata.json") as f:
        assert json.load(f) == {"units": "K"}
    with open(f"{dense}/slices/5:7,3:5.json") as f:
        assert [r["n"] for r in json.load(f)] == n[25:27, 3:5].ravel().tolist()

    with pyarrow.memory_map(f"{dense}/slices/all.arrow") as f:
        table = pyarrow.ipc.open_file(f).read_all()
    table.validate(full=True)
    np.testing.assert_array_equal(table["temp"].to_numpy().reshape(100, 60), temp)
    np.testing.assert_array_equal(table["x"].to_numpy().reshape(100, 60)[:, 0], np.arange(-20, 80))

    check_sharded(folder, mount)
    group = zarr.open_group(f"{dense}/zarr", mode="r")
    np.testing.assert_array_equal(group["temp"][:], temp)
    np.testing.assert_array_equal(group["n"][25:29, 2:44], n[25:29, 2:44])
    np.testing.assert_array_equal(group["x"][:], np.arange(-20, 80))
    assert group["temp"].metadata.dimension_names == ("x", "y")
    with tiledb.open(f"{folder}/dense", timestamp=1000) as a:
        np.testing.assert_array_equal(zarr.open_group(f"{dense}/at/1000ms/zarr", mode="r")["n"][:], a[:]["n"])
    np.testing.assert_array_equal(zarr.open_array(f"{mount}/days/zarr/v", mode="r")[:], np.arange(366))

    with tiledb.open(f"{folder}/nested/deep") as a:
        cube = a[:]
    np.testing.assert_array_equal(zarr.open_array(f"{mount}/nested/deep/zarr/data", mode="r")[:], cube)
    same(f"{mount}/nested/deep/slices/all.npy", cube)
    same(f"{mount}/nested/deep/slices/3:29,:,5:20.npy", cube[3:29, :, 5:20])
    # Reads at arbitrary offsets, directly from the file.
    rng = np.random.default_rng(2)
    whole = np.lib.format.open_memmap(f"{mount}/nested/deep/slices/all.npy", mode="r")
    with open(f"{mount}/nested/deep/slices/all.bin", "rb", buffering=0) as f:
        for start in rng.integers(0, cube.size, 200):
            f.seek(start)
            length = int(rng.integers(1, 2000))
            assert f.read(length) == cube.tobytes()[start : start + length]
    assert (whole[::3, ::2, 1] == cube[::3, ::2, 1]).all()

    same(f"{mount}/days/slices/2020-02.npy", np.arange(31, 60))
    with open(f"{mount}/days/slices/2020-03-05.json") as f:
        assert json.load(f) == [{"t": "2020-03-05", "v": 64}]

    with tiledb.open(f"{folder}/quakes") as a:
        q = a[:]
    order = np.lexsort((q["lat"], q["lon"]))
    points = np.load(f"{mount}/quakes/slices/lon,lat,mag@all.npy", mmap_mode="r")
    for name in ("lon", "lat", "mag"):
        np.testing.assert_array_equal(points[name], q[name][order], name)
    with pyarrow.OSFile(f"{mount}/quakes/slices/all.arrow") as f:
        table = pyarrow.ipc.open_file(f).read_all()
    assert table["place"].to_pylist() == [q["place"][i] for i in order]
    np.testing.assert_array_equal(table["lat"].to_numpy(), q["lat"][order])
    with open(f"{mount}/quakes/slices/lon=0:40.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    inside = [i for i in order if 0 <= q["lon"][i] <= 40]
    assert [r["place"] for r in rows] == [q["place"][i] for i in inside]
    assert [float(r["lat"]) for r in rows] == [q["lat"][i] for i in inside]


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](*sys.argv[2:])
    print("ok")
