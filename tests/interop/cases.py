"""Building blocks of cases: typed values as hex, random columns, and the queries asked of an array."""

import itertools
import random
import struct

import capi

INT_CODE = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q"}
CODE = {**INT_CODE, "float32": "f", "float64": "d", "char": "b", "bool": "B", "blob": "B", "any": "B", "geom_wkb": "B",
        "geom_wkt": "B", "string_ascii": "B", "string_utf8": "B", "string_utf16": "H", "string_ucs2": "H",
        "string_utf32": "I", "string_ucs4": "I"}  # fmt: skip
FLOATS = ("float32", "float64")
STRINGS = ("char", "string_ascii", "string_utf8", "string_utf16", "string_utf32", "string_ucs2", "string_ucs4")


def code(datatype):
    return CODE.get(datatype, "q")


def enc(datatype, *values):
    """Values as hex of their little-endian bytes."""
    return struct.pack(f"<{len(values)}{code(datatype)}", *values).hex()


def dec(datatype, text):
    raw = bytes.fromhex(text)
    return struct.unpack(f"<{len(raw) // capi.size_of(datatype)}{code(datatype)}", raw)


def limits(datatype):
    """The least and the greatest value of an integer-like type."""
    c, bits = code(datatype), 8 * capi.size_of(datatype)
    return (0, 2**bits - 1) if c.isupper() else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def value(rng, datatype):
    """A value that tries small numbers, runs and extremes alike."""
    if datatype in FLOATS:
        return rng.choice([0.0, -1.5, 2.25, 1e10, -3.0e-5, float(rng.randint(-1000, 1000)) / 8])
    if datatype == "bool":
        return rng.randint(0, 1)
    if datatype in STRINGS:
        return rng.choice(b"abcdefgXYZ019 _") if capi.size_of(datatype) > 1 else rng.choice(b"abcXYZ09_")
    lo, hi = limits(datatype)
    near = rng.choice([lo, hi, lo + 1, hi - 1]) if rng.random() < 0.1 else rng.randint(0, 100)
    return max(lo, min(hi, near if rng.random() < 0.8 else rng.randint(lo, hi)))


def ascending(rng, n, datatype):
    """n values that never fall, for positive delta."""
    _, hi = limits(datatype)
    step = max(1, min(5, hi // (n + 1)))
    return list(itertools.accumulate((rng.randint(0, step) for _ in range(n)), initial=0))[1:]


def fixed(datatype, values, valid=None):
    c = {"data": enc(datatype, *values)}
    if valid is not None:
        c["valid"] = bytes(valid).hex()
    return c


def var(datatype, cells, valid=None):
    """A variable-length column from a list of lists of numbers, or of bytes."""
    parts = [bytes.fromhex(enc(datatype, *cell)) if not isinstance(cell, bytes) else cell for cell in cells]
    starts = [0, *itertools.accumulate(map(len, parts))]
    c = {"data": b"".join(parts).hex(), "off": starts[: len(parts)]}
    if valid is not None:
        c["valid"] = bytes(valid).hex()
    return c


def column(rng, attr, n):
    """n random cells for an attribute. Values suit the attribute's filters."""
    datatype, cell = attr["type"], attr["cell"]
    names = [f[0] for f in attr.get("filters", ())]
    valid = [rng.randint(0, 1) if rng.random() < 0.6 else 1 for _ in range(n)] if attr.get("nullable") else None

    def values(k):
        if attr.get("enum_size"):
            return [rng.randrange(attr["enum_size"]) for _ in range(k)]
        if "positive_delta" in names and datatype not in STRINGS and datatype not in FLOATS:
            return ascending(rng, k, datatype)
        if "double_delta" in names and datatype not in FLOATS:
            return [rng.randint(0, 100) for _ in range(k)]
        if "float_scale" in names:
            return [rng.randint(-100, 100) / 4 for _ in range(k)]
        if rng.random() < 0.3:
            few = [value(rng, datatype) for _ in range(2)]
            return sorted(rng.choice(few) for _ in range(k))
        return [value(rng, datatype) for _ in range(k)]

    if cell != "var":
        return fixed(datatype, values(n * cell), valid)
    cells = []
    for i in range(n):
        empty = not attr.get("no_empty") and (rng.random() < 0.15 or valid is not None and not valid[i])
        cells.append([] if empty else values(rng.randint(1, 4)))
    if "rle" in names or "dictionary" in names:
        few = [values(rng.randint(1 if attr.get("no_empty") else 0, 5)) for _ in range(3)]
        cells = [[] if valid is not None and not valid[i] else rng.choice(few) for i in range(n)]
    return var(datatype, cells, valid)


def attr(name, datatype="int32", cell=1, filters=(), nullable=False, **more):
    return {"name": name, "type": datatype, "cell": cell, "filters": [flt(f) for f in filters], "nullable": nullable, **more}


def flt(f):
    """A filter by name, or (name, options)."""
    return [f, {}] if isinstance(f, str) else [f[0], dict(f[1])]


def dim(name, datatype="int32", lo=1, hi=8, extent=3, filters=()):
    if datatype == "string_ascii":
        return {"name": name, "type": datatype, "domain": None, "extent": None, "filters": [flt(f) for f in filters]}
    ext = None if extent is None else enc(datatype, extent)
    return {"name": name, "type": datatype, "domain": [enc(datatype, lo), enc(datatype, hi)], "extent": ext,
            "filters": [flt(f) for f in filters]}  # fmt: skip


def span(d):
    lo, hi = (dec(d["type"], v)[0] for v in d["domain"])
    return lo, hi


def box_cells(dims, box):
    n = 1
    for d, (lo, hi) in zip(dims, box):
        n *= dec(d["type"], hi)[0] - dec(d["type"], lo)[0] + 1
    return n


def dense_write(rng, schema, t, box=None, layout="row", attrs=None):
    """A dense write of random cells; `box` as (lo, hi) per dimension, the whole domain for None."""
    dims = schema["dims"]
    box = [[enc(d["type"], lo), enc(d["type"], hi)] for d, (lo, hi) in zip(dims, box or [span(d) for d in dims])]
    n = box_cells(dims, box)
    cols = {a["name"]: column(rng, a, n) for a in attrs or schema["attrs"]}
    return {"op": "write", "t": t, "layout": layout, "box": box, "cols": cols}


def tiles_in(schema, box):
    """How many space tiles a box (lo, hi per dimension) touches."""
    n = 1
    for d, (a, b) in zip(schema["dims"], box):
        lo, ext = span(d)[0], dec(d["type"], d["extent"])[0]
        n *= (b - lo) // ext - (a - lo) // ext + 1
    return n


def random_box(rng, schema):
    """A random box of a dense array.

    Where an attribute is of variable length the box touches at least as many tiles as there are
    attributes: with fewer, releases 2.8 to 2.30 read the least and greatest strings from a null pointer.
    """
    dims = schema["dims"]
    few = any(a["cell"] == "var" for a in schema["attrs"])
    for _ in range(50):
        box = [sorted((rng.randint(*span(d)), rng.randint(*span(d)))) for d in dims]
        if not few or tiles_in(schema, box) >= len(schema["attrs"]):
            return box
    return [span(d) for d in dims]


def coordinate(rng, d):
    if d["type"] == "string_ascii":
        # Never empty: libtiledb 2.30 loses tiles whose least string is empty when it reads by range.
        alphabet = bytes.fromhex(d.get("alphabet", b"abcd".hex()))
        return bytes(rng.choice(alphabet) for _ in range(rng.randint(1, 3)))
    lo, hi = span(d)
    if d["type"] in FLOATS:
        v = rng.choice([lo, hi, (lo + hi) / 2, lo + (hi - lo) * rng.randint(0, 64) / 64])
        return struct.unpack("<" + code(d["type"]), struct.pack("<" + code(d["type"]), v))[0]
    if hi - lo > 1000:
        return rng.choice([lo, hi, lo + rng.randint(0, 20), hi - rng.randint(0, 20), rng.randint(lo, hi)])
    return rng.randint(lo, hi)


def sparse_write(rng, schema, t, n=12, layout="unordered", points=None, attrs=None):
    """A sparse write of up to n random cells (distinct unless the array allows duplicates)."""
    dims = schema["dims"]
    if points is None:
        points = [tuple(coordinate(rng, d) for d in dims) for _ in range(n)]
        if not schema.get("dups"):
            points = list(dict.fromkeys(points))
    if layout != "unordered":
        points = ordered(schema, points, layout)
    cols = {}
    for i, d in enumerate(dims):
        values = [p[i] for p in points]
        cols[d["name"]] = var(d["type"], values) if d["type"] == "string_ascii" else fixed(d["type"], values)
    for a in attrs or schema["attrs"]:
        cols[a["name"]] = column(rng, a, len(points))
    return {"op": "write", "t": t, "layout": layout, "box": None, "cols": cols}


def ordered(schema, points, layout):
    """Points in the order that a row, column or global write asks for."""
    dims = schema["dims"]

    def by(order, key):
        return key if order == "row" else tuple(reversed(key))

    def tile(p):
        out = []
        for v, d in zip(p, dims):
            if d.get("extent") is None:
                continue
            lo, ext = span(d)[0], dec(d["type"], d["extent"])[0]
            out.append((v - lo) // ext)
        return tuple(out)

    if layout != "global":
        return sorted(points, key=lambda p: by(layout, p))
    return sorted(points, key=lambda p: (by(schema.get("tile", "row"), tile(p)), by(schema.get("order", "row"), p)))


def fields_at(case, end=None):
    """The fields that exist at time `end`, as a query lists them."""
    s = case["schema"]
    attrs = {a["name"]: a for a in s["attrs"]}
    for op in case["ops"]:
        if op["op"] == "evolve" and (end is None or op.get("t") is None or op["t"] <= end):
            for name in op.get("drop", ()):
                del attrs[name]
            attrs.update({a["name"]: a for a in op.get("add", ())})
    dims = [[d["name"], d["type"], "var" if d["type"] == "string_ascii" else 1, False] for d in s["dims"]]
    attrs = [[a["name"], a["type"], a["cell"], bool(a.get("nullable"))] for a in attrs.values()]
    return dims + attrs if s["kind"] == "sparse" else attrs


def current_domain(case, end=None):
    """The part of a dense array's domain that a read without ranges covers."""
    out = case["schema"].get("current_domain")
    for op in case["ops"]:
        if op["op"] == "evolve" and op.get("expand") and (end is None or op["t"] <= end):
            out = op["expand"]
    return out


def sub_range(rng, d, bounds=None):
    """A random closed range of a dimension."""
    if d["type"] == "string_ascii":
        if bounds:
            return rng.choice([bounds, [bounds[0], b"b".hex()], [b"b".hex(), b"bz".hex()]])
        a, b = sorted(bytes(rng.choice(b"abcd") for _ in range(rng.randint(1, 2))) for _ in range(2))
        return [a.hex(), b.hex()]
    lo, hi = [dec(d["type"], v)[0] for v in bounds] if bounds else span(d)
    if d["type"] in FLOATS:
        a, b = sorted(lo + (hi - lo) * rng.randint(0, 16) / 16 for _ in range(2))
    else:
        a, b = sorted(rng.randint(lo, hi) for _ in range(2))
    return [enc(d["type"], a), enc(d["type"], b)]


def two_ranges(rng, d, bounds=None):
    """Two ranges of a dimension, apart and ascending.

    Over ranges that overlap, libtiledb 2.30 overruns its buffers in dense reads of variable-length
    attributes, and gives cells twice in sparse reads by string or float.
    """
    if d["type"] == "string_ascii":
        return None if bounds else [[b"a".hex(), b"b".hex()], [b"bb".hex(), b"cz".hex()]]
    if d["type"] in FLOATS:
        lo, hi = [dec(d["type"], v)[0] for v in bounds] if bounds else span(d)
        a, b, x, y = (lo + (hi - lo) * k / 16 for k in sorted(rng.sample(range(17), 4)))
        return [[enc(d["type"], a), enc(d["type"], b)], [enc(d["type"], x), enc(d["type"], y)]]
    lo, hi = [dec(d["type"], v)[0] for v in bounds] if bounds else span(d)
    if hi - lo < 3:
        return None
    a, b, x, y = sorted(rng.randint(lo, hi) for _ in range(4))
    return [[enc(d["type"], a), enc(d["type"], b)], [enc(d["type"], x), enc(d["type"], y)]] if b < x else None


def queries(rng, case, ends, now=None, some=3):
    """What is asked of an array: everything, in several orders, boxes and times.

    `ends`: the times at which something happened. `now`: an explicit end for "the latest", for cases
    whose times lie ahead. Everything at the latest time is always the first query.
    """
    schema, dims = case["schema"], case["schema"]["dims"]
    dense = schema["kind"] == "dense"
    hilbert = schema.get("order") == "hilbert"
    latest = None if now is None else [0, now]
    orders = ["row", "global"] if hilbert else ["row", "col", "global"]
    orders += [] if dense else ["unordered"]
    beyond_ascii = any("alphabet" in d for d in dims)
    if beyond_ascii:
        # Libtiledb writes such strings as signed bytes, and merges and searches them as unsigned: some cells come
        # twice in global order, and some from outside of a range.
        orders = [o for o in orders if o in ("row", "col")]

    def query(layout="row", ranges=None, window=latest):
        end = None if window is None else window[1]
        q = {"layout": layout, "ranges": ranges, "window": window, "fields": fields_at(case, end)}
        if dense and current_domain(case, end):
            q["domain"] = current_domain(case, end)
        return q

    def bounds(i):
        cd = current_domain(case)
        return cd[i] if cd else None

    out = [query()]
    for layout in rng.sample(orders[1:], min(len(orders) - 1, max(1, some - 1))) if len(orders) > 1 else []:
        out.append(query(layout))
    for _ in range(0 if beyond_ascii else some):
        layout = rng.choice(orders)
        ranges = [[sub_range(rng, d, bounds(i))] if rng.random() < 0.8 or dense else [] for i, d in enumerate(dims)]
        if dense:
            ranges = [r or [bounds(i) or d["domain"]] for i, (r, d) in enumerate(zip(ranges, dims))]
        out.append(query(layout, ranges))
    two = [two_ranges(rng, d, bounds(0)) if i == 0 else ([bounds(i) or d["domain"]] if dense else []) for i, d in enumerate(dims)]
    if two[0] and not beyond_ascii:
        out.append(query(rng.choice([o for o in orders if o != "global"]), two))
    for end in ends[:-1]:
        out.append(query(rng.choice(orders), None, [0, end]))
    if len(ends) > 2:
        out.append(query(rng.choice(orders), None, [ends[1], now or ends[-1]]))
        out.append(query("row", None, [ends[0] + 1, ends[-2]]))
    return out


def rng_for(name):
    return random.Random(name)
