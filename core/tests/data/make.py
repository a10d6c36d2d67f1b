"""Makes the vectors of core/tests/format.rs with libtiledb: `python make.py` in this folder.

schemas.txt    name, payload of a schema or enumeration file, in hex digits
fragments.txt  name, fragment folder's name, payload of its schema, its `__fragment_metadata.tdb`

Old versions come out of the sample arrays in tests/golden.
"""

import ctypes as C
import gzip
import json
import os
import struct
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "..", "..", "tests")
sys.path.insert(0, os.path.join(TESTS, "interop"))
import capi  # noqa: E402

A = {"name": "a", "type": "int32", "cell": 1}
FILTERS = [
    ("none", {}), ("gzip", {"level": 6}), ("zstd", {"level": 5}), ("lz4", {}), ("rle", {}), ("bzip2", {"level": 9}),
    ("double_delta", {}), ("double_delta", {"reinterpret": "int16"}), ("bit_width_reduction", {"window": 64}),
    ("bitshuffle", {}), ("byteshuffle", {}), ("positive_delta", {"window": 128}), ("md5", {}), ("sha256", {}),
    ("xor", {}), ("delta", {}), ("delta", {"reinterpret": "uint8"}),
]  # fmt: skip
FRAGMENTS = [
    ("1.6.3", "sparse_numbers"), ("1.7.7", "dense_texts"), ("2.0.8", "mixed_dimensions"), ("2.1.6", "dense_numbers"),
    ("2.2.2", "sparse_nulls"), ("2.3.3", "strings"), ("2.7.2", "dense_nulls"), ("2.8.3", "sparse_evolved"),
    ("2.11.3", "sparse_consolidated"), ("2.30.0", "deletes_consolidated"), ("2.30.0", "dense_texts"),
    ("2.30.0", "mixed_dimensions"), ("2.30.0", "current_domain"),
]  # fmt: skip


def generic(tile):
    """The payload of an unencrypted generic tile: the gzip filter undone."""
    _, persisted, size, *_, pipeline = struct.unpack_from("<IQQBQBI", tile)
    body, at, out = tile[34 + pipeline : 34 + pipeline + persisted], 8, b""
    for _ in range(struct.unpack_from("<Q", body)[0]):
        _, filtered, meta = struct.unpack_from("<III", body, at)
        parts = struct.unpack_from("<I", body, at + 16)[0]
        data = at + 12 + meta
        for part in range(parts):
            n = struct.unpack_from("<I", body, at + 12 + 8 + 8 * part + 4)[0]
            out += zlib.decompress(body[data : data + n])
            data += n
        at += 12 + meta + filtered
    assert len(out) == size
    return out


def little(value, datatype):
    n = capi.size_of(datatype)
    if datatype.startswith("float"):
        return struct.pack("<f" if n == 4 else "<d", value).hex()
    return (value & ((1 << 8 * n) - 1)).to_bytes(n, "little").hex()


def dim(name, t, lo=0, hi=9, extent=5, **more):
    if t == "string_ascii":
        return {"name": name, "type": t, **more}
    extent = None if extent is None else little(extent, t)
    return {"name": name, "type": t, "domain": [little(lo, t), little(hi, t)], "extent": extent, **more}


def sparse(dims, attrs=(A,), **more):
    return {"kind": "sparse", "dims": dims, "attrs": list(attrs), **more}


def dense(dims, attrs=(A,), **more):
    return {"kind": "dense", "dims": dims, "attrs": list(attrs), **more}


def schemas():
    x = dim("x", "int32")
    dims = [t for t in capi.DATATYPES if t.startswith(("int", "uint", "float", "datetime", "time"))] + ["string_ascii"]
    cells = [(t, c) for t in capi.DATATYPES for c in (1, 3, "var") if t != "any" or c == "var"]
    yield "attributes", sparse([x], [
        {"name": f"{t}_{c}_{int(null)}", "type": t, "cell": c, "nullable": null} for t, c in cells for null in (False, True)
    ])  # fmt: skip
    yield "fills", dense([x], [
        {"name": f"{t}_{c}", "type": t, "cell": c, "nullable": c == 3, "fill_valid": True,
         "fill": "03" * (3 if c == "var" else c) * capi.size_of(t)} for t, c in cells
    ])  # fmt: skip
    yield "sparse_dimensions", sparse([dim(t, t) for t in dims], dups=True, tile="col", order="col", capacity=7)
    low = {t: 1 if t.startswith("u") else -3 for t in dims}
    yield "null_extents", sparse([dim(t, t, low[t], 100, None) for t in dims])
    yield "hilbert", sparse(
        [dim("i", "int8", -128, 126, None), dim("f", "float32", -1, 1, None), dim("s", "string_ascii")], order="hilbert"
    )
    for t in ("int8", "uint64", "datetime_ns", "time_as"):
        yield f"dense_{t}", dense([dim("", t, 0, 99, 10), dim("y", t, 5, 7, 1)])
    yield "wide_extent", dense([dim("x", "int8", -128, 126, None)])
    yield "edges", sparse([dim("x", "uint64", 0, 2**64 - 2, 2**64 - 1), dim("y", "int64", -(2**63), 2**63 - 2, None)])
    scale = {"scale": 0.5, "offset": 1.5, "byte_width": 2}
    yield "filters", sparse(
        [dim("x", "int32", filters=[("none", {})]), dim("y", "int32", filters=[("positive_delta", {}), ("zstd", {"level": 1})])],
        [{"name": f"a{i}", "type": "int32", "cell": 1, "filters": [f]} for i, f in enumerate(FILTERS)] + [
            {"name": "s", "type": "string_ascii", "cell": "var", "filters": [("dictionary", {}), ("zstd", {})]},
            {"name": "r", "type": "string_utf8", "cell": "var", "filters": [("rle", {})]},
            {"name": "f", "type": "float64", "cell": 1, "filters": [("float_scale", scale), ("bit_width_reduction", {})]},
        ],
        coords_filters=[("lz4", {})], offsets_filters=[("double_delta", {}), ("bzip2", {})], validity_filters=[("zstd", {})],
    )  # fmt: skip
    yield "no_filters", sparse([x], coords_filters=[], offsets_filters=[], validity_filters=[])
    webp = ("webp", {"quality": 80.0, "format": 1, "lossless": 1})
    pixels = {"name": "p", "type": "uint8", "cell": 1, "filters": [webp]}
    yield "webp", dense([dim("y", "uint32", 1, 20, 10), dim("x", "uint32", 1, 60, 30)], [pixels])
    yield "enumerations", dense(
        [x],
        [{"name": "a", "type": "uint8", "cell": 1, "enum": "strings"},
         {"name": "b", "type": "int64", "cell": 1, "nullable": True, "enum": "numbers"}],
        enums=[
            {"name": "strings", "type": "string_ascii", "data": b"redgreen".hex(), "off": [0, 3, 3]},
            {"name": "numbers", "type": "int16", "data": "010002000300", "ordered": True},
            {"name": "pairs", "type": "uint8", "data": "01020304", "cell": 2},
            {"name": "empty", "type": "string_utf8", "data": "", "off": []},
            {"name": "none", "type": "int32", "data": ""},
        ],
    )  # fmt: skip
    yield "labels", dense([x, dim("y", "int32")], labels=[
        {"name": "lx", "dim": 0, "order": "increasing", "type": "float64"},
        {"name": "ly", "dim": 1, "order": "decreasing", "type": "string_ascii"},
        {"name": "lz", "dim": 0, "order": "decreasing", "type": "datetime_ns"},
    ])  # fmt: skip
    ranges = [[little(1, "int32"), little(5, "int32")], [b"a".hex(), b"zz".hex()], [little(0.25, "float64"), little(0.5, "float64")]]
    yield "current_domain", sparse([x, dim("s", "string_ascii"), dim("f", "float64", 0, 1, 0.5)], current_domain=ranges)


def enumeration(lib, e):
    """As capi's, which has no way to make one of strings with no values."""
    if e.get("off") == []:
        return lib.handle(
            "tiledb_enumeration_alloc", e["name"].encode(), C.c_int(capi.TYPE_ID[e["type"]]), C.c_uint32(capi.VAR),
            C.c_int(0), None, C.c_uint64(0), None, C.c_uint64(0),
        )  # fmt: skip
    return plain_enumeration(lib, e)


plain_enumeration = capi.Lib.enumeration
capi.Lib.enumeration = enumeration


def files(folder):
    names = sorted(os.listdir(folder))
    return [os.path.join(folder, n) for n in names if os.path.isfile(os.path.join(folder, n))]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write_schemas():
    lib, lines = capi.Lib(), []
    with tempfile.TemporaryDirectory() as folder:
        for name, schema in schemas():
            array = os.path.join(folder, name)
            lib.create(array, schema)
            lines += [(name, generic(read(p)).hex()) for p in files(f"{array}/__schema")]
            lines += [("enumeration", generic(read(p)).hex()) for p in files(f"{array}/__schema/__enumerations")]
    with open(os.path.join(HERE, "schemas.txt"), "w") as out:
        out.writelines(f"{name} {payload}\n" for name, payload in lines)


def write_fragments():
    lines = []
    for library, name in FRAGMENTS:
        with gzip.open(os.path.join(TESTS, "golden", f"{library}.json.gz")) as f:
            cases = {c["name"]: c for c in json.load(f)["cases"]}
        if name not in cases:
            raise SystemExit(f"{library} has no case {name}; it has {', '.join(cases)}")
        array = cases[name]["files"]
        # The last fragment, or the last consolidated one.
        found = [p for p in array if p.endswith("__fragment_metadata.tdb")]
        metadata = max(found, key=lambda p: (len(set(p.split("/")[-2].split("_")[2:4])), p))
        content = bytes.fromhex(array[metadata])
        plain = [p for p in sorted(array) if p.startswith("__schema/__") and "__enum" not in p] or ["__array_schema.tdb"]
        schema = next((p for p in plain if os.path.basename(p).encode() in content), plain[0])
        payload = generic(bytes.fromhex(array[schema]))
        lines.append((f"{library}/{name}", metadata.split("/")[-2], payload.hex(), content.hex()))
    with open(os.path.join(HERE, "fragments.txt"), "w") as out:
        out.writelines(" ".join(line) + "\n" for line in lines)


if __name__ == "__main__":
    write_schemas()
    write_fragments()
