"""The rivals, each with the same interface: write a matrix or cells, open, read a box.

`python rivals.py RIVAL WORKLOAD VARIANT PATH DATA RUNS SECONDS PREPARE` measures one of them in this process
and prints a line of JSON. PREPARE is a command that runs before each run, untimed; it may be empty. libtiledb
reads the very arrays that Hyperslab wrote.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np

import data as D
from prepare import sync

TUNED = {"sm.mem.malloc_trim": "false", "vfs.read_ahead_size": "0", "sm.compute_concurrency_level": "2",
         "sm.io_concurrency_level": "2", "sm.check_coord_dups": "false", "sm.check_coord_oob": "false",
         "sm.check_global_order": "false", "py.init_buffer_bytes": str(64 << 20)}


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
    if os.path.exists(path):
        os.remove(path)


class Tiledb:
    def __init__(self):
        import tiledb
        self.t = tiledb
        self.ctx = tiledb.Ctx(TUNED)

    def filters(self, codec):
        t = self.t
        return t.FilterList({"none": [t.NoOpFilter()], "zstd3": [t.ZstdFilter(3)], "gzip6": [t.GzipFilter(6)],
                             "bszstd3": [t.BitShuffleFilter(), t.ZstdFilter(3)]}[codec])

    def open(self, path, mode="r"):
        # A handle either reads or writes. This one reads; each write opens its own.
        self.path, self.a = path, self.t.open(path, ctx=self.ctx)

    def box(self, b):
        return self.a[b[0]:b[1] + 1, b[2]:b[3] + 1]["v"]

    def set_box(self, b, m):
        with self.t.open(self.path, "w", ctx=self.ctx) as a:
            a[b[0]:b[1] + 1, b[2]:b[3] + 1] = m

    def cells(self, b, columns):
        dims = [c for c in columns if c in "XY"]
        got = self.a.query(attrs=[c for c in columns if c not in dims], dims=dims, order="U").multi_index[b[0]:b[1], b[2]:b[3]]
        return [got[c] for c in columns]

    def load_dense(self, path, m, codec):
        t = self.t
        dims = [t.Dim(name=n, domain=(0, s - 1), tile=e, dtype="int64") for n, s, e in zip(("row", "col"), m.shape, D.TILE)]
        t.Array.create(path, t.ArraySchema(t.Domain(*dims), [t.Attr("v", dtype="int32", filters=self.filters(codec))]))
        with t.open(path, "w", ctx=self.ctx) as a:
            a[:] = m

    def load_sparse(self, path, columns, codec):
        t = self.t
        f = self.filters(codec)
        dims = [t.Dim(name=n, domain=(0, m), tile=10_000, dtype="int64", filters=f) for n, m in (("X", D.DOMAIN[1]), ("Y", D.DOMAIN[3]))]
        attrs = [t.Attr(n, dtype="int64", filters=f) for n in D.COLUMNS[2:]]
        t.Array.create(path, t.ArraySchema(t.Domain(*dims), attrs, sparse=True, capacity=10_000))
        with t.open(path, "w", ctx=self.ctx) as a:
            a[columns[0], columns[1]] = dict(zip(D.COLUMNS[2:], columns[2:]))

    def consolidate(self, path):
        self.t.consolidate(path, ctx=self.ctx)
        self.t.vacuum(path, ctx=self.ctx)


class Hdf5:
    def __init__(self):
        import h5py
        import hdf5plugin
        self.h5, self.plugin = h5py, hdf5plugin

    def open(self, path, mode="r"):
        self.f = self.h5.File(path, mode)
        self.v = self.f["v"]
        self.out = getattr(self, "out", np.empty(0, "i4"))

    def close(self):
        self.f.close()

    def elements(self, r, c):
        """The cells sorted by chunk, so that each chunk is read and written once."""
        order = np.lexsort((c // D.TILE[1], r // D.TILE[0]))
        space = self.v.id.get_space()
        space.select_elements(np.stack([r, c], 1)[order].astype("u8"))
        return order, self.h5.h5s.create_simple((len(r),)), space

    def points(self, r, c):
        order, memory, space = self.elements(r, c)
        found, out = np.empty((2, len(r)), "i4")
        self.v.id.read(memory, space, found)
        out[order] = found
        return out

    def set_points(self, r, c, values):
        order, memory, space = self.elements(r, c)
        self.v.id.write(memory, space, values[order])

    def set_box(self, b, m):
        self.v[b[0]:b[1] + 1, b[2]:b[3] + 1] = m

    def box(self, b):
        shape = (b[1] - b[0] + 1, b[3] - b[2] + 1)
        n = shape[0] * shape[1]
        if len(self.out) < n:
            self.out = np.empty(n, "i4")
        view = self.out[:n].reshape(shape)
        self.v.read_direct(view, np.s_[b[0]:b[1] + 1, b[2]:b[3] + 1])
        return view

    def load_dense(self, path, m, codec):
        p = self.plugin
        options = {"none": {}, "zstd3": p.Zstd(clevel=3), "gzip6": {"compression": "gzip", "compression_opts": 6},
                   "bszstd3": p.Bitshuffle(cname="zstd", clevel=3)}[codec]
        with self.h5.File(path, "w", libver="latest") as f:
            f.create_dataset("v", data=m, chunks=D.TILE, **options)


class Zarr:
    def __init__(self):
        import zarr
        import zarrs  # noqa: F401 (registers the pipeline)
        self.z = zarr
        zarr.config.set({"array.write_empty_chunks": True, "threading.max_workers": 2,
                         "codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})

    def open(self, path, mode="r"):
        self.v = self.z.open_array(path, mode=mode)

    def box(self, b):
        return self.v[b[0]:b[1] + 1, b[2]:b[3] + 1]

    def points(self, r, c):
        return self.v.get_coordinate_selection((r, c))

    def set_points(self, r, c, values):
        self.v.set_coordinate_selection((r, c), values)

    def set_box(self, b, m):
        self.v[b[0]:b[1] + 1, b[2]:b[3] + 1] = m

    def load_dense(self, path, m, codec):
        from zarr import codecs as c
        kind = {"none": None, "zstd3": c.ZstdCodec(level=3), "gzip6": c.GzipCodec(level=6),
                "bszstd3": c.BloscCodec(cname="zstd", clevel=3, shuffle="bitshuffle", typesize=4)}[codec]
        v = self.z.create_array(path, shape=m.shape, chunks=D.TILE, dtype="int32", compressors=kind, filters=None, overwrite=True)
        v[...] = m


class Duckdb:
    def __init__(self):
        import duckdb
        self.d = duckdb

    def open(self, path):
        self.con = self.d.connect(path, read_only=True, config={"threads": 2})

    def cells(self, b, columns):
        got = self.con.execute("SELECT %s FROM t WHERE X BETWEEN %d AND %d AND Y BETWEEN %d AND %d" % (",".join(columns), *b)).fetchnumpy()
        return [got[c] for c in columns]

    def load_sparse(self, path, columns, codec):
        import pyarrow as pa
        rows = pa.table(dict(zip(D.COLUMNS, columns)))  # noqa: F841 (the statement names it)
        con = self.d.connect(path, config={"threads": 2})
        con.execute("CREATE TABLE t AS SELECT * FROM rows ORDER BY X, Y")
        con.close()


def blocks(r, c, block):
    """For each block of this shape that has some of the cells: the indices of these cells, and the box of the block."""
    at = r // block[0], c // block[1]
    order = np.lexsort(at[::-1])
    ends = np.flatnonzero(np.diff(at[0][order]) | np.diff(at[1][order])) + 1
    for part in np.split(order, ends):
        top, left = (int(a[part[0]]) * n for a, n in zip(at, block))
        yield part, [top, top + block[0] - 1, left, left + block[1] - 1]


def gather(rival, r, c, block):
    out = np.empty(len(r), "i4")
    for part, b in blocks(r, c, block):
        out[part] = rival.box(b)[r[part] - b[0], c[part] - b[2]]
    return out


def scatter(rival, r, c, values, block):
    for part, b in blocks(r, c, block):
        m = np.ascontiguousarray(rival.box(b))
        m[r[part] - b[0], c[part] - b[2]] = values[part]
        rival.set_box(b, m)


def quickest(ways, before):
    """Tries each of several equivalent ways once. Returns the name and the result of the fastest."""
    took = {}
    for name, way in ways.items():
        before()
        began = time.perf_counter()
        took[name] = way(), time.perf_counter() - began
    name = min(took, key=lambda n: took[n][1])
    return name, took[name][0]


def random_cells(rival, workload, n, path, root, q, prepare):
    """Reads random cells of the matrix, or negates them. The fastest way depends on the number of cells, the codec and
    the machine: a list of cells, if the rival accepts one, or blocks that are read whole."""
    one, shape = q["random"][n], q["shape"]
    r, c = np.fromfile(os.path.join(root, "queries", one["file"]), "<i8").reshape(-1, 2).T
    block = {"tiles": D.TILE} | ({} if hasattr(rival, "points") else {"rows of tiles": (D.TILE[0], shape[1])})
    if workload == "dense-random":
        ways = {name: lambda b=b: gather(rival, r, c, b) for name, b in block.items()}
        if hasattr(rival, "points"):
            ways["points"] = lambda: rival.points(r, c)
        name, found = quickest(ways, lambda: rival.open(path))
        return lambda: rival.open(path), ways[name], 1, int(found.sum(dtype="i8")) == one["sum"], name
    values = -(r * shape[1] + c).astype("i4")
    change = {name: lambda b=b: scatter(rival, r, c, values, b) for name, b in block.items()}
    if hasattr(rival, "set_points"):
        change["points"] = lambda: rival.set_points(r, c, values)

    def durably(way):
        rival.open(path, "r+")
        way()
        getattr(rival, "close", lambda: None)()
        sync(path)

    ways = {name: lambda way=way: durably(way) for name, way in change.items()}
    name, _ = quickest(ways, prepare)

    def right():
        rival.open(path)
        m = rival.box([0, shape[0] - 1, 0, shape[1] - 1])
        flipped = 2 * int(np.unique(r * shape[1] + c).sum())
        return bool((m[r, c] == values).all()) and int(m.sum(dtype="i8")) == q["subarray"]["full"]["sum"] - flipped

    return lambda: None, ways[name], 1, right, name


RIVALS = {"tiledb": Tiledb, "hdf5": Hdf5, "zarrs": Zarr, "duckdb": Duckdb}


def job(rival, workload, variant, path, root, prepare):
    """Returns the setup of each run, the function to time, its number of operations, whether the result is correct (or
    a function that checks it after the last run), and the name of the method used."""
    q = {k: json.load(open(os.path.join(root, "queries", k + ".json"))) for k in ("dense", "sparse")}
    part = variant.split("/")
    if workload == "dense-load":
        m = np.fromfile(os.path.join(root, "input", "dense.i32"), "<i4").reshape(q["dense"]["shape"])
        return lambda: remove(path), lambda: (rival.load_dense(path, m, part[0]), sync(path)), 1, None, None
    if workload == "sparse-load":
        cells = [np.fromfile(os.path.join(root, "input", "sparse", c + ".i64"), "<i8") for c in D.COLUMNS]
        return lambda: remove(path), lambda: (rival.load_sparse(path, cells, part[0]), sync(path)), 1, None, None
    if workload.endswith("-consolidate"):
        return lambda: None, lambda: (rival.consolidate(path), sync(path)), 1, None, None
    if workload == "open":
        times, box, columns = 3 if "/1000" in variant else 10, [50_000, 50_009, 0, 9], ["X", "Y"]
        small = lambda: rival.box(box)  # noqa: E731
        if part[0] == "sparse":
            box = q["sparse"]["subarray"]["sq-1k"]["boxes"][0]
            small = lambda: rival.cells(box, columns)  # noqa: E731
        def again(read):
            for _ in range(times):
                rival.open(path)
                read()
        return lambda: None, {"open": lambda: again(lambda: None), "open_read": lambda: again(small)}, times, None, None
    if workload in ("dense-random", "dense-update"):
        return random_cells(rival, workload, part[1], path, root, q["dense"], prepare)
    rival.open(path)
    if workload.startswith("dense-"):
        name = part[1] if workload == "dense-subarray" else "sq1k"
        one = q["dense"]["subarray"][name]
        want = one["sum"] if workload == "dense-subarray" else q["dense"]["sq1k_sum_after"][part[1]]
        boxes = one["boxes"]
        right = sum(int(np.asarray(rival.box(b)).sum(dtype="i8")) for b in boxes) == want
        return lambda: rival.open(path), lambda: [rival.box(b) for b in boxes], len(boxes), right, None
    if workload == "sparse-subarray":
        one, columns = q["sparse"]["subarray"][part[1]], D.COLUMNS[:2] if part[2] == "xy" else D.COLUMNS
        boxes = one["boxes"] if part[2] == "xy" else one["boxes"][:D.FIRST]
        want = one["expect"] if part[2] == "xy" else one["expect_first"]
    else:
        boxes, columns = q["sparse"]["subarray"][part[2]]["boxes"][:D.FIRST], D.COLUMNS[:3]
        want = q["sparse"]["after"]["%s/%s/last" % (part[1], part[2])]
    got = {}
    for b in boxes:
        arrays = rival.cells(b, columns)
        one = dict({"cells": len(arrays[0])}, **{c: int(np.asarray(a).sum()) for c, a in zip(columns, arrays)})
        got = D.add(got, one) if got else one
    right = all(want[k] == v for k, v in got.items())
    return lambda: rival.open(path), lambda: [rival.cells(b, columns) for b in boxes], len(boxes), right, None


def main():
    name, workload, variant, path, root, runs, seconds, command = sys.argv[1:]
    prepare = lambda: subprocess.run(command, shell=True, check=True)  # noqa: E731
    setup, run, per, right, way = job(RIVALS[name](), workload, variant, path, root, prepare)
    unit, scale = ("s", 1) if workload.endswith(("-load", "-update", "-consolidate")) else ("ms", 1e3)
    runs = 1 if "consolidate" in workload else int(runs)
    for metric, one in (run if isinstance(run, dict) else {"time": run}).items():
        walls, cpus, began = [], [], time.perf_counter()
        for k in range(runs + 1):
            prepare()
            setup()
            c, t = time.process_time(), time.perf_counter()
            one()
            t, c = time.perf_counter() - t, time.process_time() - c
            if k or t > 3 or runs == 1:
                walls.append(t * scale / per)
                cpus.append(c * scale / per)
            if walls and (len(walls) == runs or time.perf_counter() - began > float(seconds)):
                break
        right = right() if callable(right) else right
        print(json.dumps({"workload": workload, "variant": variant, "peer": name, "metric": metric, "unit": unit,
                          "median": statistics.median(walls), "min": min(walls), "runs": len(walls),
                          "params": {"values": walls, "cpu": statistics.median(cpus), "check_ok": right, "method": way,
                                     "memory_peak_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}}))


if __name__ == "__main__":
    main()
