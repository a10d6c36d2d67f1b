//! Messages to standard error and to the log file.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use hyperslab::Datatype;
use hyperslab::internals::{calendar, printable};
use hyperslab::vfs;
use log::{Level, LevelFilter};

use crate::errno::FsError;
use crate::filesystem::now_ms;

/// Starts the log of messages up to `level`, on standard error. Of other crates, it has errors only: fuser warns
/// of each request that programs only try, such as `ioctl`.
pub fn start(level: LevelFilter) {
    let mut log = env_logger::Builder::new();
    log.filter_level(LevelFilter::Error);
    log.filter_module("hyperslab_fuse", level);
    log.format(|out, record| writeln!(out, "{}", line(now_ms(), record.level(), &record.args().to_string())));
    // Fails only if it was started before.
    let _ = log.try_init();
}

/// A line of the log: time, level and message, without secrets and control characters.
fn line(now_ms: u64, level: Level, message: &str) -> String {
    let time = calendar::format(i64::try_from(now_ms).unwrap_or(i64::MAX), Datatype::DatetimeMs);
    let message = vfs::redact(message);
    format!("{time}Z {level} {}", printable(&message, &[]))
}

/// Opens the log file.
///
/// # Errors
/// The file cannot be created or written.
pub fn open(file: &Path) -> Result<File> {
    let opened = File::options().append(true).create(true).open(file);
    opened.with_context(|| format!("cannot append to the log file {}", file.display()))
}

/// Prints lines on standard error, with colours on a terminal. A failed write cannot be reported.
pub fn print(lines: &str) {
    let _ = writeln!(anstream::stderr(), "{lines}");
}

/// Reports data that cannot be read or written.
pub fn report(path: &str, refusal: &FsError) {
    let verb = match refusal {
        FsError::Refused(_) => "write",
        _ => "read",
    };
    log::error!("cannot {verb} {path:?}: {refusal}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_time_and_no_secrets() {
        let message = "cannot read s3://user:secret@bucket/a?X-Amz-Signature=secret\nx\u{1b}";
        let line = line(1_700_000_000_123, Level::Error, message);
        assert!(
            line.starts_with("2023-11-14T22:13:20.123Z ERROR cannot read s3://"),
            "{line}"
        );
        assert!(
            !line.contains("secret") && !line.contains('\n') && !line.contains('\u{1b}'),
            "{line}"
        );
    }
}
