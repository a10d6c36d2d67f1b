"""Compares imports of TIFF files with rasterio (rasters) and tifffile (images): `PROGRAM FOLDER [ROWS]`.

Needs rasterio, tifffile, imagecodecs and tiledb. GDAL reads the XML of `_gdal` as the file that it keeps beside a raster,
so it places the raster by what was imported.
"""

import logging
import os
import warnings

import numpy as np
import rasterio
import tiledb
import tifffile

from common import check_cells, metadata
from rows import Differs, ending_in, imported, main

GEOGRAPHIC = {33550, 33922, 34264, 34735, 42112, 42113}
logging.getLogger("tifffile").setLevel(logging.CRITICAL)
warnings.simplefilter("ignore")


def compare(program, path, folder):
    out, notes = imported(program, path, folder)
    with tifffile.TiffFile(path) as file:
        if GEOGRAPHIC & {tag.code for tag in file.pages[0].tags}:
            compare_raster(path, out, folder)
        else:
            compare_image(file, out)
    return notes


def compare_raster(path, out, folder):
    with rasterio.open(path) as source:
        lossy = source.compression is not None and "JPEG" in source.compression.name.upper()
        check_values("l_0", out, source.read(), source.nodata, lossy)
        factors = source.overviews(1)
        for level in range(len(factors)):
            with rasterio.open(path, overview_level=level) as copy:
                check_values(f"l_{level + 1}", out, copy.read(), source.nodata, lossy)
        if sorted(os.listdir(out)).count(f"l_{len(factors) + 1}"):
            raise Differs("there are more levels than overviews")
        check_meaning(source, metadata(f"{out}/l_0"), folder)


def check_values(name, out, wanted, nodata, lossy):
    bands, rows, columns = wanted.shape
    with tiledb.open(f"{out}/{name}") as array:
        # Bands count from 1, and the domain is padded to whole tiles.
        found = array[1 : bands + 1, 0:rows, 0:columns]
        fill = array.attr(0).fill
    check_pixels(name, found["TDB_VALUES"] if isinstance(found, dict) else found, wanted, lossy)
    if nodata is not None:
        check_cells(f"fill of {name}", np.ravel(fill), np.ravel(np.asarray(nodata).astype(wanted.dtype)))


def check_pixels(name, found, wanted, lossy=False):
    if wanted.dtype == np.float16:
        # TileDB has no such type.
        wanted = wanted.astype(np.float32)
    if lossy:
        # Decoders of JPEG round differently, and smooth colors of lower resolution differently.
        off = np.abs(found.astype(int) - wanted.astype(int))
        if off.max() > 8 or off.mean() > 1:
            raise Differs(f"{name}: other cells")
        return
    check_cells(name, found, wanted)


def check_meaning(source, meta, folder):
    xml = np.ravel(meta["_gdal"]).astype("u1").tobytes().decode()
    plain = os.path.join(folder, "plain.tif")
    # A raster of the same shape without any place: what GDAL then knows about it is from the XML.
    with rasterio.open(plain, "w", driver="GTiff", width=source.width, height=source.height, count=source.count, dtype=source.dtypes[0], photometric="MINISBLACK"):
        pass
    with open(plain + ".aux.xml", "w") as file:
        file.write("\n".join(line for line in xml.splitlines() if "tiledb:" not in line))
    with rasterio.open(plain) as made:
        if not np.allclose(made.transform.to_gdal(), source.transform.to_gdal(), rtol=1e-15, atol=0):
            raise Differs(f"the transform is {made.transform.to_gdal()}, not {source.transform.to_gdal()}")
        # GDAL refuses some projections of GeoTIFF that it takes as WKT.
        if source.crs and made.crs != source.crs:
            raise Differs(f"the CRS is {made.crs}, not {source.crs}")
        points = [[(p.row, p.col, p.x, p.y, p.z) for p in raster.gcps[0]] for raster in (made, source)]
        if points[0] != points[1] or made.gcps[1] != source.gcps[1]:
            raise Differs(f"the control points are {points[0]}, not {points[1]}")
        colors = [(a, b) for a, b in zip(made.colorinterp, source.colorinterp) if b != rasterio.enums.ColorInterp.undefined]
        if any(a != b for a, b in colors):
            raise Differs(f"the colors are {made.colorinterp}, not {source.colorinterp}")
        for what in ("scales", "offsets", "units", "descriptions"):
            found, wanted = getattr(made, what), getattr(source, what)
            if found != wanted:
                raise Differs(f"{what} are {found}, not {wanted}")
        if "palette" in str(source.colorinterp[0]) and made.colormap(1) != source.colormap(1):
            raise Differs("the palette differs")
        tags = {k: v for k, v in source.tags().items() if not k.startswith(("TIFFTAG_XRES", "TIFFTAG_YRES", "TIFFTAG_RES"))}
        found = made.tags()
        lost = {k: v for k, v in tags.items() if found.get(k) != v}
        if lost:
            raise Differs(f"the tags are {found}, without {lost}")


def compare_image(file, out):
    series = file.series[0]
    for number, level in enumerate(series.levels):
        wanted, axes = level.asarray(), level.axes
        for unknown in "QI":
            axes = axes.replace(unknown, "Z", 1)
        with tiledb.open(f"{out}/l_{number}.tdb") as array:
            stored = "".join(array.domain.dim(i).name for i in range(array.ndim))
            found = array[:]["intensity"]
        # The samples of a pixel are the fastest channels.
        wanted = ordered(wanted, axes)
        missing = [i for i, letter in enumerate("TCZYX") if letter not in stored]
        check_pixels(f"l_{number}", np.expand_dims(found, tuple(missing)), wanted)


def ordered(values, axes):
    """The values with the axes TCZYX."""
    for letter in "TCSZYX":
        if letter not in axes:
            values, axes = values[np.newaxis], letter + axes
    values = values.transpose([axes.index(letter) for letter in "TCSZYX"])
    t, c, s, z, y, x = values.shape
    return values.reshape(t, c * s, z, y, x)


main("TIFF", compare, ending_in(".tif", ".tiff"))
