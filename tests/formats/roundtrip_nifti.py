"""Imports NIfTI files, exports them, and compares both with nibabel: `PROGRAM FOLDER`.

Then imports the export, and compares the metadata of both imports. Also compares the place of a part with nibabel's
slicer. Needs nibabel and tiledb.
"""

import gzip
import logging
import os
import subprocess

import nibabel
import numpy as np
import tiledb

from common import check_cells, metadata
from rows import Differs, ending_in, imported, main

logging.getLogger("nibabel").setLevel(logging.CRITICAL)


def compare(program, path, folder):
    first, _ = imported(program, path, folder)
    os.rename(first, os.path.join(folder, "first"))
    first = os.path.join(folder, "first")
    notes = exported(program, first, os.path.join(folder, "made.nii.gz"))
    made = os.path.join(folder, "made.nii.gz")
    a, b = nibabel.load(made), nibabel.load(path)
    check_cells("voxels", unscaled(a), unscaled(b))
    if header(made) != header(path):
        raise Differs("the header differs")
    if hasattr(b, "affine") and not np.array_equal(a.affine, b.affine):
        raise Differs(f"the affine is {a.affine}, not {b.affine}")
    second, _ = imported(program, made, folder)
    pairs = [(first, second)]
    if tiledb.object_type(first) == "group":
        pairs.append((f"{first}/l_0.tdb", f"{second}/l_0.tdb"))
    for one, two in pairs:
        one, two = metadata(one), metadata(two)
        if one.keys() != two.keys() or any(not np.array_equal(one[key], two[key]) for key in one):
            raise Differs("the metadata of the second import differs")
    if len(b.shape) in (3, 4) and min(b.shape[:3]) > 4:
        check_part(program, first, b, folder)
    return notes


def exported(program, array, out, *options):
    run = subprocess.run([program, "export", array, out, *options], capture_output=True, text=True)
    if run.returncode:
        raise Differs(run.stderr)
    return [line.removeprefix("note: ") for line in run.stderr.splitlines() if line.startswith("note: ")]


def unscaled(image):
    data = image.dataobj
    return native(np.asanyarray(data.get_unscaled() if hasattr(data, "get_unscaled") else data))


def native(values):
    return values.astype(values.dtype.newbyteorder("="))


def header(path):
    """All bytes before the voxels."""
    raw = open(path, "rb").read()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    image = nibabel.load(path)
    start = image.dataobj.offset if hasattr(image.dataobj, "offset") else len(raw) - image.dataobj.nbytes
    return raw[: int(start)]


def check_part(program, array, image, folder):
    part = os.path.join(folder, "part.nii")
    exported(program, array, part, "--select", "X=1:4:2,Y=2:5,Z=1:3")
    found, wanted = nibabel.load(part), image.slicer[1:4:2, 2:5, 1:3]
    check_cells("voxels of a part", native(np.asanyarray(found.dataobj)), np.asanyarray(wanted.dataobj))
    if not np.allclose(found.affine, wanted.affine, rtol=1e-6, atol=1e-4):
        raise Differs(f"the affine of a part is {found.affine}, not {wanted.affine}")


main("NIfTI", compare, ending_in(".nii", ".nii.gz"))
