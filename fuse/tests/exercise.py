"""Random operations on the files of a mount, in the ways that programs read and write, checked against a model.

usage: exercise.py read MOUNT SEED OPERATIONS | exercise.py change MOUNT SEED OPERATIONS
       exercise.py write MOUNT SEED FILES | exercise.py blocks FILE FOLDER
"""

import mmap
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

# Names that are not listed, of the arrays that `mount.py write` makes.
ENDINGS = ("npy", "bin", "csv", "tsv", "json", "jsonl", "arrow")
UNLISTED = {
    "dense": ("temp@all", "n@-5:30:2,3:40", "n@{5,-3,7},:", "n@all+order=F", "n@all+as=float64+fill=nan", "n@all+where=n>0"),
    "nested/deep": ("all", "3:29,:,5:20"),
    "quakes": ("lon,lat,mag@all", "lon,lat,mag@lon=0:90+where=mag>0.5", "lon,lat,mag@all+limit=100"),
    "days": ("all", "2020-02:2020-05"),
}
TEXTS = {"quakes": ("all.csv", "all.json", "all.arrow"), "dense": ("temp@all.png", "temp@all+cmap=viridis+range=0:1.png")}


def files(mount):
    for folder, _, names in os.walk(mount):
        yield from (f"{folder}/{name}" for name in names)
    for array, names in UNLISTED.items():
        yield from (f"{mount}/{array}/slices/{name}.{ending}" for name in names for ending in ENDINGS)
    for array, names in TEXTS.items():
        yield from (f"{mount}/{array}/slices/{name}" for name in names)


def window(rng, size):
    """A start and a length: often at pages and the end, sometimes beyond it."""
    start = rng.choice((rng.randrange(size + 1), 4096, 65536 - rng.randrange(64), size - rng.randrange(5000), size + 3))
    return max(0, start), rng.choice((1, 7, rng.randrange(1, 5000), rng.randrange(1, 200_000), size + 10))


def pread(file, start, length, size):
    return os.pread(file, length, start)


def preadv(file, start, length, size):
    parts = [bytearray(length // 3), bytearray(length - length // 3)]
    got = os.preadv(file, parts, start)
    return b"".join(parts)[:got]


def seek(file, start, length, size):
    copy = os.dup(file)
    os.lseek(copy, start, os.SEEK_SET)
    data = os.read(copy, length)
    os.close(copy)
    return data


def mapped(file, start, length, size):
    with mmap.mmap(file, 0, mmap.MAP_SHARED, mmap.PROT_READ) as whole:
        return whole[start : start + length]


def private(file, start, length, size):
    """A copy-on-write map, which must not change the file."""
    page = start // mmap.PAGESIZE * mmap.PAGESIZE
    if page >= size:
        return b""
    end = min(size, start + length)
    with mmap.mmap(file, end - page, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE, offset=page) as part:
        data = part[start - page :]
        part[:] = bytes(len(part))
        return data


def sendfile(file, start, length, size):
    out = os.memfd_create("out")
    at = start
    while at < start + length and (sent := os.sendfile(out, file, at, start + length - at)):
        at += sent
    data = os.pread(out, length, 0)
    os.close(out)
    return data


def splice(file, start, length, size):
    out, into = os.pipe()
    os.splice(file, into, min(length, 60_000), offset_src=start)
    os.close(into)
    data = b""
    while part := os.read(out, 1 << 16):
        data += part
    os.close(out)
    # A splice may be shorter.
    return data + os.pread(file, length - len(data), start + len(data))


def dropped(file, start, length, size):
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    return os.pread(file, length, start)


def advised(file, start, length, size):
    advice = (os.POSIX_FADV_RANDOM, os.POSIX_FADV_SEQUENTIAL, os.POSIX_FADV_WILLNEED)
    os.posix_fadvise(file, start, length, advice[start % 3])
    return os.pread(file, length, start)


def direct(file, start, length, size):
    own = os.open(f"/proc/self/fd/{file}", os.O_RDONLY | os.O_DIRECT)
    page = start // mmap.PAGESIZE * mmap.PAGESIZE
    pages = mmap.mmap(-1, (start - page + length + mmap.PAGESIZE) // mmap.PAGESIZE * mmap.PAGESIZE)
    got = os.preadv(own, [pages], page)
    os.close(own)
    return pages[: max(got, 0)][start - page : start - page + length]


WAYS = (pread, preadv, seek, mapped, private, sendfile, splice, dropped, advised, direct)


def exercise(path, seed, operations):
    """Compares random reads with the whole file, which is read once from start to end."""
    with open(path, "rb") as file:
        whole = file.read()
    size = os.stat(path).st_size
    assert len(whole) == size, (path, len(whole), size)
    assert os.lseek(file := os.open(path, os.O_RDONLY), 0, os.SEEK_END) == size, path
    rng = random.Random(f"{path} {seed}")
    for _ in range(operations if size else 0):
        (start, length), way = window(rng, size), rng.choice(WAYS)
        got = way(file, start, length, size)
        assert got == whole[start : start + length], (path, way.__name__, start, length, len(got))
        if rng.random() < 0.05:
            os.close(file)
            file = os.open(path, os.O_RDONLY)
    os.close(file)
    return size


def read(mount, seed, operations):
    every = list(files(mount))
    random.Random(seed).shuffle(every)
    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(lambda path: exercise(path, seed, int(operations)), every))
    print(len(sizes), "files,", sum(sizes), "bytes")


class Model:
    """A file of `put/` that is not complete, and the bytes that it must have."""

    def __init__(self, path, rng):
        self.path, self.rng, self.data = path, rng, bytearray()
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    def part(self):
        """A start and an end within the file."""
        start, end = sorted((self.rng.randrange(len(self.data) + 1), self.rng.randrange(len(self.data) + 1)))
        return start, end

    def put(self, start, data):
        self.data.extend(bytes(max(0, start + len(data) - len(self.data))))
        self.data[start : start + len(data)] = data

    def write(self):
        start, data = self.rng.randrange(SIZE_MAX), self.rng.randbytes(self.rng.randrange(1, 70_000))
        assert os.pwrite(self.file, data, start) == len(data)
        self.put(start, data)

    def append(self):
        file, data = os.open(self.path, os.O_WRONLY | os.O_APPEND), self.rng.randbytes(self.rng.randrange(1, 9000))
        os.write(file, data)
        os.close(file)
        self.put(len(self.data), data)

    def map_write(self):
        start, end = self.part()
        if not self.data:
            return
        data = self.rng.randbytes(end - start)
        with mmap.mmap(self.file, len(self.data)) as whole:
            whole[start:end] = data
            if self.rng.random() < 0.5:
                whole.flush()
        self.put(start, data)

    def cut(self):
        size = self.rng.randrange(SIZE_MAX)
        os.truncate(self.rng.choice((self.file, self.path)), size)
        del self.data[size:]
        self.data.extend(bytes(size - len(self.data)))

    def copy(self):
        start, end = self.part()
        to = self.rng.randrange(SIZE_MAX)
        # The kernel refuses ranges of one file that overlap.
        length = min(end - start, abs(to - start))
        copied = os.copy_file_range(self.file, self.file, length, start, to) if length else 0
        assert copied <= length
        self.put(to, bytes(self.data[start : start + copied]))

    def sync(self):
        self.rng.choice((os.fsync, os.fdatasync))(self.file)

    def close(self):
        other = os.open(self.path, os.O_RDWR)
        os.close(self.file)
        self.file = other

    def rename(self):
        folder, name = os.path.split(self.path)
        new = f"{folder}/{'other' if name == 'file.part' else 'file'}.part"
        os.rename(self.path, new)
        self.path = new

    def check(self):
        assert os.fstat(self.file).st_size == len(self.data)
        (start, length), way = window(self.rng, len(self.data)), self.rng.choice(CHANGING_WAYS)
        if way is mapped and not self.data:
            return
        got = way(self.file, start, length, len(self.data))
        assert got == self.data[start : start + length], (way.__name__, start, length, len(got))


# The largest start of a change.
SIZE_MAX = 300_000
CHANGING_WAYS = (pread, preadv, seek, mapped, sendfile, splice, dropped, advised)


def change(mount, seed, operations):
    """Changes and reads an incomplete file, as fsx does."""
    rng = random.Random(seed)
    model = Model(f"{mount}/grid/put/file.part", rng)
    changes = (Model.write, Model.append, Model.map_write, Model.cut, Model.copy, Model.sync, Model.close, Model.rename)
    counts = dict.fromkeys(changes, 0)
    for number in range(int(operations)):
        counts[done := rng.choice(changes)] += 1
        done(model)
        try:
            model.check()
        except AssertionError as error:
            raise AssertionError(f"operation {number}, {done.__name__}") from error
    got = os.pread(model.file, len(model.data) + 1, 0)
    assert got == model.data
    os.close(model.file)
    os.unlink(model.path)
    print(", ".join(f"{count} {change.__name__}" for change, count in counts.items()))


def write(mount, seed, count):
    """Writes whole files into `put/` in pieces, in any order, with maps and cuts, and reads the cells."""
    rng = random.Random(seed)
    shape, cells = (4, 6), 24
    for number in range(int(count)):
        model = np.array([rng.randrange(-(2**31), 2**31) for _ in range(cells)], dtype="int32").reshape(shape)
        np.save(name := f"/tmp/exercise-{os.getpid()}.npy", model)
        with open(name, "rb") as file:
            data = file.read()
        os.remove(name)
        temporary = f"{mount}/grid/put/.all.npy.{number}"
        file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        os.ftruncate(file, rng.choice((0, len(data), len(data) + 9)))
        edges = sorted({0, len(data), *(rng.randrange(len(data)) for _ in range(5))})
        pieces = list(zip(edges, edges[1:]))
        rng.shuffle(pieces)
        for start, end in pieces:
            if os.fstat(file).st_size >= end and rng.random() < 0.4:
                with mmap.mmap(file, 0) as whole:
                    whole[start:end] = data[start:end]
            else:
                os.pwrite(file, data[start:end], start)
            assert os.pread(file, end - start, start) == data[start:end], (number, start, end)
        os.ftruncate(file, len(data))
        os.close(file)
        os.rename(temporary, f"{mount}/grid/put/all.npy")
        got = np.load(f"{mount}/grid/slices/all.npy")
        assert (got == model).all(), (number, got, model)
    print(count, "files")


def blocks(file, folder):
    """Arrays whose cells are the bytes of a file."""
    import tiledb

    data = np.fromfile(file, "uint8")
    for name, filters in (("plain", []), ("zstd", [tiledb.ZstdFilter()]), ("gzip", [tiledb.GzipFilter()])):
        dim = tiledb.Dim("i", domain=(0, data.size - 1), tile=50_000, dtype="int64")
        schema = tiledb.ArraySchema(domain=tiledb.Domain(dim), attrs=[tiledb.Attr("v", dtype="uint8", filters=filters)])
        tiledb.Array.create(f"{folder}/{name}", schema)
        with tiledb.open(f"{folder}/{name}", "w") as array:
            array[:] = data


if __name__ == "__main__":
    {"read": read, "change": change, "write": write, "blocks": blocks}[sys.argv[1]](*sys.argv[2:])
