//! Completions for shells, and pages for `man`.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;

/// Prints a script with which a shell completes arguments.
///
/// # Errors
/// Standard output is closed.
pub fn completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fuse-mount", &mut script);
    let printed = std::io::stdout().lock().write_all(&script);
    printed.context("cannot write to standard output")
}

/// Writes the man page into a folder.
///
/// # Errors
/// The file cannot be written.
pub fn man(folder: &Path) -> Result<()> {
    let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.with_context(|| format!("cannot write a man page to {}", folder.display()))
}
