//! `delete`, `evolve`, `consolidate` and `vacuum`.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::maintain::{ConsolidateOptions, Evolution};
use hyperslab::schema::{Attribute, DEFAULT_LEVEL, Enumeration, Field, Filter, Pipeline, Schema};
use hyperslab::vfs::redact;
use hyperslab::{CellCount, Column, Datatype, Error, Window, WriteOptions, maintain, schema_json};

use serde_json::{Value, json};

use crate::args::{Consolidate, Delete, Evolve, Mode, Vacuum};
use crate::condition;
use crate::dry_run;
use crate::errors::usage;
use crate::for_each_array::{Target, for_each_array};
use crate::progress::Progress;
use crate::sizes::{self, PROGRAM_BYTES};
use crate::store::{Env, seed};
use crate::time_args::{self, Moment};
use crate::{input, lists, schema, show};

/// The least memory for a merge, whatever the budget.
const MERGE_BYTES_MIN: u64 = 4 << 20;

fn options(timestamp: Option<Moment>) -> Result<WriteOptions> {
    at_time(time_args::or_now(timestamp)?)
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
    let done = maintain::consolidate(&array, &what, &options(None)?).await;
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
        let gone = maintain::vacuum(&array, mode(args.mode), args.dry_run, &options(None)?).await;
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

/// Writes the array's next schema.
pub(crate) async fn evolve(env: &Env, args: &Evolve) -> Result<()> {
    let place = dry_run::place(&args.array)?;
    let array = if args.dry_run {
        env.open_at(&place, Window::ALL).await?
    } else {
        env.open_to_write(&args.array, None).await?
    };
    let schema = array.schema();
    let mut change = Evolution {
        drop: args.drop_attr.clone(),
        drop_enumerations: args.drop_enum.clone(),
        after_latest: args.timestamp.is_none(),
        ..Evolution::default()
    };
    for text in &args.add_attr {
        change
            .add
            .push(attribute(text).map_err(|e| usage("--add-attr", format!("{e:#}")))?);
    }
    for text in &args.add_enum {
        change
            .add_enumerations
            .push(enumeration(text).map_err(|e| usage("--add-enum", format!("{e:#}")))?);
    }
    for text in &args.extend_enum {
        let Some((name, values)) = text.split_once('=') else {
            bail!(usage("--extend-enum", format!("'{text}' is not written as NAME=A,B")))
        };
        let old = array.enumeration(name).await;
        let old = old.with_context(|| format!("cannot extend the enumeration '{name}' of {}", args.array))?;
        let cells = lists::values(values).map_err(|e| usage("--extend-enum", e))?;
        let text = Column::from_cells(Datatype::StringUtf8, cells);
        let field = Field::new(name, old.values.datatype, old.values.cell);
        let column = input::column(
            input::Named {
                name: name.to_owned(),
                values: input::Values::Text(text, Arc::default(), input::Rounding::Refused),
            },
            field,
        );
        change.extend_enumerations.push((
            old.name.clone(),
            column.map_err(|e| usage("--extend-enum", format!("{e:#}")))?,
        ));
    }
    if let Some(text) = &args.expand_domain {
        let ends = lists::values(text).map_err(|e| usage("--expand-domain", e))?;
        if ends.len() != schema.dimensions.len() {
            bail!(usage(
                "--expand-domain",
                format!(
                    "{} ranges for {} dimensions; give one for each, as in 0:99,0:199",
                    ends.len(),
                    schema.dimensions.len()
                )
            ));
        }
        let ranges = ends
            .iter()
            .zip(&schema.dimensions)
            .map(|(text, d)| input::range(text, d.datatype, d.cell))
            .collect::<Result<_>>();
        change.current_domain = Some(ranges.map_err(|e| usage("--expand-domain", format!("{e:#}")))?);
    }
    let done = maintain::evolve(&array, &change, &options(args.timestamp)?).await;
    done.with_context(|| format!("cannot change the schema of {}", args.array))?;
    if args.dry_run {
        schema::print(&env.open_at(&place, Window::ALL).await?, &args.array).await?;
    }
    Ok(())
}

/// Parses an enumeration from JSON, as in a schema.
fn enumeration(text: &str) -> Result<Enumeration> {
    let json: Value = serde_json::from_str(text).context("this is not JSON")?;
    let any = json!([{"name": "a", "type": "int32"}]);
    part_of_schema(any, json!([json]))?
        .1
        .pop()
        .context("there is no enumeration in it")
}

/// Parses attributes and enumerations as parts of a schema with a placeholder dimension.
fn part_of_schema(attributes: Value, enumerations: Value) -> Result<(Schema, Vec<Enumeration>)> {
    let dimension = json!({"name": "", "type": "int32", "domain": [0, 1], "tile": 1});
    let whole =
        json!({"type": "sparse", "dimensions": [dimension], "attributes": attributes, "enumerations": enumerations});
    Ok(schema_json::from_json(&whole)?)
}

/// Parses `name:int32`, `name:float64[3]`, `name:string_utf8[]?`, or JSON.
fn attribute(text: &str) -> Result<Attribute> {
    if text.trim_start().starts_with('{') {
        let json: Value = serde_json::from_str(text).context("this is not JSON")?;
        return part_of_schema(json!([json]), json!([]))?
            .0
            .attributes
            .pop()
            .context("there is no attribute in it");
    }
    let (name, kind) = text
        .rsplit_once(':')
        .context("write NAME:TYPE, as in speed:float32, words:string_utf8[], or JSON")?;
    ensure!(
        !name.trim().is_empty(),
        r#"'{text}' names no attribute; write NAME:TYPE, or, for one without a name, {{"name": "", "type": "{kind}"}}"#
    );
    let (kind, nullable) = kind.strip_suffix('?').map_or((kind, false), |k| (k, true));
    let (kind, cell) = match kind.strip_suffix(']').and_then(|k| k.split_once('[')) {
        None => {
            let datatype = Datatype::from_name(kind)?;
            (kind, datatype.default_cell())
        }
        Some((kind, "")) => (kind, CellCount::Var),
        Some((kind, n)) => (
            kind,
            CellCount::Fixed(
                n.parse()
                    .context("write a number of values between the brackets, as in [3]")?,
            ),
        ),
    };
    let mut attribute = Attribute::new(name, Datatype::from_name(kind)?, cell);
    attribute.nullable = nullable;
    attribute.filters = Pipeline::new(vec![Filter::Zstd { level: DEFAULT_LEVEL }]);
    Ok(attribute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_in_short() {
        let a = attribute("speed:float32[2]?").unwrap();
        assert_eq!(
            (a.name.as_str(), a.datatype, a.cell, a.nullable),
            ("speed", Datatype::Float32, CellCount::Fixed(2), true)
        );
        assert_eq!(attribute("words:string_utf8").unwrap().cell, CellCount::Var);
        assert!(attribute("speed").is_err() && attribute("speed:fast").is_err());
        let nameless = attribute(":int32").unwrap_err().to_string();
        let asked_for = attribute(nameless.split_once("without a name, ").unwrap().1).unwrap();
        assert_eq!((asked_for.name.as_str(), asked_for.datatype), ("", Datatype::Int32));
    }

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
