//! Generates the READMEs of a view. Does no I/O.

use std::fmt::Write as _;

use super::encode::Format;
use super::folder::Folder;
use super::markdown::{code, quoted};
use super::meaning::MeaningLines;
use super::members::{self, Member};
use super::selection::{self, Axis, Selection, shown_name};
use super::shard::Sharding;
use super::slice::Slice;
use super::snapshot::Snapshot;
use crate::array::Array;
use crate::column::Column;
use crate::datatype::{CellCount, Datatype, Physical};
use crate::format::schema::{Attribute, Schema};
use crate::scalar::{Scalar, ScalarRange};

/// How to name a slice. The book includes this file too (`docs/mount.md`).
const SLICE_NAMES: &str = include_str!("slice_names.md");

/// The longest date axis that an example selects as a whole.
const DATES_MAX: u64 = 1 << 20;

/// The README of an array.
pub(super) fn array_readme(name: &str, array: &Array, summary: &MeaningLines, at_now: bool) -> String {
    let schema = array.schema();
    let kind = if schema.is_dense() { "dense" } else { "sparse" };
    let mut out = format!("# {}\n\nA {kind} array, shown as read-only files.\n\n", quoted(name));
    push_summary(&mut out, summary);
    out.push_str("| dimension | type | domain | non-empty domain |\n|---|---|---|---|\n");
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
    out.push_str("\n| attribute | type | values per cell | nullable | unwritten cells |\n|---|---|---|---|---|\n");
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
        out.push_str("\nA type with `of NAME` is an enumeration; `schema.json` lists its values. npy, bin and zarr contain the indices; csv, json and arrow contain the values.\n");
    }
    out.push_str("\n- `schema.json`, `metadata.json`, `metadata/KEY`, `fragments/`: the schema, metadata and fragments of the array\n");
    let ending = all_data(schema).1.extension();
    let _ = writeln!(
        out,
        "- `slices/SELECTION.{ending}`: any part of the array; see `slices/README.md`"
    );
    if schema.is_dense() {
        out.push_str("- `tiles/ATTRIBUTE/…`: the tiles that contain data\n");
    }
    if !members::members(schema).is_empty() {
        out.push_str("- `zarr/`: the array as a Zarr v3 group, for zarr-python, xarray, tensorstore\n");
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
            "- `at/TIME/`: the array as of a time: a listed name, the end of a period such as 2024 or 2024-05-01, milliseconds since 1970{before}"
        );
        out.push_str("- `since/T0..T1/`: only the writes between two times\n");
    }
    out
}

/// Adds a table of what an array or a group means. A kind is named once.
fn push_summary(out: &mut String, summary: &MeaningLines) {
    if summary.is_empty() {
        return;
    }
    out.push_str("| what | |\n|---|---|\n");
    let mut last = "";
    for (kind, text) in summary {
        let _ = writeln!(out, "| {} | {} |", if *kind == last { "" } else { kind }, quoted(text));
        last = kind;
    }
    out.push('\n');
}

/// How formats without nulls represent null cells.
const NULLS: &str = "
Null cells are NaN in npy, bin and zarr; null dates and times are NaT. Null integers have the value in the table,
or in zarr that of `_FillValue`. `NAME_valid` is false for null cells: a field in npy and bin, an array in zarr.
";

/// The value of unwritten cells of an attribute: null, one value, or several.
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

/// Groups the arrays of attribute values below `zarr/` by their chunk layout.
fn zarr_layouts(array: &Array) -> Vec<(Vec<String>, String)> {
    let mut found: Vec<(Vec<String>, String)> = Vec::new();
    for (name, member) in members::members(array.schema()) {
        let Member::Values(attribute) = member else { continue };
        let Some((_, attribute)) = array.schema().attribute(&attribute) else {
            continue;
        };
        let how = match Sharding::of(array, attribute) {
            Ok(sharding) => format!("stored tiles, served unchanged {}", sharding.codec_name()),
            Err(why) => format!("tiles decoded on read, because {why}"),
        };
        let name = code(&name);
        match found.iter_mut().find(|(_, other)| *other == how) {
            Some((names, _)) => names.push(name),
            None => found.push((vec![name], how)),
        }
    }
    found
}

/// The attributes and the format of a file with all data; `None` for all attributes. Records cannot hold
/// variable-length cells, so such attributes and string dimensions are left out. If no other attributes exist, the
/// format is CSV.
fn all_data(schema: &Schema) -> (Option<Vec<String>>, Format) {
    let fixed = schema.attributes.iter().filter(|a| !a.cell.is_var());
    let fixed: Vec<String> = fixed.map(|a| a.name.clone()).collect();
    let coordinates = schema.is_dense() || schema.dimensions.iter().all(|d| d.datatype != Datatype::StringAscii);
    match fixed.len() {
        n if n == schema.attributes.len() && coordinates => (None, Format::Npy),
        0 => (None, Format::Csv),
        _ => (Some(fixed), Format::Npy),
    }
}

/// The README of `slices/`, with examples that fit the array.
pub(super) fn slices_readme(snapshot: &Snapshot) -> String {
    let mut out = String::from(
        "# Slices\n\nOpen any file by its name; this folder lists only the files of small attributes. A name is a selection and a format:\n\n",
    );
    for name in samples(snapshot) {
        let _ = writeln!(out, "    {name}");
    }
    let _ = writeln!(
        out,
        "\n{SLICE_NAMES}\n| ending | contents |\n|---|---|\n{}",
        Format::described()
    );
    out.push_str(
        "File sizes are exact. Text is limited to 256 MiB; images, and Arrow files with text, bool or enumerations, to a quarter of the memory of the mount (`--cache-size`). If a file cannot be opened, run `getfattr -n user.hyperslab.error .` in this folder for the reason.\n",
    );
    out
}

/// Example file names: two spellings of a file with all data, and two selections of a part. Examples that exceed the
/// largest file are left out, as in large arrays.
fn samples(snapshot: &Snapshot) -> Vec<String> {
    let schema = snapshot.array.schema();
    let written = snapshot.array.non_empty_domain();
    let (attributes, format) = all_data(schema);
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

/// The README of a folder of arrays.
pub(super) fn folder_readme(name: &str, folder: &Folder, summary: &MeaningLines, has_levels: bool) -> String {
    let mut out = format!("# {}\n\n", quoted(name));
    push_summary(&mut out, summary);
    out.push_str("Arrays, each shown as a folder of files:\n\n");
    for child in &folder.children {
        let _ = writeln!(out, "- {}", code(&format!("{}/", child.name)));
    }
    if folder.is_group {
        out.push_str("\n`metadata.json`: the metadata of the group\n");
    }
    if has_levels {
        out.push_str("\n`zarr/`: all levels as a Zarr v3 group, for viewers, zarr-python, xarray\n");
    }
    if !folder.elsewhere.is_empty() {
        out.push_str("\nMembers outside the group's folder, which are not shown here:\n\n");
        for (member, uri) in &folder.elsewhere {
            let _ = writeln!(out, "- {}: {}", code(member), code(uri));
        }
    }
    out
}

/// An example range of an axis: its first coordinates if they can be counted. Short date axes are selected as a whole,
/// because their ends read better.
fn example(axis: &Axis, datatype: Datatype) -> Axis {
    let first = |r: &ScalarRange| {
        let n = axis.len().filter(|n| !datatype.is_datetime() || *n > DATES_MAX)?;
        let last = r.lo.as_i128()? + i128::from(n.min(10)) - 1;
        Some(ScalarRange {
            lo: r.lo.clone(),
            hi: Scalar::from_i128(datatype, last)?,
        })
    };
    let range = axis.range.as_ref().and_then(first).or_else(|| axis.range.clone());
    Axis { range, ..axis.clone() }
}

fn range(r: &ScalarRange, datatype: Datatype) -> String {
    format!("{} … {}", value(&r.lo, datatype), value(&r.hi, datatype))
}

/// Formats a coordinate for people.
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
