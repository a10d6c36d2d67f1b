"""What libtiledb itself makes of the cells of a query: counts, sums, extremes and means."""

import ctypes as C

import capi
import cases as c

ROOM_BYTES = 1 << 12
NUMBERS = {*c.INT_CODE, *c.FLOATS}


def operators(field, kind):
    """The aggregates of a field. libtiledb takes more, and fails: it looks for extremes that no tile has. In dense
    arrays its null counts are of whole tiles, of which the query may cover a part, and extremes of text are not right."""
    _, datatype, cell, nullable = field
    number = cell == 1 and datatype in NUMBERS
    sparse = kind == "sparse"
    text = cell == "var" and datatype == "string_ascii" and sparse
    extremes = number or text or cell == 1 and datatype.startswith(("datetime", "time"))
    names = ["min", "max"] if extremes else []
    return names + ["null_count"] * (extremes and nullable and sparse) + ["sum", "mean"] * number


def within(inner, outer, dims):
    ends = [[c.dec(d["type"], v)[0] for v in (*i, *o)] for d, i, o in zip(dims, inner, outer)]
    return all(o0 <= i0 and i1 <= o1 for i0, i1, o0, o1 in ends)


def fair(case, query, field):
    """Whether libtiledb's aggregates of the field are those of the cells that it reads.

    It crashes where a fragment lacks the field, and it leaves out those cells of dense arrays that nobody
    has written, though it reads and counts them.
    """
    first, last = query.get("window") or (0, 1 << 63)
    writes = [op for op in case["ops"] if op["op"] == "write"]
    if any(op["op"] == "evolve" for op in case["ops"]) or any(field[0] not in op["cols"] for op in writes):
        return False
    if "filter webp" in case["tags"]:
        # Statistics are those of the pictures before they lost something.
        return False
    dims = case["schema"]["dims"]
    if any("alphabet" in d for d in dims):
        # Some cells are given twice, and counted so or not.
        return False
    if case["schema"]["kind"] == "sparse":
        return True
    if query.get("cond") is not None:
        return False
    if query.get("window") and any(op["op"] == "vacuum" for op in case["ops"]):
        # Of what is gone nobody has written a cell.
        return False
    domain = query.get("domain") or [d["domain"] for d in dims]
    asked = [[r[0][0], r[-1][1]] for r in query["ranges"]] if query.get("ranges") else domain
    now = [op for op in writes if op["box"] and (op.get("t") is None or first <= op["t"] <= last)]
    return any(within(asked, op["box"], dims) for op in now)


def ask(lib, uri, case, query):
    """{field: {aggregate: value}} of the fields that can be compared: values in hex, None for null."""
    fields = [f for f in query["fields"] if fair(case, query, f)]
    if not fields:
        return {}
    me, h = lib.open(uri, capi.READ, query.get("window"), case.get("key"))
    q = me.query(h, case, query)
    channel = me.handle("tiledb_query_get_default_channel", q)
    cells = C.c_uint64(), C.c_uint64(8)
    me.call("tiledb_channel_apply_aggregate", channel, b"count", me.handle("tiledb_aggregate_count_get"))
    me._buffer(q, "count", C.byref(cells[0]), cells[1])
    asked = {(f[0], name): apply(me, q, channel, f, name) for f in fields for name in operators(f, case["schema"]["kind"])}
    me.call("tiledb_query_submit", q)
    out = {f[0]: {"count": c.enc("uint64", cells[0].value)} for f in fields}
    for (field, name), answer in asked.items():
        out[field][name] = value(*answer)
    me.lib.tiledb_query_channel_free(C.byref(channel))
    me.lib.tiledb_query_free(C.byref(q))
    me.close(h)
    return out


def apply(me, q, channel, field, name):
    """Asks for one aggregate of one field; gives the buffers in which the answer will stand."""
    operator = me.handle(f"tiledb_channel_operator_{name}_get")
    one = me.handle("tiledb_create_unary_aggregate", q, operator, field[0].encode())
    label = f"{field[0]}:{name}"
    me.call("tiledb_channel_apply_aggregate", channel, label.encode(), one)
    extreme = name in ("min", "max")
    var = extreme and field[2] == "var"
    size = ROOM_BYTES if var else capi.size_of(field[1]) if extreme else 8
    args = [C.create_string_buffer(size), C.c_uint64(size), None, None, None, None]
    if var:
        args[2:4] = [(C.c_uint64 * 1)(), C.c_uint64(8)]
    if field[3] and name != "null_count":
        args[4:6] = [C.create_string_buffer(1), C.c_uint64(1)]
    me._buffer(q, label, *args)
    return args


def value(data, size, _offsets, _offsets_size, valid, _valid_size):
    return None if valid is not None and valid.raw == b"\0" else data.raw[: size.value].hex()
