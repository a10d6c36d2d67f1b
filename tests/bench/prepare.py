"""Preparation before each run, untimed: `python prepare.py link|copy|cold SOURCE TARGET`.

`link` and `copy` make TARGET a fresh copy of the array SOURCE, by hard links where an engine never changes a
file and byte by byte where it does; `cold` drops the files of SOURCE from the page cache.
"""

import os
import shutil
import sys


def files(path):
    if not os.path.isdir(path):
        return [path]
    return [os.path.join(base, name) for base, _, names in os.walk(path) for name in names]


def sync(path):
    folders = [base for base, _, _ in os.walk(path)] or [os.path.dirname(path)]
    for name in files(path) + folders:
        fd = os.open(name, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
    if os.path.exists(path):
        os.remove(path)


def copy(source, target, one=shutil.copyfile):
    remove(target)
    if os.path.isdir(source):
        shutil.copytree(source, target, copy_function=one)
    else:
        one(source, target)
    sync(target)


def link(source, target):
    copy(source, target, os.link)


def cold(source):
    """Drops the whole page cache if permitted, otherwise that of these files."""
    sync(source)
    try:
        with open("/proc/sys/vm/drop_caches", "w") as f:
            f.write("1")
    except OSError:
        for name in files(source):
            fd = os.open(name, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def can_be_cold(folder):
    """Whether `cold` really drops a file's pages from the page cache."""
    name = os.path.join(folder, "cold-or-not")
    try:
        with open(name, "wb") as f:
            f.write(bytes(1 << 20))
        cold(name)
        fd = os.open(name, os.O_RDONLY)
        try:
            # A read that must not wait for the disk returns nothing if the page is not cached.
            return os.preadv(fd, [bytearray(4096)], 1 << 19, os.RWF_NOWAIT) == 0
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
    except (OSError, AttributeError):
        return False
    finally:
        remove(name)


if __name__ == "__main__":
    {"link": link, "copy": copy, "cold": cold}[sys.argv[1]](*sys.argv[2:])
