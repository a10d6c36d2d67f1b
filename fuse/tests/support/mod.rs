//! Mounts for tests of the program.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test uses a part, and reports the line of a failure"
)]

pub mod files;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A running mount, which is unmounted on drop.
pub struct Mounted {
    pub program: Child,
    pub place: PathBuf,
}

impl Mounted {
    pub fn new(source: &Path, place: &Path, options: &[&str]) -> Self {
        std::fs::create_dir_all(place).unwrap();
        let mut c = Command::new(env!("CARGO_BIN_EXE_fuse-mount"));
        let mut program = c
            .arg(source)
            .arg(place)
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(program.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.starts_with("READY: mounted "), "{line}");
        Self {
            program,
            place: place.to_owned(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    pub fn signal(&mut self, name: &str) {
        succeed(
            Command::new("kill")
                .arg(format!("-{name}"))
                .arg(self.program.id().to_string()),
        );
    }

    /// Waits for the program to end and returns its exit code.
    pub fn end(&mut self) -> i32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.program.try_wait().unwrap() {
                return status.code().unwrap();
            }
            assert!(start.elapsed() < Duration::from_secs(60), "the program does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.program.try_wait().is_ok_and(|s| s.is_none()) {
            self.signal("TERM");
            self.end();
        }
    }
}

pub fn is_mounted(place: &Path) -> bool {
    let place = place.canonicalize().unwrap();
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.lines().any(|l| l.split(' ').nth(4) == place.to_str())
}

pub fn succeed(c: &mut Command) -> Output {
    let output = c.output().unwrap();
    assert!(
        output.status.success(),
        "{c:?}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

pub fn python() -> PathBuf {
    if let Some(python) = std::env::var_os("HYPERSLAB_PYTHON") {
        return python.into();
    }
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/oracle/bin/python");
    if ours.exists() { ours } else { "python3".into() }
}

pub fn oracle(args: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mount.py");
    succeed(Command::new(python()).arg(script).args(args));
}

/// Creates arrays with libtiledb.
pub fn arrays() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("arrays")).unwrap();
    oracle(&["write", folder.path().join("arrays").to_str().unwrap()]);
    folder
}

/// Unmounts with the system's tools.
pub fn unmount(place: &Path) {
    let mut off = Command::new("umount");
    if !is_root() {
        off = Command::new("fusermount3");
        off.arg("-u");
    }
    succeed(off.arg(place));
}

pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}
