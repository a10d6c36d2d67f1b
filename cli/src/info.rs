//! `info`: describes an array and its fragments, or a group.

use anyhow::{Context as _, Result};
use hyperslab::conventions::{self, Dataset};
use hyperslab::group::{ObjectType, object_type};
use hyperslab::internals::view::selection::display_name;
use hyperslab::schema::{Layout, Schema};
use hyperslab::vfs::redact;
use hyperslab::{Array, Fragment, ScalarRange, schema_json};
use serde_json::{Value, json};

use crate::args::Info;
use crate::for_each_array::for_each;
use crate::store::{Env, Place};
use crate::{show, sizes, time_args};

/// Runs the command.
pub(crate) async fn info(env: &Env, args: &Info) -> Result<()> {
    let env = &env.with_snapshot(args.snapshot.as_deref())?;
    for_each(&args.arrays, async |url| {
        let opened = env.open(url, time_args::all(args.at)).await;
        if args.arrays.first().is_some_and(|first| first != url) && !args.json {
            show::line("")?;
        }
        match opened {
            Ok(array) if args.json => print_json(&array, url).await,
            Ok(array) => print(&redact(url), &array, &total(&array, url).await?, &meaning(&array).await),
            // Groups have no snapshots, so do not try to open one.
            Err(error) if args.snapshot.is_some() => Err(error),
            Err(error) => group(env, args, url, error).await,
        }
    })
    .await
}

/// Prints the group at `url`, or returns the error of opening it as an array.
async fn group(env: &Env, args: &Info, url: &str, error: anyhow::Error) -> Result<()> {
    let place = Place::new(url)?;
    if !matches!(
        object_type(&place.context, &place.path).await,
        Ok(Some(ObjectType::Group))
    ) {
        return Err(error);
    }
    let options = env.options(time_args::all(args.at));
    let dataset = conventions::of(&place.context, &place.path, &options).await;
    let dataset = dataset.with_context(|| format!("cannot read {url}"))?;
    if args.json {
        let json = json!({"path": redact(url), "type": "group", "dataset": dataset});
        return show::line(format_args!("{json:#}"));
    }
    let mut rows = vec![vec!["group".to_owned(), redact(url).into_owned()]];
    rows.extend(summary(&dataset));
    if rows.len() == 1 {
        rows.push(vec!["holds".to_owned(), "nothing".to_owned()]);
    }
    show::table(&[], rows)
}

/// The description of the array. Its schema can be shown without, so an error is only a note.
async fn meaning(array: &Array) -> Dataset {
    conventions::of_array(array).await.unwrap_or_else(|error| Dataset {
        notes: vec![error.to_string()],
        ..Dataset::default()
    })
}

/// The lines of a dataset. A kind is named once.
fn summary(dataset: &Dataset) -> Vec<Vec<String>> {
    let mut last = "";
    let row = |(kind, text): (&'static str, String)| {
        let name = if kind == last { "" } else { kind };
        last = kind;
        vec![name.to_owned(), text]
    };
    dataset.summary().into_iter().map(row).collect()
}

/// Prints the array at `url` as JSON.
pub(crate) async fn print_json(array: &Array, url: &str) -> Result<()> {
    let total = total(array, url).await?;
    let mut json = as_json(&redact(url), array, &total);
    json["dataset"] = json!(meaning(array).await);
    show::line(format_args!("{json:#}"))
}

async fn total(array: &Array, url: &str) -> Result<Total> {
    Total::of(array).await.with_context(|| format!("cannot read {url}"))
}

fn as_json(url: &str, array: &Array, total: &Total) -> Value {
    let schema = array.schema();
    json!({
        "path": url,
        "type": kind(schema),
        "format_version": schema.version.number(),
        "encrypted": array.key().is_some(),
        "schema": schema_json::to_json(schema, &[]),
        "non_empty_domain": array.non_empty_domain().map(|d| domain_json(schema, &d)),
        "cells": total.cells,
        "deletes": array.delete_times(),
        "bytes": total.bytes,
        "unfiltered_bytes": total.unfiltered,
        "compression_ratio": total.ratio(),
        "fragments": array.fragments().iter().map(|f| fragment_json(schema, f)).collect::<Vec<_>>(),
    })
}

fn fragment_json(schema: &Schema, f: &Fragment) -> Value {
    json!({
        "name": f.name,
        "type": if f.dense { "dense" } else { "sparse" },
        "timestamps": [f.start_ms, f.end_ms],
        "format_version": f.version.number(),
        "non_empty_domain": f.non_empty_domain().map(|d| domain_json(schema, d)),
        "cells": f.cells,
        "tiles": f.tiles,
        "bytes": f.bytes,
    })
}

fn domain_json(schema: &Schema, domain: &[ScalarRange]) -> Value {
    let ends = |(d, r): (&hyperslab::schema::Dimension, &ScalarRange)| {
        json!([show::coordinate(d.datatype, &r.lo), show::coordinate(d.datatype, &r.hi)])
    };
    schema.dimensions.iter().zip(domain).map(ends).collect()
}

fn print(url: &str, array: &Array, total: &Total, dataset: &Dataset) -> Result<()> {
    let schema = array.schema();
    let mut rows = vec![vec!["array".to_owned(), url.to_owned()]];
    rows.extend(summary(dataset));
    rows.push(vec![
        "type".to_owned(),
        format!("{}, format version {}", kind(schema), schema.version),
    ]);
    let orders = format!("tiles {}, cells {}", order(schema.tile_order), order(schema.cell_order));
    rows.push(vec!["order".into(), orders]);
    for (i, d) in schema.dimensions.iter().enumerate() {
        rows.push(vec![
            if i == 0 { "dimensions".into() } else { String::new() },
            show::dimension(d),
        ]);
    }
    for (i, label) in schema.labels.iter().enumerate() {
        let of = schema.dimensions.get(label.dimension as usize).map_or("", |d| &d.name);
        rows.push(vec![
            if i == 0 { "labels".into() } else { String::new() },
            format!(
                "{} {} of {}",
                display_name(&label.name),
                label.datatype,
                display_name(of)
            ),
        ]);
    }
    for (i, a) in schema.attributes.iter().enumerate() {
        let of = a.enumeration.as_ref().map_or_else(String::new, |e| format!(" of {e}"));
        rows.push(vec![
            if i == 0 { "attributes".into() } else { String::new() },
            format!("{}{of}", show::attribute(a)),
        ]);
    }
    if let Some(current) = &schema.current_domain {
        rows.push(vec!["current domain".into(), domain(schema, &current.ranges)]);
    }
    let written = array
        .non_empty_domain()
        .map_or_else(|| "nothing".to_owned(), |d| domain(schema, &d));
    rows.push(vec!["written".into(), written]);
    let deletes = array.delete_times();
    let deleted = if deletes.is_empty() {
        ""
    } else {
        " written, including deleted ones"
    };
    rows.push(vec!["cells".into(), format!("{}{deleted}", total.cells)]);
    let ratio = total.ratio().map_or_else(String::new, |r| {
        format!(
            " for {} of values (compression ratio {r:.2})",
            sizes::show(total.unfiltered)
        )
    });
    rows.push(vec!["on disk".into(), format!("{}{ratio}", sizes::show(total.bytes))]);
    rows.push(vec!["fragments".into(), array.fragments().len().to_string()]);
    if let Some(last) = deletes.last() {
        rows.push(vec![
            "deletes".into(),
            format!("{}, the last at {}", deletes.len(), time_args::iso(*last)),
        ]);
    }
    show::table(&[], rows)?;
    if array.fragments().is_empty() {
        return Ok(());
    }
    show::line("")?;
    let row = |f: &std::sync::Arc<Fragment>| {
        let time = if f.start_ms == f.end_ms {
            time_args::iso(f.start_ms)
        } else {
            format!("{}..{}", time_args::iso(f.start_ms), time_args::iso(f.end_ms))
        };
        let written = f.non_empty_domain().map_or_else(String::new, |d| domain(schema, d));
        let kind = if f.dense { "dense" } else { "sparse" };
        vec![
            f.name.clone(),
            time,
            kind.to_owned(),
            f.cells.to_string(),
            sizes::show(f.bytes),
            written,
        ]
    };
    show::table(
        &["fragment", "time", "type", "cells", "bytes", "written"],
        array.fragments().iter().map(row).collect(),
    )
}

/// `dense` or `sparse`.
pub(crate) fn kind(schema: &Schema) -> &'static str {
    if schema.is_dense() { "dense" } else { "sparse" }
}

fn order(layout: Layout) -> &'static str {
    match layout {
        Layout::RowMajor => "row-major",
        Layout::ColMajor => "column-major",
        Layout::Global => "global",
        Layout::Unordered => "unordered",
        Layout::Hilbert => "Hilbert",
    }
}

fn domain(schema: &Schema, domain: &[ScalarRange]) -> String {
    let axis = |(d, r): (&hyperslab::schema::Dimension, &ScalarRange)| {
        format!("{} {}", display_name(&d.name), show::range(d, r))
    };
    schema
        .dimensions
        .iter()
        .zip(domain)
        .map(axis)
        .collect::<Vec<_>>()
        .join(", ")
}

struct Total {
    cells: u64,
    bytes: u64,
    /// Bytes of the values before filters.
    unfiltered: u64,
}

impl Total {
    async fn of(array: &Array) -> hyperslab::Result<Self> {
        let fragments = array.fragments();
        Ok(Self {
            cells: sizes::total(fragments.iter().map(|f| f.cells)),
            bytes: sizes::total(fragments.iter().map(|f| f.bytes)),
            unfiltered: array.unfiltered_bytes().await?,
        })
    }

    fn ratio(&self) -> Option<f64> {
        let ratio = self.unfiltered as f64 / self.bytes as f64;
        (self.bytes > 0).then(|| (ratio * 100.0).round() / 100.0)
    }
}
