//! Tests of the control folder through a kernel.

#![allow(clippy::unwrap_used, reason = "a failed test should report the line")]

mod support;

use std::fs::{self, File};
use std::io::Read as _;
use std::process::Command;

use support::{Mounted, arrays, succeed};

#[test]
fn the_control_folder_tells_what_the_mount_does() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &[]);
    let read = |name: &str| fs::read_to_string(mounted.path(".hyperslab").join(name)).unwrap();

    assert_eq!(read("errors"), "");
    assert_eq!(read("version"), format!("fuse-mount {}\n", env!("CARGO_PKG_VERSION")));
    let bytes = fs::read(mounted.path("dense/slices/temp@all.bin")).unwrap();
    fs::metadata(mounted.path("dense/slices/500,0.bin")).unwrap_err();
    fs::metadata(mounted.path("dense/slices/600,0.bin")).unwrap_err();

    let errors = read("errors");
    let lines: Vec<Vec<&str>> = errors.lines().map(|l| l.split('\t').collect()).collect();
    let paths: Vec<&str> = lines.iter().map(|l| l[2]).collect();
    assert_eq!(paths, ["dense/slices/600,0.bin", "dense/slices/500,0.bin"]);
    assert!(lines[0][0].ends_with('Z') && lines[0][1] == "ENOENT" && lines[0][3].contains("outside the domain"));
    let metrics = read("metrics");
    let value = |name: &str| -> u64 {
        let line = metrics.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} in {metrics}")).parse().unwrap()
    };
    assert!(value("fuse_mount_read_bytes_total") >= bytes.len() as u64);
    assert_eq!(value("fuse_mount_errors_total{errno=\"ENOENT\"}"), 2);
    assert!(value("fuse_mount_request_seconds_count{kind=\"read\"}") > 0);
    assert!(value("fuse_mount_request_seconds_count{kind=\"lookup\"}") > 5);
    assert!(value("fuse_mount_inodes") > 3 && value("fuse_mount_resident_bytes") > 1 << 20);
    let stats: serde_json::Value = serde_json::from_str(&read("stats.json")).unwrap();
    assert_eq!(stats["errors"]["ENOENT"], 2);
    let cache = read("cache");
    let all = cache.lines().find_map(|l| l.strip_prefix("all\t")).unwrap();
    let bytes: u64 = all.split('\t').nth(1).unwrap().parse().unwrap();
    assert!(bytes > 0, "{cache}");
}

#[test]
fn the_control_folder_is_not_listed_and_its_open_files_stay_as_they_are() {
    let folder = arrays();
    let source = folder.path().join("arrays/dense");
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &[]);
    let names = |path: &str| -> Vec<String> {
        let listed = fs::read_dir(mounted.path(path)).unwrap();
        listed.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert!(!names("").contains(&".hyperslab".to_owned()));
    assert_eq!(
        names(".hyperslab"),
        ["cache", "errors", "metrics", "run", "stats.json", "version"]
    );
    fs::metadata(mounted.path(".hyperslab/absent")).unwrap_err();
    fs::metadata(mounted.path("slices/.hyperslab")).unwrap_err();
    assert_eq!(
        fs::write(mounted.path(".hyperslab/cache"), "x")
            .unwrap_err()
            .raw_os_error(),
        Some(30)
    );

    let mut before = File::open(mounted.path(".hyperslab/errors")).unwrap();
    fs::metadata(mounted.path("slices/500,0.bin")).unwrap_err();
    let mut text = String::new();
    before.read_to_string(&mut text).unwrap();
    assert_eq!(text, "");
    // Programs that trust the size 0 would read nothing.
    let errors = mounted.path(".hyperslab/errors");
    let text = fs::read(&errors).unwrap();
    assert!(text.ends_with(b"\n"));
    for program in ["cat", "tail"] {
        assert_eq!(succeed(Command::new(program).arg(&errors)).stdout, text, "{program}");
    }
    let counted = succeed(Command::new("wc").arg("-c").arg(&errors)).stdout;
    assert!(
        String::from_utf8(counted)
            .unwrap()
            .starts_with(&format!("{} ", text.len()))
    );
}

#[test]
fn only_the_cache_of_a_writable_mount_takes_a_command() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &["--writable"]);
    let version = mounted.path(".hyperslab/version");
    // `cat` reports a failed close.
    assert!(
        succeed(Command::new("cat").arg(&version))
            .stdout
            .starts_with(b"fuse-mount ")
    );
    for refused in [
        fs::write(&version, "x"),
        fs::write(mounted.path(".hyperslab/new"), "x"),
        fs::remove_file(&version),
        fs::rename(&version, mounted.path(".hyperslab/other")),
    ] {
        let number = refused.unwrap_err().raw_os_error().unwrap();
        // EROFS, EPERM, EACCES or EXDEV.
        assert!([30, 1, 13, 18].contains(&number), "{number}");
    }
    assert!(version.exists());
    let cache = mounted.path(".hyperslab/cache");
    let is_empty = || fs::read_to_string(&cache).unwrap().contains("all\t0\t0\n");
    fs::read(mounted.path("dense/slices/temp@all.bin")).unwrap();
    assert!(!is_empty());
    assert_eq!(fs::write(&cache, "grow").unwrap_err().raw_os_error(), Some(22));
    assert!(!is_empty());
    fs::write(&cache, "drop\n").unwrap();
    assert!(is_empty(), "{}", fs::read_to_string(&cache).unwrap());
}

#[test]
fn the_log_has_messages_up_to_its_level() {
    let folder = arrays();
    let source = folder.path().join("arrays/dense");
    let log = folder.path().join("log");
    for (level, expected) in [
        ("warn", [false; 3]),
        ("info", [true, true, false]),
        ("debug", [true; 3]),
    ] {
        let options = ["--log-file", log.to_str().unwrap(), "--log-level", level];
        let mut mounted = Mounted::new(&source, &folder.path().join("mnt"), &options);
        fs::metadata(mounted.path("slices/500,0.bin")).unwrap_err();
        mounted.signal("TERM");
        assert_eq!(mounted.end(), 0);
        let text = fs::read_to_string(&log).unwrap();
        let has = |part: &str| text.lines().any(|l| l.contains(part));
        let failure = "Z DEBUG \"slices/500,0.bin\": ENOENT: ";
        assert_eq!(
            [has("Z INFO mounted /"), has("after a signal"), has(failure)],
            expected,
            "{level}\n{text}"
        );
        fs::remove_file(&log).unwrap();
    }
}

#[test]
fn options_bound_the_cache_and_the_listed_files() {
    let folder = arrays();
    let source = folder.path().join("arrays/dense");
    let options = ["--cache-size", "32MiB", "--list-max", "1KiB"];
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &options);
    let cache = fs::read_to_string(mounted.path(".hyperslab/cache")).unwrap();
    assert!(cache.contains(&(16_u64 << 20).to_string()), "{cache}");
    let listed: Vec<_> = fs::read_dir(mounted.path("slices"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(listed, ["README.md"]);
}
