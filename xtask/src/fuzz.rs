//! libFuzzer over every decoder and every filter.

use std::path::PathBuf;

use crate::run::{self, Outcome, cargo, root, target};

/// Coverage counters as libFuzzer reads them; they need no nightly compiler.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares";
/// With a target named, cargo leaves build scripts and macros without the counters.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// The command `fuzz SECONDS [NAME…]`: each target in turn, for so long. What is found lies below
/// `target/fuzz/found`, and every target is run whatever the others find.
///
/// # Errors
/// It cannot be built, or a target failed.
pub(crate) fn run(args: &[String]) -> Outcome {
    let usage = || "usage: cargo xtask fuzz SECONDS [NAME…]".to_owned();
    let (seconds, names) = args.split_first().ok_or_else(usage)?;
    let seconds: u32 = seconds.parse().map_err(|_| usage())?;
    let folder = target().join("fuzz");
    let mut build = cargo(&["build", "--release", "--target", TRIPLE, "--target-dir"]);
    build.arg(&folder).current_dir(root().join("tests/fuzz"));
    run::run(build.env("RUSTFLAGS", COVERAGE))?;
    let program = folder.join(TRIPLE).join("release/hyperslab-fuzz");
    let known = run::quiet(std::process::Command::new(&program).env("FUZZ_SEEDS", folder.join("seeds")))?;
    let wanted = known
        .lines()
        .filter(|n| names.is_empty() || names.iter().any(|w| n.starts_with(w.as_str())));
    let failed: Vec<&str> = wanted.filter(|name| !one(&program, &folder, name, seconds)).collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("{}; see {}", failed.join(", "), folder.join("found").display()))
    }
}

/// Fuzzes one target; gives whether nothing was found.
fn one(program: &std::path::Path, folder: &std::path::Path, name: &str, seconds: u32) -> bool {
    let made = |kind: &str| -> Option<PathBuf> {
        let place = folder.join(kind).join(name);
        std::fs::create_dir_all(&place).ok().map(|()| place)
    };
    let (Some(corpus), Some(found)) = (made("corpus"), made("found")) else {
        return false;
    };
    println!("== {name} ==");
    let mut c = std::process::Command::new(program);
    c.env("FUZZ_TARGET", name)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", found.display()))
        .args([
            "-rss_limit_mb=2048",
            "-timeout=10",
            "-print_final_stats=1",
            "-max_len=8192",
        ])
        .arg(corpus)
        .arg(folder.join("seeds").join(name));
    run::run(&mut c).is_ok()
}
