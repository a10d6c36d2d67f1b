"""System calls on a mount and the results that POSIX and Linux state for them, after the cases of pjdfstest.

pjdfstest itself makes a folder for each of its cases, which a mount of arrays does not take.

usage: posix.py MOUNT WRITABLE-MOUNT
"""

import ctypes
import errno
import fcntl
import mmap
import os
import sys
import time

MOUNT, WRITABLE = sys.argv[1:]
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
failures = []


def check(name, got, *expect):
    if got not in expect:
        failures.append(f"{name}: {got}, not {' or '.join(map(str, expect))}")


def result(call, *args):
    """The name of the error of a call, or `ok`."""
    try:
        call(*args)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "ok"


def call(name, expect, function, *args):
    check(name, result(function, *args), *expect.split())


def opened(path, flags):
    os.close(os.open(path, flags, 0o644))


def stored(path, data=b"hello", flags=os.O_CREAT | os.O_WRONLY | os.O_TRUNC):
    file = os.open(path, flags, 0o644)
    os.write(file, data)
    os.close(file)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def renameat2(old, new, flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags):
        raise OSError(ctypes.get_errno(), "renameat2")


def read_only(mount):
    file, folder = f"{mount}/dense/slices/n@5:9,2:4.bin", f"{mount}/dense"
    new = f"{folder}/new"
    for name, function, *args in (
        ("open to write", opened, file, os.O_WRONLY),
        ("open to read and write", opened, file, os.O_RDWR),
        ("open to truncate", opened, file, os.O_RDONLY | os.O_TRUNC),
        ("create", opened, new, os.O_CREAT | os.O_WRONLY),
        ("truncate", os.truncate, file, 0),
        ("chmod", os.chmod, file, 0o600),
        ("chown", os.chown, file, 0, 0),
        ("utime", os.utime, file),
        ("unlink", os.unlink, file),
        ("rmdir", os.rmdir, f"{folder}/slices"),
        ("mkdir", os.mkdir, new),
        ("mkfifo", os.mkfifo, new),
        ("mknod", os.mknod, new),
        ("symlink", os.symlink, "x", new),
        ("link", os.link, file, new),
        ("rename", os.rename, file, new),
        ("setxattr", os.setxattr, file, "user.x", b"1"),
    ):
        call(f"{name} on a read-only mount", "EROFS", function, *args)
    call("mkdir of a folder", "EEXIST", os.mkdir, folder)
    call("O_CREAT of a file, to read", "ok", opened, file, os.O_CREAT | os.O_RDONLY)
    call("O_EXCL of a file", "EEXIST EROFS", opened, file, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    check("access to write", os.access(file, os.W_OK), False)
    call("a folder to write", "EISDIR EROFS", opened, folder, os.O_WRONLY)
    call("O_DIRECTORY of a file", "ENOTDIR", opened, file, os.O_DIRECTORY | os.O_RDONLY)
    call("a file as a folder", "ENOTDIR", os.stat, f"{file}/x")
    call("a file with a slash", "ENOTDIR", os.stat, f"{file}/")
    call("a name of 255 bytes", "ENOENT", os.stat, f"{folder}/{'x' * 255}")
    call("a name of 1025 bytes", "ENAMETOOLONG", os.stat, f"{folder}/{'x' * 1025}")
    check("the longest name", os.pathconf(folder, "PC_NAME_MAX"), 1024)
    call("a name that is not UTF-8", "ENOENT", os.stat, os.fsencode(folder) + b"/\xff\xfe")
    call("O_NOFOLLOW of a link", "ELOOP", opened, f"{folder}/at/latest", os.O_RDONLY | os.O_NOFOLLOW)
    call("readlink of a file", "EINVAL", os.readlink, file)
    call("getxattr of no attribute", "ENODATA", os.getxattr, file, "user.none")
    folder_file = os.open(folder, os.O_RDONLY)
    call("read of a folder", "EISDIR", os.read, folder_file, 1)
    call("fsync of a folder", "ok", os.fsync, folder_file)
    os.close(folder_file)
    open_to_read(file)


def open_to_read(path):
    file = os.open(path, os.O_RDONLY)
    size = os.fstat(file).st_size
    check("read at the end", os.pread(file, 10, size), b"")
    check("read after the end", os.pread(file, 10, 1 << 40), b"")
    check("SEEK_DATA", os.lseek(file, 0, os.SEEK_DATA), 0)
    check("SEEK_HOLE", os.lseek(file, 0, os.SEEK_HOLE), size)
    call("SEEK_DATA at the end", "ENXIO", os.lseek, file, size, os.SEEK_DATA)
    call("seek before the start", "EINVAL", os.lseek, file, -1, os.SEEK_SET)
    call("write to a file that is read", "EBADF", os.write, file, b"x")
    call("ftruncate of a file that is read", "EINVAL", os.ftruncate, file, 0)
    call("map to write", "EACCES", mmap.mmap, file, 4, mmap.MAP_SHARED, mmap.PROT_WRITE)
    call("flock", "ok", fcntl.flock, file, fcntl.LOCK_EX)
    call("fsync of a file that is read", "ok", os.fsync, file)
    call("fstatvfs", "ok", os.fstatvfs, file)
    check("links of a file", os.fstat(file).st_nlink, 1)
    os.close(file)


def writable(mount):
    put = f"{mount}/grid/put"
    file, other = f"{put}/x.part", f"{put}/y.part"
    contents(file, other)
    names(mount, put, file, other)
    for name in set(os.listdir(put)) - {"README.md"}:
        os.unlink(f"{put}/{name}")
    check("all files are removed", os.listdir(put), ["README.md"])


def contents(path, other):
    stored(path)
    check("read what was written", content(path), b"hello")
    call("O_EXCL of a file", "EEXIST", opened, path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    opened(path, os.O_WRONLY | os.O_TRUNC)
    check("size after O_TRUNC", os.stat(path).st_size, 0)
    for _ in range(2):
        stored(path, b"abcd", os.O_WRONLY | os.O_APPEND)
    check("O_APPEND", content(path), b"abcdabcd")
    os.truncate(path, 3)
    os.truncate(path, 6)
    check("truncate", content(path), b"abc\0\0\0")
    file = os.open(path, os.O_RDWR)
    os.pwrite(file, b"z", 100)
    check("a hole", os.pread(file, 101, 0), b"abc" + bytes(97) + b"z")
    call("truncate to a negative size", "EINVAL", os.ftruncate, file, -1)
    os.rename(path, other)
    check("read after a rename", os.pread(file, 3, 0), b"abc")
    call("the old name", "ENOENT", os.stat, path)
    os.unlink(other)
    os.pwrite(file, b"Q", 0)
    check("read after an unlink", os.pread(file, 3, 0), b"Qbc")
    check("links after an unlink", os.fstat(file).st_nlink, 0)
    call("fdatasync", "ok", os.fdatasync, file)
    os.close(file)
    call("the removed name", "ENOENT", os.stat, other)
    stored(path, b"one")
    os.utime(path, (1000, 2000))
    check("utime", os.stat(path).st_mtime, 2000.0)
    os.utime(path)
    check("utime of now", abs(os.stat(path).st_mtime - time.time()) < 60, True)
    os.utime(path, (1000, 2000))
    stored(path, b"two")
    check("a write changes the time", os.stat(path).st_mtime > 2000, True)
    file = os.open(path, os.O_RDONLY)
    call("write to a file that is read", "EBADF", os.write, file, b"x")
    os.close(file)


def names(mount, put, file, other):
    new = f"{put}/new.part"
    call("rename onto itself", "ok", os.rename, file, file)
    stored(other, b"other")
    call("RENAME_NOREPLACE", "EEXIST", renameat2, file, other, RENAME_NOREPLACE)
    call("RENAME_EXCHANGE", "EINVAL", renameat2, file, other, RENAME_EXCHANGE)
    os.rename(file, other)
    check("rename replaces", content(other), b"two")
    stored(file)
    for name, expect, function, *args in (
        ("unlink of no file", "ENOENT", os.unlink, new),
        ("rename of no file", "ENOENT", os.rename, new, f"{put}/z.part"),
        ("rename to the folder", "EISDIR EXDEV EROFS ENOTEMPTY", os.rename, file, put),
        ("rename out of put", "EROFS EXDEV", os.rename, file, f"{mount}/grid/a.part"),
        ("rename to another array", "EXDEV", os.rename, file, f"{mount}/two/put/a.part"),
        ("mkdir in put", "EROFS EPERM", os.mkdir, f"{put}/folder"),
        ("mkdir of put", "EEXIST", os.mkdir, put),
        ("rmdir of put", "EROFS EPERM EBUSY", os.rmdir, put),
        ("rmdir of a file", "ENOTDIR", os.rmdir, file),
        ("unlink of a folder", "EISDIR EROFS EPERM", os.unlink, put),
        ("link", "EPERM EROFS", os.link, file, new),
        ("symlink", "EPERM EROFS", os.symlink, "a", new),
        ("mkfifo", "EPERM EROFS", os.mkfifo, new),
        ("mknod", "EPERM EROFS", os.mknod, new),
        ("chmod", "ok", os.chmod, file, 0o600),
        ("chown", "ok", os.chown, file, os.getuid(), os.getgid()),
        ("a name of 1025 bytes", "ENAMETOOLONG", stored, f"{put}/{'x' * 1025}"),
        ("create outside of put", "EROFS", stored, f"{mount}/grid/a.part"),
        ("replace the README", "EPERM", stored, f"{put}/README.md"),
        ("replace a slice", "EROFS", stored, f"{mount}/grid/slices/all.npy"),
        ("a file as a folder", "ENOTDIR", stored, f"{file}/x"),
        ("O_TMPFILE", "EOPNOTSUPP ENOTSUP EISDIR", opened, put, os.O_TMPFILE | os.O_RDWR),
        ("O_SYNC", "ok", stored, file, b"three", os.O_WRONLY | os.O_SYNC),
    ):
        call(f"{name} on a writable mount", expect, function, *args)


read_only(MOUNT)
writable(WRITABLE)
assert not failures, "\n".join(failures)
