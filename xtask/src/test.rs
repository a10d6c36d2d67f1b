//! `cargo xtask test`: runs every check in turn, with its time and the test runners' summaries.

use std::process::Command;
use std::time::Instant;

use crate::demo;
use crate::run::{self, Outcome, cargo, command, is_ci, quiet, root};
use crate::setup::{self, Need, python};

/// A check: its name, its requirements, and the commands to run in turn.
struct Step {
    name: &'static str,
    needs: &'static [Need],
    commands: fn() -> Vec<Command>,
}

const STEPS: &[Step] = &[
    Step {
        name: "format",
        needs: &[],
        commands: || vec![cargo(&["fmt", "--all", "--check"])],
    },
    Step {
        name: "lint",
        needs: &[],
        commands: lint,
    },
    Step {
        name: "unit",
        needs: &[Need::Fuse, Need::Oracle],
        commands: unit,
    },
    Step {
        name: "tidy",
        needs: &[],
        commands: || vec![integration(&["--test", "tidy", "--test", "docs"])],
    },
    Step {
        name: "golden",
        needs: &[],
        commands: || vec![integration(&["--test", "golden"])],
    },
    Step {
        name: "interop",
        needs: &[Need::Oracle],
        commands: interop,
    },
    Step {
        name: "promises",
        needs: &[Need::Oracle],
        commands: promises,
    },
    Step {
        name: "azure",
        needs: &[Need::Oracle, Need::Azurite],
        commands: azure,
    },
    Step {
        name: "wasm",
        needs: &[Need::Wasm, Need::Browser, Need::WasmBindgen],
        commands: wasm,
    },
    Step {
        name: "npm",
        needs: &[Need::Wasm, Need::Node, Need::Browser, Need::WasmBindgen],
        commands: npm,
    },
    Step {
        name: "viewer",
        needs: &[Need::Wasm, Need::Node, Need::Browser, Need::WasmBindgen],
        commands: viewer,
    },
];

fn lint() -> Vec<Command> {
    let native = [
        "clippy",
        "--workspace",
        "--exclude",
        "hyperslab-wasm",
        "--all-targets",
        "--all-features",
        "--quiet",
    ];
    let mut c = cargo(&native);
    c.args(["--", "-D", "warnings"]);
    vec![c]
}

fn unit() -> Vec<Command> {
    let most = [
        "test",
        "--workspace",
        "--exclude",
        "hyperslab-wasm",
        "--exclude",
        "hyperslab-tests",
        "--all-features",
    ];
    vec![cargo(&most)]
}

/// Runs some of the tests package's tests, built with the same features as `unit`.
fn integration(args: &[&str]) -> Command {
    let mut c = cargo(&["test", "--package", "hyperslab-tests"]);
    c.args(args);
    c
}

fn interop() -> Vec<Command> {
    vec![integration(&[
        "--test",
        "interop_read",
        "--test",
        "interop_write",
        "--",
        "--nocapture",
    ])]
}

fn promises() -> Vec<Command> {
    vec![integration(&[
        "--test",
        "fuzz",
        "--test",
        "promises",
        "--test",
        "stores",
        "--",
        "--nocapture",
        "--skip",
        "azure::",
    ])]
}

/// The remaining store tests, which need the same as the promises.
fn azure() -> Vec<Command> {
    vec![integration(&["--test", "stores", "--", "--nocapture", "azure::"])]
}

fn wasm() -> Vec<Command> {
    let mut c = cargo(&[
        "test",
        "--package",
        "hyperslab-wasm",
        "--target",
        "wasm32-unknown-unknown",
    ]);
    c.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "wasm-bindgen-test-runner");
    vec![c]
}

fn npm() -> Vec<Command> {
    ["build", "test"]
        .map(|script| {
            let mut c = command("npm");
            c.args(["run", script]).current_dir(root().join("wasm/npm"));
            c
        })
        .into()
}

fn viewer() -> Vec<Command> {
    let mut prepare = command(&std::env::current_exe().unwrap_or_default().to_string_lossy());
    prepare.args(["demo", "prepare"]);
    let mut e2e = command("node");
    e2e.args(["--test", "web-demo/e2e/"])
        .env("SITE_DIR", demo::site())
        .env("HYPERSLAB", demo::program("hyperslab"));
    vec![prepare, e2e]
}

/// The summary lines of test runners.
fn is_summary(line: &str) -> bool {
    let line = line.trim_start();
    let starts = [
        "test result:",
        "# tests ",
        "# pass ",
        "# fail ",
        "matrix:",
        "golden:",
        "e2e:",
        "fuzz:",
        "kills:",
        "together:",
        "sequences:",
        "copies:",
        "memory:",
        "buckets:",
        "azure:",
        "ℹ tests",
        "ℹ pass",
        "ℹ fail",
    ];
    starts.iter().any(|s| line.starts_with(s))
}

enum Verdict {
    Passed,
    Failed(String),
    Missing(String),
}

/// The command `test`: runs all checks, or the named ones.
///
/// # Errors
/// If a check fails or, with `CI=true`, cannot be run.
pub(crate) fn run(names: &[String]) -> Outcome {
    if let Some(unknown) = names.iter().find(|n| STEPS.iter().all(|s| s.name != n.as_str())) {
        let known: Vec<_> = STEPS.iter().map(|s| s.name).collect();
        return Err(format!(
            "no step is called '{unknown}'; the steps are {}",
            known.join(", ")
        ));
    }
    let steps: Vec<&Step> = STEPS
        .iter()
        .filter(|s| names.is_empty() || names.iter().any(|n| n == s.name))
        .collect();
    let started = Instant::now();
    let needs: Vec<Need> = setup::ALL
        .into_iter()
        .filter(|n| steps.iter().any(|s| s.needs.contains(n)))
        .collect();
    let missing = setup::all(&needs);
    let setup_seconds = started.elapsed().as_secs_f64();

    let mut rows = Vec::new();
    for step in steps {
        let lacks: Vec<_> = missing.iter().filter(|(n, _)| step.needs.contains(n)).collect();
        let began = Instant::now();
        let (verdict, lines) = if lacks.is_empty() {
            println!("\n== {} ==", step.name);
            perform(step)
        } else {
            let why = lacks
                .iter()
                .map(|(n, why)| format!("{n:?}: {why}"))
                .collect::<Vec<_>>()
                .join("; ");
            (Verdict::Missing(why), Vec::new())
        };
        rows.push((step.name, began.elapsed().as_secs_f64(), verdict, lines));
    }

    println!("\n== what the runners said ==");
    for (name, _, _, lines) in &rows {
        lines.iter().for_each(|l| println!("{name:8} {}", l.trim_start()));
    }
    println!("\n{:10} {:>8}  result", "step", "seconds");
    println!(
        "{:10} {setup_seconds:8.1}  {}",
        "set-up",
        if missing.is_empty() {
            "ok".into()
        } else {
            format!("{} missing", missing.len())
        }
    );
    for (name, seconds, verdict, _) in &rows {
        let text = match verdict {
            Verdict::Passed => "ok".into(),
            Verdict::Failed(why) => format!("FAILED: {why}"),
            Verdict::Missing(why) => format!("NOT RUN, missing {why}"),
        };
        println!("{name:10} {seconds:8.1}  {text}");
    }
    println!("{:10} {:8.1}", "all", started.elapsed().as_secs_f64());
    verdict(&rows.iter().map(|r| &r.2).collect::<Vec<_>>())
}

fn perform(step: &Step) -> (Verdict, Vec<String>) {
    let mut lines = Vec::new();
    for mut c in (step.commands)() {
        let (outcome, kept) = run::watch(&mut c, is_summary);
        lines.extend(kept);
        if let Err(why) = outcome {
            return (Verdict::Failed(why), lines);
        }
    }
    (Verdict::Passed, lines)
}

fn verdict(verdicts: &[&Verdict]) -> Outcome {
    let failed = verdicts.iter().filter(|v| matches!(v, Verdict::Failed(_))).count();
    let missing = verdicts.iter().filter(|v| matches!(v, Verdict::Missing(_))).count();
    match (failed, missing) {
        (0, 0) => Ok(()),
        (0, n) if !is_ci() => {
            eprintln!("{n} steps were NOT RUN because tools are missing (named above); with CI=true this is a failure");
            Ok(())
        }
        (f, m) => Err(format!("{f} steps failed, {m} could not be run")),
    }
}

/// The command `golden`: recreates the sample arrays of old library versions.
///
/// # Errors
/// If a wheel cannot be downloaded or an old library fails.
pub(crate) fn golden() -> Outcome {
    if let Some((_, why)) = setup::all(&[Need::Oracle]).into_iter().next() {
        return Err(why);
    }
    let out = quiet(command(&python().to_string_lossy()).arg("tests/golden/make.py"))?;
    print!("{out}");
    Ok(())
}
