"""Compares imports of AnnData files with anndata, through `tiledbsoma.io.to_anndata`: `PROGRAM FOLDER [ROWS]`.

Needs tiledbsoma and anndata. It uses nothing of `common.py`, which needs tiledb.
"""

import anndata
import numpy as np
import pandas as pd
import scipy.sparse
import tiledbsoma
import tiledbsoma.io

from rows import Differs, ending_in, imported, main


def dense(matrix):
    return matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)


def check_matrix(name, found, wanted):
    found, wanted = dense(found), dense(wanted)
    if found.shape != wanted.shape or not np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f"):
        raise Differs(f"{name}: other cells")


def check_table(name, found, wanted):
    if list(map(str, found.index)) != list(map(str, wanted.index)):
        raise Differs(f"{name}: another index")
    for column in wanted.columns:
        if column not in found:
            raise Differs(f"{name}: the column {column} is missing")
        a, b = found[column].astype(object), wanted[column].astype(object)
        same = [(pd.isna(x) and pd.isna(y)) or x == y for x, y in zip(a, b)]
        if not all(same):
            raise Differs(f"{name}.{column}: other values")
        if isinstance(wanted[column].dtype, pd.CategoricalDtype) and found[column].cat.ordered != wanted[column].cat.ordered:
            raise Differs(f"{name}.{column}: another order")


def compare(program, path, folder):
    out, notes = imported(program, path, folder)
    source = anndata.read_h5ad(path)
    with tiledbsoma.Experiment.open(out) as experiment:
        layers = [name for name in experiment.ms["RNA"].X if name != "data"]
        found = tiledbsoma.io.to_anndata(experiment, "RNA", X_layer_name="data", extra_X_layer_names=layers)
        if source.raw is not None:
            check_matrix("raw.X", experiment.ms["raw"].X["data"].read().coos(source.raw.shape).concat().to_scipy(), source.raw.X)
            if experiment.ms["raw"].var.count != source.raw.shape[1]:
                raise Differs("raw.var: another length")
    check_table("obs", found.obs, source.obs)
    check_table("var", found.var, source.var)
    check_matrix("X", found.X, source.X)
    for part in ("layers", "obsm", "varm", "obsp", "varp"):
        for name, matrix in getattr(source, part).items():
            check_matrix(f"{part}.{name}", getattr(found, part)[name], matrix)
    check_uns("uns", found.uns, source.uns)
    return notes


def check_uns(name, found, wanted):
    """Compares what SOMA has a place for: numbers, text, arrays and tables."""
    for key, value in wanted.items():
        path = f"{name}/{key}"
        if isinstance(value, dict):
            check_uns(path, found.get(key, {}), value)
            continue
        # SOMA has no place for these.
        if scipy.sparse.issparse(value) or getattr(getattr(value, "dtype", None), "names", None):
            continue
        if np.size(value) and key not in found:
            raise Differs(f"{path} is missing")
        if isinstance(value, pd.DataFrame):
            columns = found[key].reset_index() if "index" not in found[key] else found[key]
            if any(list(columns[c]) != list(value[c]) for c in value):
                raise Differs(f"{path}: other values")
        elif isinstance(value, (np.ndarray, np.generic, int, float, str)) and np.asarray(value).size:
            if not np.array_equal(np.asarray(found[key]), np.asarray(value)):
                raise Differs(f"{path}: {found[key]!r}, not {value!r}")


if __name__ == "__main__":
    main("AnnData", compare, ending_in(".h5ad"))
