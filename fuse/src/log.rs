//! Messages to standard error and to the log file.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use hyperslab::internals::printable;
use hyperslab::vfs;

use crate::errno::FsError;

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

/// Reports data that cannot be read.
pub fn report(path: &str, refusal: &FsError) {
    // A failed write to standard error cannot be reported.
    let message = format!("fuse-mount: cannot read {path:?}: {refusal}");
    let _ = writeln!(std::io::stderr(), "{}", printable(&vfs::redact(&message), &[]));
}
