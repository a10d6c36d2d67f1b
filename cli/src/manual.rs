//! `completions` and `man`: what shells and `man` know about the program.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;

/// Prints a script with which a shell completes arguments.
pub(crate) fn completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "hyperslab", &mut script);
    let printed = io::stdout().lock().write_all(&script);
    printed.context("cannot write to standard output")
}

/// Writes a page for each command into a folder.
pub(crate) fn man(folder: &Path) -> Result<()> {
    let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.with_context(|| format!("cannot write man pages to {}", folder.display()))
}
