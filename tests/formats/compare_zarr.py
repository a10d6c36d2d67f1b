"""Compares imports of Zarr stores with zarr-python, cell by cell and attribute by attribute: `PROGRAM FOLDER [ROWS]`.

Needs zarr 3 and tiledb.
"""

import json
import os

import numpy as np
import tiledb
import zarr

from common import cells, check_attribute, check_cells, metadata
from rows import Differs, imported, main

FILES = {"zarr.json", ".zarray", ".zgroup"}


def compare(program, path, folder):
    out, notes = imported(program, path, folder, "--format", "zarr")
    left_out = {note.split("'")[1] for note in notes if " is left out: " in note and note.startswith("'")}
    item = zarr.open(path, mode="r")
    if isinstance(item, zarr.Array):
        compare_array(out, os.path.splitext(os.path.basename(path))[0], item)
    else:
        compare_group(out, "", item, left_out)
    return notes


def compare_group(out, name, group, left_out):
    check_attributes(name, group.attrs.asdict(), metadata(f"{out}/{name}".rstrip("/")))
    for key, member in group.members():
        inner = f"{name}/{key}".lstrip("/")
        if isinstance(member, zarr.Group):
            compare_group(out, inner, member, left_out)
        elif inner not in left_out:
            compare_array(f"{out}/{inner}".replace("/__", "/%5F_"), key, member)


def compare_array(uri, name, array):
    if tiledb.object_type(uri) != "array":
        raise Differs(f"{name}: there is no such array")
    found = cells(uri, array.shape or (1,))
    if len(found) != 1:
        raise Differs(f"{name}: the attributes are {list(found)}")
    attribute, stored = next(iter(found.items()))
    wanted = array[...]
    if stored is not None and array.size:
        check_cells(name, *comparable(stored, np.asarray(wanted)))
    prefix = f"__tiledb_attr.{attribute}."
    entries = {k.removeprefix(prefix): v for k, v in metadata(uri).items() if k.startswith(prefix)}
    attributes = array.attrs.asdict()
    names = attributes.pop("_ARRAY_DIMENSIONS", None)
    if array.metadata.zarr_format == 3:
        names = array.metadata.dimension_names
    with tiledb.open(uri) as opened:
        dims = [opened.domain.dim(i).name for i in range(opened.ndim)]
    if names and all(names) and len(set(names)) == len(names) and dims != list(names):
        raise Differs(f"{name}: the dimensions are {dims}, not {names}")
    attributes.pop("_FillValue", None)
    check_attributes(name, attributes, entries)


def comparable(found, wanted):
    """Values as the array stores them."""
    if wanted.dtype.kind == "T":
        wanted = wanted.astype(object)
    if wanted.dtype == np.float16:
        wanted = wanted.astype(np.float32)
    if wanted.dtype.kind == "c" and found.dtype.kind != "c":
        found, wanted = found.view(found.real.dtype), wanted.view(wanted.real.dtype)
    if wanted.dtype.kind == "M":
        found, wanted = found.view("i8"), wanted.astype(wanted.dtype.newbyteorder("=")).view("i8")
    if wanted.dtype.kind == "m":
        wanted = wanted.astype(wanted.dtype.newbyteorder("=")).view("i8")
    if wanted.dtype.kind == "b":
        found = found.astype(bool)
    return found, wanted


def check_attributes(name, wanted, stored):
    for key, value in wanted.items():
        if key not in stored:
            raise Differs(f"{name}: the attribute {key} is missing")
        plain = value if isinstance(value, list) and value else [value]
        kinds = {type(v) for v in plain}
        if kinds <= {str} or kinds <= {int, float} or kinds <= {bool}:
            check_attribute(f"{name}:{key}", stored[key], np.array(plain))
        elif json.loads(str(stored[key])) != value:
            raise Differs(f"{name}: the attribute {key} is {stored[key]!r}, not {value!r}")


def stores(root):
    """The outermost stores below a folder."""
    for folder, folders, files in os.walk(root):
        if FILES & set(files):
            folders.clear()
            yield folder


if __name__ == "__main__":
    main("Zarr", compare, stores)
