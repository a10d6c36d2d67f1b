"""Writes the small files of the tests of `formats/`: `samples.py FOLDER`.

Needs netCDF4, h5py and anndata. The files are part of the repository; run this again only to change them.
"""

import os
import sys

import h5py
import netCDF4
import numpy as np


def climate(path, kind):
    """A grid with packed numbers, coordinates, text and an unlimited axis; also groups and types of NetCDF-4."""
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.title = "A sample"
        file.levels = np.array([1, 2, 3], "i4")
        for name, length in (("time", None), ("lat", 4), ("lon", 5), ("width", 6)):
            file.createDimension(name, length)
        time = file.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        time[:] = [0.5, 1.5, 2.5]
        file.createVariable("lat", "f4", ("lat",))[:] = [-45, -15, 15, 45]
        file.createVariable("lon", "f4", ("lon",))[:] = np.arange(5) * 72.0
        packed = {} if kind.startswith("NETCDF3") else {"zlib": True, "chunksizes": (1, 2, 5)}
        temperature = file.createVariable("t2m", "i2", ("time", "lat", "lon"), fill_value=-999, **packed)
        temperature.set_auto_maskandscale(False)
        temperature.scale_factor, temperature.add_offset, temperature.units = 0.01, 273.15, "K"
        values = np.arange(60, dtype="i2").reshape(3, 4, 5)
        values[1, 2, 3] = -999
        temperature[:] = values
        names = file.createVariable("station", "S1", ("lat", "width"))
        names[:] = netCDF4.stringtochar(np.array(["north", "b", "", "a b"], "S6"))
        file.createVariable("crs", "i4", ()).grid_mapping_name = "latitude_longitude"
        if kind == "NETCDF4":
            netcdf4_only(file)


def netcdf4_only(file):
    label = file.createVariable("label", str, ("lat",))
    label[:] = np.array(["one", "zwei", "trois", "Łódź"], object)
    sky = file.createEnumType("u1", "sky_t", {"clear": 0, "cloudy": 1, "rain": 2})
    file.createVariable("sky", sky, ("lat",))[:] = np.array([0, 2, 1, 0], "u1")
    quality = file.createEnumType("i1", "quality_t", {"bad": -1, "very good": 5})
    file.createVariable("quality", quality, ("lat",))[:] = np.array([-1, 5, 5, -1], "i1")
    group = file.createGroup("forecast")
    group.model = "none"
    group.createVariable("wind", "f4", ("lat", "lon"))[:] = np.arange(20, dtype="f4").reshape(4, 5)
    # It has fewer positions than its axis.
    file.createVariable("late", "i4", ("time",), fill_value=-1)[:2] = [7, 8]


def plain(path):
    """HDF5 without dimension scales."""
    with h5py.File(path, "w") as file:
        file.attrs["version"] = np.int64(3)
        grid = file.create_dataset("grid", data=np.arange(12, dtype=">i4").reshape(3, 4), chunks=(2, 2), shuffle=True, compression="gzip")
        grid.attrs["unit"] = "m"
        grid.attrs["range"] = np.array([0.0, 11.0])
        points = np.array([(1, (0.5, 1.5, 2.5), b"ab"), (2, (3.5, 4.5, 5.5), b"c")], dtype=[("id", "<u2"), ("at", "<f4", (3,)), ("tag", "S4")])
        file.create_dataset("sub/points", data=points, maxshape=(None,), chunks=(2,))
        file.create_dataset("sub/text", data=["α", "", "long enough"], dtype=h5py.string_dtype())
        file.create_dataset("flags", data=np.array([True, False]))
        file.create_dataset("z", data=np.array([1 + 2j, 3 - 4j]))
        ragged = file.create_dataset("ragged", (2,), dtype=h5py.vlen_dtype("i4"))
        ragged[0], ragged[1] = [1, 2, 3], []
        file.create_dataset("half", data=np.array([0.5, -2], "f2"))
        file.create_dataset("fill", (4,), "i2", fillvalue=9, chunks=(2,))[:2] = [1, 2]
        file.create_dataset("nothing", data=h5py.Empty("f4"))
        file.create_dataset("link", data=np.array([file["grid"].ref], dtype=h5py.ref_dtype))


def lzf(path, names):
    """HDF5 with LZF, a filter that only h5py knows."""
    with h5py.File(path, "w") as file:
        if "plain" in names:
            file.create_dataset("plain", data=np.arange(4, dtype="i4"))
        # Cells that LZF makes smaller; others are stored as they are.
        file.create_dataset("packed", data=np.ones(64, dtype="i4"), chunks=(64,), compression="lzf")


if __name__ == "__main__":
    folder = sys.argv[1]
    climate(os.path.join(folder, "climate3.nc"), "NETCDF3_64BIT_OFFSET")
    climate(os.path.join(folder, "climate4.nc"), "NETCDF4")
    plain(os.path.join(folder, "plain.h5"))
    lzf(os.path.join(folder, "lzf.h5"), ["plain", "packed"])
    lzf(os.path.join(folder, "only_lzf.h5"), ["packed"])
