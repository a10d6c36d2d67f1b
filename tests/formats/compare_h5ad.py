"""Compares imports of AnnData files with anndata, through `tiledbsoma.io.to_anndata`: `PROGRAM FOLDER`.

Needs tiledbsoma and anndata. It imports nothing of `common.py`, which needs tiledb.
"""

import os
import subprocess
import sys
import tempfile

import anndata
import numpy as np
import pandas as pd
import scipy.sparse
import tiledbsoma
import tiledbsoma.io


def dense(matrix):
    return matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)


def check_matrix(name, found, wanted):
    found, wanted = dense(found), dense(wanted)
    if found.shape != wanted.shape or not np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f"):
        raise AssertionError(f"{name}: other cells")


def check_table(name, found, wanted):
    if list(map(str, found.index)) != list(map(str, wanted.index)):
        raise AssertionError(f"{name}: another index")
    for column in wanted.columns:
        if column not in found:
            raise AssertionError(f"{name}: the column {column} is missing")
        a, b = found[column].astype(object), wanted[column].astype(object)
        same = [(pd.isna(x) and pd.isna(y)) or x == y for x, y in zip(a, b)]
        if not all(same):
            raise AssertionError(f"{name}.{column}: other values")
        if isinstance(wanted[column].dtype, pd.CategoricalDtype) and found[column].cat.ordered != wanted[column].cat.ordered:
            raise AssertionError(f"{name}.{column}: another order")


def compare(program, path, folder):
    out = os.path.join(folder, "out")
    run = subprocess.run([program, "import", path, out], capture_output=True, text=True)
    if run.returncode:
        raise AssertionError(run.stderr.strip().splitlines()[-1])
    source = anndata.read_h5ad(path)
    with tiledbsoma.Experiment.open(out) as experiment:
        layers = [name for name in experiment.ms["RNA"].X if name != "data"]
        found = tiledbsoma.io.to_anndata(experiment, "RNA", X_layer_name="data", extra_X_layer_names=layers)
        if source.raw is not None:
            check_matrix("raw.X", experiment.ms["raw"].X["data"].read().coos(source.raw.shape).concat().to_scipy(), source.raw.X)
            if experiment.ms["raw"].var.count != source.raw.shape[1]:
                raise AssertionError("raw.var: another length")
    check_table("obs", found.obs, source.obs)
    check_table("var", found.var, source.var)
    check_matrix("X", found.X, source.X)
    for part in ("layers", "obsm", "varm", "obsp", "varp"):
        for name, matrix in getattr(source, part).items():
            check_matrix(f"{part}.{name}", getattr(found, part)[name], matrix)
    return [line.removeprefix("note: ") for line in run.stderr.splitlines() if line.startswith("note: ")]


def main():
    program, root = sys.argv[1:3]
    paths = [os.path.join(d, f) for d, _, files in os.walk(root) for f in files if f.endswith(".h5ad")]
    failed = 0
    print("| file | same | what does not carry over |\n| --- | --- | --- |")
    for path in sorted(paths):
        with tempfile.TemporaryDirectory() as folder:
            try:
                notes, verdict = compare(program, path, folder), "yes"
            except AssertionError as why:
                notes, verdict = [], f"**no**: {why}"
                failed += 1
        print(f"| {os.path.relpath(path, root)} | {verdict} | {'; '.join(notes)} |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
