//! Runs the program as its users do, and checks files, output and exit codes.
#![allow(clippy::unwrap_used, reason = "a failing test should say where it fails")]

mod appending;
mod asking;
mod by_value;
mod copying;
mod deleting;
mod dictionaries;
mod downloading;
mod facts;
mod failing;
mod formats;
mod hostile;
mod importing;
mod large;
mod looking;
mod messages;
mod netcdf;
mod overviews;
mod parquet;
mod preview;
mod publishing;
mod remote;
mod serving;
mod signals;
mod snapshots;
mod tables;
mod time;
mod tokens;
mod viewing;
mod volumes;
mod warnings;
mod zarr;
#[cfg(feature = "formats")]
mod zarr_images;
mod zarr_text;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A temporary folder in which a test runs the program.
struct Shell {
    dir: tempfile::TempDir,
}

impl Shell {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Writes a file that only its owner may read.
    fn secret(&self, name: &str, bytes: impl AsRef<[u8]>) {
        self.file(name, bytes);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The program with these arguments; `'...'` groups words.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyperslab"));
        command.current_dir(self.dir.path()).args(words(line));
        command
    }

    /// Runs the program with `input` on standard input.
    fn run(&self, line: &str, input: &[u8]) -> Output {
        let mut child = self
            .command(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeding = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        feeding.join().unwrap();
        output
    }

    /// Standard output of a run that must succeed.
    #[track_caller]
    fn ok(&self, line: &str) -> String {
        String::from_utf8(self.pipe(line, b"")).unwrap()
    }

    /// The same, as bytes, with input.
    #[track_caller]
    fn pipe(&self, line: &str, input: &[u8]) -> Vec<u8> {
        let output = self.run(line, input);
        assert!(
            output.status.success(),
            "hyperslab {line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(
            output.stderr.is_empty(),
            "hyperslab {line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    /// The schema of an array.
    #[track_caller]
    fn schema(&self, array: &str) -> serde_json::Value {
        serde_json::from_str(&self.ok(&format!("schema {array}"))).unwrap()
    }

    /// Exit code and standard error of a run that must fail, with each error in one line.
    #[track_caller]
    fn fails(&self, line: &str) -> (i32, String) {
        let output = self.run(line, b"");
        assert!(!output.status.success(), "hyperslab {line} succeeds");
        assert!(
            output.stdout.is_empty(),
            "hyperslab {line} prints {}",
            String::from_utf8_lossy(&output.stdout)
        );
        (output.status.code().unwrap(), in_lines(&output.stderr))
    }
}

/// The text of standard error, with the three lines of each error joined to `error: what: why; what to try`.
fn in_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8(stderr.to_vec()).unwrap();
    text.replace("\n  why: ", ": ").replace("\n  try: ", "; ")
}

fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (i, part) in line.split('\'').enumerate() {
        if i % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// An `.npy` file of version 1.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(data);
    bytes
}

/// The values of an `.npy` file.
fn values(npy: &[u8]) -> &[u8] {
    &npy[10 + usize::from(u16::from_le_bytes([npy[8], npy[9]]))..]
}

fn int16s(n: i16) -> Vec<u8> {
    (0..n).flat_map(i16::to_le_bytes).collect()
}
