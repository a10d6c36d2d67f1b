//! Measures one workload on one array, and prints a line of JSON for each metric.
//!
//! `engine_bench WORKLOAD VARIANT ARRAY --data DATA [--runs N] [--warmup W] [--seconds S] [--threads T]
//! [--prepare COMMAND] [--limit]`
//!
//! Exit status 3 means that the workload or variant does not exist.

use std::process::ExitCode;

use hyperslab_tests::bench::{self, Job};

fn main() -> ExitCode {
    let done = Job::from_args(std::env::args().skip(1)).and_then(|job| bench::run(&job));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(3),
        Err(e) => {
            eprintln!("{e:#}");
            ExitCode::FAILURE
        }
    }
}
