"""Makes overviews of rasters with `hyperslab overviews` and with GDAL (rasterio), and compares their cells: `PROGRAM`.

The rasters are random, with nodata. Sizes that a factor does not divide are compared with means and modes of whole
cells, because GDAL spreads such a raster over its overview, while a cell of ours is always FACTOR cells wide.
"""

import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import rasterio
import tiledb
from rasterio.enums import Resampling

NODATA = 0
METHODS = {"mean": Resampling.average, "mode": Resampling.mode}
warnings.simplefilter("ignore")


def raster(path, shape, dtype, values):
    random = np.random.default_rng(sum(shape))
    cells = random.integers(0, values, shape).astype(dtype)
    cells[random.random(shape) < 0.3] = NODATA
    cells[:9, :9] = NODATA
    height, width = shape
    with rasterio.open(path, "w", driver="GTiff", height=height, width=width, count=1, dtype=dtype, nodata=NODATA) as file:
        file.write(cells, 1)
        file.update_tags(source="random")
    return cells


def by_gdal(path, factor, method):
    with rasterio.open(path, "r+") as file:
        file.build_overviews([factor], METHODS[method])
    with rasterio.open(path, overview_level=0) as file:
        return file.read(1)


def by_definition(cells, factor, method):
    out = np.full([-(-n // factor) for n in cells.shape], NODATA, cells.dtype)
    for i, j in np.ndindex(out.shape):
        some = cells[i * factor : (i + 1) * factor, j * factor : (j + 1) * factor].ravel()
        some = some[some != NODATA]
        if not len(some):
            continue
        if method == "mean":
            mean = some.mean(dtype=float)
            out[i, j] = mean if cells.dtype.kind == "f" else np.floor(mean + 0.5)
        else:
            out[i, j] = first_to_reach_the_most(some)
    return out


def first_to_reach_the_most(values):
    seen, most, winner = {}, 0, None
    for value in values:
        seen[value] = seen.get(value, 0) + 1
        if seen[value] > most:
            most, winner = seen[value], value
    return winner


def main(program):
    differ = 0
    for shape in [(64, 96), (70, 100), (71, 101)]:
        for factor in [2, 4, 8]:
            for method in METHODS:
                for dtype in ["uint8", "int16", "float32"]:
                    with tempfile.TemporaryDirectory() as folder:
                        path, array = os.path.join(folder, "in.tif"), os.path.join(folder, "array")
                        cells = raster(path, shape, dtype, 6 if method == "mode" else 200)
                        subprocess.run([program, "import", path, array], check=True)
                        options = ["--factors", str(factor), "--method", method]
                        subprocess.run([program, "overviews", array, *options], check=True)
                        divides = all(n % factor == 0 for n in shape)
                        wanted = by_gdal(path, factor, method) if divides else by_definition(cells, factor, method)
                        with tiledb.open(os.path.join(array, "l_1")) as level:
                            height, width = wanted.shape
                            found = level[:, :height, :width]
                        found = (found["TDB_VALUES"] if isinstance(found, dict) else found)[0]
                        worst = np.abs(found.astype(float) - wanted).max()
                        limit = 1e-4 if dtype == "float32" else 0
                        differ += worst > limit
                        judge = "GDAL" if divides else "definition"
                        print(f"{shape} {dtype} {method} {factor}, {judge}: largest difference {worst}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
