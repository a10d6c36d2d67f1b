"""Arrays of format versions 1 and 2, byte by byte: no `tiledb` wheel holds a library that wrote them.

The bytes follow what libtiledb 1.4 and 1.5 wrote; that libtiledb 2.30 reads the very cells that were
put in is the proof, and this script fails if it does not. Called by make.py.
"""

import os
import struct
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "interop"))
import capi  # noqa: E402
import cases as c  # noqa: E402

VAR = 0xFFFFFFFF
FILTER = {"gzip": 1, "rle": 4}


def str32(text):
    return struct.pack("<I", len(text)) + text.encode()


def pipeline(filters):
    out = struct.pack("<II", 65536, len(filters))
    for name in filters:
        out += struct.pack("<BI", FILTER[name], 5) + struct.pack("<Bi", FILTER[name], -1)
    return out


def framed(data, filters, unit):
    """A tile: one chunk, under no filter or one compressor."""
    if not filters:
        return struct.pack("<Q", 1) + struct.pack("<III", len(data), len(data), 0) + data
    if filters == ["gzip"]:
        packed = zlib.compress(data)
    else:
        packed, i = b"", 0
        while i < len(data):
            run = 1
            while data[i + run * unit : i + (run + 1) * unit] == data[i : i + unit] and len(data) > i + run * unit:
                run += 1
            packed += data[i : i + unit] + struct.pack(">H", run)
            i += run * unit
    meta = struct.pack("<IIII", 0, 1, len(data), len(packed))
    return struct.pack("<Q", 1) + struct.pack("<III", len(data), len(packed), len(meta)) + meta + packed


def generic(payload, version):
    tile = framed(payload, ["gzip"], 1)
    pipe = pipeline(["gzip"])
    return struct.pack("<IQQBQBI", version, len(tile), len(payload), 4, 1, 0, len(pipe)) + pipe + tile


def schema_file(s, version):
    out = struct.pack("<IBBBQ", version, 0 if s["kind"] == "dense" else 1, 0, 0, s.get("capacity", 10000))
    out += pipeline(s["coords"]) + pipeline(["gzip"])
    out += struct.pack("<BI", capi.TYPE_ID[s["dims"][0]["type"]], len(s["dims"]))
    for d in s["dims"]:
        out += str32(d["name"]) + bytes.fromhex("".join(d["domain"])) + b"\0" + bytes.fromhex(d["extent"])
    out += struct.pack("<I", len(s["attrs"]))
    for a in s["attrs"]:
        cell = VAR if a["cell"] == "var" else a["cell"]
        out += str32(a["name"]) + struct.pack("<BI", capi.TYPE_ID[a["type"]], cell) + pipeline([f[0] for f in a["filters"]])
    return generic(out, version)


def fragment(s, version, box, tiles):
    """`tiles`: for each tile the coordinates (None in dense fragments) and the cells of each attribute."""
    files = {a["name"]: b"" for a in s["attrs"]}
    var = {a["name"]: b"" for a in s["attrs"]}
    coords, mbrs, bounds = b"", b"", b""
    offsets = {name: [] for name in [*files, "__coords"]}
    var_offsets, var_sizes = {n: [] for n in files}, {n: [] for n in files}
    t = s["dims"][0]["type"]
    for points, columns in tiles:
        for a in s["attrs"]:
            name, cells = a["name"], columns[a["name"]]
            offsets[name].append(len(files[name]))
            filters = [f[0] for f in a["filters"]]
            if a["cell"] == "var":
                starts = [sum(map(len, cells[:i])) for i in range(len(cells))]
                data = b"".join(cells)
                files[name] += framed(struct.pack(f"<{len(starts)}Q", *starts), ["gzip"], 8)
                var_offsets[name].append(len(var[name]))
                var_sizes[name].append(len(data))
                var[name] += framed(data, filters, 1)
            else:
                files[name] += framed(bytes.fromhex(c.enc(a["type"], *cells)), filters, capi.size_of(a["type"]) * a["cell"])
        if points is not None:
            offsets["__coords"].append(len(coords))
            # Version 1 keeps a cell's coordinates together unless a compressor follows.
            together = version == 1 and not s["coords"]
            values = [v for p in points for v in p] if together else [p[i] for i in range(len(s["dims"])) for p in points]
            coords += framed(bytes.fromhex(c.enc(t, *values)), s["coords"], capi.size_of(t) * len(s["dims"]))
            for i in range(len(s["dims"])):
                mbrs += bytes.fromhex(c.enc(t, min(p[i] for p in points), max(p[i] for p in points)))
            bounds += bytes.fromhex(c.enc(t, *points[0], *points[-1]))
    sparse = s["kind"] == "sparse"
    n = len(tiles) if sparse else 0
    last = len(tiles[-1][0]) if sparse else box_cells(s)
    ned = b"".join(bytes.fromhex(c.enc(t, lo, hi)) for lo, hi in box)

    def listed(values):
        return struct.pack(f"<Q{len(values)}Q", len(values), *values)

    out = struct.pack("<IQ", version, len(ned)) + ned + struct.pack("<Q", n) + mbrs + struct.pack("<Q", n) + bounds
    out += b"".join(listed(offsets[name]) for name in offsets)
    out += b"".join(listed(var_offsets[name]) for name in files) + b"".join(listed(var_sizes[name]) for name in files)
    out += struct.pack("<Q", last) + b"".join(struct.pack("<Q", len(files[name])) for name in files)
    out += struct.pack("<Q", len(coords)) + b"".join(struct.pack("<Q", len(var[name])) for name in files)
    made = {"__fragment_metadata.tdb": generic(out, version)}
    made.update({name + ".tdb": data for name, data in files.items()})
    made.update({name + "_var.tdb": var[name] for name in var if var[name]})
    if sparse:
        made["__coords.tdb"] = coords
    return made


def box_cells(s):
    n = 1
    for d in s["dims"]:
        n *= c.dec(d["type"], d["extent"])[0]
    return n


def arrays(version):
    """(name, schema, fragments): a fragment is (time, box, tiles)."""
    attrs = [c.attr("a", "int32"), c.attr("z", "int64", filters=["gzip"]), c.attr("two", "uint8", 2, ["rle"]),
             c.attr("s", "char", "var"), c.attr("t", "char", "var", ["gzip"])]  # fmt: skip
    rng = c.rng_for(f"handmade {version}")

    def columns(n):
        words = [bytes(rng.choice(b"xyz") for _ in range(rng.randint(1, 4))) for _ in range(n)]
        return {"a": [rng.randint(-99, 99) for _ in range(n)], "z": [rng.randint(0, 9) for _ in range(n)],
                "two": [v for _ in range(n) for v in (7, rng.randint(0, 1))], "s": words, "t": words[::-1]}  # fmt: skip

    dims = [c.dim("y", "int32", 1, 4, 2), c.dim("x", "int32", 1, 4, 2)]
    dense = {"kind": "dense", "dims": dims, "attrs": attrs, "coords": ["gzip"]}
    yield "dense", dense, [(1538747712566, [(1, 4), (1, 4)], [(None, columns(4)) for _ in range(4)]), (1538747712577, [(3, 4), (1, 2)], [(None, columns(4))])]
    for coords in ([], ["gzip"], ["rle"]):
        s = {"kind": "sparse", "dims": [c.dim("y", "int64", -5, 20, 26), c.dim("x", "int64", 0, 9, 10)], "attrs": attrs, "coords": coords, "capacity": 3}
        first = [(-5, 0), (-5, 9), (0, 1), (2, 2), (20, 9)]
        second = [(0, 1), (0, 3), (7, 7)]
        yield "sparse_" + ("_".join(coords) or "none"), s, [
            (1541540586869, [(-5, 20), (0, 9)], [(first[:3], columns(3)), (first[3:], columns(2))]),
            (1541540586900, [(0, 7), (1, 7)], [(second, columns(3))]),
        ]


def write(place, version):
    """Writes the arrays under `place`; gives them as cases."""
    out = []
    for name, s, fragments in arrays(version):
        uri = os.path.join(place, name)
        os.makedirs(uri)
        with open(os.path.join(uri, "__array_schema.tdb"), "wb") as f:
            f.write(schema_file(s, version))
        for t, box, tiles in fragments:
            folder = os.path.join(uri, f"__{t * 7919:032x}_{t}")
            os.makedirs(folder)
            for file, data in fragment(s, version, box, tiles).items():
                with open(os.path.join(folder, file), "wb") as f:
                    f.write(data)
        case = {"name": name, "tags": [], "schema": s, "ops": [], "ends": [t for t, _, _ in fragments]}
        case["put"] = [[c.enc(a["type"], *v) if a["cell"] != "var" else b"".join(v).hex() for a in s["attrs"] for v in [tiles[-1][1][a["name"]]]] for _, _, tiles in fragments[-1:]]
        out.append(case)
    return out


def check(case):
    """The cells of the newest fragment must be what was put in."""
    whole = case["queries"][0]["expect"]
    put = dict(zip([a["name"] for a in case["schema"]["attrs"]], case.pop("put")[0]))
    got = whole["cols"]["z"]["data"]
    width = 16
    cells = [got[i : i + width] for i in range(0, len(got), width)]
    wanted = [put["z"][i : i + width] for i in range(0, len(put["z"]), width)]
    if case["schema"]["kind"] == "dense":
        found = [cells[8], cells[9], cells[12], cells[13]]
    else:
        found = [cells[2], cells[3], cells[5]]
    if found != wanted:
        raise SystemExit(f"{case['name']}: {found} is not {wanted}")


