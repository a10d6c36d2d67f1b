"""Shared by the scripts that compare imports with the libraries of each format.

Each script takes the program `hyperslab` and a folder of real files, imports each file, reads the arrays with tiledb-py,
and prints a Markdown table. It exits with 1 if a file differs.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import tiledb


class Differs(Exception):
    """The import does not hold what the file holds."""


def imported(program, path, folder, *options):
    """Imports a file. Returns the path of the array or group, and the notes of the program."""
    out = os.path.join(folder, "out")
    run = subprocess.run([program, "import", path, out, *options], capture_output=True, text=True)
    if run.returncode:
        raise Differs(run.stderr.strip().splitlines()[-1] if run.stderr.strip() else f"exit code {run.returncode}")
    notes = [line.removeprefix("note: ") for line in run.stderr.splitlines() if line.startswith("note: ")]
    return out, notes


def cells(uri, shape):
    """The attributes of a dense array by name, cut to this shape."""
    with tiledb.open(uri) as array:
        if 0 in shape:
            return {array.attr(i).name: None for i in range(array.nattr)}
        index = tuple(slice(0, n) for n in shape)
        names = [array.attr(i).name for i in range(array.nattr)]
        found = array.query(attrs=names)[index]
        return dict(found) if isinstance(found, dict) else {names[0]: found}


def metadata(uri):
    """The metadata of an array or group."""
    if tiledb.object_type(uri) == "group":
        with tiledb.Group(uri) as group:
            return dict(group.meta.items())
    with tiledb.open(uri) as array:
        return dict(array.meta.items())


def text(value):
    """Text as it is stored."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    return str(value)


def is_text(values):
    return values.dtype.kind in "SU" or (values.dtype.kind == "O" and all(isinstance(v, (str, bytes)) for v in values.flat))


def check_cells(name, found, wanted):
    """Compares the cells of a variable."""
    wanted = np.asarray(wanted)
    if wanted.size == 0:
        return
    if found is None:
        raise Differs(f"{name}: no cells")
    if is_text(wanted):
        same = [text(a) for a in found.flat] == [text(b) for b in wanted.flat]
    elif wanted.dtype.kind == "O":
        same = all(np.array_equal(a, b) for a, b in zip(found.flat, wanted.flat)) and found.size == wanted.size
    elif wanted.dtype.kind == "V":
        same = [bytes(a) for a in found.flat] == [bytes(b) for b in wanted.flat]
    else:
        if found.dtype != wanted.dtype.newbyteorder("="):
            raise Differs(f"{name}: the type is {found.dtype}, not {wanted.dtype}")
        same = found.size == wanted.size and np.array_equal(found.ravel(), wanted.ravel(), equal_nan=wanted.dtype.kind in "fc")
    if not same:
        raise Differs(f"{name}: other cells")


def check_attribute(name, found, wanted):
    """Compares an attribute with a value of the metadata."""
    wanted = np.asarray(wanted)
    if wanted.dtype.kind in "SUO":
        same = text(found) == "\n".join(text(v) for v in wanted.flat) if wanted.size else text(found) in ("", "()")
    elif wanted.size == 0:
        same = np.size(found) == 0
    elif wanted.dtype.kind == "c":
        same = np.array_equal(np.ravel(found), np.ravel(wanted).view(wanted.real.dtype))
    elif wanted.dtype.kind == "V":
        same = bytes(found) == wanted.tobytes()
    else:
        same = np.array_equal(np.atleast_1d(found).ravel(), wanted.ravel(), equal_nan=wanted.dtype.kind == "f")
    if not same:
        raise Differs(f"{name}: the value is {found!r}, not {wanted!r}")


def main(compare, endings):
    """Compares all files of a folder: `SCRIPT PROGRAM FOLDER`."""
    program, root = sys.argv[1:3]
    paths = [os.path.join(d, f) for d, _, files in os.walk(root) for f in files if f.endswith(endings)]
    if not paths:
        sys.exit(f"{root} has no files that end in {', '.join(endings)}")
    failed = 0
    print("| file | same | what does not carry over |\n| --- | --- | --- |")
    for path in sorted(paths):
        with tempfile.TemporaryDirectory() as folder:
            try:
                notes = compare(program, path, folder)
                verdict = "yes"
            except Differs as why:
                notes, verdict = [], f"**no**: {why}"
                failed += 1
        shown = "; ".join(notes).replace("|", "\\|")
        print(f"| {os.path.relpath(path, root)} | {verdict} | {shown} |", flush=True)
    sys.exit(1 if failed else 0)
