//! Random operations through a kernel, checked by fio and by models of files.
//!
//! Needs FUSE, fio, and a Python with the packages in `tests/requirements.txt`: `HYPERSLAB_PYTHON`, which
//! `cargo xtask test` sets, or `python3`.

#![allow(clippy::unwrap_used, reason = "a failed test should report the line")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Mounted, arrays, python, succeed};
use tempfile::TempDir;

fn script(name: &str) -> Command {
    let mut c = Command::new(python());
    c.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name));
    c
}

/// Arrays for `put/`.
fn writable_arrays() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("arrays");
    std::fs::create_dir(&source).unwrap();
    succeed(script("write.py").arg("make").arg(&source));
    (folder, source)
}

/// Every file of the tree, and names of every format that are not listed, through `read`, `mmap`, `sendfile` and others.
#[test]
fn reads_at_random_places_are_those_of_the_whole_file() {
    let folder = arrays();
    let mounted = Mounted::new(&folder.path().join("arrays"), &folder.path().join("mnt"), &[]);
    succeed(script("exercise.py").arg("read").arg(&mounted.place).args(["1", "25"]));
}

/// fio writes blocks with checksums into a file, which becomes an array, and checks them in slices of the mount.
#[test]
fn fio_verifies_blocks_in_slices() {
    let folder = tempfile::tempdir().unwrap();
    let (file, source) = (folder.path().join("blocks"), folder.path().join("arrays"));
    std::fs::create_dir(&source).unwrap();
    let fio = |file: &Path, options: &[&str]| {
        let mut c = Command::new("fio");
        c.current_dir(folder.path())
            .args(["--name=blocks", "--size=2m", "--bs=4k", "--verify=crc32c"])
            .arg(format!("--filename={}", file.display()))
            .args(options);
        c
    };
    succeed(&mut fio(&file, &["--rw=write", "--do_verify=0"]));
    succeed(script("exercise.py").arg("blocks").arg(&file).arg(&source));
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &[]);
    for array in ["plain", "zstd", "gzip"] {
        let slice = mounted.path(&format!("{array}/slices/all.bin"));
        for engine in ["psync", "mmap", "libaio"] {
            let engine = format!("--ioengine={engine}");
            let check = ["--readonly", "--rw=randread", "--verify_only", "--iodepth=8", &engine];
            succeed(&mut fio(&slice, &check));
        }
    }
}

/// The operations of fsx: writes, maps, cuts and copies of ranges of a file that is not complete yet, in any order.
#[test]
fn a_file_of_put_has_the_bytes_of_a_model() {
    let (folder, source) = writable_arrays();
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &["--writable"]);
    succeed(
        script("exercise.py")
            .arg("change")
            .arg(&mounted.place)
            .args(["1", "2500"]),
    );
}

#[test]
fn files_written_in_any_order_become_their_cells() {
    let (folder, source) = writable_arrays();
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &["--writable"]);
    succeed(script("exercise.py").arg("write").arg(&mounted.place).args(["1", "40"]));
}

#[test]
fn system_calls_have_the_results_of_posix() {
    let folder = arrays();
    let mounted = Mounted::new(&folder.path().join("arrays"), &folder.path().join("mnt"), &[]);
    let (other, source) = writable_arrays();
    let writable = Mounted::new(&source, &other.path().join("mnt"), &["--writable"]);
    succeed(script("posix.py").arg(&mounted.place).arg(&writable.place));
}
