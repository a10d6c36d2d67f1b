//! Tests of the program through a kernel, with common programs: cat, cp, find, tar, numpy.
//!
//! Needs FUSE, and a Python with the packages in `tests/requirements.txt`: `HYPERSLAB_PYTHON`, which `cargo xtask test`
//! sets, or `python3`.

#![allow(clippy::unwrap_used, reason = "a failed test should report the line")]

mod support;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Schema};
use hyperslab::{Array, CellCount, Context, CreateOptions, Datatype};
use support::{Mounted, arrays, is_mounted, oracle, python, succeed, unmount};

#[test]
fn programs_read_arrays_of_libtiledb() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &[]);

    oracle(&["check", source.to_str().unwrap(), mounted.place.to_str().unwrap()]);

    let slice = mounted.path("dense/slices/temp@all.npy");
    let bytes = std::fs::read(&slice).unwrap();
    assert_eq!(bytes.len() as u64, std::fs::metadata(&slice).unwrap().len());
    assert_eq!(succeed(Command::new("cat").arg(&slice)).stdout, bytes);
    let copy = folder.path().join("copy.npy");
    succeed(Command::new("cp").arg(&slice).arg(&copy));
    assert_eq!(std::fs::read(&copy).unwrap(), bytes);
    let tail = succeed(Command::new("tail").args(["-c", "1000"]).arg(&slice)).stdout;
    assert_eq!(tail, bytes[bytes.len() - 1000..]);
    let dumped = succeed(Command::new("od").args(["-An", "-tx1", "-v", "-N16"]).arg(&slice)).stdout;
    assert!(
        String::from_utf8(dumped)
            .unwrap()
            .trim()
            .starts_with("93 4e 55 4d 50 59")
    );

    // Walking terminates, and tar reports files whose size differs from `stat`.
    let archive = folder.path().join("all.tar");
    succeed(
        Command::new("tar")
            .arg("-cf")
            .arg(&archive)
            .arg("-C")
            .arg(&mounted.place)
            .arg("."),
    );
    let listed = String::from_utf8(succeed(Command::new("tar").arg("-tf").arg(&archive)).stdout).unwrap();
    let found = String::from_utf8(succeed(Command::new("find").arg(&mounted.place)).stdout).unwrap();
    assert_eq!(listed.lines().count(), found.lines().count());
    assert!(listed.contains("./dense/tiles/temp/9/2.npy"));
    // Times are links, so that walks do not meet the tree of each time.
    let times: Vec<&str> = found.lines().filter(|line| line.contains("/dense/at/")).collect();
    assert!(!times.is_empty() && times.iter().all(|t| std::fs::symlink_metadata(t).unwrap().is_symlink()));
    assert!(
        std::fs::metadata(Path::new(times[0]).join("schema.json"))
            .unwrap()
            .is_file()
    );
    succeed(Command::new("du").arg("-s").arg(&mounted.place));
    sparse_copies_are_complete(&mounted, folder.path());
}

/// `tar -S` and `cp --sparse` skip holes, which they detect from block counts.
fn sparse_copies_are_complete(mounted: &Mounted, folder: &Path) {
    let names = [
        "dense/schema.json",
        "dense/zarr/zarr.json",
        "dense/zarr/x/c/0",
        "dense/tiles/n/9/2.npy",
    ];
    let (archive, unpacked) = (folder.join("sparse.tar"), folder.join("unpacked"));
    std::fs::create_dir(&unpacked).unwrap();
    let mut tar = Command::new("tar");
    succeed(tar.arg("-cSf").arg(&archive).arg("-C").arg(&mounted.place).args(names));
    succeed(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&unpacked));
    for name in names {
        let bytes = std::fs::read(mounted.path(name)).unwrap();
        assert_eq!(std::fs::read(unpacked.join(name)).unwrap(), bytes, "tar -S: {name}");
        for how in ["--sparse=always", "--sparse=auto"] {
            let copy = folder.join("copy");
            succeed(Command::new("cp").arg(how).arg(mounted.path(name)).arg(&copy));
            assert_eq!(std::fs::read(&copy).unwrap(), bytes, "cp {how}: {name}");
        }
    }
}

#[test]
fn the_mount_is_read_only_and_errors_have_their_numbers() {
    let folder = arrays();
    let mounted = Mounted::new(&folder.path().join("arrays/dense"), &folder.path().join("mnt"), &[]);
    let kind = |r: std::io::Result<()>| r.unwrap_err().raw_os_error().unwrap();
    const ENOENT: i32 = 2;
    const EROFS: i32 = 30;
    assert_eq!(kind(std::fs::write(mounted.path("new"), "x")), EROFS);
    assert_eq!(kind(std::fs::write(mounted.path("README.md"), "x")), EROFS);
    assert_eq!(kind(std::fs::remove_file(mounted.path("README.md"))), EROFS);
    assert_eq!(kind(std::fs::create_dir(mounted.path("new"))), EROFS);
    assert_eq!(
        kind(std::fs::metadata(mounted.path("slices/80:1000.npy")).map(drop)),
        ENOENT
    );
    assert_eq!(kind(std::fs::metadata(mounted.path("slices/.git")).map(drop)), ENOENT);
    let why = "import os, sys; print(os.getxattr(sys.argv[1], 'user.hyperslab.error').decode())";
    let output = succeed(Command::new(python()).args(["-c", why]).arg(mounted.path("slices")));
    assert!(String::from_utf8_lossy(&output.stdout).contains("outside the domain, -20:80"));
}

#[test]
fn read_errors_are_logged_once_with_the_reason() {
    let folder = arrays();
    let log = folder.path().join("log");
    let options = ["--log-file", log.to_str().unwrap()];
    let source = folder.path().join("arrays/dense");
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &options);
    let fragments = std::fs::read_dir(source.join("__fragments")).unwrap();
    for fragment in fragments {
        std::fs::write(fragment.unwrap().path().join("a0.tdb"), "no tile").unwrap();
    }
    for _ in 0..2 {
        let failed = std::fs::read(mounted.path("slices/temp@all.bin")).unwrap_err();
        assert_eq!(failed.raw_os_error(), Some(5));
    }
    // The kernel reads several parts at a time, so another part may be reported first.
    let start = Instant::now();
    let told = loop {
        let told = std::fs::read_to_string(&log).unwrap();
        if told.ends_with('\n') {
            break told;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no failure was logged");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("Z ERROR cannot read \"slices/temp@all.bin\": "), "{told}");
    assert!(
        told.contains("/a0.tdb: ") && told.contains("restore the file"),
        "{told}"
    );
}

#[test]
fn signals_and_umount_end_the_program_cleanly() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let place = folder.path().join("mnt");
    for signal in ["INT", "TERM"] {
        let mut mounted = Mounted::new(&source, &place, &[]);
        assert!(is_mounted(&place));
        mounted.signal(signal);
        assert_eq!(mounted.end(), 0, "{signal}");
        assert!(!is_mounted(&place), "{signal}");
    }
    let mut mounted = Mounted::new(&source, &place, &[]);
    unmount(&place);
    assert_eq!(mounted.end(), 0);
}

#[test]
fn an_open_file_stays_readable_after_the_unmount() {
    let folder = arrays();
    let mut mounted = Mounted::new(&folder.path().join("arrays"), &folder.path().join("mnt"), &[]);
    let mut file = std::fs::File::open(mounted.path("dense/slices/temp@all.bin")).unwrap();
    mounted.signal("TERM");
    let start = Instant::now();
    while is_mounted(&mounted.place) {
        assert!(start.elapsed() < Duration::from_secs(60), "it is still mounted");
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 100 * 60 * 4);
    drop(file);
    assert_eq!(mounted.end(), 0);
}

/// The peak memory of a program, in bytes.
fn peak_bytes(program: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.id())).unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    kib << 10
}

#[test]
fn stat_of_a_large_file_takes_no_memory_and_large_text_fails_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("array");
    let dimension = Dimension::new("i", Datatype::Int32, 0_i32, 199_999_999_i32, 100_000_i32);
    let mut attribute = Attribute::new("a", Datatype::Int32, CellCount::ONE);
    attribute.nullable = true;
    let schema = Schema::new(ArrayType::Dense, vec![dimension], vec![attribute]);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&Context::local(&source), "", &schema, &[], &options)).unwrap();
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &[]);
    let names = ["all", "0:100000000", "5:150000000", "0:199999999"];
    let looks = names.map(|name| {
        let path = mounted.path(&format!("slices/{name}.arrow"));
        std::thread::spawn(move || std::fs::metadata(path).unwrap().len())
    });
    let sizes = looks.map(|look| look.join().unwrap());
    assert!(sizes.iter().all(|&size| size > 800_000_000), "{sizes:?}");
    // The end of the file is correct.
    let mut file = std::fs::File::open(mounted.path("slices/all.arrow")).unwrap();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::End(-6)).unwrap();
    let mut end = Vec::new();
    file.read_to_end(&mut end).unwrap();
    assert_eq!(end, b"ARROW1");
    // Rendering these files to determine their size would take more memory than this test allows.
    for ending in ["csv", "json", "jsonl", "tsv"] {
        assert!(
            std::fs::metadata(mounted.path(&format!("slices/all.{ending}"))).is_err(),
            "{ending}"
        );
    }
    let peak = peak_bytes(&mounted.program);
    assert!(peak < 256 << 20, "{peak} bytes");
}

/// Rendering many cells takes long. A lookup that waits for it does not delay the unmount.
#[test]
fn a_signal_does_not_wait_for_a_lookup() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("array");
    let dimension = Dimension::new("i", Datatype::Int32, 0_i32, 99_999_999_i32, 1_000_000_i32);
    let attribute = Attribute::new("a", Datatype::Int32, CellCount::ONE);
    let schema = Schema::new(ArrayType::Dense, vec![dimension], vec![attribute]);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&Context::local(&source), "", &schema, &[], &options)).unwrap();
    for signal in ["INT", "TERM"] {
        let mut mounted = Mounted::new(&source, &folder.path().join("mnt"), &[]);
        let name = mounted.path("slices/0:12000000.csv");
        let waiting = std::thread::spawn(move || std::fs::metadata(name));
        std::thread::sleep(Duration::from_millis(500));
        assert!(!waiting.is_finished(), "the lookup has finished already");
        mounted.signal(signal);
        assert_eq!(mounted.end(), 0, "{signal}");
        assert!(!is_mounted(&mounted.place), "{signal}");
        // If the unmount had waited for the lookup, the lookup would have succeeded.
        waiting.join().unwrap().unwrap_err();
    }
}

#[test]
fn a_disconnected_mount_of_ours_is_replaced() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let place = folder.path().join("mnt");
    let mut mounted = Mounted::new(&source, &place, &[]);
    mounted.program.kill().unwrap();
    mounted.program.wait().unwrap();
    let mounted = Mounted::new(&source, &place, &[]);
    assert!(mounted.path("dense/README.md").exists());
}

#[test]
fn a_background_mount_is_ready_when_the_program_returns() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let place = folder.path().join("mnt");
    std::fs::create_dir(&place).unwrap();
    let run = |options: &[&str]| {
        let mut c = Command::new(env!("CARGO_BIN_EXE_fuse-mount"));
        c.arg(&source).arg(&place).args(options).output().unwrap()
    };
    for options in [&["--background"][..], &["-o", "ro,background"]] {
        // The outputs are closed although the mount continues. Otherwise this would wait forever.
        let output = run(options);
        assert!(output.status.success(), "{output:?}");
        assert!(output.stdout.starts_with(b"READY: mounted "), "{output:?}");
        assert!(place.join("dense/README.md").exists());
        let second = run(options);
        assert_eq!(second.status.code(), Some(1));
        let why = String::from_utf8(second.stderr).unwrap();
        assert!(why.contains("is not empty") && why.lines().count() == 3, "{why}");
        unmount(&place);
        assert!(!is_mounted(&place));
    }
}

#[test]
fn invalid_mount_points_are_errors_with_advice() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let refuse = |source: &Path, place: &Path, expect: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_fuse-mount"))
            .arg(source)
            .arg(place)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(expect) && text.starts_with("error: cannot "), "{text}");
    };
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    std::fs::create_dir(source.join("inside")).unwrap();
    refuse(&source, &folder.path().join("nowhere"), "does not exist");
    refuse(&source, folder.path(), "is not empty");
    refuse(&source, &source.join("inside"), "try: choose a mount point outside");
    refuse(
        &empty,
        &folder.path().join("arrays/inside"),
        "not an array, a group or a folder of arrays",
    );
    refuse(&folder.path().join("absent"), &empty, "absent");
}

#[test]
fn the_whole_mount_can_show_a_past_time() {
    let folder = arrays();
    let source = folder.path().join("arrays/dense");
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &["--at", "1000ms"]);
    let names: Vec<_> = std::fs::read_dir(mounted.path("at"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["1970-01-01T00:00:01.000Z", "latest"]);
    // Cell (0, 5) was overwritten with 7 later.
    let now = std::fs::read(mounted.path("slices/n@0,5.bin")).unwrap();
    assert_eq!(now, std::fs::read(mounted.path("at/1000ms/slices/n@0,5.bin")).unwrap());
    assert_eq!(now, std::fs::read(mounted.path("at/5000ms/slices/n@0,5.bin")).unwrap());
    assert_ne!(now, 7_i16.to_le_bytes());
}

#[test]
fn a_mount_before_the_first_write_says_so() {
    let folder = arrays();
    let place = folder.path().join("mnt");
    std::fs::create_dir(&place).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_fuse-mount"))
        .arg(folder.path().join("arrays/dense"))
        .arg(&place)
        .args(["--at", "1ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(program.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();
    let mut messages = program.stderr.take().unwrap();
    drop(Mounted { program, place });
    let mut line = String::new();
    messages.read_to_string(&mut line).unwrap();
    assert!(
        line.contains("nothing was written") && line.contains("the first write is of 1000ms"),
        "{line}"
    );
}
