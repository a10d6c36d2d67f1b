//! Runs a mount in the background.
//!
//! The program re-executes itself instead of forking, because it may have threads by then. The first process passes on
//! the output until the mount is ready.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

/// The argument that marks the re-executed background process.
pub const DETACHED: &str = "--detached";

/// Re-executes this program with the arguments `words`, waits until the mount is ready, and returns its first line of
/// output. Returns `None` if the background process ended with an error, which it has printed.
///
/// # Errors
/// The process cannot be started.
pub fn start(words: &[OsString]) -> Result<Option<String>> {
    let program =
        std::env::current_exe().context("cannot find the path of this program to run it in the background")?;
    let mut child = Command::new(program)
        .arg(DETACHED)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the background process")?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    if line.is_empty() {
        child.wait()?;
        return Ok(None);
    }
    Ok(Some(line.trim_end().to_owned()))
}

/// Detaches from the terminal, so that its signals and its end do not affect this process.
///
/// # Errors
/// The error of the system call.
pub fn leave_terminal() -> Result<()> {
    rustix::process::setsid().context("cannot detach from the terminal")?;
    Ok(())
}

/// Closes standard output and error, so that a program waiting for their end continues. Later errors go to `log`.
///
/// # Errors
/// The error of the system call.
pub fn close_outputs(log: Option<&File>) -> Result<()> {
    let nothing = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(log.unwrap_or(&nothing))?;
    Ok(())
}
