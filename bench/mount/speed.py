"""Compares reads through a mount with other ways to the same cells: `cargo xtask bench mount [MIB]`.

Usage: speed.py FUSE_MOUNT HYPERSLAB FOLDER RESULTS.csv [MIB]

Each row is measured in one run on the same bytes. Seconds depend on the machine; ratios do not much. "Cold" is a new mount,
whose kernel pages and cache are empty; the stored files are in the page cache for everybody.
"""

import csv
import mmap
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import tiledb
import zarr

FUSE_MOUNT, HYPERSLAB, FOLDER, RESULTS = sys.argv[1:5]
MIB = int(sys.argv[5]) if len(sys.argv) > 5 else 1024
SIDE = int((MIB * 2**20 / 4) ** 0.5) // 512 * 512
TILE = 512
WINDOWS = 1000
RUNS = 3
MOUNTPOINT = Path(FOLDER) / "mounted"
FILTERS = {
    "unfiltered": [],
    "zstd": [tiledb.ZstdFilter(level=5)],
    "byteshuffle and zstd": [tiledb.ByteShuffleFilter(), tiledb.ZstdFilter(level=5)],
}
rows = []


def cells():
    """A smooth field with some noise, in float32."""
    y, x = np.ogrid[0:SIDE, 0:SIDE]
    field = 100 * np.sin(y / 300) + 50 * np.cos(x / 200) + np.random.default_rng(0).integers(0, 4, (SIDE, SIDE))
    return (np.round(field) / 4).astype("f4")


def prepare():
    """Writes the arrays, the plain file and the Zarr array, unless they are there."""
    done = Path(FOLDER) / f"done-{SIDE}"
    if done.exists():
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    Path(FOLDER, "arrays").mkdir(parents=True)
    field = cells()
    for name, filters in FILTERS.items():
        domain = tiledb.Domain(*(tiledb.Dim(name=d, domain=(0, SIDE - 1), tile=TILE, dtype=np.int32) for d in "yx"))
        attribute = tiledb.Attr(name="v", dtype=np.float32, filters=filters)
        uri = f"{FOLDER}/arrays/{name}"
        tiledb.Array.create(uri, tiledb.ArraySchema(domain=domain, attrs=[attribute]))
        with tiledb.open(uri, "w") as array:
            array[:] = field
    field.tofile(f"{FOLDER}/plain.bin")
    codec = zarr.codecs.ZstdCodec(level=5)
    zarr.create_array(f"{FOLDER}/zarr", data=field, chunks=(TILE, TILE), compressors=codec)
    done.touch()


class Mount:
    """A new mount of the arrays."""

    def __enter__(self):
        MOUNTPOINT.mkdir(exist_ok=True)
        command = [FUSE_MOUNT, "--foreground", f"{FOLDER}/arrays", str(MOUNTPOINT)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().startswith("READY"), "the mount did not start"
        return self

    def memory_mib(self):
        """The largest memory of the process so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def sequential(path):
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 20):
            pass


def jumps(path, count):
    """Reads 4 KiB at random, without the kernel reading ahead."""
    chance = random.Random(1)
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        pages = os.fstat(file.fileno()).st_size // 4096
        for _ in range(count):
            assert len(os.pread(file.fileno(), 4096, chance.randrange(pages) * 4096)) == 4096


def windows():
    """Corners of windows of 100 x 100 cells."""
    chance = random.Random(2)
    return [(chance.randrange(SIDE - 100), chance.randrange(SIDE - 100)) for _ in range(WINDOWS)]


def record(what, filters, way, values):
    rows.append([what, filters, way, f"{statistics.median(values):.4g}"])
    print(*rows[-1], sep=" | ", flush=True)


def compare_sequential(name):
    array = f"{FOLDER}/arrays/{name}"
    cold, again, memory = [], [], []
    for _ in range(RUNS):
        with Mount() as mount:
            file = MOUNTPOINT / name / "slices/v@all.bin"
            cold.append(seconds(lambda: sequential(file)))
            again.append(seconds(lambda: sequential(file)))
            memory.append(mount.memory_mib())
    record("sequential, seconds", name, "mount, cold", cold)
    record("sequential, seconds", name, "mount, again", again)
    record("memory, MiB", name, "mount, after both", memory)
    export = [HYPERSLAB, "export", "--quiet", array, "-", "--format", "bin"]

    def exported():
        process = subprocess.Popen(export, stdout=subprocess.PIPE)
        while process.stdout.read1(1 << 20):
            pass
        assert process.wait() == 0, export

    record("sequential, seconds", name, "hyperslab export", [seconds(exported) for _ in range(RUNS)])

    def read():
        with tiledb.open(array) as opened:
            opened[:]

    record("sequential, seconds", name, "tiledb-py", [seconds(read) for _ in range(RUNS)])


def compare_jumps(name):
    count = 2000
    for way, prepared in (("mount, cold", False), ("mount, again", True)):
        rates = []
        for _ in range(RUNS):
            with Mount():
                file = MOUNTPOINT / name / "slices/v@all.bin"
                if prepared:
                    jumps(file, count)
                rates.append(count / seconds(lambda: jumps(file, count)))
        record("4 KiB at random, reads per second", name, way, rates)


def compare_windows(name):
    corners = windows()
    array = f"{FOLDER}/arrays/{name}"

    def named():
        for y, x in corners:
            np.load(MOUNTPOINT / name / f"slices/v@{y}:{y + 100},{x}:{x + 100}.npy")

    def mapped():
        whole = np.load(MOUNTPOINT / name / "slices/v@all.npy", mmap_mode="r")
        for y, x in corners:
            np.array(whole[y : y + 100, x : x + 100])

    def as_zarr():
        opened = zarr.open_group(MOUNTPOINT / name / "zarr", mode="r")["v"]
        for y, x in corners:
            opened[y : y + 100, x : x + 100]

    def native_zarr():
        opened = zarr.open_array(f"{FOLDER}/zarr", mode="r")
        for y, x in corners:
            opened[y : y + 100, x : x + 100]

    def tiledb_py():
        with tiledb.open(array) as opened:
            for y, x in corners:
                opened[y : y + 100, x : x + 100]

    what = f"{WINDOWS} windows of 100 x 100 cells, seconds"
    for way, work in (("mount, by name", named), ("mount, mmap", mapped), ("mount, zarr-python", as_zarr)):
        taken = []
        for _ in range(RUNS):
            with Mount():
                taken.append(seconds(work))
        record(what, name, way, taken)
    record(what, name, "tiledb-py", [seconds(tiledb_py) for _ in range(RUNS)])
    record(what, name, "zarr-python, native", [seconds(native_zarr) for _ in range(RUNS)])


def main():
    prepare()
    plain = f"{FOLDER}/plain.bin"
    sequential(plain)
    record("sequential, seconds", "", "plain file", [seconds(lambda: sequential(plain)) for _ in range(RUNS)])
    rates = [2000 / seconds(lambda: jumps(plain, 2000)) for _ in range(RUNS)]
    record("4 KiB at random, reads per second", "", "plain file", rates)
    for name in FILTERS:
        compare_sequential(name)
        compare_jumps(name)
    compare_windows("zstd")
    with open(RESULTS, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["what", "filters", "way", "value"], *rows])


main()
