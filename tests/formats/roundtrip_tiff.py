"""Imports TIFF rasters, exports them as GeoTIFF, and compares both with rasterio: `PROGRAM FOLDER`.

Then imports the export, and compares the cells and `_gdal` of both imports. Needs rasterio and tiledb.
"""

import os
import subprocess
import warnings

import numpy as np
import rasterio
import tiledb
import tifffile

from common import check_cells, metadata
from rows import Differs, ending_in, imported, main

GEOGRAPHIC = {33550, 33922, 34264, 34735, 42112, 42113}
warnings.simplefilter("ignore")


def compare(program, path, folder):
    with tifffile.TiffFile(path) as file:
        if not GEOGRAPHIC & {tag.code for tag in file.pages[0].tags}:
            return ["no raster"]
    first, _ = imported(program, path, folder)
    os.rename(first, os.path.join(folder, "first"))
    first = os.path.join(folder, "first")
    made = os.path.join(folder, "made.tif")
    run = subprocess.run([program, "export", first, made], capture_output=True, text=True)
    if run.returncode:
        raise Differs(run.stderr)
    notes = [line.removeprefix("note: ") for line in run.stderr.splitlines() if line.startswith("note: ")]
    with rasterio.open(made) as a, rasterio.open(path) as b:
        check_places(a, b)
        found, wanted = a.read(), cells(f"{first}/l_0", b)
        check_cells("cells", found, wanted)
    second, _ = imported(program, made, folder)
    with rasterio.open(path) as b:
        check_cells("second import", cells(f"{second}/l_0", b), wanted)
    texts = [np.ravel(metadata(f"{uri}/l_0")["_gdal"]).astype("u1").tobytes().decode() for uri in (first, second)]
    # The photometric tag has no value for bands without a color, and a palette has a color for each value.
    unlike = ("Overview", "ColorInterp", "SRS", "PAMRasterBand", "<Entry")
    lines = [[line for line in text.splitlines() if not any(word in line for word in unlike)] for text in texts]
    if lines[0] != lines[1]:
        raise Differs(f"_gdal differs: {set(lines[0]) ^ set(lines[1])}")
    return notes


def cells(uri, raster):
    with tiledb.open(uri) as array:
        found = array[1 : raster.count + 1, 0 : raster.height, 0 : raster.width]
    return found["TDB_VALUES"] if isinstance(found, dict) else found


def check_places(a, b):
    if not np.allclose(a.transform.to_gdal(), b.transform.to_gdal(), rtol=1e-15, atol=1e-9):
        raise Differs(f"the transform is {a.transform.to_gdal()}, not {b.transform.to_gdal()}")
    if b.crs and a.crs != b.crs:
        raise Differs(f"the CRS is {a.crs}, not {b.crs}")
    points = [[(p.row, p.col, p.x, p.y, p.z) for p in raster.gcps[0]] for raster in (a, b)]
    if points[0] != points[1]:
        raise Differs(f"the control points are {points[0]}, not {points[1]}")
    for what in ("nodata", "scales", "offsets", "units", "descriptions"):
        found, wanted = getattr(a, what), getattr(b, what)
        if found != wanted and not (what == "nodata" and np.isnan(found) and np.isnan(wanted)):
            raise Differs(f"{what}: {found}, not {wanted}")


main("TIFF", compare, ending_in(".tif", ".tiff"))
