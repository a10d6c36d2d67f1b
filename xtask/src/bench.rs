//! The benchmarks.

use crate::npm;
use crate::run::{self, Outcome, cargo, command, target};
use crate::setup;

/// The command `bench`: Hyperslab and its rivals on the same data, and `BENCHMARKS.md` from what was
/// measured. Arguments are handed on: `--scale 0.1` makes it small, `--engine-only` leaves the rivals
/// out, `--only dense-load,open` picks workloads and leaves what the report says of others,
/// `--data FOLDER` says where inputs and arrays are kept.
///
/// # Errors
/// Something could not be built, set up or run.
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
