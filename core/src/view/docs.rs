//! The texts of a view: what is here, how to ask for more, and the facts as JSON. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::encode::Format;
use super::markdown::{code, quoted};
use super::node::Snapshot;
use super::selection::{self, Axis, Selection, shown_name};
use super::shard::Sharding;
use super::shell::Folder;
use super::slice::Slice;
use super::zarr::{self, Member};
use crate::array::{Array, Fragment};
use crate::calendar;
use crate::column::Column;
use crate::datatype::{CellCount, Datatype, Physical};
use crate::escape;
use crate::format::metadata::MetaValue;
use crate::format::schema::{Attribute, Schema};
use crate::scalar::{Scalar, ScalarRange, json_word};

/// Dates of an axis that an example takes as they are.
const DATES_MAX: u64 = 1 << 20;

/// The page at the root of an array.
pub(super) fn array_readme(name: &str, array: &Array, at_now: bool) -> String {
    let schema = array.schema();
    let kind = if schema.is_dense() { "dense" } else { "sparse" };
    let mut out = format!(
        "# {}\n\nA {kind} array, shown as files. Nothing here can be changed.\n\n",
        quoted(name)
    );
    out.push_str("| dimension | type | coordinates | written |\n|---|---|---|---|\n");
    let written = array.non_empty_domain();
    for (i, d) in schema.dimensions.iter().enumerate() {
        let show = |r: Option<&ScalarRange>| r.map_or_else(|| "-".to_owned(), |r| quoted(&range(r, d.datatype)));
        let there = written.as_ref().and_then(|w| w.get(i));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            quoted(&d.name),
            d.datatype,
            show(schema.limits(i)),
            show(there)
        );
    }
    out.push_str("\n| attribute | type | values a cell | null | cells nobody wrote |\n|---|---|---|---|---|\n");
    for a in &schema.attributes {
        let count = match a.cell {
            CellCount::Fixed(n) => n.to_string(),
            CellCount::Var => "any number".to_owned(),
        };
        let null = if a.nullable { "yes" } else { "no" };
        let of = a
            .enumeration
            .as_ref()
            .map_or_else(String::new, |e| format!(" of {}", quoted(e)));
        let _ = writeln!(
            out,
            "| {} | {}{of} | {count} | {null} | {} |",
            quoted(&shown_name(&a.name, schema)),
            a.datatype,
            unwritten(a)
        );
    }
    if schema.attributes.iter().any(|a| a.nullable) {
        out.push_str(NULLS);
    }
    if schema.attributes.iter().any(|a| a.enumeration.is_some()) {
        out.push_str("\nWhere it says `of`, cells are indices of the values that `schema.json` lists: npy, bin and zarr have these numbers, csv, json and arrow the values.\n");
    }
    out.push_str("\n- `schema.json`, `metadata.json`, `fragments/`: what the array is made of\n");
    let ending = everything(schema).1.extension();
    let _ = writeln!(
        out,
        "- `slices/NAME.{ending}`: any part of it, by name; see `slices/README.md`"
    );
    if schema.is_dense() {
        out.push_str("- `tiles/ATTRIBUTE/…`: the tiles that hold data\n");
    }
    if !zarr::members(schema).is_empty() {
        out.push_str("- `zarr/`: the same as a Zarr v3 group, for zarr-python, xarray, tensorstore\n");
        for (names, how) in zarr_layouts(array) {
            let _ = writeln!(out, "  - {}: {how}", names.join(", "));
        }
    }
    if at_now {
        let before = if array.times().len() > 1 {
            ", or latest-1 (the write before the latest)"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "- `at/TIME/`: all of this as it was then; TIME is one of the names there, a period such as 2024 or 2024-05-01 (at its end), milliseconds since 1970{before}"
        );
        out.push_str("- `since/T0..T1/`: only what was written between two times\n");
    }
    out
}

/// What formats without nulls have in their place.
const NULLS: &str = "
Null cells are NaN in npy, bin and zarr; null dates and times are NaT. Null integers hold the value that the table shows,
or the one that `_FillValue` in zarr names. `NAME_valid` is false for them: a field in npy and bin, an array in zarr.
";

/// What cells of an attribute hold that nobody wrote: null, a value, or several.
fn unwritten(a: &Attribute) -> String {
    let is_null = a.nullable && !a.fill_valid;
    let is_integer = !matches!(a.datatype.physical(), Physical::F32 | Physical::F64)
        && !a.datatype.is_string()
        && !a.datatype.is_temporal();
    if is_null && !is_integer {
        return "null".to_owned();
    }
    let mut column = Column::from_cells(a.datatype, [&a.fill]);
    if !a.cell.is_var() {
        (column.cell, column.offsets) = (a.cell, None);
    }
    let text = super::encode::cell_text(&column, 0);
    match (text.is_empty(), is_null) {
        (true, true) => "null".to_owned(),
        (true, false) => "-".to_owned(),
        (false, true) => format!("null ({})", quoted(&text)),
        (false, false) => quoted(&text),
    }
}

/// The arrays of cells below `zarr/`, by what their chunks are.
fn zarr_layouts(array: &Array) -> Vec<(Vec<String>, String)> {
    let mut found: Vec<(Vec<String>, String)> = Vec::new();
    for (name, member) in zarr::members(array.schema()) {
        let Member::Values(attribute) = member else { continue };
        let Some((_, attribute)) = array.schema().attribute(&attribute) else {
            continue;
        };
        let how = match Sharding::of(array, attribute) {
            Ok(sharding) => format!("tiles as they are stored, {}", sharding.codec_name()),
            Err(why) => format!("tiles unpacked here, because {why}"),
        };
        let name = code(&name);
        match found.iter_mut().find(|(_, other)| *other == how) {
            Some((names, _)) => names.push(name),
            None => found.push((vec![name], how)),
        }
    }
    found
}

/// What to ask for to have everything: the attributes to name, none for all of them, and the format. Records hold
/// cells of fixed size only, so others are left out, and where there are no such attributes it is text.
fn everything(schema: &Schema) -> (Option<Vec<String>>, Format) {
    let fixed = schema.attributes.iter().filter(|a| !a.cell.is_var());
    let fixed: Vec<String> = fixed.map(|a| a.name.clone()).collect();
    let coordinates = schema.is_dense() || schema.dimensions.iter().all(|d| d.datatype != Datatype::StringAscii);
    match fixed.len() {
        n if n == schema.attributes.len() && coordinates => (None, Format::Npy),
        0 => (None, Format::Csv),
        _ => (Some(fixed), Format::Npy),
    }
}

/// The page that explains selections, with examples that fit the array.
pub(super) fn slices_readme(snapshot: &Snapshot) -> String {
    let mut out = String::from(
        "# Slices\n\nAny file of this folder can be named; none is listed. A name is a selection and a format:\n\n",
    );
    for name in samples(snapshot) {
        let _ = writeln!(out, "    {name}");
    }
    out.push_str(
        "\n\
         - One range for each dimension, or `name=range`; what is left out is whole. `all` is everything.\n\
         - Integers are half-open as in Python, with a step if wanted: `10:20`, `10:20:2`, `7`, `:`. Coordinates are the\n\
         \x20 array's own; nothing wraps around. Floats, strings and dates are closed: `30.5:40`, `a:f`, `2020-01:2020-03`.\n\
         - An end that is left out is the end of what was written. `a..b` may be written for `a:b`, `_` for `:`.\n\
         - Attributes are named before an `@`: `a,b@0:10.npy`. Special characters are written as in URLs: `%2C` is a comma.\n\n\
         | ending | |\n|---|---|\n\
         | npy | numpy, also for `np.load(…, mmap_mode=\"r\")`; several attributes make a structured array |\n\
         | bin | the values alone, little-endian, row-major |\n\
         | csv, tsv | a line for each cell, coordinates first |\n\
         | json, jsonl | an object for each cell |\n",
    );
    if Format::ALL.iter().any(|f| f.extension() == "arrow") {
        out.push_str("| arrow | an Arrow file, for pandas, polars, duckdb |\n");
    }
    out.push_str(
        "\
         | png | a picture of one attribute over two dimensions; a single coordinate takes a dimension away |\n\n\
         Sizes are exact. Text, and Arrow files with text, bool or enumerations, have 256 MiB at most. If a name is refused, `getfattr -n user.hyperslab.error .` here says why.\n",
    );
    out
}

/// Names of files that can be read: everything, in two spellings, and a part of it, in two more. Of what is written in
/// a large array, or may be where nothing is, everything may be more than a file can have.
fn samples(snapshot: &Snapshot) -> Vec<String> {
    let schema = snapshot.array.schema();
    let written = snapshot.array.non_empty_domain();
    let (attributes, format) = everything(schema);
    let all = Selection {
        attributes,
        ..Selection::all(schema, written.as_deref())
    };
    let axes = all.axes.iter().zip(&schema.dimensions);
    let one = schema.attributes.iter().find(|a| !a.cell.is_var());
    let one = one.or(schema.attributes.first()).map(|a| vec![a.name.clone()]);
    let part = Selection {
        attributes: one,
        axes: axes.map(|(a, d)| example(a, d.datatype)).collect(),
    };
    let mut found = Vec::new();
    let mut offer = |selection: &Selection, format: Format, spellings: &[String]| {
        let slice = Slice::new(snapshot, selection.clone(), format);
        if slice.and_then(|s| s.fixed_layout()).is_ok() {
            found.extend(spellings.iter().map(|s| format!("{s}.{}", format.extension())));
        }
    };
    offer(&all, format, &[format!("{}all", all.names(schema)), all.text(schema)]);
    offer(&part, Format::Csv, &[part.text(schema)]);
    if let (Some(d), Some(axis)) = (schema.dimensions.first(), part.axes.first()) {
        let name = selection::quote(&d.name);
        let axes = std::iter::once(axis).chain(all.axes.iter().skip(1)).cloned().collect();
        let named = Selection { attributes: None, axes };
        if !name.is_empty() {
            offer(&named, Format::Json, &[format!("{name}={}", axis.text(d.datatype))]);
        }
    }
    found
}

/// The page of a folder of arrays.
pub(super) fn folder_readme(name: &str, folder: &Folder) -> String {
    let mut out = format!("# {}\n\nArrays, each shown as a folder of files:\n\n", quoted(name));
    for child in &folder.children {
        let _ = writeln!(out, "- {}", code(&format!("{}/", child.name)));
    }
    if folder.is_group {
        out.push_str("\n`metadata.json`: what the group says of itself\n");
    }
    if !folder.elsewhere.is_empty() {
        out.push_str("\nMembers of the group that lie elsewhere, and are not shown here:\n\n");
        for (member, uri) in &folder.elsewhere {
            let _ = writeln!(out, "- {}: {}", code(member), code(uri));
        }
    }
    out
}

/// A part of an axis that is there: its first coordinates, where these can be counted. Dates are all taken, which reads
/// better, unless they are many.
fn example(axis: &Axis, datatype: Datatype) -> Axis {
    let first = |r: &ScalarRange| {
        let n = axis.len().filter(|n| !datatype.is_datetime() || *n > DATES_MAX)?;
        let last = r.lo.as_i128()? + i128::from(n.min(10)) - 1;
        Some(ScalarRange {
            lo: r.lo.clone(),
            hi: Scalar::from_i128(datatype, last)?,
        })
    };
    Axis {
        range: axis.range.as_ref().and_then(first).or_else(|| axis.range.clone()),
        ..axis.clone()
    }
}

fn range(r: &ScalarRange, datatype: Datatype) -> String {
    format!("{} … {}", value(&r.lo, datatype), value(&r.hi, datatype))
}

/// A coordinate as people write it.
fn value(v: &Scalar, datatype: Datatype) -> String {
    if let Some(text) = v.date_text(datatype) {
        return text;
    }
    match v {
        Scalar::F32(v) => v.to_string(),
        Scalar::F64(v) => v.to_string(),
        Scalar::Bytes(v) => String::from_utf8_lossy(v).into_owned(),
        other => other.as_i128().unwrap_or(0).to_string(),
    }
}

fn json_value(v: &Scalar, datatype: Datatype) -> Value {
    if let Some(text) = v.date_text(datatype) {
        return Value::from(text);
    }
    match v {
        Scalar::F32(v) => json_word(f64::from(*v)).map_or_else(|| json!(v), Value::from),
        Scalar::F64(v) => json_word(*v).map_or_else(|| json!(v), Value::from),
        Scalar::Bytes(v) => json!(escape::text(v)),
        Scalar::U64(v) => json!(v),
        other => json!(other.as_i128().and_then(|v| i64::try_from(v).ok())),
    }
}

/// `metadata.json`: a value, or a list of values, for each key.
pub(super) fn metadata(entries: &BTreeMap<String, MetaValue>) -> String {
    let object: Map<String, Value> = entries.iter().map(|(k, v)| (k.clone(), meta_value(v))).collect();
    pretty(&Value::Object(object))
}

/// A value, or a list of values.
pub(super) fn meta_value(value: &MetaValue) -> Value {
    let t = value.datatype;
    if t.is_string() || t == Datatype::Blob {
        let column = Column::from_cells(t, [&value.data]);
        return json!(super::encode::cell_text(&column, 0));
    }
    let one = |bytes: &[u8]| match Scalar::from_le_bytes(t.physical(), bytes) {
        Some(Scalar::U8(v)) if t == Datatype::Bool => json!(v != 0),
        Some(v) => json_value(&v, t),
        None => Value::Null,
    };
    let mut values: Vec<Value> = value.data.chunks_exact(t.size()).map(one).collect();
    if values.len() == 1 {
        values.swap_remove(0)
    } else {
        Value::Array(values)
    }
}

/// What is known about a fragment.
pub(super) fn fragment(f: &Fragment, schema: &Schema) -> String {
    let domain = f.non_empty_domain().map(|box_| {
        let axes = schema.dimensions.iter().zip(box_);
        Value::Object(
            axes.map(|(d, r)| {
                (
                    d.name.clone(),
                    json!([json_value(&r.lo, d.datatype), json_value(&r.hi, d.datatype)]),
                )
            })
            .collect(),
        )
    });
    pretty(&json!({
        "name": f.name,
        "start_ms": f.start_ms,
        "end_ms": f.end_ms,
        "time": i64::try_from(f.end_ms).ok().map(|t| calendar::format(t, Datatype::DatetimeMs) + "Z"),
        "type": if f.dense { "dense" } else { "sparse" },
        "format_version": f.version.number(),
        "cells": f.cells,
        "bytes": f.bytes,
        "non_empty_domain": domain,
    }))
}

/// JSON for people: indented, with a newline at the end.
pub(super) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
