"""Writes the small files of the tests of `formats/`: `samples.py FOLDER`.

Needs netCDF4, h5py, hdf5plugin, laspy, lazrs, pyproj, zarr 3 and anndata. The files are part of the repository; run this again only to change them.
"""

import os
import sys

import h5py
import hdf5plugin
import laspy
import netCDF4
import numcodecs
import numpy as np
import pyproj
import zarr
import zarr.codecs


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


def filters(path):
    """HDF5 with filters that are not part of its library."""
    values = np.arange(600, dtype="i4").reshape(20, 30) // 7
    blosc = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
    kinds = {"lzf": {"compression": "lzf"}, "zstd": hdf5plugin.Zstd(), "lz4": hdf5plugin.LZ4()}
    kinds |= {f"blosc_{name}": hdf5plugin.Blosc(cname=name, shuffle=hdf5plugin.Blosc.SHUFFLE) for name in blosc}
    kinds["blosc_bits"] = hdf5plugin.Blosc(cname="lz4", shuffle=hdf5plugin.Blosc.BITSHUFFLE)
    kinds["blosc_plain"] = hdf5plugin.Blosc(cname="zstd", shuffle=hdf5plugin.Blosc.NOSHUFFLE)
    kinds |= {f"blosc2_{name}": hdf5plugin.Blosc2(cname=name) for name in ("blosclz", "lz4", "zlib", "zstd")}
    kinds["blosc2_bits"] = hdf5plugin.Blosc2(cname="lz4", filters=hdf5plugin.Blosc2.BITSHUFFLE)
    with h5py.File(path, "w") as file:
        for name, options in kinds.items():
            file.create_dataset(name, data=values, chunks=(20, 30), **options)
        file.create_dataset("blosc_noise", data=np.random.default_rng(1).integers(0, 2**30, 300), chunks=(300,), **kinds["blosc_lz4"])
        file.create_dataset("blosc2_zeros", data=np.zeros(3000), chunks=(3000,), **kinds["blosc2_zstd"])


def unknown(path, names):
    """HDF5 with bzip2, a filter that the reader does not know."""
    with h5py.File(path, "w") as file:
        if "plain" in names:
            file.create_dataset("plain", data=np.arange(4, dtype="i4"))
        # Cells that bzip2 makes smaller; others are stored as they are.
        file.create_dataset("packed", data=np.ones(64, dtype="i4"), chunks=(64,), **hdf5plugin.BZip2())


def links(path, version):
    """Links that lead out of a file or nowhere, virtual datasets, empty axes and reserved names."""
    with h5py.File(path, "w", libver=version) as file:
        file.create_dataset("here", data=np.arange(4, dtype="i4"))
        layout = h5py.VirtualLayout((4,), "i8")
        layout[:] = h5py.VirtualSource("other.h5", "x", (4,))
        file.create_virtual_dataset("virtual", layout)
        file["again"] = h5py.SoftLink("/here")
        file["gone"] = h5py.SoftLink("/nowhere")
        for n in range(12):
            file.create_dataset(f"many/{n}", data=n)
        file["many/outside"] = h5py.ExternalLink("other.h5", "/x")
        file.create_dataset("none", (0, 3), "f4")
        file.create_dataset("__x", data=np.array([1, 2], "u1")).attrs["unit"] = "m"
        file.create_dataset("low", data=np.array([5, -32768], "i2")).attrs["_FillValue"] = np.int16(-32768)


def zarr_store(path, version):
    """A Zarr store with each type, codec and order of axes that the reader knows."""
    root = zarr.open_group(path, mode="w", zarr_format=version, attributes={"title": "A sample"})
    forecast = root.create_group("forecast", attributes={"model": "none"})

    def add(group, name, values, chunks=None, dims=None, packed="zstd", fill=None, attributes=None, **options):
        values = np.asarray(values)
        attributes = dict(attributes or {})
        if version == 2:
            ids = {"zstd": numcodecs.Zstd(), "gzip": numcodecs.GZip(), "blosc": numcodecs.Blosc(cname="lz4"), "none": None}
            ids |= {"zlib": numcodecs.Zlib(), "lz4": numcodecs.LZ4(), "bz2": numcodecs.BZ2()}
            options["compressors"] = ids[packed]
            if dims:
                attributes["_ARRAY_DIMENSIONS"] = list(dims)
        else:
            ids = {"zstd": zarr.codecs.ZstdCodec(), "gzip": zarr.codecs.GzipCodec(), "blosc": zarr.codecs.BloscCodec(cname="lz4")}
            options.setdefault("compressors", [ids.get(packed, ids["zstd"])])
            options["dimension_names"] = dims
        array = group.create_array(
            name, shape=values.shape, dtype=options.pop("dtype", values.dtype), chunks=chunks or values.shape or (),
            fill_value=fill, attributes=attributes, **options)
        array[...] = values
        return array

    grid = np.arange(60, dtype="i2").reshape(3, 4, 5)
    grid[1, 2, 3] = -999
    missing = {} if version == 2 else {"_FillValue": -999}
    add(root, "t2m", grid, (2, 3, 5), ("time", "lat", "lon"), "blosc", -999,
        {"units": "K", "scale_factor": 0.01, "add_offset": 273.15, "valid_range": [0, 100], **missing})
    add(root, "lat", np.array([-45, -15, 15, 45], "f4"), (3,), ("lat",))
    add(root, "scalar", np.int32(7))
    add(root, "big", np.arange(6, dtype=">i4"), packed="gzip")
    add(root, "truth", np.array([True, False, True]))
    add(root, "half", np.array([0.5, -2], "f2"))
    add(root, "complex", np.array([1 + 2j, 3 - 4j], "c8"))
    add(forecast, "columns", np.arange(6, dtype="u2").reshape(2, 3), packed="zlib", **(
        {"order": "F"} if version == 2 else {"filters": [zarr.codecs.TransposeCodec(order=(1, 0))]}))
    gaps = forecast.create_array("gaps", shape=(6,), dtype="f8", chunks=(2,), fill_value=9.5, compressors=None)
    gaps[2:4] = [1, 2]
    add(root, "words", np.array(["α", "", "long enough"], object), dtype=str if version == 3 else "str", fill="")
    add(root, "fixed", np.array(["é", "abc"], "U3"))
    add(root, "bytes", np.array([b"ab", b"abc"], "S3"))
    if version == 2:
        add(root, "dates", np.array(["2020-01-01", "NaT"], "M8[D]"), packed="lz4")
        add(root, "packed", np.arange(100, dtype="i8"), packed="bz2")
    else:
        add(root, "shards", np.arange(48, dtype="i4").reshape(6, 8), (2, 2), shards=(4, 4),
            compressors=[zarr.codecs.GzipCodec(), zarr.codecs.Crc32cCodec()])
    zarr.consolidate_metadata(path, zarr_format=version)


def cloud(path, format, version):
    """Twelve points with extra bytes: a plain field, a scaled one, and one of two values."""
    header = laspy.LasHeader(point_format=format, version=version)
    header.scales, header.offsets = np.array([0.01, 0.01, 0.25]), np.array([500000.0, 5000000.0, -3.0])
    header.add_extra_dim(laspy.ExtraBytesParams("height", "f4"))
    header.add_extra_dim(laspy.ExtraBytesParams("depth", "i2", scales=np.array([0.5]), offsets=np.array([10.0])))
    header.add_extra_dim(laspy.ExtraBytesParams("pair", "2u1"))
    if format >= 6:
        header.add_crs(pyproj.CRS.from_epsg(32632))
    las = laspy.LasData(header)
    n = np.arange(12)
    las.x, las.y, las.z = 500000 + n * 1.25, 5000000 - n * 0.5, n * 2.5
    las.intensity, las.user_data, las.point_source_id = n * 5000, 255 - n, n * 300
    las.classification = n % 7
    las.return_number, las.number_of_returns = n % 5 + 1, np.full(12, 5)
    las.synthetic, las.withheld, las.edge_of_flight_line, las.scan_direction_flag = n % 2, n % 3 == 0, n == 4, n % 2 == 0
    las.gps_time = n * 0.125
    las.red, las.green, las.blue = n * 257, n, n[::-1]
    if format >= 6:
        las.scan_angle, las.overlap, las.scanner_channel = n * 100 - 500, n % 2, n % 4
    else:
        las.scan_angle_rank = n * 3 - 15
    las.height, las.depth, las.pair = n / 8, 10 + n * 0.5, np.stack([n, n * 2], axis=1)
    las.write(path)


def cells(path):
    """A small AnnData file: sparse and dense matrices, categories with a gap, nullable columns, `raw` and `uns`."""
    import anndata
    import pandas as pd
    import scipy.sparse

    rng = np.random.default_rng(3)
    counts = rng.poisson(0.4, (6, 4)).astype("f4")
    obs = pd.DataFrame(index=[f"cell{n}" for n in range(6)])
    obs["kind"] = pd.Categorical(["a", "b", None, "a", "b", "a"])
    obs["stage"] = pd.Categorical(["low", "high", "low", "low", "high", "low"], categories=["low", "high"], ordered=True)
    obs["total"] = counts.sum(axis=1)
    obs["good"] = [True, False, True, True, False, True]
    obs["age"] = pd.array([1, None, 3, 4, 5, 6], dtype="Int64")
    obs["note"] = ["x", "", "yy", "é", "z", "w"]
    var = pd.DataFrame({"length": [10, 20, 30, 40]}, index=[f"gene{n}" for n in range(4)])
    data = anndata.AnnData(scipy.sparse.csr_matrix(counts), obs=obs, var=var)
    data.raw = data.copy()
    data.layers["columns"] = scipy.sparse.csc_matrix(counts)
    data.layers["dense"] = counts
    data.obsm["X_pca"] = rng.normal(size=(6, 2))
    data.varm["loadings"] = rng.normal(size=(4, 3))
    data.obsp["near"] = scipy.sparse.csr_matrix(np.eye(6))
    data.uns = {
        "title": "A sample",
        "number": 3,
        "share": 0.5,
        "colors": np.array(["#ff0000", "#00ff00"]),
        "table": pd.DataFrame({"q": [1.5, 2.5]}, index=["r1", "r2"]),
        "none": np.zeros((0, 2)),
        "deep": {
            "yes": True,
            "variance": np.arange(6, dtype="f4").reshape(2, 3) / 2,
            "grid": np.array([["a", "b"], ["c", "d"], ["e", ""]], dtype=object),
        },
    }
    data.write_h5ad(path)


if __name__ == "__main__":
    folder = sys.argv[1]
    climate(os.path.join(folder, "climate3.nc"), "NETCDF3_64BIT_OFFSET")
    climate(os.path.join(folder, "climate4.nc"), "NETCDF4")
    plain(os.path.join(folder, "plain.h5"))
    filters(os.path.join(folder, "filters.h5"))
    unknown(os.path.join(folder, "unknown.h5"), ["plain", "packed"])
    unknown(os.path.join(folder, "only_unknown.h5"), ["packed"])
    links(os.path.join(folder, "links_old.h5"), "earliest")
    links(os.path.join(folder, "links_new.h5"), "latest")
    zarr_store(os.path.join(folder, "sample2.zarr"), 2)
    zarr_store(os.path.join(folder, "sample3.zarr"), 3)
    cloud(os.path.join(folder, "cloud.las"), 3, "1.2")
    cloud(os.path.join(folder, "cloud.laz"), 7, "1.4")
    cells(os.path.join(folder, "cells.h5ad"))
