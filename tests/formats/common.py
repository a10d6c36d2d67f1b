"""Shared by the scripts that compare imports with the libraries of each format.

They read the arrays with tiledb-py. `rows.py` says how they are called and what they print.
"""

import numpy as np
import tiledb

from rows import Differs


def cells(uri, shape):
    """The attributes of a dense array by name, cut to this shape."""
    with tiledb.open(uri) as array:
        if 0 in shape:
            return {array.attr(i).name: None for i in range(array.nattr)}
        index = tuple(slice(0, n) for n in shape)
        names = [array.attr(i).name for i in range(array.nattr)]
        found = array.query(attrs=names)[index]
        return dict(found) if isinstance(found, dict) else {names[0]: found}


def metadata(uri):
    """The metadata of an array or group."""
    if tiledb.object_type(uri) == "group":
        with tiledb.Group(uri) as group:
            return dict(group.meta.items())
    with tiledb.open(uri) as array:
        return dict(array.meta.items())


def text(value):
    """Text as it is stored."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    return str(value)


def is_text(values):
    return values.dtype.kind in "SU" or (values.dtype.kind == "O" and all(isinstance(v, (str, bytes)) for v in values.flat))


def check_cells(name, found, wanted):
    """Compares the cells of a variable."""
    wanted = np.asarray(wanted)
    if wanted.size == 0:
        return
    if found is None:
        raise Differs(f"{name}: no cells")
    if is_text(wanted):
        same = [text(a) for a in found.flat] == [text(b) for b in wanted.flat]
    elif wanted.dtype.kind == "O":
        same = all(np.array_equal(a, b) for a, b in zip(found.flat, wanted.flat)) and found.size == wanted.size
    elif wanted.dtype.kind == "V":
        same = [bytes(a) for a in found.flat] == [bytes(b) for b in wanted.flat]
    else:
        if found.dtype != wanted.dtype.newbyteorder("="):
            raise Differs(f"{name}: the type is {found.dtype}, not {wanted.dtype}")
        same = found.size == wanted.size and np.array_equal(found.ravel(), wanted.ravel(), equal_nan=wanted.dtype.kind in "fc")
    if not same:
        raise Differs(f"{name}: other cells")


def check_attribute(name, found, wanted):
    """Compares an attribute with a value of the metadata."""
    wanted = np.asarray(wanted)
    if wanted.dtype.kind in "SUO":
        same = text(found) == "\n".join(text(v) for v in wanted.flat) if wanted.size else text(found) in ("", "()")
    elif wanted.size == 0:
        same = np.size(found) == 0
    elif wanted.dtype.kind == "c":
        same = np.array_equal(np.ravel(found), np.ravel(wanted).view(wanted.real.dtype))
    elif wanted.dtype.kind == "V":
        same = bytes(found) == wanted.tobytes()
    else:
        same = np.array_equal(np.atleast_1d(found).ravel(), wanted.ravel(), equal_nan=wanted.dtype.kind == "f")
    if not same:
        raise Differs(f"{name}: the value is {found!r}, not {wanted!r}")
