"""Makes the sample arrays of old library versions: `cargo xtask golden`.

Each release's libtiledb comes out of an old `tiledb` wheel, is loaded with ctypes and writes the same
kinds of arrays as far as it can. What they hold is read back with the current libtiledb. One file a
release, `<version>.json.bz2`: {"library", "cases": [{"name", "tags", "schema", "ops", "key", "files":
{path: hex}, "queries": [{..., "expect"}], "metadata"}]}.

`mixed.json.bz2` holds arrays that several releases wrote to. Format 1 has no wheel: `handmade.py` spells its
bytes out, and some of format 2.
"""

import bz2
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "interop"))
import capi  # noqa: E402
import cases as c  # noqa: E402
import handmade  # noqa: E402

# tiledb-py release -> a Python it has wheels for. One for each format version from 2 to 22.
WHEELS = {
    "0.4.2": "35", "0.4.4": "36", "0.5.9": "38", "0.6.6": "38", "0.7.7": "39", "0.8.0": "39", "0.8.11": "39", "0.9.5": "39",
    "0.11.5": "310", "0.13.3": "310", "0.14.5": "310", "0.15.6": "310", "0.16.5": "310", "0.17.5": "310",
    "0.18.3": "310", "0.20.0": "310", "0.21.6": "310", "0.22.3": "310", "0.23.5": "310", "0.25.1": "310",
    "0.36.1": "311",
}  # fmt: skip
MIXED = ("0.4.4", "0.5.9", "0.6.6", "0.7.7", "0.8.11", "0.9.5", "0.15.6", "0.16.5", "0.20.0", "0.25.1", "0.36.1")
KEY = "30313233343536373839616263646566" * 2
FEW_THREADS = {"sm.compute_concurrency_level": 1, "sm.io_concurrency_level": 1}
LATER = 3_000_000_000_000


def fetch(release, python, folder):
    """Downloads and unpacks one wheel; gives the folder."""
    place = os.path.join(folder, release)
    if os.path.isdir(place):
        return place
    platforms = ["manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64"]
    got = place + ".whl"
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--implementation", "cp",
         "--python-version", python, "-d", got, f"tiledb=={release}", *(a for p in platforms for a in ("--platform", p))],
        check=True,
    )  # fmt: skip
    with zipfile.ZipFile(os.path.join(got, os.listdir(got)[0])) as z:
        z.extractall(place)
    return place


def case(name, schema, ops, **more):
    return {"name": name, "tags": [], "schema": schema, "ops": ops, **more}


def dense(attrs, dims=None, **more):
    return {"kind": "dense", "dims": dims or [c.dim("y", extent=2), c.dim("x", hi=7, extent=2)], "attrs": attrs, **more}


def sparse(attrs, dims=None, **more):
    dims = dims or [c.dim("y", "int64", -5, 9, 4), c.dim("x", "int64", 0, 9, 5)]
    return {"kind": "sparse", "dims": dims, "attrs": attrs, **{"capacity": 4, **more}}


def numbers(v):
    """Fixed attributes over the filters that every release from 1.4 on has."""
    stacks = [["gzip"], ["zstd"], ["lz4"], ["rle"], ["bzip2"], ["double_delta"], ["bit_width_reduction"], ["bitshuffle"],
              ["byteshuffle"], ["byteshuffle", "zstd"], ["bit_width_reduction", "bitshuffle", "lz4"]]  # fmt: skip
    if v >= (2, 0):
        stacks += [["md5"], ["sha256"], ["byteshuffle", "md5", "gzip", "sha256"]]
    if v >= (2, 12):
        stacks += [["xor"], ["xor", "zstd"]]
    if v >= (2, 16):
        stacks += [["delta"], ["delta", "byteshuffle", "zstd"]]
    types = ["int32", "int64", "uint16", "int16", "uint32", "uint8"]
    out = [c.attr("plain", "float64")]
    out += [c.attr(f"f{i}", types[i % len(types)], filters=f) for i, f in enumerate(stacks)]
    if v >= (2, 11):
        out.append(c.attr("scaled", "float64", filters=[("float_scale", {"scale": 0.25, "offset": 1.0, "byte_width": 2})]))
    return out


def texts(v):
    """Variable-length attributes."""
    out = [
        c.attr("s", "string_ascii", "var", ["zstd"]),
        c.attr("u", "string_utf8", "var"),
        c.attr("v", "int16", "var", ["gzip"]),
        c.attr("two", "float32", 2, ["byteshuffle"]),
    ]
    return out


def coded(v):
    """Strings under the filters that know strings."""
    out = [c.attr("r", "string_ascii", "var", ["rle"])]
    if v >= (2, 9):
        out.append(c.attr("d", "string_ascii", "var", ["dictionary", "zstd"] if v >= (2, 14) else ["dictionary"]))
    if v >= (2, 14):
        out += [c.attr("ru", "string_utf8", "var", ["rle", "gzip"]), c.attr("du", "string_utf8", "var", ["dictionary"])]
    return out


def everything(v):
    """The cases that a release can write. Times are numbered from 10 where the release lets us choose them."""

    def rng(name):
        return c.rng_for(f"{name} {v}")

    def writes(name, schema, times=(10, 20, 30), layout=None, **more):
        r = rng(name)
        for a in schema["attrs"]:
            # Such releases want strictly ascending offsets, or have no coding for a tile of no bytes.
            a["no_empty"] = v < (2, 3) or any(f[0] in ("gzip", "rle") for f in a["filters"])
        ops = []
        for i, t in enumerate(times):
            if schema["kind"] == "dense":
                box = None if i == 0 else c.random_box(r, schema)
                ops.append(c.dense_write(r, schema, t, box, layout or ["row", "col", "row"][i % 3]))
            else:
                ops.append(c.sparse_write(r, schema, t, 10, layout or ["unordered", "global"][i % 2]))
        return case(name, schema, ops, **more)

    yield writes("dense_numbers", dense(numbers(v)))
    yield writes("dense_texts", dense(texts(v), tile="col", order="col"))
    if v >= (2, 8):
        yield writes("dense_coded", dense(coded(v)))
        yield writes("sparse_coded", sparse(coded(v), [c.dim("k", "string_ascii", filters=["rle"])]))
    yield writes("dense_global", dense(numbers(v)[:4], [c.dim("z", "uint8", 0, 7, 4)]), (10,), "global")
    yield writes("sparse_numbers", sparse(numbers(v)))
    yield writes("sparse_texts", sparse(texts(v), tile="col", order="row"))
    yield writes("sparse_floats", sparse(numbers(v)[:3], [c.dim("lat", "float64", -90.0, 90.0, 30.0), c.dim("lon", "float64", -180.0, 180.0, 45.0)]), layout="unordered")
    rising = [c.attr("p", "int32", filters=["positive_delta"]), c.attr("q", "uint8", filters=["positive_delta", "zstd"])]
    yield writes("rising", dense(rising, [c.dim("d", "int32", 1, 8, 4)]), (10,))
    stack = [c.flt("positive_delta"), c.flt("bit_width_reduction"), c.flt("zstd")]
    yield writes("rising_offsets", sparse([c.attr("s", "string_ascii", "var")], offsets_filters=stack), (10, 20))
    yield writes("anonymous", dense([c.attr("", "int32")], [c.dim("d", "int32", 1, 6, 4)]), (10, 20))
    yield writes("days", dense([c.attr("t", "datetime_ms", filters=["double_delta", "zstd"])], [c.dim("d", "datetime_day", 0, 9, 5)]), (10,)) if v >= (1, 7) else None
    for coords in (["none"], ["rle"], ["byteshuffle", "lz4"], ["double_delta"], ["gzip"]) if v < (2, 1) else ():
        s = sparse([c.attr("a", "int32")], coords_filters=[c.flt(f) for f in coords])
        yield writes("coords_" + "_".join(coords), s, (10, 20))
    s = dense([c.attr("a", "int32", filters=["zstd"]), c.attr("s", "string_ascii", "var")])
    yield {**writes("dense_encrypted", s, (10, 20)), "key": KEY}
    s = sparse([c.attr("a", "int32", filters=["zstd"]), c.attr("s", "string_ascii", "var")])
    yield {**writes("sparse_encrypted", s, (10, 20)), "key": KEY}

    def consolidated(name, schema, vacuum, after=False):
        out = writes(name, schema, (10, 20, 30))
        out["ops"].append({"op": "consolidate", "mode": "fragments"})
        if vacuum:
            out["ops"].append({"op": "vacuum", "mode": "fragments"})
        if after:
            out["ops"].append(writes(name + "+", schema, (40,))["ops"][0])
        return out

    fixed_and_text = [c.attr("a", "int32"), c.attr("s", "string_ascii", "var", ["lz4"])]
    yield consolidated("dense_consolidated", dense(fixed_and_text), False)
    yield consolidated("sparse_consolidated", sparse(fixed_and_text), False, True)
    if v >= (2, 0):
        yield consolidated("dense_vacuumed", dense(fixed_and_text), True, True)
        yield consolidated("sparse_vacuumed", sparse(fixed_and_text), True)
        mixed = [c.dim("name", "string_ascii"), c.dim("id", "uint16", 0, 500, 100), c.dim("at", "float32", 0.0, 8.0, 2.0)]
        yield writes("mixed_dimensions", sparse(fixed_and_text, mixed))
        yield writes("strings", sparse(fixed_and_text, [c.dim("name", "string_ascii", filters=["gzip"])]))
        yield writes("duplicates", sparse(fixed_and_text, dups=True), (10, 20))
        yield writes("names", sparse([c.attr("w<x|y", "int32"), c.attr("100% a+b", "string_ascii", "var")], [c.dim("p q", "int32", 0, 50, 10)]), (10, 20))
    if v >= (2, 1):
        fills = [c.attr("a", "int32", fill=c.enc("int32", 42)), c.attr("two", "int16", 2, fill=c.enc("int16", 7, 8)),
                 c.attr("s", "string_ascii", "var", fill=b"none".hex())]  # fmt: skip
        r = rng("fills")
        s = dense(fills)
        yield case("fills", s, [c.dense_write(r, s, 10, [(2, 5), (3, 4)])])
    nulls = [c.attr("a", "int32", nullable=True, filters=["zstd"]), c.attr("s", "string_ascii", "var", nullable=True),
             c.attr("f", "float64", nullable=True), c.attr("two", "uint8", 2, nullable=True), c.attr("u", "string_utf8", "var", nullable=True)]  # fmt: skip
    if v >= (2, 2, 3):
        yield writes("dense_nulls", dense(nulls))
    if v >= (2, 2):
        yield writes("sparse_nulls", sparse(nulls[:1] if v < (2, 2, 3) else nulls, validity_filters=[c.flt("gzip")]))
        yield writes("hilbert", sparse(fixed_and_text, order="hilbert"), (10, 20), "unordered") if v >= (2, 3) else None
    if v >= (2, 3):
        out = writes("metadata", dense([c.attr("a")]), (10,))
        put = {"answer": ["int64", 1, c.enc("int64", 42)], "title": ["string_utf8", 5, "grüß"[:4].encode().hex()[:10]],
               "list": ["float64", 3, c.enc("float64", 1.0, 2.5, -3.0)], "empty": ["string_ascii", 0, ""]}  # fmt: skip
        out["ops"] += [{"op": "meta", "t": 11, "put": put}, {"op": "meta", "t": 12, "put": {"answer": ["int32", 1, c.enc("int32", 43)]}, "del": ["list"]}]
        yield out
        more = json.loads(json.dumps(out))
        more["name"] = "metadata_consolidated"
        more["ops"] += [{"op": "consolidate", "mode": "array_meta"}, {"op": "vacuum", "mode": "array_meta"}]
        yield more
        out = writes("footers_consolidated", sparse(fixed_and_text))
        out["ops"].append({"op": "consolidate", "mode": "fragment_meta"})
        yield out
    elif v >= (1, 7):
        out = writes("metadata", dense([c.attr("a")]), (10,))
        out["ops"].append({"op": "meta", "put": {"answer": ["int64", 1, c.enc("int64", 42)], "title": ["string_utf8", 2, b"hi".hex()]}})
        yield out
    if v >= (2, 4):
        for kind in (dense, sparse):
            base = 2_000_000_000_000
            name = f"{kind.__name__}_evolved"
            s = kind([c.attr("a", "int32", filters=["zstd"]), c.attr("gone", "string_ascii", "var")])
            r = rng(name)
            write = c.dense_write if kind is dense else c.sparse_write
            added = c.attr("late", "float64", filters=["byteshuffle", "gzip"])
            kept = [s["attrs"][0], added]
            kept.append(c.attr("text", "string_ascii", "var", nullable=True))
            ops = [write(r, s, base + 1), {"op": "evolve", "t": base + 2, "drop": ["gone"], "add": kept[1:]}, write(r, s, base + 3, attrs=kept)]
            yield case(name, s, ops, now=LATER)
    if v >= (2, 8):
        out = writes("commits_consolidated", sparse(fixed_and_text))
        out["ops"] += [{"op": "consolidate", "mode": "commits"}, {"op": "vacuum", "mode": "commits"}]
        yield out
        out = consolidated("commits_ignored", sparse(fixed_and_text), False)
        out["ops"].insert(3, {"op": "consolidate", "mode": "commits"})
        out["ops"].append({"op": "vacuum", "mode": "fragments"})
        yield out
    if v >= (2, 12):
        s = sparse(fixed_and_text)
        delete = {"op": "delete", "t": 25, "cond": [">", "a", c.enc("int32", 40)]}
        out = writes("deletes", s)
        out["ops"].insert(2, delete)
        yield out
        out = consolidated("deletes_consolidated", s, False)
        out["ops"].insert(2, delete)
        yield out
        out = consolidated("deletes_purged", s, True)
        out["ops"].insert(2, {**delete, "cond": ["or", ["<", "x", c.enc("int64", 4)], ["==", "s", b"aa".hex()]]})
        out["ops"][-2]["config"] = {"sm.consolidation.purge_deleted_cells": "true"}
        yield out
        out = writes("deletes_commits", s)
        out["ops"].insert(2, delete)
        out["ops"] += [{"op": "consolidate", "mode": "commits"}, {"op": "vacuum", "mode": "commits"}]
        yield out
    if v >= (2, 17):
        enums = [{"name": "colour", "type": "string_ascii", "data": b"redgreenblue".hex(), "off": [0, 3, 8]},
                 {"name": "size", "type": "int64", "ordered": True, "data": c.enc("int64", 10, 20, 30, 40)}]  # fmt: skip
        attrs = [c.attr("e", "uint8", enum="colour", enum_size=3), c.attr("n", "int32", enum="size", enum_size=4, nullable=True)]
        yield writes("enumerations", sparse(attrs, enums=enums))
    if v >= (2, 25):
        s = sparse(fixed_and_text, current_domain=[[c.enc("int64", -3), c.enc("int64", 4)], [c.enc("int64", 0), c.enc("int64", 5)]])
        r = rng("current_domain")
        points = [(-3, 0), (4, 5), (0, 2)]
        yield case("current_domain", s, [c.sparse_write(r, s, 10, points=points)])


def snapshot(uri):
    """Every file of an array, by path, in hex; empty ones too."""
    out = {}
    for folder, _, names in os.walk(uri):
        for name in names:
            if name != "__lock.tdb":
                path = os.path.join(folder, name)
                with open(path, "rb") as f:
                    out[os.path.relpath(path, uri)] = f.read().hex()
    return dict(sorted(out.items()))


def times_of(files):
    """Start times of the fragments, oldest first, from their names."""
    found = set()
    for path in files:
        m = re.match(r"(?:__fragments/|__commits/)?__(\d+)_(\d+)_[0-9a-f]{32}", path)
        if m and m[1] == m[2]:
            found.add(int(m[1]))
    return sorted(found)


def isolated(name, work):
    """What `work` gives, from a process of its own: old libraries crash, and two of them in one process
    share symbols. None if it failed, which is reported."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = json.dumps(work()).encode()
        except capi.TileDBError as why:
            print(f"{name}: {why}"[:200], flush=True)
            os._exit(1)
        with os.fdopen(theirs, "wb") as f:
            f.write(answer)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as f:
        answer = f.read()
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        print(f"{name}: killed by signal {os.WTERMSIG(status)}", flush=True)
    return json.loads(answer) if status == 0 else None


def write(library, place, one):
    """Performs a case with the old library; gives the case as performed."""
    old = capi.Lib(library, FEW_THREADS)
    uri = os.path.join(place, one["name"])
    if not old.has("tiledb_array_schema_evolution_set_timestamp_range"):
        for op in one["ops"]:
            if op["op"] == "evolve":
                op["t"] = None  # by the clock, so before every write
    old.create(uri, one["schema"], one.get("key"))
    for op in one["ops"]:
        time.sleep(0.003)  # releases before 2.3 name fragments by the clock
        old.perform(uri, one, op)
    if old.version < (2, 0):
        for a in one["schema"]["attrs"]:
            a["name"] = a["name"] or "__attr"
    return one


def read(place, one, queries, library=None):
    """The answers of the current library or another, and the metadata. A query it refuses is left out."""
    new = capi.Lib(library, FEW_THREADS)
    uri = os.path.join(place, one["name"])
    done = []
    for q in queries:
        try:
            q["expect"] = new.read(uri, one, q)
            done.append(q)
        except capi.TileDBError as why:
            print(f"{one['name']}: not read, {q['layout']} {q['window']}: {why}"[:200], flush=True)
    return [done, None if library else new.metadata(uri, key=one.get("key"))]


def golden(library, place):
    """All cases of one release, packed into one file beside this script."""
    version = tuple(isolated("version", lambda: capi.Lib(library).version))
    name = ".".join(map(str, version))
    done = []
    for one in filter(None, everything(version)):
        label = f"{name} {one['name']}"
        one = isolated(f"{label}: not written", lambda one=one: write(library, place, one))
        if one is None:
            continue
        one["files"] = snapshot(os.path.join(place, one["name"]))
        ends = times_of(one["files"])
        # Releases before 2.0 sort float coordinates without regard to tiles, and a read in global order
        # gives them as they lie.
        disordered = version < (2, 0) and one["name"] == "sparse_floats"
        queries = c.queries(c.rng_for(one["name"]), one, ends, one.get("now"), some=1)
        queries = [q for q in queries if not (disordered and q["layout"] == "global")]
        answer = isolated(f"{label}: not read", lambda one=one, queries=queries: read(place, one, queries))
        one["queries"], one["metadata"] = answer or ([], None)
        if one["queries"]:
            done.append(one)
    pack(name, done)


def oldest(version, place):
    """The hand-made arrays of a format version that no wheel writes."""
    done = handmade.write(place, version)
    for one in done:
        queries = c.queries(c.rng_for(one["name"]), one, one.pop("ends"))
        one["queries"], one["metadata"] = isolated(one["name"], lambda one=one, queries=queries: read(place, one, queries))
        handmade.check(one)
        one["files"] = snapshot(os.path.join(place, one["name"]))
    pack(f"format-{version}", done)


def everything_mixed():
    """Arrays of several releases, and others that only some releases write: the case, who makes it and
    does each operation, and who answers (None: the current release; "twin": it, of the same array without filters;
    "anew": it, of the same array that it wrote itself)."""
    for release in ("0.4.4", "0.5.9", "0.6.6", "0.9.5"):
        # Sparse cells in a dense array: later dense cells hide them, tile by tile or cell by cell.
        line = dense([c.attr("a", "int32"), c.attr("s", "string_ascii", "var")], [c.dim("x", "int32", 0, 29, 4)], capacity=3)
        r = c.rng_for(f"scattered {release}")
        for a in line["attrs"]:
            a["no_empty"] = True

        def cells(*xs, line=line, r=r):
            return c.sparse_write(r, line, None, points=[(x,) for x in xs])

        def box(lo, hi, line=line, r=r):
            return c.dense_write(r, line, None, [(lo, hi)])

        ops = [box(0, 29), cells(1, 2, 3, 9, 12, 13, 20, 21, 28), box(2, 12), cells(10, 11, 27), box(18, 27)]
        yield case(f"scattered {release}", line, ops), [release] * 6, None
    # Releases before 2.0 order dates as unsigned numbers: their tiles end before they start.
    days = sparse([c.attr("a", "int32")], [c.dim("d", "datetime_day", -20, 20, 5)])
    r = c.rng_for("dates")
    ops = [c.sparse_write(r, days, None, points=[(x,) for x in range(k, 20, 3)]) for k in (-20, -19, -20)]
    yield case("dates", days, ops), ["0.5.9"] * 4, None
    # A fragment of one such tile is bounded so as a whole.
    whole = {**days, "capacity": 100}
    r = c.rng_for("whole dates")
    ops = [c.sparse_write(r, whole, None, points=[(x,) for x in range(k, 20, 3)]) for k in (-20, -19)]
    yield case("whole dates", whole, ops), ["0.5.9"] * 3, None
    # With nulls, 2.2 ends a global write with offsets of a tile that there is not.
    line = dense([c.attr("a", "int32", nullable=True), c.attr("s", "string_ascii", "var")], [c.dim("x", "int32", 0, 11, 12)])
    r = c.rng_for("last tile")
    for a in line["attrs"]:
        a["no_empty"] = True
    ops = [c.dense_write(r, line, None, [(0, 11)], "global")]
    yield case("last tile", line, ops), ["0.8.11"] * 2, None
    # From 2.3 to 2.9 they order the tiles of short integers of both signs as they come.
    for release in ("0.9.5", "0.15.6"):
        near = sparse([c.attr("a", "int32")], [c.dim("y", "int16", -20, 20, 7), c.dim("x", "int16", -9, 9, 5)])
        r = c.rng_for(f"short {release}")
        ops = [c.sparse_write(r, near, 10 + k, 25, "unordered") for k in range(3)]
        yield case(f"short {release}", near, ops), [release] * 4, None
    # Up to 2.22 they order cells of one place on the Hilbert curve by columns, later ones by rows.
    wide = [c.dim(d, "int64", -(2**63), 2**63 - 2, 1) for d in "yx"]
    curve = {**sparse([c.attr("a", "int32")], wide, order="hilbert"), "capacity": 2}
    r = c.rng_for("curve")
    spots = [(-(2**63) + i, -(2**63) + k) for i in range(5) for k in range(5)]
    ops = [c.sparse_write(r, curve, 10 + k, points=r.sample(spots, 15)) for k in range(3)]
    yield case("curve", curve, ops), ["0.25.1"] * 4, None
    # Up to 2.30 the extremes of variable-length text are wrong in dense fragments of fewer tiles than fields, and
    # those of text of fixed length that differs behind a zero byte.
    row = dense([c.attr("a", "int32"), c.attr("s", "string_ascii", "var"), c.attr("t", "char", 2)], [c.dim("x", "int32", 0, 7, 4)])
    words = [b"pear", b"fig", b"plum", b"kiwi", b"date", b"lime", b"quince", b"nut"]
    cols = {"s": c.var("string_ascii", words), "t": c.fixed("char", [0, 9, 0, 4, 0, 7, 0, 2, 0, 5, 0, 8, 0, 3, 0, 6]),
            "a": c.fixed("int32", range(8))}  # fmt: skip
    ops = [{"op": "write", "t": 10, "layout": "row", "box": [[c.enc("int32", 0), c.enc("int32", 7)]], "cols": cols}]
    yield case("extremes", row, ops), ["0.25.1"] * 2, None
    # They take the bytes of strings as signed, so that what is not ASCII lies first; merging it, the current
    # release finds cells twice, unless it sorts them.
    text = {**sparse([c.attr("a", "int32")], [c.dim("k", "string_ascii"), c.dim("x", "int16", 0, 9, 5)]), "capacity": 2}
    r = c.rng_for("bytes")
    keys = [b"a", b"a\x80", b"b\xff", b"\x80", b"\xc3\xa9", b"\xff", b"z", b"\x01"]
    spots = [(k, x) for k in keys for x in range(3)]
    ops = [c.sparse_write(r, text, 10 + k, points=r.sample(spots, 12)) for k in range(3)]
    yield case("bytes", text, ops), ["0.25.1"] * 4, None
    # From 2.1 to 2.3 the box of a tile with several empty strings ends with the strings behind them.
    for release, capacity in itertools.product(("0.7.7", "0.8.11", "0.9.5"), (4, 100)):
        empty = sparse([c.attr("a", "int32")], [c.dim("x", "int32", 0, 99, 100), c.dim("s", "string_ascii")], capacity=capacity)
        words = ["z,,,a", "z,,m,", "z,,m,b", ",z,,a", "z,a,b,c", ",,z,a", ",z,a,b", ",,,", "z,,,", "z,a,,", ",a,b,d"]
        words = [w.encode() for w in ",".join(words).split(",")]
        cols = {"x": c.fixed("int32", range(44)), "s": c.var("string_ascii", words), "a": c.fixed("int32", range(44))}
        write = {"op": "write", "t": 10, "layout": "unordered", "cols": cols}
        yield case(f"empty strings {release} {capacity}", empty, [write]), [release] * 2, "anew"
    # Footers by 2.0 to 2.3 are as long as their schema has attributes; later releases, which take the newest, cannot
    # read them once it has others.
    for release in ("0.6.6", "0.7.7", "0.8.11", "0.9.5"):
        for kind in (sparse, dense):
            line = kind([c.attr("a", "int32"), c.attr("s", "string_ascii", "var")])
            r = c.rng_for(f"evolved {release}")
            write = c.sparse_write if kind is sparse else c.dense_write
            more = {"op": "evolve", "t": None, "add": [c.attr("b", "int16")]}
            ops = [write(r, line, None) for _ in range(2)] + [more]
            yield case(f"evolved {release} {line['kind']}", line, ops), [release] * 3 + ["0.25.1"], "anew"
    # Up to 2.16 every filter sees the field's own type, later each sees what the one before it gives, whatever the
    # fragment's version; neither reads the other's, and an array without filters answers.
    for width, after in ((2, ["byteshuffle", "zstd"]), (4, ["bit_width_reduction"]), (2, ["xor", "bitshuffle"])):
        filters = [("float_scale", {"scale": 0.5, "offset": 1.0, "byte_width": width}), *after]
        line = dense([c.attr("a", "float64", 1, filters)], [c.dim("x", "int32", 0, 15, 8)])
        r = c.rng_for(f"scaled {after[0]}")
        ops = []
        for lo in (0, 8):
            cols = {"a": c.fixed("float64", [r.randrange(-200, 200) / 2 for _ in range(lo, 16)])}
            box = [[c.enc("int32", lo), c.enc("int32", 15)]]
            ops.append({"op": "write", "t": 10 + lo, "layout": "row", "box": box, "cols": cols})
        yield case(f"scaled {after[0]}", line, ops), ["0.20.0", "0.20.0", "0.25.1"], "twin"
    filters = [("float_scale", {"scale": 0.5, "offset": 0.0, "byte_width": 4}), "byteshuffle", "zstd"]
    places = sparse([c.attr("a", "int32")], [c.dim("x", "float64", 0.0, 100.0, 10.0, filters)])
    r = c.rng_for("scaled places")
    ops = [c.sparse_write(r, places, 10 + k, points=[(i / 2,) for i in r.sample(range(200), 9)]) for k in range(2)]
    yield case("scaled places", places, ops), ["0.20.0", "0.20.0", "0.25.1"], "twin"
    # Tiles are bounded by the coordinates as they were given.
    filters[0][1]["scale"] = 0.25
    places = sparse([c.attr("a", "int32")], [c.dim("x", "float64", 0.0, 100.0, 10.0, filters)])
    r = c.rng_for("rounded places")
    ops = [c.sparse_write(r, places, 10, points=[(i / 3 + 0.1,) for i in r.sample(range(299), 9)])]
    yield case("rounded places", places, ops), ["0.25.1"] * 2, None
    # Of signed numbers too far apart, bit width reduction stores others than those it is given, and statistics of.
    r = c.rng_for("reduced")
    apart = sparse([c.attr("a", "int32", 1, ["bit_width_reduction"])], [c.dim("x", "int32", 0, 99, 10)])
    far = [-(2**31) + 1, 2**31 - 2]
    cols = {"x": c.fixed("int32", range(0, 60, 3)), "a": c.fixed("int32", [r.choice([*far, r.randrange(100)]) for _ in range(20)])}
    yield case("reduced", apart, [{"op": "write", "t": 10, "layout": "unordered", "cols": cols}]), ["0.25.1"] * 2, None
    # In a domain as wide as its type, what lies far up is in a tile of the greatest number.
    far = [c.dim("y", "float64", -2.0, 2.0, 0.75), c.dim("x", "float64", -sys.float_info.max, sys.float_info.max, None)]
    wide = {**sparse([c.attr("a", "int32")], far, tile="col"), "capacity": 1}
    r = c.rng_for("far")
    spots = [(y / 2, x) for y in range(-4, 5) for x in (-sys.float_info.max, 0.0, sys.float_info.max)]
    ops = [c.sparse_write(r, wide, 10 + k, points=r.sample(spots, 10)) for k in range(3)]
    yield case("far", wide, ops), ["0.25.1"] * 4, None
    # Into arrays of 1.x, releases 2.0 to 2.16 write coordinates with filters that later ones do not expect.
    for release in ("0.6.6", "0.9.5", "0.16.5"):
        for filters in (["zstd"], ["byteshuffle"], ["double_delta", "bzip2"]):
            s = sparse([c.attr("a", "int32")], coords_filters=[c.flt(f) for f in filters])
            name = f"continued {release} {'_'.join(filters)}"
            r = c.rng_for(name)
            ops = [c.sparse_write(r, s, None, 10, "unordered") for _ in range(3)]
            yield case(name, s, ops), ["0.5.9", "0.5.9", release, release], release
    # Merging such arrays, releases from 2.17 on filter the times of cells as so many coordinates.
    for filters in (["byteshuffle"], ["bitshuffle", "zstd"], ["double_delta"], ["bit_width_reduction"]):
        x = [c.dim("x", "int32", 0, 99, 10)]
        s = sparse([c.attr("a", "int32")], x, coords_filters=[c.flt(f) for f in filters])
        r = c.rng_for(f"times {filters[0]}")
        ops = [c.sparse_write(r, s, None, points=[(i,) for i in r.sample(range(40), 20)]) for _ in range(3)]
        ops += [{"op": op, "mode": "fragments"} for op in ("consolidate", "vacuum")]
        yield case(f"times {filters[0]}", s, ops), ["0.5.9"] * 4 + ["0.36.1"] * 2, None
    # Into arrays older than the coding of strings, later releases write strings coded all the same, and
    # cannot read them: an array without filters answers.
    for release in ("0.16.5", "0.20.0"):
        r = c.rng_for(f"coded {release}")
        s = sparse([c.attr("s", "string_ascii", "var", ["rle"]), c.attr("u", "string_utf8", "var", ["rle", "zstd"])])
        ops = [c.sparse_write(r, s, 10 + k, 12, "unordered") for k in range(2)]
        yield case(f"coded {release}", s, ops), ["0.9.5", "0.9.5", release], "twin"


def mixed(libraries, place):
    """The arrays of everything_mixed, packed into one file."""
    done = []
    for one, by, answers in everything_mixed():
        one["name"], label = one["name"].replace(" ", "_"), one["name"]
        for i, release in enumerate(by):
            isolated(label, lambda one=one, i=i, release=release: step(libraries[release], place, one, i))
        asked = one
        if answers == "twin":
            bare = {part: [{**f, "filters": []} for f in one["schema"][part]] for part in ("attrs", "dims")}
            asked = {**one, "name": one["name"] + "_twin", "schema": {**one["schema"], **bare}}
        if answers == "anew":
            asked = {**one, "name": one["name"] + "_anew"}
        for i in range(len(by) if asked is not one else 0):
            library = None if answers == "anew" else libraries[by[0]]
            isolated(label, lambda i=i, asked=asked, library=library: step(library, place, asked, i))
        one["files"] = snapshot(os.path.join(place, one["name"]))
        queries = c.queries(c.rng_for(label), one, times_of(one["files"]))
        if answers == "anew":
            texts = [(b"a", b"a"), (b"b", b"c"), (b"d", b"y"), (b"z", b"z")]
            texts = [[[], [[lo.hex(), hi.hex()]]] for lo, hi in texts if one["schema"]["dims"][1]["type"] == "string_ascii"]
            queries = [{**queries[0], "ranges": r} for r in texts] + queries[:1]
        elif answers:
            queries = queries[:1]
        # In a disordered fragment the current release finds cells twice, unless it sorts them, and cells
        # outside the ranges that it is given.
        plain = one["schema"]["kind"] == "dense"
        queries = [q for q in queries if plain or answers == "anew" or (q["layout"] in ("row", "col") and q["ranges"] is None)]
        library = libraries.get(answers)
        one["queries"], one["metadata"] = isolated(label, lambda: read(place, asked, queries, library))  # noqa: B023
        if not plain:
            one["queries"].append({**one["queries"][0], "layout": "unordered"})
        done.append(one)
    pack("mixed", done)


def step(library, place, one, i):
    """Creates the array of a case (step 0) or does operation i - 1."""
    lib, uri = capi.Lib(library, FEW_THREADS), os.path.join(place, one["name"])
    if i == 0:
        lib.create(uri, one["schema"])
    else:
        time.sleep(0.003)
        lib.perform(uri, one, one["ops"][i - 1])
    return True


def pack(name, done):
    with bz2.open(os.path.join(HERE, name + ".json.bz2"), "wb") as f:
        f.write(json.dumps({"library": name, "cases": done}, separators=(",", ":")).encode())
    print(f"{name}: {len(done)} arrays", flush=True)


if __name__ == "__main__":
    wheels = os.environ.get("HYPERSLAB_WHEELS") or os.path.join(HERE, "..", "..", "target", "golden")
    os.makedirs(wheels, exist_ok=True)
    for version in () if sys.argv[1:] else (1, 2):
        with tempfile.TemporaryDirectory() as place:
            oldest(version, place)
    if not sys.argv[1:] or "mixed" in sys.argv:
        libraries = {r: capi.library_in(fetch(r, p, wheels)) for r, p in WHEELS.items() if r in MIXED}
        with tempfile.TemporaryDirectory() as place:
            mixed(libraries, place)
    for release in [r for r in sys.argv[1:] if r != "mixed"] or ([] if sys.argv[1:] else WHEELS):
        with tempfile.TemporaryDirectory() as place:
            golden(capi.library_in(fetch(release, WHEELS[release], wheels)), place)
