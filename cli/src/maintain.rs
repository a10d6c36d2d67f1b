//! `delete`, `consolidate` and `vacuum`.

use anyhow::{Context as _, Result};
use hyperslab::maintain::{self, ConsolidateOptions};
use hyperslab::vfs::redact;
use hyperslab::{Error, Window, WriteOptions};
use serde_json::json;

use crate::args::{Consolidate, Delete, Mode, Vacuum};
use crate::condition;
use crate::dry_run;
use crate::for_each_array::{Target, for_each_array};
use crate::progress::Progress;
use crate::sizes::{self, PROGRAM_BYTES};
use crate::store::{Env, seed};
use crate::{show, time_args};

/// The least memory for a merge, whatever the budget.
const MERGE_BYTES_MIN: u64 = 4 << 20;

fn now() -> Result<WriteOptions> {
    at_time(time_args::or_now(None)?)
}

fn at_time(timestamp_ms: u64) -> Result<WriteOptions> {
    Ok(WriteOptions {
        timestamp_ms,
        seed: seed()?,
        sync: true,
    })
}

/// Deletes cells by a condition, or counts them.
pub(crate) async fn delete(env: &Env, args: &Delete) -> Result<()> {
    let array = if args.dry_run {
        env.open(&args.array, Window::ALL).await?
    } else {
        env.open_to_write(&args.array, None).await?
    };
    let condition = condition::read(&args.condition, &array).await?;
    let failed = || format!("cannot delete from {}", args.array);
    let after = async |now| array.write_time(now).await;
    let timestamp_ms = if args.dry_run {
        time_args::planned(args.timestamp, after).await
    } else {
        time_args::of_change(args.timestamp, after).await
    };
    let options = at_time(timestamp_ms.with_context(failed)?)?;
    if !args.dry_run {
        let done = maintain::delete(&array, &condition, &options)
            .await
            .with_context(failed)?;
        if args.json {
            let done = json!({"array": redact(&args.array), "commit": done});
            return show::line(format_args!("{done:#}"));
        }
        return match done {
            Some(name) => show::line(name),
            None => show::line(format_args!(
                "{}: no cell can meet the condition; nothing was deleted",
                args.array
            )),
        };
    }
    let counts = maintain::count_deleted(&array, &condition, &options).await;
    let counts = counts.with_context(failed)?;
    if args.json {
        let all: u64 = counts.values().sum();
        let found = json!({"array": redact(&args.array), "dry_run": true, "fragments": counts, "cells": all});
        return show::line(format_args!("{found:#}"));
    }
    for (fragment, cells) in &counts {
        show::line(format_args!("{fragment}: {cells}"))?;
    }
    let all: u64 = counts.values().sum();
    show::line(format_args!("{}: {all} cells would be deleted", args.array))
}

/// Merges fragments, footers, commits or metadata.
pub(crate) async fn consolidate(env: &Env, args: &Consolidate) -> Result<()> {
    for_each_array(env, &args.array, async |target| {
        consolidate_one(env, target, args).await
    })
    .await
}

async fn consolidate_one(env: &Env, Target { url, prefix }: &Target, args: &Consolidate) -> Result<()> {
    let window = time_args::window(args.at)?;
    let array = if args.dry_run {
        env.open_at(&dry_run::place(url)?, window).await?
    } else {
        env.open_to_change(url, window, None).await?
    };
    let memory_bytes = args.memory.saturating_sub(PROGRAM_BYTES).max(MERGE_BYTES_MIN);
    let mut what = ConsolidateOptions::new(mode(args.mode));
    what.memory_bytes = memory_bytes;
    what.steps.amplification = args.amplification;
    if args.dry_run && args.mode == Mode::Fragments {
        let next = maintain::next_merge(&array, &what).await;
        let next = next.map_err(|e| with_program(e, memory_bytes));
        let next = next.with_context(|| format!("cannot consolidate {url}"))?;
        return planned(args, url, prefix, &next);
    }
    let progress = Progress::of_writes("consolidating", sizes::total(array.fragments().iter().map(|f| f.bytes)));
    let done = maintain::consolidate(&array, &what, &now()?).await;
    drop(progress);
    let done = done.map_err(|e| with_program(e, memory_bytes));
    let done = done.with_context(|| format!("cannot consolidate {url}"))?;
    if args.json {
        let mut json = json!({"array": redact(url), "written": done.written, "dropped": done.dropped});
        if args.dry_run {
            json["dry_run"] = true.into();
        }
        return show::line(format_args!("{json:#}"));
    }
    if done.written.is_empty() {
        // Without --at, only dense fragments whose boxes are far apart stay unmerged.
        let apart = array.schema().is_dense() && array.fragments().len() > 1 && args.at.is_none();
        let why = if apart && args.mode == Mode::Fragments {
            ": one box around all fragments would be mostly empty; allow N times the cells of their tiles with \
             --amplification N"
        } else {
            ""
        };
        show::line(format_args!("{url}: nothing to consolidate{why}"))?;
    }
    for name in &done.written {
        show::line(format_args!("{prefix}{name}"))?;
    }
    for name in &done.dropped {
        show::note(format_args!(
            "{url}: attribute '{name}' was dropped or has another type now, so the merged fragments do \
             not hold its earlier values; reads of earlier moments show its fill value"
        ));
    }
    Ok(())
}

/// Prints the fragments that would be merged first. Later merges depend on it.
fn planned(args: &Consolidate, url: &str, prefix: &str, next: &[String]) -> Result<()> {
    if args.json {
        let json = json!({"array": redact(url), "dry_run": true, "merge": next});
        return show::line(format_args!("{json:#}"));
    }
    if next.is_empty() {
        return show::line(format_args!("{}: nothing to consolidate", redact(url)));
    }
    for name in next {
        show::line(format_args!("{prefix}{name}"))?;
    }
    let count = show::count(next.len() as u64, "fragment");
    show::line(format_args!("{}: {count} would be merged first", redact(url)))
}

/// Converts the bytes in an error about the memory of a merge to those of `--memory`, which include the program.
fn with_program(e: Error, memory_bytes: u64) -> Error {
    match e {
        Error::LimitExceeded { what, found, limit } if limit == memory_bytes => Error::LimitExceeded {
            what,
            found: found.saturating_add(PROGRAM_BYTES),
            limit: limit.saturating_add(PROGRAM_BYTES),
        },
        other => other,
    }
}

/// Removes files that consolidation has replaced.
pub(crate) async fn vacuum(env: &Env, args: &Vacuum) -> Result<()> {
    for_each_array(env, &args.array, async |Target { url, prefix }| {
        let array = env.open_to_write(url, None).await?;
        let gone = maintain::vacuum(&array, mode(args.mode), args.dry_run, &now()?).await;
        let gone = gone.with_context(|| format!("cannot vacuum {url}"))?;
        if args.json {
            let gone: Vec<String> = gone.iter().map(|path| path.to_string()).collect();
            let json = json!({"array": redact(url), "dry_run": args.dry_run, "removed": gone});
            return show::line(format_args!("{json:#}"));
        }
        for path in gone {
            show::line(format_args!("{prefix}{path}"))?;
        }
        Ok(())
    })
    .await
}

const fn mode(mode: Mode) -> maintain::Mode {
    match mode {
        Mode::Fragments => maintain::Mode::Fragments,
        Mode::FragmentMeta => maintain::Mode::FragmentMetadata,
        Mode::Commits => maintain::Mode::Commits,
        Mode::ArrayMeta => maintain::Mode::ArrayMetadata,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_memory_limits_include_the_program() {
        let shown = |limit: u64| {
            let what = "bytes".to_owned();
            match with_program(Error::LimitExceeded { what, found: 9, limit }, 5) {
                Error::LimitExceeded { found, limit, .. } => (found, limit),
                other => unreachable!("{other}"),
            }
        };
        assert_eq!(shown(5), (9 + PROGRAM_BYTES, 5 + PROGRAM_BYTES));
        assert_eq!(shown(6), (9, 6), "a limit of the format");
    }
}
