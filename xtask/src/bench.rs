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
/// its options. `bench mount MIB` compares reads through a mount with other ways to the same cells. `bench formats SCALE`
/// compares imports and exports with other libraries.
///
/// # Errors
/// If something cannot be built, set up or run.
pub(crate) fn run(args: &[String]) -> Outcome {
    match args.split_first() {
        Some((first, rest)) if first == "browser" => return browser(rest),
        Some((first, rest)) if first == "mount" => return mount(rest),
        Some((first, rest)) if first == "formats" => return formats(rest),
        _ => {}
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

/// Reads the same cells through a mount and in other ways. Writes `bench/results/mount.csv`.
fn mount(args: &[String]) -> Outcome {
    let packages = ["--package", "hyperslab-fuse", "--package", "hyperslab-cli"];
    let build = [&["build", "--release", "--no-default-features"][..], &packages[..]].concat();
    run::run(&mut cargo(&build))?;
    let python = setup::bench_python()?;
    let mut c = command(&python.to_string_lossy());
    c.arg("bench/mount/speed.py");
    c.args(["fuse-mount", "hyperslab"].map(|name| target().join("release").join(name)));
    c.args([target().join("bench-mount"), root().join("bench/results/mount.csv")]);
    run::run(c.args(args))
}

/// Imports and exports the same data with Hyperslab and other libraries. Writes `bench/results/formats.csv`.
fn formats(args: &[String]) -> Outcome {
    run::run(&mut cargo(&["build", "--release", "--package", "hyperslab-cli"]))?;
    let python = setup::venv("bench-formats-python", "bench/formats/requirements.txt")?;
    let mut c = command(&python.to_string_lossy());
    c.arg("bench/formats/speed.py").arg(target().join("release/hyperslab"));
    c.args([target().join("bench-formats"), root().join("bench/results/formats.csv")]);
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
