//! Runs the benchmarks.

use crate::npm;
use crate::run::{self, Outcome, cargo, command, root, target};
use crate::setup::{self, Need};

/// The command `bench`: runs Hyperslab and its rivals on the same data, writes the results to `bench/results` and
/// prints the table of ratios for `BENCHMARKS.md`, which is written by hand. Arguments are passed on:
///
/// - `--scale 0.1` shrinks the data.
/// - `--engine-only` skips the rivals.
/// - `--only dense-load,open` selects workloads and keeps the results of the others.
/// - `--data FOLDER` sets the folder of inputs and arrays.
/// - `--results FOLDER` sets the folder of results.
///
/// `bench browser` instead compares the npm package with other libraries in Chromium; see `bench/browser/run.mjs` for
/// its options.
///
/// # Errors
/// If something cannot be built, set up or run.
pub(crate) fn run(args: &[String]) -> Outcome {
    if let Some((first, rest)) = args.split_first()
        && first == "browser"
    {
        return browser(rest);
    }
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

/// Reads the same cells with the npm package and with other libraries in a browser. Writes `bench/results/browser.csv`,
/// `browser.md` and its plots.
fn browser(args: &[String]) -> Outcome {
    if let Some((need, why)) = setup::all(&[Need::Browser, Need::Wasm, Need::Node]).into_iter().next() {
        return Err(format!("{need:?} is missing: {why}"));
    }
    let folder = root().join("bench/browser");
    setup::node_packages(&folder)?;
    let python = setup::browser_bench_python()?;
    npm::build(npm::Engines::All)?;
    let (data, results) = (target().join("bench-browser"), root().join("bench/results"));
    let script = |program: &str, name: &str| {
        let mut c = command(program);
        c.arg(folder.join(name));
        c
    };
    run::run(script(&python.to_string_lossy(), "data.py").arg(&data))?;
    let csv = results.join("browser.csv");
    run::run(script("node", "run.mjs").arg(&data).arg(&csv).args(args))?;
    run::run(script("node", "report.mjs").arg(&csv).arg(&results))
}
