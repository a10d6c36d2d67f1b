//! A mount that outlives the terminal it was made in.
//!
//! The program is started anew rather than forked: it has threads by the time it could fork, and what
//! it prints until its files can be read is passed on as it is.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

/// What the program started anew is told.
pub const DETACHED: &str = "--detached";

/// Starts this program anew with the same arguments, and comes back once its files can be read, with
/// what it says then; `None` if it has ended before that, and has said why.
///
/// # Errors
/// It cannot be started.
pub fn start() -> Result<Option<String>> {
    let program = std::env::current_exe().context("cannot find this program to start it anew")?;
    let mut child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .arg(DETACHED)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start this program anew")?;
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

/// Leaves the terminal: what is typed there, and its end, are for others.
///
/// # Errors
/// The system's.
pub fn leave_terminal() -> Result<()> {
    rustix::process::setsid().context("cannot leave the terminal")?;
    Ok(())
}

/// Lets go of the outputs, so that whoever waits for their end goes on. What is told from here on goes to `log`.
///
/// # Errors
/// The system's.
pub fn close_outputs(log: Option<&File>) -> Result<()> {
    let nothing = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(log.unwrap_or(&nothing))?;
    Ok(())
}
