//! `fuse-mount SOURCE MOUNTPOINT`: mounts an array or a folder of arrays.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use hyperslab::internals::Report;
use hyperslab_fuse::args::{self, Command};
use hyperslab_fuse::{background, logging, manual, serve, unmount};

fn main() -> ExitCode {
    match args::read().and_then(run) {
        Ok(code) => code,
        Err(e) => {
            logging::print(&Report::new(e.as_ref()).coloured());
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Mount(args) if args.background && !args.detached => {
            let Some(line) = background::start(&args.words)? else {
                // The background process has printed the reason.
                return Ok(ExitCode::FAILURE);
            };
            // The mount works even if standard output is closed.
            let _ = writeln!(std::io::stdout(), "{line}");
        }
        Command::Mount(args) => serve::run(&args)?,
        Command::Unmount { place, lazy } => unmount::unmount(&place, lazy)?,
        Command::Completions(shell) => manual::completions(shell)?,
        Command::Man(folder) => manual::man(&folder)?,
        Command::Nothing => {}
    }
    Ok(ExitCode::SUCCESS)
}
