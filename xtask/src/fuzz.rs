//! Runs libFuzzer on every decoder and every filter.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::run::{self, Outcome, cargo, root, target};

/// Enables libFuzzer's coverage counters on the stable compiler.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares";
/// With an explicit target, cargo builds build scripts and macros without the counters.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// The command `fuzz SECONDS [NAME…]`: runs each target for this long, one per core at a time. Findings are in
/// `target/fuzz/found`, libFuzzer's logs in `target/fuzz/log`. If a target fails, the others still run.
///
/// # Errors
/// If the build or a target fails.
pub(crate) fn run(args: &[String]) -> Outcome {
    let usage = || "usage: cargo xtask fuzz SECONDS [NAME…]".to_owned();
    let (seconds, names) = args.split_first().ok_or_else(usage)?;
    let seconds: u32 = seconds.parse().map_err(|_| usage())?;
    let folder = target().join("fuzz");
    let mut build = cargo(&["build", "--release", "--target", TRIPLE, "--target-dir"]);
    build.arg(&folder).current_dir(root().join("tests/fuzz"));
    run::run(build.env("RUSTFLAGS", COVERAGE))?;
    let program = folder.join(TRIPLE).join("release/hyperslab-fuzz");
    let known = run::quiet(Command::new(&program).env("FUZZ_SEEDS", folder.join("seeds")))?;
    let wanted = known
        .lines()
        .filter(|n| names.is_empty() || names.iter().any(|w| n.starts_with(w.as_str())));
    let (waiting, failed) = (Mutex::new(wanted), Mutex::new(Vec::new()));
    let next = || waiting.lock().ok()?.next();
    let work = || {
        while let Some(name) = next() {
            match one(&program, &folder, name, seconds) {
                Ok(done) => println!("{name}: {done}"),
                Err(why) => {
                    println!("{name}: FAILED, {why}");
                    if let Ok(mut failed) = failed.lock() {
                        failed.push(name);
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().map_err(|_| "a thread panicked".to_owned())?;
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("{}; see {}", failed.join(", "), folder.join("found").display()))
    }
}

/// Fuzzes one target. Returns libFuzzer's number of runs.
///
/// # Errors
/// If an input fails or libFuzzer cannot be started.
fn one(program: &Path, folder: &Path, name: &str, seconds: u32) -> Outcome<String> {
    let made = |kind: &str| {
        let place = folder.join(kind).join(name);
        std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        Ok::<_, String>(place)
    };
    let (corpus, found, log) = (made("corpus")?, made("found")?, made("log")?.join("log.txt"));
    let said = std::fs::File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let mut c = Command::new(program);
    c.env("FUZZ_TARGET", name)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", found.display()))
        .args(["-rss_limit_mb=2048", "-timeout=10", "-max_len=8192"])
        .arg(corpus)
        .arg(folder.join("seeds").join(name))
        .stdout(Stdio::null())
        .stderr(said);
    run::run(&mut c).map_err(|_| format!("see {}", log.display()))?;
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    Ok(said.lines().rfind(|l| l.starts_with("Done ")).unwrap_or("").to_owned())
}
