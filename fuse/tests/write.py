"""Makes arrays with libtiledb, writes to them through a mount as programs do, and compares the results.

usage: write.py make FOLDER | write.py put MOUNT | write.py check FOLDER
"""

import csv
import errno
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import tiledb


def grid(first):
    return np.arange(first, first + 24, dtype="int32").reshape(4, 6)


TEMP = np.linspace(0, 1, 30, dtype="float32").reshape(5, 6)
COUNT = np.arange(30, dtype="int16").reshape(5, 6)
ROWS = ({"x": [1.5, 2.5, -3.0], "y": [0.0, 4.25, 9.5], "name": ["a", 'b "c"', "äö"], "v": [1, -2, 3]})
DAYS = ({"x": [7.0, 8.0], "y": [7.0, 8.0], "name": ["seven", "eight"], "v": [70, 80]})


def make(folder):
    def dense(name, shape, *attrs):
        dims = [tiledb.Dim(d, domain=(0, n - 1), tile=2, dtype="int32") for d, n in zip("yx", shape)]
        schema = tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=attrs, sparse=False)
        tiledb.Array.create(f"{folder}/{name}", schema)

    dense("grid", (4, 6), tiledb.Attr("a", dtype="int32"))
    dense("two", (5, 6), tiledb.Attr("temp", dtype="float32"), tiledb.Attr("n", dtype="int16"))
    dims = [tiledb.Dim(n, domain=(-10.0, 10.0), tile=5.0, dtype="float64") for n in "xy"]
    attrs = [tiledb.Attr("name", dtype=str, var=True), tiledb.Attr("v", dtype="int64")]
    tiledb.Array.create(f"{folder}/points", tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=attrs, sparse=True))


def refused(number, write):
    try:
        write()
    except OSError as error:
        assert error.errno == number, error
        return
    raise AssertionError("the write succeeded")


def put(mount):
    np.save(f"{mount}/grid/put/all.npy", grid(0))
    assert (np.load(f"{mount}/grid/slices/all.npy") == grid(0)).all()
    np.save(f"{mount}/grid/put/1:3,4.npy", grid(100)[1:3, 4])
    assert (np.load(f"{mount}/grid/slices/1:3,4.npy") == grid(100)[1:3, 4]).all()

    # Wrong shapes and types: the first write fails, and so do the later steps.
    error = f"{mount}/grid/put"
    refused(errno.EINVAL, lambda: np.save(f"{mount}/grid/put/all.npy", grid(0)[:3]))
    assert b"shape [3, 6]" in os.getxattr(error, "user.hyperslab.error")
    refused(errno.EINVAL, lambda: np.save(f"{mount}/grid/put/all.npy", grid(0).astype("float64")))
    assert b"float64" in os.getxattr(error, "user.hyperslab.error")
    refused(errno.EINVAL, lambda: np.save(f"{mount}/grid/put/0:9,:.npy", grid(0)))
    assert not os.path.exists(f"{mount}/grid/put/0:9,:.npy")
    expected = os.getxattr(error, "user.hyperslab.expected")
    assert expected.startswith(b"0:9,:.npy: ") and b"outside the domain" in expected, expected

    # Rejected values are reported by `close`.
    def bad_rows():
        with open(f"{mount}/grid/put/all.csv", "w") as out:
            out.write("a\n1\n2\n")

    refused(errno.EINVAL, bad_rows)

    np.savez(f"{mount}/two/put/all.npz", temp=TEMP, n=COUNT)
    record = np.zeros((2, 2), dtype=[("temp", "f4"), ("n", "i2")])
    record["n"] = 7
    np.save(f"{mount}/two/put/0:2,0:2.npy", record)
    assert (np.load(f"{mount}/two/slices/n@0:2,0:2.npy") == 7).all()

    with open(f"{mount}/points/put/rows.csv", "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(ROWS)
        writer.writerows(zip(*ROWS.values()))
    assert len(list(csv.reader(open(f"{mount}/points/slices/all.csv")))) == 4
    pyarrow.feather.write_feather(pa.table(DAYS), f"{mount}/points/put/days.arrow", compression="zstd")
    assert len(list(csv.reader(open(f"{mount}/points/slices/all.csv")))) == 6

    # Parts in any order, with the header of a slice.
    header = open(f"{mount}/grid/slices/2:4,0:2.npy", "rb").read()[:128]
    with open(f"{mount}/grid/put/2:4,0:2.npy", "w+b") as out:
        out.write(header)
        out.seek(136)
        out.write(np.array([30, 31], dtype="int32").tobytes())
        out.seek(128)
        out.write(np.array([20, 21], dtype="int32").tobytes())


def check(folder):
    expect = grid(0)
    expect[1:3, 4] = grid(100)[1:3, 4]
    expect[2:4, 0:2] = [[20, 21], [30, 31]]
    with tiledb.open(f"{folder}/grid") as a:
        assert (a[:]["a"] == expect).all(), a[:]["a"]
    temp, count = TEMP.copy(), COUNT.copy()
    temp[:2, :2], count[:2, :2] = 0, 7
    with tiledb.open(f"{folder}/two") as a:
        assert (a[:]["temp"] == temp).all() and (a[:]["n"] == count).all()
    with tiledb.open(f"{folder}/points") as a:
        found = a[:]
    columns = [found[name].tolist() for name in ROWS]
    expect = [row for table in (ROWS, DAYS) for row in zip(*table.values())]
    assert sorted(zip(*columns)) == sorted(expect), found
    fragments = {name: len(tiledb.array_fragments(f"{folder}/{name}")) for name in ("grid", "two", "points")}
    assert fragments == {"grid": 3, "two": 2, "points": 2}, fragments


if __name__ == "__main__":
    {"make": make, "put": put, "check": check}[sys.argv[1]](sys.argv[2])
