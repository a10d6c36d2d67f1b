"""Compares imports of HDF5 files with h5py, cell by cell and attribute by attribute: `PROGRAM FOLDER [ROWS]`.

Needs h5py, hdf5plugin and tiledb.
"""

import h5py
import hdf5plugin  # noqa: F401, the filters of h5py
import numpy as np
import tiledb

from common import cells, check_attribute, check_cells, metadata
from rows import Differs, ending_in, imported, main

# Attributes that hold the structure of a file.
STRUCTURE = {"DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"}


def compare(program, path, folder):
    out, notes = imported(program, path, folder)
    left_out = {note.split("'")[1] for note in notes if " is left out: " in note and note.startswith("'")}
    attributes_left_out = {tuple(note.split("'")[1:4:2]) for note in notes if note.startswith("the attribute '")}
    seen = set()

    def visit(name, item):
        address = h5py.h5o.get_info(item.id).addr
        if isinstance(item, h5py.Group):
            if address in seen:
                return
            seen.add(address)
            check_attributes(name, item, metadata(f"{out}/{name}".rstrip("/")), attributes_left_out)
            for key in item:
                link = item.get(key, getlink=True)
                if isinstance(link, h5py.HardLink) or (isinstance(link, h5py.SoftLink) and key in item):
                    try:
                        inner = item[key]
                    except (KeyError, OSError):
                        continue
                    if isinstance(inner, (h5py.Group, h5py.Dataset)):
                        visit(f"{name}/{key}".lstrip("/"), inner)
        elif name not in left_out:
            compare_dataset(f"{out}/{name}", name, item, attributes_left_out)

    with h5py.File(path, "r") as file:
        visit("", file)
    return notes


def values(dataset):
    """The cells. h5py marks sequences of big-endian numbers as little-endian."""
    found = dataset[...]
    base = h5py.check_vlen_dtype(dataset.dtype)
    if base is not None and isinstance(base, np.dtype) and base.byteorder == ">":
        swapped = [v.byteswap() for v in found.flat]
        for index, value in zip(np.ndindex(found.shape), swapped):
            found[index] = value
    return found


def compare_dataset(uri, name, dataset, attributes_left_out):
    uri = uri.replace("/__", "/%5F_")
    if tiledb.object_type(uri) != "array":
        raise Differs(f"{name}: there is no such array")
    found = cells(uri, dataset.shape or (1,))
    wanted = values(dataset)
    fields = columns(wanted, dataset.name.rsplit("/", 1)[-1])
    with tiledb.open(uri) as array:
        dims = [array.domain.dim(i).name for i in range(array.ndim)]
    for field, column in fields.items():
        key = f"{field}.data" if field in dims else field
        if key not in found:
            raise Differs(f"{name}: there is no attribute {key} among {list(found)}")
        stored = found[key]
        if stored is not None and column.size:
            check_cells(f"{name}.{field}", *comparable(stored, column))
    stored = metadata(uri)
    if len(fields) == 1:
        field = next(iter(fields))
        prefix = f"__tiledb_attr.{field}.data." if field in dims else f"__tiledb_attr.{field}."
        stored = {k.removeprefix(prefix): v for k, v in stored.items()}
    check_attributes(name, dataset, stored, attributes_left_out)


def columns(values, name):
    """The fields of a compound type, or the values themselves."""
    if values.dtype.names is None:
        return {name: values}
    out = {}
    for field in values.dtype.names:
        for inner, column in columns(values[field], field).items():
            out[field if inner == field else f"{field}.{inner}"] = column
    return out


def comparable(found, wanted):
    """Values as the array stores them."""
    if wanted.dtype == np.float16:
        wanted = wanted.astype(np.float32)
    if found.dtype.kind == "c" and wanted.dtype.kind == "f":
        # tiledb-py takes two floats for a complex number.
        found = found.view(found.real.dtype)
    if found.dtype.names:
        found = np.stack([found[n] for n in found.dtype.names], axis=-1)
    if found.dtype.kind == "O" and found.size and isinstance(found.flat[0], np.ndarray) and wanted.dtype.kind != "O":
        found = np.stack(list(found.flat))
    if wanted.dtype.kind == "c" and found.dtype.kind != "c":
        wanted = wanted.view(wanted.real.dtype)
    return found, wanted


def check_attributes(name, item, stored, left_out):
    scale = item.attrs.get("CLASS") == b"DIMENSION_SCALE"
    for key in item.attrs:
        if key in STRUCTURE or (scale and key in {"CLASS", "NAME"}) or (key, f"/{name}") in left_out:
            continue
        if key not in stored:
            raise Differs(f"{name}: the attribute {key} is missing")
        value = item.attrs[key]
        if isinstance(value, h5py.Empty):
            value = np.empty(0, value.dtype)
        check_attribute(f"{name}:{key}", stored[key], value)


if __name__ == "__main__":
    main("HDF5", compare, ending_in(".h5", ".hdf5", ".mnc"))
