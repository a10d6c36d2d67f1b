"""Compares imports and exports with other ways to the same data: `cargo xtask bench formats [SCALE]`.

Usage: speed.py HYPERSLAB FOLDER RESULTS.csv [SCALE]

Each way runs in a process of its own. For a way in Python, the time does not count the start of Python and the import of
libraries; for Hyperslab, it is the whole process. Memory is the peak of the process. All ways compress with zstd, level 5,
if the format has it. Rows are alternated, so that both meet the same machine.
"""

import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

RUNS = 3
warnings.simplefilter("ignore")


# The data.


def netcdf(path, scale):
    """Temperatures, packed in int16, `time, lat, lon`, deflated as most files are."""
    import netCDF4

    n = max(1, round(240 * scale))
    with netCDF4.Dataset(path, "w") as file:
        for name, length in [("time", n), ("lat", 721), ("lon", 1440)]:
            file.createDimension(name, length)
            file.createVariable(name, "f8", (name,))[:] = np.arange(length) / 4
        options = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (1, 721, 1440), "fill_value": -32768}
        air = file.createVariable("air", "i2", ("time", "lat", "lon"), **options)
        air.set_auto_maskandscale(False)
        air.scale_factor, air.add_offset, air.units = 0.01, 273.15, "K"
        for i in range(n):
            air[i] = field(721, 1440, i)


def geotiff(path, scale):
    """An elevation model in int16, tiled and deflated."""
    import rasterio
    from rasterio.transform import from_origin

    side = max(512, round(12000 * scale**0.5))
    profile = {"driver": "GTiff", "height": side, "width": side, "count": 1, "dtype": "int16", "nodata": -9999,
               "crs": "EPSG:32633", "transform": from_origin(5e5, 5e6, 10, 10), "tiled": True, "blockxsize": 512,
               "blockysize": 512, "compress": "deflate", "predictor": 2}  # fmt: skip
    with rasterio.open(path, "w", **profile) as file:
        file.write(field(side, side, 0), 1)


def table(scale):
    """Positions and measurements, as Arrow."""
    import pyarrow as pa

    n, random = max(1000, round(10_000_000 * scale)), np.random.default_rng(0)
    places = np.array(["Oslo", "Lima", "Accra", "Perth", "Quito", "Hanoi"])
    return pa.table({
        "id": np.arange(n),
        "time": np.datetime64("2024-01-01", "ns") + np.arange(n) * np.timedelta64(10**9, "ns"),
        "lat": np.round(random.uniform(-90, 90, n), 5),
        "lon": np.round(random.uniform(-180, 180, n), 5),
        "count": random.integers(0, 1000, n).astype("i4"),
        "place": places[random.integers(0, len(places), n)],
    })


def parquet(path, scale):
    import pyarrow.parquet

    pyarrow.parquet.write_table(table(scale), path, compression="zstd")


def text(path, scale):
    import pyarrow.csv

    pyarrow.csv.write_csv(table(scale), path)


def field(rows, columns, seed):
    y, x = np.ogrid[0:rows, 0:columns]
    noise = np.random.default_rng(seed).integers(0, 8, (rows, columns))
    return (1000 * np.sin((y + seed) / 90) + 500 * np.cos(x / 60) + noise).astype("i2")


# The other ways, each in the fastest form that its documentation shows.


def xarray_and_tiledb(source, out):
    import tiledb
    import xarray

    filters = tiledb.FilterList([tiledb.ByteShuffleFilter(), tiledb.ZstdFilter(level=5)])
    with xarray.open_dataset(source, mask_and_scale=False) as data:
        for name, variable in data.variables.items():
            shape = variable.shape
            tile = shape if len(shape) == 1 else (1, *shape[1:])
            dims = [tiledb.Dim(d, (0, n - 1), t, dtype=np.uint64) for d, n, t in zip(variable.dims, shape, tile)]
            attribute = tiledb.Attr(name=f"{name}.data", dtype=variable.dtype, filters=filters)
            uri = f"{out}/{name}"
            tiledb.Array.create(uri, tiledb.ArraySchema(tiledb.Domain(*dims), [attribute]))
            with tiledb.open(uri, "w") as array:
                array[:] = variable.values


def rasterio_and_tiledb(source, out):
    import rasterio
    import tiledb

    filters = tiledb.FilterList([tiledb.ByteShuffleFilter(), tiledb.ZstdFilter(level=5)])
    with rasterio.open(source) as file:
        cells = file.read()
    dims = [tiledb.Dim(d, (0, n - 1), min(n, 512), dtype=np.uint64) for d, n in zip(["BANDS", "Y", "X"], cells.shape)]
    attribute = tiledb.Attr(name="TDB_VALUES", dtype=cells.dtype, filters=filters)
    tiledb.Array.create(out, tiledb.ArraySchema(tiledb.Domain(*dims), [attribute]))
    with tiledb.open(out, "w") as array:
        array[:] = cells


def pandas_and_tiledb(source, out):
    import pandas
    import tiledb

    data = pandas.read_parquet(source)
    tiledb.from_pandas(out, data, full_domain=False)


def duckdb_to_parquet(source, out):
    import duckdb

    database = duckdb.connect()
    database.execute("SET threads = 2")
    database.execute(f"COPY (FROM '{source}') TO '{out}' (FORMAT parquet, COMPRESSION zstd)")


def tiledb_and_rasterio(source, out):
    import rasterio
    import tiledb

    with tiledb.open(f"{source}/l_0") as array:
        cells = array[:]
    cells = cells["TDB_VALUES"] if isinstance(cells, dict) else cells
    profile = {"driver": "GTiff", "height": cells.shape[1], "width": cells.shape[2], "count": 1, "dtype": cells.dtype,
               "tiled": True, "blockxsize": 256, "blockysize": 256, "compress": "deflate", "predictor": 2,
               "num_threads": 2}  # fmt: skip
    with rasterio.open(out, "w", **profile) as file:
        file.write(cells)


def tiledb_and_pyarrow(source, out):
    import pyarrow.parquet
    import tiledb

    with tiledb.open(source) as array:
        data = array.query(return_arrow=True).df[:]
    pyarrow.parquet.write_table(data, out, compression="zstd")


def rows(hyperslab):
    """Name, input, and the ways: a command of Hyperslab's and functions. `{in}` and `{out}` are paths."""
    way = [hyperslab, "import", "{in}", "{out}"]
    back = [hyperslab, "export", "{in}"]
    return [
        ("NetCDF in", ("cube.nc", netcdf), way, [xarray_and_tiledb]),
        ("GeoTIFF in", ("dem.tif", geotiff), way, [rasterio_and_tiledb]),
        ("Parquet in", ("rows.parquet", parquet), way, [pandas_and_tiledb, duckdb_to_parquet]),
        ("CSV in", ("rows.csv", text), way, [duckdb_to_parquet]),
        ("GeoTIFF out", ("dem.tif", None), [*back, "{out}.tif"], [tiledb_and_rasterio]),
        ("Parquet out", ("rows.parquet", None), [*back, "{out}.parquet"], [tiledb_and_pyarrow]),
    ]


# The measurements.


def measured(command):
    """Runs a command; returns seconds (those that it prints, or of the whole process) and its peak memory in MiB."""
    before = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - before
    if status:
        raise SystemExit(f"failed: {command}")
    if printed.startswith("{"):
        seconds = json.loads(printed)["seconds"]
    return seconds, usage.ru_maxrss / 1024


def removed(folder, name):
    for path in Path(folder).glob(f"{name}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def compare(hyperslab, folder, results, scale=1.0):
    Path(folder).mkdir(parents=True, exist_ok=True)
    written = []
    for name, (source, make), command, others in rows(hyperslab):
        source = f"{folder}/{source}"
        if make and not Path(source).exists():
            make(source, float(scale))
        if not make:
            removed(folder, "array")
            subprocess.run([hyperslab, "import", source, f"{folder}/array"], check=True)
            source = f"{folder}/array"
        out = f"{folder}/out"
        ways = {"Hyperslab": [part.replace("{in}", source).replace("{out}", out) for part in command]}
        for other in others:
            ways[other.__name__] = [sys.executable, __file__, "one", other.__name__, source, out]
        taken = {way: [] for way in ways}
        for _ in range(RUNS):
            for way, line in ways.items():
                removed(folder, "out")
                taken[way].append(measured(line))
        ours = statistics.median(seconds for seconds, _ in taken["Hyperslab"])
        for way, runs in taken.items():
            seconds = statistics.median(seconds for seconds, _ in runs)
            memory = max(memory for _, memory in runs)
            written.append([name, way, round(seconds, 2), round(memory), round(seconds / ours, 2)])
            print(*written[-1], sep="\t", flush=True)
    with open(results, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["what", "way", "seconds", "peak_mib", "ratio"])
        table.writerows(written)


def one(way, source, out):
    way = globals()[way]
    # The libraries are imported before the clock starts.
    for library in ["tiledb", "xarray", "netCDF4", "rasterio", "pandas", "duckdb", "pyarrow.parquet"]:
        if library.split(".")[0] in way.__code__.co_names or library in way.__code__.co_names:
            __import__(library)
    before = time.perf_counter()
    way(source, out)
    print(json.dumps({"seconds": time.perf_counter() - before}))


if __name__ == "__main__":
    if sys.argv[1] == "one":
        one(*sys.argv[2:])
    else:
        compare(*sys.argv[1:])
