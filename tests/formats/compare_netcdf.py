"""Compares imports of NetCDF files with xarray, cell by cell and attribute by attribute: `PROGRAM FOLDER [ROWS]`.

Needs xarray, netCDF4, scipy and tiledb.
"""

import os
import warnings

import numpy as np
import tiledb
import xarray

from common import cells, check_attribute, check_cells, metadata
from rows import Differs, ending_in, imported, main

# Conversions that lose what is stored.
RAW = {"mask_and_scale": False, "decode_times": False, "decode_coords": False, "use_cftime": None}
# What xarray adds to the attributes that it has read.
ENCODED = {"_FillValue"}


def compare(program, path, folder):
    out, notes = imported(program, path, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = {"": opened(path)} if classic(path) else xarray.open_groups(path, engine="netcdf4", **RAW)
    for name, dataset in groups.items():
        group = "/".join([out, *filter(None, name.split("/"))])
        compare_group(group, dataset)
    return notes


def opened(path):
    """A classic file. netCDF4 refuses names in Latin-1, and scipy reads them."""
    try:
        return xarray.open_dataset(path, **RAW)
    except UnicodeDecodeError:
        return xarray.open_dataset(path, engine="scipy", **RAW)


def classic(path):
    with open(path, "rb") as file:
        return file.read(3) == b"CDF"


def compare_group(uri, dataset):
    check_all(uri, dataset.attrs, metadata(uri))
    for name, variable in dataset.variables.items():
        compare_variable(f"{uri}/{name}", name, variable)


def stored_name(name):
    """TileDB keeps names that begin with two underscores for itself."""
    return f"%5F{name[1:]}" if name.startswith("__") else name


def compare_variable(uri, name, variable):
    uri = f"{os.path.dirname(uri)}/{stored_name(name)}"
    if tiledb.object_type(uri) != "array":
        raise Differs(f"{name}: there is no such array")
    with tiledb.open(uri) as array:
        dims = [array.domain.dim(i).name for i in range(array.ndim)]
        fill = array.attr(0).fill
        nonempty = array.nonempty_domain()
    wanted = list(variable.dims) or ["__scalars"]
    if dims != wanted and len(set(wanted)) == len(wanted):
        raise Differs(f"{name}: the dimensions are {dims}, not {wanted}")
    shape = variable.shape or (1,)
    if nonempty is not None and tuple(int(hi) + 1 for _, hi in nonempty) != shape:
        raise Differs(f"{name}: the cells reach to {nonempty}, not {shape}")
    found = cells(uri, shape)
    attribute = f"{name}.data" if name in dims else stored_name(name)
    if list(found) != [attribute]:
        raise Differs(f"{name}: the attributes are {list(found)}")
    check_cells(name, found[attribute], variable.values)
    prefix = f"__tiledb_attr.{attribute}."
    stored = {k.removeprefix(prefix): v for k, v in metadata(uri).items() if k.startswith(prefix)}
    attributes = {**variable.attrs, **{k: v for k, v in variable.encoding.items() if k in ENCODED}}
    declared = attributes.pop("_FillValue", None)
    # It is kept if it is what TileDB fills with anyway.
    kept = stored.pop("_FillValue", declared)
    if declared is not None and variable.dtype.kind in "iuf":
        same = np.array_equal(np.asarray(fill).ravel(), np.asarray(declared).ravel(), equal_nan=variable.dtype.kind == "f")
        if not same or not np.array_equal(kept, declared, equal_nan=variable.dtype.kind == "f"):
            raise Differs(f"{name}: the fill value is {fill} or {kept}, not {declared}")
    check_all(name, attributes, stored)


def check_all(name, wanted, stored):
    for key, value in wanted.items():
        if key not in stored:
            raise Differs(f"{name}: the attribute {key} is missing")
        check_attribute(f"{name}:{key}", stored[key], value)
    if extra := set(stored) - set(wanted):
        raise Differs(f"{name}: the attributes {extra} are not in the file")


if __name__ == "__main__":
    main("NetCDF", compare, ending_in(".nc", ".nc4", ".cdf"))
