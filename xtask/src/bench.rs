//! Runs the benchmarks.

use crate::npm;
use crate::run::{self, Outcome, cargo, command, target};
use crate::setup;

/// The command `bench`: runs Hyperslab and its rivals on the same data, writes the results to `bench/results` and
/// prints the table of ratios for `BENCHMARKS.md`, which is written by hand. Arguments are passed on:
///
/// - `--scale 0.1` shrinks the data.
/// - `--engine-only` skips the rivals.
/// - `--only dense-load,open` selects workloads and keeps the results of the others.
/// - `--data FOLDER` sets the folder of inputs and arrays.
/// - `--results FOLDER` sets the folder of results.
///
/// # Errors
/// If something cannot be built, set up or run.
pub(crate) fn run(args: &[String]) -> Outcome {
    run::run(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "hyperslab-tests",
        "--bin",
        "engine_bench",
    ]))?;
    npm::run()?;
    let python = setup::bench_python()?;
    let mut c = command(&python.to_string_lossy());
    c.arg("tests/bench/run.py")
        .arg("--engine")
        .arg(target().join("release/engine_bench"));
    if !args.iter().any(|a| a == "--data") {
        c.arg("--data").arg(target().join("bench"));
    }
    if !args.iter().any(|a| a == "--results") {
        c.args(["--results", "bench/results"]);
    }
    run::run(c.args(args))
}
