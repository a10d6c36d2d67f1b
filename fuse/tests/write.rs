//! Tests of a writable mount through a kernel, with common programs: numpy, pandas, cp, mv, rsync, shells.
//!
//! Needs FUSE, rsync, and a Python with the packages in `tests/requirements.txt`: `HYPERSLAB_PYTHON`, which
//! `cargo xtask test` sets, or `python3`.

#![allow(clippy::unwrap_used, reason = "a failed test should report the line")]

mod support;

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use hyperslab::blocking::block_on;
use hyperslab::{Array, Context, OpenOptions, Query};
use support::{Mounted, python, succeed, unmount};
use tempfile::TempDir;

/// Mounts with `--writable` and these options.
fn writable(source: &Path, place: &Path, options: &[&str]) -> Mounted {
    Mounted::new(source, place, &[&["--writable"], options].concat())
}

fn script(action: &str, folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/write.py");
    succeed(Command::new(python()).arg(script).arg(action).arg(folder));
}

/// Creates arrays with libtiledb.
fn arrays() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("arrays")).unwrap();
    script("make", &folder.path().join("arrays"));
    folder
}

/// An `.npy` file of 4 by 6 equal numbers.
fn npy(value: i32) -> Vec<u8> {
    let mut header = "{'descr': '<i4', 'fortran_order': False, 'shape': (4, 6), }".to_owned();
    header.push_str(&" ".repeat(128 - 10 - header.len() - 1));
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    out.extend(header.bytes());
    out.extend((0..24).flat_map(|_| value.to_le_bytes()));
    out
}

fn cells(mounted: &Mounted) -> Vec<i32> {
    let bytes = std::fs::read(mounted.path("grid/slices/all.bin")).unwrap();
    bytes
        .chunks_exact(4)
        .map(|c| i32::from_le_bytes(c.try_into().unwrap()))
        .collect()
}

#[test]
fn python_writes_arrays_that_libtiledb_reads() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let mounted = writable(&source, &folder.path().join("mnt"), &[]);
    script("put", &mounted.place);
    drop(mounted);
    script("check", &source);
}

#[test]
fn programs_that_copy_files_succeed() {
    let folder = arrays();
    let mounted = writable(&folder.path().join("arrays"), &folder.path().join("mnt"), &[]);
    let put = mounted.path("grid/put");
    let mut value = 0;
    let mut next = |name: &str| {
        value += 1;
        let file = folder.path().join(name);
        std::fs::write(&file, npy(value)).unwrap();
        (file, value)
    };
    let mut check = |program: &mut dyn FnMut(&Path)| {
        let (file, value) = next("all.npy");
        program(&file);
        assert_eq!(cells(&mounted), [value; 24]);
        assert!(!put.join("all.npy").exists() || std::fs::metadata(put.join("all.npy")).unwrap().len() == 224);
    };
    for options in [&[][..], &["-p"], &["-a"], &["-f"], &["--remove-destination"]] {
        check(&mut |file| drop(succeed(Command::new("cp").args(options).arg(file).arg(&put))));
    }
    check(&mut |file| drop(succeed(Command::new("mv").arg(file).arg(&put))));
    check(&mut |file| drop(succeed(Command::new("install").arg(file).arg(&put))));
    for options in [&["-a"][..], &["-rtp", "--whole-file"]] {
        check(&mut |file| {
            let mut rsync = Command::new("rsync");
            // Modification times within a second are equal for rsync.
            drop(succeed(rsync.arg("--ignore-times").args(options).arg(file).arg(&put)));
        });
    }
    check(&mut |file| {
        let mut shell = Command::new("sh");
        let copy = "cat \"$1\" > \"$2/all.npy\"";
        drop(succeed(shell.args(["-c", copy, "sh"]).arg(file).arg(&put)));
    });
    // Written in place, but to a new name.
    let (file, value) = next("0:4,0:6.npy");
    succeed(Command::new("rsync").arg("--inplace").arg(file).arg(&put));
    assert_eq!(cells(&mounted), [value; 24]);
    // Several programs write into one redirection.
    let csv = "{ echo a; seq 1 12; sleep 0.01; seq 13 24; } > \"$1/all.csv\"";
    succeed(Command::new("sh").args(["-c", csv, "sh"]).arg(&put));
    assert_eq!(cells(&mounted), (1..=24).collect::<Vec<_>>());
    let tee = "(echo a; seq 2 25) | tee \"$1/all.csv\" > /dev/null";
    succeed(Command::new("sh").args(["-c", tee, "sh"]).arg(&put));
    assert_eq!(cells(&mounted), (2..=25).collect::<Vec<_>>());
    let names: Vec<_> = std::fs::read_dir(&put)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["README.md"]);
}

#[test]
fn only_put_is_writable_and_its_errors_have_numbers() {
    let folder = arrays();
    let log = folder.path().join("log");
    let options = ["--log-file", log.to_str().unwrap(), "--staging-size", "1MiB"];
    let mounted = writable(&folder.path().join("arrays"), &folder.path().join("mnt"), &options);
    let number = |r: std::io::Result<()>| r.unwrap_err().raw_os_error().unwrap();
    const EPERM: i32 = 1;
    const EINVAL: i32 = 22;
    const ENOSPC: i32 = 28;
    const EROFS: i32 = 30;
    for name in [
        "new",
        "grid/new",
        "grid/slices/all.npy",
        "grid/schema.json",
        "grid/at/2024/new",
    ] {
        assert_eq!(number(std::fs::write(mounted.path(name), "x")), EROFS, "{name}");
    }
    assert_eq!(number(std::fs::remove_file(mounted.path("grid/schema.json"))), EROFS);
    assert_eq!(number(std::fs::create_dir(mounted.path("grid/put/x"))), EROFS);
    let from = mounted.path("grid/schema.json");
    assert_eq!(number(std::fs::rename(from, mounted.path("grid/put/x.part"))), EROFS);
    let all = mounted.path("grid/put/all.npy");
    std::fs::write(&all, npy(1)).unwrap();
    let appended = std::fs::File::options().append(true).open(&all).map(drop);
    assert_eq!(number(appended), EPERM);
    assert_eq!(number(std::fs::write(mounted.path("grid/put/all.txt"), "x")), EINVAL);
    let large = vec![b'1'; 2 << 20];
    assert_eq!(number(std::fs::write(mounted.path("grid/put/all.csv"), large)), ENOSPC);
    assert_eq!(cells(&mounted), [1; 24]);
    // An incomplete file is dropped at the last close. The log says so.
    std::fs::write(mounted.path("grid/put/all.npy"), &npy(2)[..150]).unwrap();
    let start = Instant::now();
    let mut told = String::new();
    while !told.contains("closed after 150 of 224 bytes") {
        assert!(start.elapsed() < Duration::from_secs(60), "{told}");
        std::thread::sleep(Duration::from_millis(10));
        told = std::fs::read_to_string(&log).unwrap();
    }
    assert!(told.contains("ERROR cannot write \"grid/put/all.npy\": "), "{told}");
    assert_eq!(cells(&mounted), [1; 24]);
    // The control folder works as in other mounts.
    let errors = std::fs::read_to_string(mounted.path(".hyperslab/errors")).unwrap();
    assert!(errors.contains("grid/put/all.npy"), "{errors}");
    succeed(Command::new("cat").arg(mounted.path(".hyperslab/errors")));
}

/// A mount without `--writable` has no such folder.
#[test]
fn put_needs_an_option() {
    let folder = arrays();
    let place = folder.path().join("mnt");
    let mounted = Mounted::new(&folder.path().join("arrays"), &place, &[]);
    assert!(!mounted.path("grid/put").exists());
    drop(mounted);
    for (options, why) in [
        (["--writable", "--at", "2020"], "--at"),
        (["-o", "writable,at=2020", "--ttl=1"], "--at"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_fuse-mount"))
            .arg(folder.path().join("arrays"))
            .arg(&place)
            .args(options)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && text.contains(why), "{text}");
    }
}

#[test]
fn concurrent_programs_write_one_fragment_each() {
    let folder = arrays();
    let mounted = Arc::new(writable(&folder.path().join("arrays"), &folder.path().join("mnt"), &[]));
    let writers: Vec<_> = (0..4)
        .map(|n| {
            let mounted = Arc::clone(&mounted);
            std::thread::spawn(move || {
                for row in 0..5 {
                    let rows = format!("x,y,name,v\n{n},{row},w{n},{row}\n");
                    std::fs::write(mounted.path(&format!("points/put/{n}-{row}.csv")), rows).unwrap();
                    // The writer reads what it wrote.
                    let cell = format!("points/slices/{n},{row}.csv");
                    let read = std::fs::read_to_string(mounted.path(&cell)).unwrap();
                    assert!(read.contains(&format!("w{n},{row}")), "{read}");
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|w| w.join().unwrap());
    assert_eq!(std::fs::read_dir(mounted.path("points/fragments")).unwrap().count(), 20);
}

/// The cells of an array as the library reads them.
fn stored(array: &Path) -> Vec<i32> {
    let context = Context::local(array);
    let array = block_on(Array::open(&context, "", &OpenOptions::default())).unwrap();
    let batch = block_on(array.read(&Query::default())).unwrap();
    let (_, column) = batch.columns.into_iter().next().unwrap();
    column
        .data
        .chunks_exact(4)
        .map(|c| i32::from_le_bytes(c.try_into().unwrap()))
        .collect()
}

#[test]
fn a_killed_mount_leaves_the_old_cells_or_the_new_ones() {
    let folder = arrays();
    let (source, place) = (folder.path().join("arrays"), folder.path().join("mnt"));
    let acknowledged = Arc::new(AtomicI32::new(i32::MIN));
    let mut value = 0;
    for turn in 0..12 {
        let mut mounted = writable(&source, &place, &[]);
        let file = mounted.path("grid/put/all.npy");
        let (started, done) = (value, Arc::clone(&acknowledged));
        let writer = std::thread::spawn(move || {
            let mut value = started;
            loop {
                value += 1;
                let written = std::fs::File::create(&file).and_then(|mut out| {
                    out.write_all(&npy(value))?;
                    out.sync_all()
                });
                if written.is_err() {
                    return value;
                }
                done.store(value, Ordering::SeqCst);
            }
        });
        std::thread::sleep(Duration::from_millis(7 * turn));
        mounted.program.kill().unwrap();
        mounted.program.wait().unwrap();
        value = writer.join().unwrap();
        let cells = stored(&source.join("grid"));
        let first = cells[0];
        assert!(cells.iter().all(|c| *c == first), "{cells:?}");
        let before = acknowledged.load(Ordering::SeqCst);
        assert!(first >= before && first <= value, "{first}: {before} was acknowledged");
        unmount(&place);
    }
    assert!(
        acknowledged.load(Ordering::SeqCst) > 0,
        "no write succeeded before a kill"
    );
    // Only whole fragments are visible, and the array takes further writes.
    let mounted = writable(&source, &place, &[]);
    std::fs::write(mounted.path("grid/put/all.npy"), npy(-5)).unwrap();
    assert_eq!(cells(&mounted), [-5; 24]);
}
