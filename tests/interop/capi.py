"""Libtiledb through its C API: any release from 1.6 on, from plain descriptions of arrays.

tiledb-py hides much of the format (several values per cell of any type, explicit fill values, global
order, most datatypes). Here an array is a *case*: a schema and a list of operations as plain data,
which this module performs with libtiledb and which the Rust tests perform with Hyperslab.
README.md beside this file describes a case.
"""

import ctypes as C
import glob
import importlib.util
import os
import struct

DATATYPES = (
    "int32 int64 float32 float64 char int8 uint8 int16 uint16 uint32 uint64 string_ascii string_utf8 "
    "string_utf16 string_utf32 string_ucs2 string_ucs4 any datetime_year datetime_month datetime_week "
    "datetime_day datetime_hr datetime_min datetime_sec datetime_ms datetime_us datetime_ns datetime_ps "
    "datetime_fs datetime_as time_hr time_min time_sec time_ms time_us time_ns time_ps time_fs time_as "
    "blob bool geom_wkb geom_wkt"
).split()
TYPE_ID = {name: i for i, name in enumerate(DATATYPES)}
SIZE = {"char": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "float32": 4}
SIZE.update({"string_ascii": 1, "string_utf8": 1, "string_utf16": 2, "string_utf32": 4, "string_ucs2": 2})
SIZE.update({"string_ucs4": 4, "any": 1, "blob": 1, "bool": 1, "geom_wkb": 1, "geom_wkt": 1})
LAYOUT = {"row": 0, "col": 1, "global": 2, "unordered": 3, "hilbert": 4}
ORDER = {"unordered": 0, "increasing": 1, "decreasing": 2}
FILTER = {
    "none": 0, "gzip": 1, "zstd": 2, "lz4": 3, "rle": 4, "bzip2": 5, "double_delta": 6,
    "bit_width_reduction": 7, "bitshuffle": 8, "byteshuffle": 9, "positive_delta": 10, "md5": 12,
    "sha256": 13, "dictionary": 14, "float_scale": 15, "xor": 16, "webp": 18, "delta": 19,
}  # fmt: skip
OPTION = {
    ("*", "level"): (0, C.c_int32), ("bit_width_reduction", "window"): (1, C.c_uint32),
    ("positive_delta", "window"): (2, C.c_uint32), ("float_scale", "byte_width"): (3, C.c_uint64),
    ("float_scale", "scale"): (4, C.c_double), ("float_scale", "offset"): (5, C.c_double),
    ("webp", "quality"): (6, C.c_float), ("webp", "format"): (7, C.c_uint8),
    ("webp", "lossless"): (8, C.c_uint8), ("*", "reinterpret"): (9, C.c_uint8),
}  # fmt: skip
OP = {"<": 0, "<=": 1, ">": 2, ">=": 3, "==": 4, "!=": 5, "in": 6, "not in": 7}
READ, WRITE, DELETE = 0, 1, 2
VAR = 0xFFFFFFFF
READ_BUFFER_BYTES = 1 << 17
READ_BUFFER_CELLS = 1 << 13
SLACK_BYTES = 1 << 12


def size_of(datatype):
    return SIZE.get(datatype, 8)


class TileDBError(Exception):
    pass


class Range(C.Structure):
    _fields_ = [("min", C.c_void_p), ("min_size", C.c_uint64), ("max", C.c_void_p), ("max_size", C.c_uint64)]


def bundled_library():
    """The libtiledb beside the installed tiledb package."""
    package = importlib.util.find_spec("tiledb").submodule_search_locations[0]
    return library_in(os.path.dirname(package))


def library_in(folder):
    """The libtiledb of a wheel unpacked in `folder`."""
    for place in ("tiledb.libs", "tiledb/.libs", "tiledb"):
        for path in sorted(glob.glob(os.path.join(folder, place, "libtiledb*.so*"))):
            if "cpython" not in os.path.basename(path):
                return path
    raise TileDBError(f"no libtiledb in {folder}")


def buf(data):
    """Bytes as a C buffer with slack behind it.

    Never empty, because a null pointer means something else; and longer than the data, because several
    releases (2.30 among them) read past the end when they pad dense tiles of variable-length cells.
    """
    return C.create_string_buffer(bytes(data), len(data) + SLACK_BYTES)


def offsets_buf(values):
    return (C.c_uint64 * (len(values) + SLACK_BYTES // 8))(*values)


class Lib:
    def __init__(self, path=None, config=()):
        self.lib = C.CDLL(path or bundled_library())
        numbers = [C.c_int32(), C.c_int32(), C.c_int32()]
        self.lib.tiledb_version(*map(C.byref, numbers))
        self.version = tuple(n.value for n in numbers)
        self.config = dict(config)
        self.ctx = self._context(self.config)

    def _context(self, config):
        conf = self._config(config)
        ctx = C.c_void_p()
        if self.lib.tiledb_ctx_alloc(conf, C.byref(ctx)):
            raise TileDBError("no context")
        return ctx

    def _config(self, config):
        conf, err = C.c_void_p(), C.c_void_p()
        self.lib.tiledb_config_alloc(C.byref(conf), C.byref(err))
        for key, value in config.items():
            if self.lib.tiledb_config_set(conf, key.encode(), str(value).encode(), C.byref(err)):
                raise TileDBError(f"config {key}={value}")
        return conf

    def has(self, name):
        return hasattr(self.lib, name)

    def call(self, name, *args):
        if getattr(self.lib, name)(self.ctx, *args) == 0:
            return
        err, text = C.c_void_p(), C.c_char_p()
        self.lib.tiledb_ctx_get_last_error(self.ctx, C.byref(err))
        message = ""
        if err:
            self.lib.tiledb_error_message(err, C.byref(text))
            message = (text.value or b"").decode("utf-8", "replace")
        raise TileDBError(f"{name}: {message}")

    def handle(self, name, *args):
        out = C.c_void_p()
        self.call(name, *args, C.byref(out))
        return out

    def with_key(self, key):
        """The same library with an encryption key (hex digits), or without one for None."""
        if key is None:
            return self
        other = object.__new__(Lib)
        other.lib, other.version = self.lib, self.version
        other.config = {
            **self.config,
            "sm.encryption_type": "AES_256_GCM",
            "sm.encryption_key": bytes.fromhex(key).decode("latin-1"),
        }
        other.ctx = other._context(other.config)
        return other

    # ---- schemas

    def filter_list(self, filters):
        out = self.handle("tiledb_filter_list_alloc")
        for name, options in filters:
            one = self.handle("tiledb_filter_alloc", C.c_int(FILTER[name]))
            for key, value in options.items():
                number, kind = OPTION.get((name, key)) or OPTION[("*", key)]
                if key == "reinterpret":
                    value = TYPE_ID[value]
                self.call("tiledb_filter_set_option", one, C.c_int(number), C.byref(kind(value)))
            self.call("tiledb_filter_list_add_filter", out, one)
        return out

    def attribute(self, a):
        h = self.handle("tiledb_attribute_alloc", a["name"].encode(), C.c_int(TYPE_ID[a["type"]]))
        cell = VAR if a["cell"] == "var" else a["cell"]
        if a["type"] != "any":
            self.call("tiledb_attribute_set_cell_val_num", h, C.c_uint32(cell))
        if a.get("filters"):
            self.call("tiledb_attribute_set_filter_list", h, self.filter_list(a["filters"]))
        if a.get("nullable"):
            self.call("tiledb_attribute_set_nullable", h, C.c_uint8(1))
        if a.get("fill") is not None:
            fill = bytes.fromhex(a["fill"])
            if a.get("nullable"):
                valid = C.c_uint8(1 if a.get("fill_valid") else 0)
                self.call("tiledb_attribute_set_fill_value_nullable", h, buf(fill), C.c_uint64(len(fill)), valid)
            else:
                self.call("tiledb_attribute_set_fill_value", h, buf(fill), C.c_uint64(len(fill)))
        if a.get("enum"):
            self.call("tiledb_attribute_set_enumeration_name", h, a["enum"].encode())
        return h

    def enumeration(self, e):
        data, offs = bytes.fromhex(e["data"]), e.get("off")
        cell = VAR if offs is not None else e.get("cell", 1)
        return self.handle(
            "tiledb_enumeration_alloc", e["name"].encode(), C.c_int(TYPE_ID[e["type"]]), C.c_uint32(cell),
            C.c_int(1 if e.get("ordered") else 0), buf(data) if data else None, C.c_uint64(len(data)),
            None if offs is None else offsets_buf(offs), C.c_uint64(0 if offs is None else 8 * len(offs)),
        )  # fmt: skip

    def current_domain(self, domain, dims, ranges):
        ndr = self.handle("tiledb_ndrectangle_alloc", domain)
        for i, (lo, hi) in enumerate(ranges):
            lo, hi = bytes.fromhex(lo), bytes.fromhex(hi)
            a, b = buf(lo), buf(hi)
            r = Range(C.cast(a, C.c_void_p), len(lo), C.cast(b, C.c_void_p), len(hi))
            self.call("tiledb_ndrectangle_set_range", ndr, C.c_uint32(i), C.byref(r))
        out = self.handle("tiledb_current_domain_create")
        self.call("tiledb_current_domain_set_ndrectangle", out, ndr)
        return out

    def domain(self, s):
        out = self.handle("tiledb_domain_alloc")
        for d in s["dims"]:
            dom = None if d.get("domain") is None else buf(bytes.fromhex("".join(d["domain"])))
            ext = None if d.get("extent") is None else buf(bytes.fromhex(d["extent"]))
            h = self.handle("tiledb_dimension_alloc", d["name"].encode(), C.c_int(TYPE_ID[d["type"]]), dom, ext)
            if d.get("filters"):
                self.call("tiledb_dimension_set_filter_list", h, self.filter_list(d["filters"]))
            self.call("tiledb_domain_add_dimension", out, h)
        return out

    def schema(self, s):
        h = self.handle("tiledb_array_schema_alloc", C.c_int(0 if s["kind"] == "dense" else 1))
        domain = self.domain(s)
        self.call("tiledb_array_schema_set_domain", h, domain)
        self.call("tiledb_array_schema_set_tile_order", h, C.c_int(LAYOUT[s.get("tile", "row")]))
        self.call("tiledb_array_schema_set_cell_order", h, C.c_int(LAYOUT[s.get("order", "row")]))
        if s.get("capacity"):
            self.call("tiledb_array_schema_set_capacity", h, C.c_uint64(s["capacity"]))
        if s.get("dups"):
            self.call("tiledb_array_schema_set_allows_dups", h, C.c_int(1))
        for which in ("coords", "offsets", "validity"):
            # Releases 2.2 to 2.5 have nulls but no way to choose the filters of validity.
            if s.get(which + "_filters") is not None and self.has(f"tiledb_array_schema_set_{which}_filter_list"):
                self.call(f"tiledb_array_schema_set_{which}_filter_list", h, self.filter_list(s[which + "_filters"]))
        for e in s.get("enums", ()):
            self.call("tiledb_array_schema_add_enumeration", h, self.enumeration(e))
        for a in s["attrs"]:
            self.call("tiledb_array_schema_add_attribute", h, self.attribute(a))
        for label in s.get("labels", ()):
            name = label["name"].encode()
            self.call("tiledb_array_schema_add_dimension_label", h, C.c_uint32(label["dim"]), name,
                      C.c_int(ORDER[label["order"]]), C.c_int(TYPE_ID[label["type"]]))  # fmt: skip
            if label.get("filters"):
                self.call("tiledb_array_schema_set_dimension_label_filter_list", h, name,
                          self.filter_list(label["filters"]))  # fmt: skip
        if s.get("current_domain"):
            cd = self.current_domain(domain, s["dims"], s["current_domain"])
            self.call("tiledb_array_schema_set_current_domain", h, cd)
        return h

    def create(self, uri, schema, key=None):
        """A new, empty array. Old releases take the key as an argument, newer ones from the context."""
        if key is not None and self.version < (2, 10):
            raw = bytes.fromhex(key)
            self.call("tiledb_array_create_with_key", uri.encode(), self.schema(schema), C.c_int(1), buf(raw),
                      C.c_uint32(len(raw)))  # fmt: skip
        else:
            me = self.with_key(key)
            me.call("tiledb_array_create", uri.encode(), me.schema(schema))

    # ---- operations

    def open(self, uri, mode, window=None, key=None):
        """`window`: (start, end) in milliseconds; a write takes its end."""
        by_argument = key is not None and self.version < (2, 10)
        me = self if by_argument else self.with_key(key)
        h = me.handle("tiledb_array_alloc", uri.encode())
        if window is not None and self.version >= (2, 3):
            me.call("tiledb_array_set_open_timestamp_start", h, C.c_uint64(window[0]))
            me.call("tiledb_array_set_open_timestamp_end", h, C.c_uint64(window[1]))
        if by_argument:
            raw = bytes.fromhex(key)
            me.call("tiledb_array_open_with_key", h, C.c_int(mode), C.c_int(1), buf(raw), C.c_uint32(len(raw)))
        else:
            me.call("tiledb_array_open", h, C.c_int(mode))
        return me, h

    def close(self, h):
        self.call("tiledb_array_close", h)
        self.lib.tiledb_array_free(C.byref(h))

    def _buffer(self, q, name, data, size, offs=None, offs_size=None, valid=None, valid_size=None):
        n = name.encode()
        if self.has("tiledb_query_set_data_buffer"):
            self.call("tiledb_query_set_data_buffer", q, n, data, C.byref(size))
            if offs is not None:
                self.call("tiledb_query_set_offsets_buffer", q, n, offs, C.byref(offs_size))
            if valid is not None:
                self.call("tiledb_query_set_validity_buffer", q, n, valid, C.byref(valid_size))
        elif valid is not None and offs is not None:
            self.call("tiledb_query_set_buffer_var_nullable", q, n, offs, C.byref(offs_size), data, C.byref(size),
                      valid, C.byref(valid_size))  # fmt: skip
        elif valid is not None:
            self.call("tiledb_query_set_buffer_nullable", q, n, data, C.byref(size), valid, C.byref(valid_size))
        elif offs is not None:
            self.call("tiledb_query_set_buffer_var", q, n, offs, C.byref(offs_size), data, C.byref(size))
        else:
            self.call("tiledb_query_set_buffer", q, n, data, C.byref(size))

    def _subarray(self, q, array, dims, ranges):
        """`ranges`: per dimension a list of (lo, hi) in hex, or None for a whole dimension."""
        if self.has("tiledb_query_set_subarray_t"):
            sub = self.handle("tiledb_subarray_alloc", array)
            for i, (d, rs) in enumerate(zip(dims, ranges)):
                for lo, hi in rs or ():
                    lo, hi = bytes.fromhex(lo), bytes.fromhex(hi)
                    if d["type"] == "string_ascii":
                        self.call("tiledb_subarray_add_range_var", sub, C.c_uint32(i), buf(lo), C.c_uint64(len(lo)),
                                  buf(hi), C.c_uint64(len(hi)))  # fmt: skip
                    else:
                        self.call("tiledb_subarray_add_range", sub, C.c_uint32(i), buf(lo), buf(hi), None)
            self.call("tiledb_query_set_subarray_t", q, sub)
            self.lib.tiledb_subarray_free(C.byref(sub))
        else:
            box = b"".join(bytes.fromhex(lo) + bytes.fromhex(hi) for rs in ranges for lo, hi in rs)
            self.call("tiledb_query_set_subarray", q, buf(box))

    def write(self, uri, schema, op, key=None):
        window = (0, op["t"]) if op.get("t") is not None and self.version >= (2, 3) else None
        me, h = self.open(uri, WRITE, window, key)
        q = me.handle("tiledb_query_alloc", h, C.c_int(WRITE))
        me.call("tiledb_query_set_layout", q, C.c_int(LAYOUT[op["layout"]]))
        if op.get("box") is not None:
            me._subarray(q, h, schema["dims"], [[r] for r in op["box"]])
        cols = dict(op["cols"])
        names = [d["name"] for d in schema["dims"]]
        if self.version < (2, 0) and op.get("box") is None:
            cols["__coords"] = {"data": interleave([cols.pop(n)["data"] for n in names], schema["dims"])}
        hold = []
        for name, c in cols.items():
            data = bytes.fromhex(c["data"])
            args = [buf(data), C.c_uint64(len(data)), None, None, None, None]
            if c.get("off") is not None:
                args[2:4] = [offsets_buf(c["off"]), C.c_uint64(8 * len(c["off"]))]
            if c.get("valid") is not None:
                valid = bytes.fromhex(c["valid"])
                args[4:6] = [buf(valid), C.c_uint64(len(valid))]
            hold.append(args)
            me._buffer(q, name, *args)
        me.call("tiledb_query_submit", q)
        me.call("tiledb_query_finalize", q)
        me.lib.tiledb_query_free(C.byref(q))
        me.close(h)

    def condition(self, tree):
        kind = tree[0]
        if kind in ("and", "or"):
            a, b = self.condition(tree[1]), self.condition(tree[2])
            return self.handle("tiledb_query_condition_combine", a, b, C.c_int(0 if kind == "and" else 1))
        if kind == "not":
            return self.handle("tiledb_query_condition_negate", self.condition(tree[1]))
        if kind in ("in", "not in"):
            values = [bytes.fromhex(v) for v in tree[2]]
            starts = [sum(map(len, values[:i])) for i in range(len(values))]
            data = b"".join(values)
            return self.handle(
                "tiledb_query_condition_alloc_set_membership", tree[1].encode(), buf(data), C.c_uint64(len(data)),
                offsets_buf(starts), C.c_uint64(8 * len(starts)), C.c_int(OP[kind]),
            )  # fmt: skip
        out = self.handle("tiledb_query_condition_alloc")
        value = None if tree[2] is None else bytes.fromhex(tree[2])
        self.call("tiledb_query_condition_init", out, tree[1].encode(), None if value is None else buf(value),
                  C.c_uint64(0 if value is None else len(value)), C.c_int(OP[kind]))  # fmt: skip
        return out

    def delete(self, uri, op, key=None):
        me, h = self.open(uri, DELETE, (0, op["t"]), key)
        q = me.handle("tiledb_query_alloc", h, C.c_int(DELETE))
        me.call("tiledb_query_set_condition", q, me.condition(op["cond"]))
        me.call("tiledb_query_submit", q)
        me.lib.tiledb_query_free(C.byref(q))
        me.close(h)

    def evolve(self, uri, schema, op, key=None):
        """Adds and drops attributes, extends enumerations, expands the current domain."""
        me = self.with_key(key)
        ev = me.handle("tiledb_array_schema_evolution_alloc")
        for name in op.get("drop", ()):
            me.call("tiledb_array_schema_evolution_drop_attribute", ev, name.encode())
        for e in op.get("add_enums", ()):
            me.call("tiledb_array_schema_evolution_add_enumeration", ev, me.enumeration(e))
        for a in op.get("add", ()):
            me.call("tiledb_array_schema_evolution_add_attribute", ev, me.attribute(a))
        for e in op.get("extend", ()):
            _, h = me.open(uri, READ)
            old = me.handle("tiledb_array_get_enumeration", h, e["name"].encode())
            data, offs = bytes.fromhex(e["data"]), e.get("off")
            new = me.handle("tiledb_enumeration_extend", old, buf(data), C.c_uint64(len(data)),
                            None if offs is None else offsets_buf(offs),
                            C.c_uint64(0 if offs is None else 8 * len(offs)))  # fmt: skip
            me.call("tiledb_array_schema_evolution_extend_enumeration", ev, new)
            me.close(h)
        if op.get("expand"):
            cd = me.current_domain(me.domain(schema), schema["dims"], op["expand"])
            me.call("tiledb_array_schema_evolution_expand_current_domain", ev, cd)
        if op.get("t") is not None:
            me.call("tiledb_array_schema_evolution_set_timestamp_range", ev, C.c_uint64(op["t"]), C.c_uint64(op["t"]))
        me.call("tiledb_array_evolve", uri.encode(), ev)

    def put_metadata(self, uri, op, key=None):
        window = (0, op["t"]) if op.get("t") is not None else None
        me, h = self.open(uri, WRITE, window, key)
        for name in op.get("del", ()):
            me.call("tiledb_array_delete_metadata", h, name.encode())
        for name, (datatype, count, data) in op.get("put", {}).items():
            raw = bytes.fromhex(data)
            me.call("tiledb_array_put_metadata", h, name.encode(), C.c_int(TYPE_ID[datatype]), C.c_uint32(count),
                    buf(raw) if count else None)  # fmt: skip
        me.close(h)

    def metadata(self, uri, window=None, key=None):
        me, h = self.open(uri, READ, window, key)
        out = me._metadata(h, "tiledb_array")
        me.close(h)
        return out

    def _metadata(self, h, kind):
        count = C.c_uint64()
        self.call(kind + "_get_metadata_num", h, C.byref(count))
        out = {}
        for i in range(count.value):
            key, length, datatype, num, value = C.c_char_p(), C.c_uint32(), C.c_int(), C.c_uint32(), C.c_void_p()
            self.call(kind + "_get_metadata_from_index", h, C.c_uint64(i), C.byref(key), C.byref(length),
                      C.byref(datatype), C.byref(num), C.byref(value))  # fmt: skip
            name = DATATYPES[datatype.value]
            data = C.string_at(value, num.value * size_of(name)) if value and num.value else b""
            out[key.value[: length.value].decode()] = [name, num.value, data.hex()]
        return out

    def consolidate(self, uri, op, key=None):
        conf = {"sm.consolidation.mode": op["mode"], **op.get("config", {})}
        self._maintain("tiledb_array_consolidate", uri, conf, key)

    def vacuum(self, uri, op, key=None):
        conf = {"sm.vacuum.mode": op["mode"], **op.get("config", {})}
        self._maintain("tiledb_array_vacuum", uri, conf, key)

    def _maintain(self, call, uri, conf, key):
        if self.version < (2, 0):
            conf = {}
        me = self.with_key(key)
        base = me.config if self.version >= (2, 3) else {}
        me.call(call, uri.encode(), me._config({**base, **conf}))

    def perform(self, uri, case, op):
        """One operation of a case."""
        key, schema = case.get("key"), case["schema"]
        kind = op["op"]
        if kind == "write":
            self.write(uri, schema, op, key)
        elif kind == "delete":
            self.delete(uri, op, key)
        elif kind == "evolve":
            self.evolve(uri, schema, op, key)
        elif kind == "meta":
            self.put_metadata(uri, op, key)
        elif kind == "consolidate":
            self.consolidate(uri, op, key)
        elif kind == "vacuum":
            self.vacuum(uri, op, key)
        else:
            raise ValueError(kind)

    # ---- reading

    def query(self, h, case, query):
        """A query for these cells of the open array `h`, without its buffers."""
        q = self.handle("tiledb_query_alloc", h, C.c_int(READ))
        self.call("tiledb_query_set_layout", q, C.c_int(LAYOUT[query["layout"]]))
        dims = case["schema"]["dims"]
        if query.get("ranges") is not None:
            self._subarray(q, h, dims, query["ranges"])
        elif case["schema"]["kind"] == "dense":
            domain = query.get("domain") or [d["domain"] for d in dims]
            self._subarray(q, h, dims, [[r] for r in domain])
        if query.get("cond") is not None:
            self.call("tiledb_query_set_condition", q, self.condition(query["cond"]))
        return q

    def read(self, uri, case, query):
        """The cells of one query: {"cells": n, "cols": {field: {data, off, valid}}}, all bytes in hex.

        `query["schema"]` lists the fields as [name, type, cell, nullable]; `off` has n + 1 entries.
        """
        me, h = self.open(uri, READ, query.get("window"), case.get("key"))
        q = me.query(h, case, query)
        hold = {}
        room = READ_BUFFER_BYTES * (8 if case.get("big") else 1)
        for i, (name, _, cell, nullable) in enumerate(query["fields"]):
            args = [room_for(i, 0, room), C.c_uint64(room), None, None, None, None]
            if cell == "var":
                args[2:4] = [room_for(i, 1, 8 * READ_BUFFER_CELLS), C.c_uint64(8 * READ_BUFFER_CELLS)]
            if nullable:
                args[4:6] = [room_for(i, 2, room), C.c_uint64(room)]
            hold[name] = args
            me._buffer(q, name, *args)
        me.call("tiledb_query_submit", q)
        status = C.c_int()
        me.call("tiledb_query_get_status", q, C.byref(status))
        if status.value != 1:
            raise TileDBError("the answer does not fit the buffers")
        cells, cols = None, {}
        for name, datatype, cell, nullable in query["fields"]:
            data, size, offs, offs_size, valid, valid_size = hold[name]
            col = {"data": C.string_at(data, size.value).hex()}
            if cell == "var":
                n = offs_size.value // 8
                col["off"] = [*struct.unpack(f"<{n}Q", C.string_at(offs, 8 * n)), size.value]
            else:
                n = size.value // (size_of(datatype) * cell)
            if nullable:
                col["valid"] = C.string_at(valid, valid_size.value).hex()
            if cells not in (None, n):
                raise TileDBError(f"{name} has {n} cells, others {cells}")
            cells = n
            cols[name] = col
        me.lib.tiledb_query_free(C.byref(q))
        me.close(h)
        return {"cells": cells or 0, "cols": cols}


ROOM = {}


def room_for(field, part, size):
    """A buffer to read into, kept for the next read: making them costs more than reading does."""
    key = (field, part, size)
    if key not in ROOM:
        ROOM[key] = C.create_string_buffer(size)
    return ROOM[key]


def interleave(columns, dims):
    """Coordinates of each dimension (hex) as the zipped coordinates of releases before 2.0."""
    parts = [bytes.fromhex(c) for c in columns]
    sizes = [size_of(d["type"]) for d in dims]
    cells = len(parts[0]) // sizes[0]
    return b"".join(p[i * s : (i + 1) * s] for i in range(cells) for p, s in zip(parts, sizes)).hex()
