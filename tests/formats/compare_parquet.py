"""Compares imports of Parquet files with pyarrow: `PROGRAM FOLDER [ROWS]`.

Each file is imported, exported to Parquet again, and read by pyarrow. The order of rows does not matter, because a pandas
index becomes the dimensions of a sparse array. Needs pyarrow, numpy and tiledb.
"""

import os
import subprocess

import pyarrow.parquet as pq

from rows import Differs, ending_in, imported, main


def flat(table):
    """The columns by name, with those of structs as `parent.child`."""
    while any(str(field.type).startswith("struct") for field in table.schema):
        table = table.flatten()
    return {name: table.column(i) for i, name in enumerate(table.column_names)}


def plain(value):
    """A value as it is stored: dates as numbers since 1970, no matter the unit."""
    if hasattr(value, "timestamp"):
        return round(value.timestamp() * 1e6)
    if isinstance(value, float):
        return repr(value)
    return list(map(plain, value)) if isinstance(value, list) else value


def rows(columns, names):
    lists = [[plain(v) for v in columns[name].to_pylist()] for name in names]
    return sorted(map(repr, zip(*lists)))


def compare(program, path, folder):
    out, notes = imported(program, path, folder)
    again = os.path.join(folder, "out.parquet")
    run = subprocess.run([program, "export", out, again], capture_output=True, text=True)
    if run.returncode:
        raise Differs(run.stderr.strip().splitlines()[-1])
    wanted, found = flat(pq.read_table(path)), flat(pq.read_table(again))
    left_out = [name for name in wanted if name not in found]
    for name in left_out:
        if not any(name in note for note in notes) and name != "__index_level_0__":
            raise Differs(f"the column '{name}' is missing, and no note says so")
    names = [name for name in wanted if name in found]
    if not names or rows(wanted, names) != rows(found, names):
        raise Differs("other rows")
    return notes


if __name__ == "__main__":
    main("Parquet", compare, ending_in(".parquet"))
