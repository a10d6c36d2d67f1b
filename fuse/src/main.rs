//! `fuse-mount SOURCE MOUNTPOINT`: mounts an array or a folder of arrays.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use hyperslab::internals::Report;
use hyperslab_fuse::args::Args;
use hyperslab_fuse::{background, log, serve};

fn main() -> ExitCode {
    let outcome = Args::parse().with_options().and_then(|args| {
        if args.background && !args.detached {
            background::start().map(|ready| ready.map(|line| drop(writeln!(std::io::stdout(), "{line}"))))
        } else {
            serve::run(&args).map(Some)
        }
    });
    match outcome {
        Ok(Some(())) => ExitCode::SUCCESS,
        // The background process has printed the reason.
        Ok(None) => ExitCode::FAILURE,
        Err(e) => {
            log::print(&Report::new(e.as_ref()).coloured());
            ExitCode::FAILURE
        }
    }
}
