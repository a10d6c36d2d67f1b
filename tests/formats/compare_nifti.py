"""Compares imports of NIfTI files with nibabel, cell by cell: `PROGRAM FOLDER [ROWS]`.

Needs nibabel and tiledb.
"""

import logging
import os

import nibabel
import numpy as np
import tiledb

from common import check_cells, metadata
from rows import Differs, ending_in, imported, main

logging.getLogger("nibabel").setLevel(logging.CRITICAL)


def compare(program, path, folder):
    out, notes = imported(program, path, folder)
    image = nibabel.load(path)
    header = image.header if hasattr(image.header, "get_sform") else image.nifti_header
    raw = np.asanyarray(image.dataobj.get_unscaled() if hasattr(image.dataobj, "get_unscaled") else image.dataobj)
    is_group = tiledb.object_type(out) == "group"
    uri = f"{out}/l_0.tdb" if is_group else out
    with tiledb.open(uri) as array:
        names = [array.domain.dim(i).name for i in range(array.ndim)]
        found = array[:]["intensity"]
    # The file's axes, slowest first.
    axes = ["dim_7", "dim_6", "C" if "C" in names else "dim_5", "T", "Z", "Y", "X"]
    shape = list(header["dim"][1:8])[: header["dim"][0]]
    shape = [1] * (7 - len(shape)) + shape[::-1]
    stored = sorted(names, key=axes.index)
    found = found.transpose([names.index(name) for name in stored])
    wanted = np.ascontiguousarray(raw.T)
    check_cells("voxels", found, wanted.reshape([n for n, a in zip(shape, axes) if a in stored]))
    of_file, of_array = metadata(out), metadata(uri)
    if int(header["sform_code"]) > 0 or int(header["qform_code"]) > 0:
        affine = np.ravel(of_file["nifti_affine"]).reshape(4, 4)
        if not np.allclose(affine, header.get_best_affine(), rtol=1e-6, atol=1e-6):
            raise Differs(f"the affine is {affine}, not {header.get_best_affine()}")
    slope, intercept = getattr(image.dataobj, "slope", 1.0), getattr(image.dataobj, "inter", 0.0)
    packed = (slope, intercept) != (1.0, 0.0)
    key = "__tiledb_attr.intensity."
    stored = (of_array.get(f"{key}scale_factor"), of_array.get(f"{key}add_offset"))
    if stored != ((slope, intercept) if packed else (None, None)):
        raise Differs(f"the scale and offset are {stored}, not {(slope, intercept)}")
    return notes


main("NIfTI", compare, ending_in(".nii", ".nii.gz"))
