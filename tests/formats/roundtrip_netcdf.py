"""Exports imports of NetCDF files as NetCDF, and compares the files with xarray: `PROGRAM FOLDER`.

Values, dimensions, attributes and fill values must be equal. Groups within a file are left out, and text of any length
becomes text of the greatest length.

Needs xarray, netCDF4, scipy and tiledb.
"""

import os
import subprocess
import warnings

import numpy as np
import xarray

from common import check_cells
from rows import Differs, ending_in, imported, main

RAW = {"mask_and_scale": False, "decode_times": False, "decode_coords": False, "use_cftime": None}


def compare(program, path, folder):
    array, notes = imported(program, path, folder)
    out = os.path.join(folder, "again.nc")
    done = subprocess.run([program, "export", array, out, "--force"], capture_output=True, text=True)
    if done.returncode:
        raise Differs(f"the export fails: {done.stderr.strip()}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xarray.open_dataset(path, **RAW) as before, xarray.open_dataset(out, **RAW) as after:
            same(before, after)
            before.load()
    again, _ = imported(program, out, os.path.join(folder, "twice"))
    if not os.path.isdir(again):
        raise Differs("the exported file cannot be imported")
    return notes + [line for line in done.stderr.splitlines() if line.startswith("note")]


def same(before, after):
    equal_attributes("the file", before.attrs, {k: v for k, v in after.attrs.items() if k in before.attrs or k != "Conventions"})
    if extra := set(after.variables) - set(before.variables):
        raise Differs(f"the variables {extra} are new")
    for name, variable in before.variables.items():
        if name not in after.variables:
            raise Differs(f"the variable {name} is missing")
        other = after.variables[name]
        if len(set(variable.dims)) == len(variable.dims) and other.dims != variable.dims:
            raise Differs(f"{name}: the dimensions are {other.dims}, not {variable.dims}")
        wanted, found = variable.values, other.values
        if wanted.dtype.kind in "OSU":
            text = lambda v: v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v)
            wanted = np.array([text(v) for v in wanted.ravel()]).reshape(wanted.shape)
            found = np.array([text(v) for v in found.ravel()]).reshape(found.shape)
        check_cells(name, found, wanted)
        encoded = lambda v: {k: v.encoding[k] for k in ("_FillValue",) if k in v.encoding and v.dtype.kind in "iuf"}
        equal_attributes(name, {**variable.attrs, **encoded(variable)}, {**other.attrs, **encoded(other)})


def equal_attributes(name, before, after):
    if extra := set(after) - set(before):
        raise Differs(f"{name}: the attributes {extra} are new")
    for key, value in before.items():
        if key not in after:
            raise Differs(f"{name}: the attribute {key} is missing")
        one, two = np.asarray(value), np.asarray(after[key])
        kind = lambda a: a.dtype.kind if a.dtype.kind in "fiu" else "text"
        if kind(one) == "text":
            equal = str(value) == str(after[key])
        else:
            equal = one.shape in (two.shape, (1,), ()) and np.array_equal(one.ravel(), two.ravel(), equal_nan=one.dtype.kind == "f")
        if not equal:
            raise Differs(f"{name}: the attribute {key} is {after[key]!r}, not {value!r}")


if __name__ == "__main__":
    main("NetCDF", compare, ending_in(".nc"))
