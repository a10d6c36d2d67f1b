//! `cargo xtask test`: runs every check in turn, with its time and the test runners' summaries.

use std::time::Instant;

use crate::run::{self, Outcome, command, is_ci, quiet};
use crate::setup::{self, Need, python};
use crate::steps::{STEPS, Step};

/// Whether a test runner sums up its results in this line.
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
    /// Like `Missing`, but CI may lack these tools.
    Absent(String),
}

/// The command `test`: all steps, the steps named, or some tests of one step.
///
/// # Errors
/// A check failed, or (under `CI=true`) could not be run.
pub(crate) fn run(words: &[String]) -> Outcome {
    let (steps, filter) = chosen(words)?;
    let started = Instant::now();
    let needs: Vec<Need> = setup::ALL
        .into_iter()
        .filter(|n| steps.iter().any(|s| s.needs.contains(n)))
        .collect();
    let missing = setup::all(&needs);
    let setup_seconds = started.elapsed().as_secs_f64();

    let mut rows = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let lacks: Vec<_> = missing.iter().filter(|(n, _)| step.needs.contains(n)).collect();
        let began = Instant::now();
        let (verdict, lines) = if lacks.is_empty() {
            println!(
                "\n== {} ({} of {}, {} since the start) ==",
                step.name,
                i + 1,
                steps.len(),
                run::elapsed(started)
            );
            perform(step, filter)
        } else {
            let why = lacks
                .iter()
                .map(|(n, why)| format!("{n:?}: {why}"))
                .collect::<Vec<_>>()
                .join("; ");
            let optional = lacks.iter().all(|(n, _)| n.is_optional());
            let verdict = if optional {
                Verdict::Absent(why)
            } else {
                Verdict::Missing(why)
            };
            (verdict, Vec::new())
        };
        rows.push((step.name, began.elapsed().as_secs_f64(), verdict, lines));
    }

    println!("\n== summaries of the test runners ==");
    for (name, _, _, lines) in &rows {
        lines.iter().for_each(|l| println!("{name:8} {}", l.trim_start()));
    }
    println!("\n{:10} {:>8}  result", "step", "seconds");
    let set_up = match missing.len() {
        0 => "ok".into(),
        n => format!("{n} missing"),
    };
    println!("{:10} {setup_seconds:8.1}  {set_up}", "set-up");
    for (name, seconds, verdict, _) in &rows {
        let text = match verdict {
            Verdict::Passed => "ok".into(),
            Verdict::Failed(why) => format!("FAILED: {why}"),
            Verdict::Missing(why) | Verdict::Absent(why) => format!("NOT RUN, missing {why}"),
        };
        println!("{name:10} {seconds:8.1}  {text}");
    }
    println!("{:10} {:8.1}", "all", started.elapsed().as_secs_f64());
    for (name, ..) in rows.iter().filter(|r| matches!(r.2, Verdict::Failed(_))) {
        let filter = filter.map(|f| format!(" {f}")).unwrap_or_default();
        println!("run it again: cargo xtask test {name}{filter}");
    }
    verdict(&rows.iter().map(|r| &r.2).collect::<Vec<_>>())
}

/// The steps to run, and the filter of their tests: `[STEP …]` or `STEP FILTER`.
fn chosen(words: &[String]) -> Outcome<(Vec<&'static Step>, Option<&str>)> {
    let find = |word: &str| STEPS.iter().find(|s| s.name == word);
    let (steps, rest): (Vec<_>, Vec<_>) = words.iter().map(|w| (find(w), w)).partition(|(s, _)| s.is_some());
    let steps: Vec<_> = steps.into_iter().filter_map(|(s, _)| s).collect();
    match (&steps[..], &rest[..]) {
        ([], []) => Ok((STEPS.iter().collect(), None)),
        (_, []) => Ok((steps, None)),
        ([step], [(_, filter)]) if step.filters => Ok((steps, Some(filter))),
        ([step], [(_, filter)]) => Err(format!(
            "the step {} has no named tests that '{filter}' could choose from; run `cargo xtask test {}`",
            step.name, step.name
        )),
        _ => Err(format!(
            "usage: cargo xtask test [STEP …] or cargo xtask test STEP FILTER; the steps are {}",
            STEPS.iter().map(|s| s.name).collect::<Vec<_>>().join(", ")
        )),
    }
}

fn perform(step: &Step, filter: Option<&str>) -> (Verdict, Vec<String>) {
    let mut lines = Vec::new();
    for mut c in (step.commands)(filter) {
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
    let absent = verdicts.iter().filter(|v| matches!(v, Verdict::Absent(_))).count();
    if absent > 0 {
        eprintln!("{absent} steps were NOT RUN because this machine cannot install their browsers (named above)");
    }
    match (failed, missing) {
        (0, 0) => Ok(()),
        (0, n) if !is_ci() => {
            eprintln!("{n} steps were NOT RUN because of missing tools (named above); under CI=true this is a failure");
            Ok(())
        }
        (f, m) => Err(format!("{f} steps failed, {m} could not be run")),
    }
}

/// The command `golden`: generates the sample arrays of old library versions again.
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
