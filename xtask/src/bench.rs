//! Runs the benchmarks.

use crate::npm;
use crate::run::{self, Outcome, cargo, command, target};
use crate::setup;

/// The command `bench`: runs Hyperslab and its rivals on the same data, and updates `BENCHMARKS.md`. Arguments are
/// passed on:
///
/// - `--scale 0.1` shrinks the data.
/// - `--engine-only` skips the rivals.
/// - `--only dense-load,open` selects workloads and keeps the other results in the report.
/// - `--data FOLDER` sets the folder of inputs and arrays.
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
    if !args.iter().any(|a| a == "--report") {
        c.args(["--report", "BENCHMARKS.md"]);
    }
    run::run(c.args(args))
}
