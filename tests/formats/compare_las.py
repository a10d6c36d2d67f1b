"""Compares imports of LAS and LAZ files with laspy, point by point, and their exports too: `PROGRAM FOLDER [ROWS]`.

Needs laspy, lazrs and tiledb. Points come back in another order, so both sides are sorted.
"""

import os
import subprocess

import laspy
import numpy as np
import tiledb

from rows import Differs, ending_in, imported, main

PLAIN = {
    "Intensity": "intensity",
    "Classification": "classification",
    "UserData": "user_data",
    "PointSourceId": "point_source_id",
    "GpsTime": "gps_time",
    "Red": "red",
    "Green": "green",
    "Blue": "blue",
    "Infrared": "nir",
}


def is_undescribed(las, dimension):
    """Whether the file does not say of which type the extra bytes are."""
    records = [v for v in las.header.vlrs if v.user_id == "LASF_Spec" and v.record_id == 4]
    structs = [s for v in records for s in v.extra_bytes_structs]
    return not any(s.format_name() == dimension.name and s.data_type for s in structs)


def wanted(las):
    """The columns of a file by PDAL's names."""
    names = set(las.point_format.dimension_names)
    columns = {name: np.asarray(las[name.lower()]) for name in "XYZ"}
    columns |= {ours: np.asarray(las[theirs]) for ours, theirs in PLAIN.items() if theirs in names}
    extended = las.point_format.id >= 6
    flags = ["synthetic", "key_point", "withheld"] + (["overlap"] if extended else [])
    low = sum(np.asarray(las[flag]).astype("u2") << bit for bit, flag in enumerate(flags))
    if extended:
        low |= np.asarray(las.scanner_channel).astype("u2") << 4
    low |= np.asarray(las.scan_direction_flag).astype("u2") << 6 | np.asarray(las.edge_of_flight_line).astype("u2") << 7
    returns = np.asarray(las.return_number).astype("u2") | np.asarray(las.number_of_returns).astype("u2") << 4
    columns["BitFields"] = low | returns << 8
    angle = np.asarray(las.scan_angle, "f4") * np.float32(0.006) if extended else np.asarray(las.scan_angle_rank, "f4")
    columns["ScanAngleRank"] = angle
    described = {d.name for d in las.header.point_format.extra_dimensions if not is_undescribed(las, d)}
    for name in las.point_format.extra_dimension_names:
        if name not in described:
            continue
        values = np.asarray(las[name])
        # PDAL's names of standard fields stay with these.
        name = name + "_" if name in PLAIN else name
        parts = {name: values} if values.ndim == 1 else {f"{name}{i}": values[:, i] for i in range(values.shape[1])}
        columns |= parts
    return columns


def check(found, expected):
    """Compares points as sets."""
    missing = set(expected) ^ set(found)
    if missing:
        raise Differs(f"other attributes: {', '.join(sorted(missing))}")
    names = sorted(expected)

    def rows(columns):
        columns = [np.asarray(columns[name], "f8") for name in names]
        return np.stack(columns)[:, np.lexsort(columns)]

    found, expected = rows(found), rows(expected)
    if found.shape != expected.shape:
        raise Differs(f"{found.shape[1]} points, not {expected.shape[1]}")
    for name, a, b in zip(names, found, expected):
        if not np.array_equal(a, b, equal_nan=True):
            raise Differs(f"{name}: other values")


def compare(program, path, folder):
    out, notes = imported(program, path, folder)
    las = laspy.read(path)
    expected = wanted(las)
    with tiledb.open(out) as array:
        found = array[:]
    check(found, expected)
    for ending in ("las", "laz"):
        again = os.path.join(folder, f"again.{ending}")
        run = subprocess.run([program, "export", out, again], capture_output=True, text=True)
        if run.returncode:
            raise Differs(f"export: {run.stderr.strip().splitlines()[-1]}")
        copy = laspy.read(again)
        check(wanted(copy), expected)
        if not np.array_equal(copy.header.scales, las.header.scales):
            raise Differs(f"the scales are {copy.header.scales}, not {las.header.scales}")
        crs = las.header.parse_crs()
        if crs is not None and copy.header.parse_crs() != crs:
            raise Differs(f"the CRS is {copy.header.parse_crs()}")
    return notes


main("LAS", compare, ending_in(".las", ".laz"))
