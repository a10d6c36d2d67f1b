//! `import --dry-run` prints what an import would make, and `--schema` takes it back after an edit.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use hyperslab::schema::{Enumeration, Schema};
use hyperslab::schema_json;
use hyperslab_formats::{Length, NewArray, Plan};
use serde_json::{Value, json};

use crate::errors::usage;
use crate::sizes;
use crate::{info, show};

/// Prints the arrays and groups that an import would make.
pub(super) fn print(plan: &Plan, as_json: bool) -> Result<()> {
    let bytes = plan.arrays.iter().map(bytes_of).sum();
    if as_json {
        let arrays: Vec<Value> = plan.arrays.iter().map(array_json).collect();
        let groups: Vec<&str> = plan.groups.iter().map(|g| g.path.as_str()).collect();
        let made = json!({"dry_run": true, "bytes": bytes, "groups": groups, "arrays": arrays, "notes": plan.notes});
        return show::line(format_args!("{made:#}"));
    }
    for note in &plan.notes {
        show::note(format_args!("{note}"));
    }
    for array in &plan.arrays {
        let title = if array.path.is_empty() { "array" } else { &array.path };
        show::line(format_args!("{title}: {}", summary(array)))?;
        for dimension in &array.schema.dimensions {
            show::line(format_args!("  {}", show::dimension(dimension)))?;
        }
        for attribute in &array.schema.attributes {
            show::line(format_args!("  {}", show::attribute(attribute)))?;
        }
    }
    show::line(format_args!(
        "nothing was written; {} before compression. To change the schema, save it with --dry-run --json > FILE, edit it, \
         and import with --schema FILE",
        sizes::show(bytes)
    ))
}

fn summary(array: &NewArray) -> String {
    let kind = info::kind(&array.schema);
    let length = match &array.length {
        Length::Box(lengths) => format!(
            "shape {}",
            lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ")
        ),
        Length::Rows(Some(rows)) => show::count(*rows, "row"),
        Length::Rows(None) => "any number of rows".to_owned(),
    };
    format!("{kind}, {length}, {} before compression", sizes::show(bytes_of(array)))
}

fn array_json(array: &NewArray) -> Value {
    let (shape, rows) = match &array.length {
        Length::Box(lengths) => (json!(lengths), Value::Null),
        Length::Rows(rows) => (Value::Null, json!(rows)),
    };
    json!({
        "path": array.path,
        "shape": shape,
        "rows": rows,
        "bytes": bytes_of(array),
        "schema": schema_json::to_json(&array.schema, &array.enumerations),
    })
}

/// About how many bytes the cells of an array take in memory.
pub(crate) fn bytes_of(array: &NewArray) -> u64 {
    let cells = match &array.length {
        Length::Box(lengths) => lengths.iter().copied().fold(1, u64::saturating_mul),
        Length::Rows(rows) => rows.unwrap_or(0),
    };
    bytes_per_cell(&array.schema).saturating_mul(cells)
}

/// The bytes of a cell in memory. Text counts as 32 bytes.
pub(crate) fn bytes_per_cell(schema: &Schema) -> u64 {
    let attributes = schema.attributes.iter();
    let attributes = attributes.map(|a| a.cell.cell_bytes(a.datatype).unwrap_or(32) as u64);
    let dimensions = schema.dimensions.iter().filter(|_| !schema.is_dense());
    attributes.sum::<u64>() + dimensions.map(|d| d.datatype.size() as u64).sum::<u64>()
}

/// Schemas by the paths of their arrays.
pub(super) type Schemas = BTreeMap<String, (Schema, Vec<Enumeration>)>;

/// Reads the file of `--schema`: what `--dry-run --json` printed, or the schema of a single array.
pub(super) fn read(path: &Path) -> Result<Schemas> {
    let what = || format!("cannot read the schema in {}", path.display());
    let text = std::fs::read_to_string(path).with_context(what)?;
    let json: Value = serde_json::from_str(&text).with_context(what)?;
    let Some(arrays) = json.get("arrays").and_then(Value::as_array) else {
        let schema = schema_json::from_json(&json).with_context(what)?;
        return Ok(BTreeMap::from([(String::new(), schema)]));
    };
    let mut schemas = Schemas::new();
    for array in arrays {
        let name = array.get("path").and_then(Value::as_str).unwrap_or_default();
        let schema = schema_json::from_json(array.get("schema").unwrap_or(&Value::Null));
        schemas.insert(name.to_owned(), schema.with_context(what)?);
    }
    Ok(schemas)
}

/// Replaces the schemas of a plan by edited ones.
///
/// # Errors
/// An edited schema has other fields, or other types.
pub(super) fn apply(plan: &mut Plan, mut schemas: Schemas) -> Result<()> {
    for array in &mut plan.arrays {
        let Some((schema, enumerations)) = schemas.remove(&array.path) else {
            continue;
        };
        check_fields(&array.schema, &schema, Types::Kept)?;
        (array.schema, array.enumerations) = (schema, enumerations);
    }
    let unknown = schemas.into_keys().next();
    ensure!(
        unknown.is_none(),
        usage(
            "--schema",
            format!(
                "the import makes no array '{}'; print what it makes with --dry-run --json",
                unknown.unwrap_or_default()
            )
        )
    );
    Ok(())
}

/// Whether an edited schema may have other types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Types {
    /// The cells are stored as they are read.
    Kept,
    /// The cells are converted.
    Converted,
}

/// Checks that an edited schema has the same fields as the one that was printed.
pub(super) fn check_fields(printed: &Schema, edited: &Schema, types: Types) -> Result<()> {
    let wrong = |why: String| {
        usage(
            "--schema",
            format!("{why}; print the schema with --dry-run --json, and edit tiles, domains and filters only"),
        )
    };
    ensure!(
        printed.is_dense() == edited.is_dense(),
        wrong(format!(
            "the import makes a {} array, but the file has a {} one",
            info::kind(printed),
            info::kind(edited)
        ))
    );
    let fields = |schema: &Schema| {
        let dimensions = schema.dimensions.iter().map(|d| (d.name.clone(), d.datatype, d.cell));
        let attributes = schema.attributes.iter().map(|a| (a.name.clone(), a.datatype, a.cell));
        dimensions.chain(attributes).collect::<Vec<_>>()
    };
    let (before, after) = (fields(printed), fields(edited));
    for (name, datatype, cell) in &before {
        let found = after.iter().find(|(n, ..)| n == name);
        let (_, other, other_cell) = found.ok_or_else(|| wrong(format!("the field '{name}' is missing")))?;
        let same = datatype == other && cell == other_cell;
        ensure!(
            same || types == Types::Converted,
            wrong(format!("the field '{name}' has the type {datatype}, not {other}"))
        );
    }
    let more = after.iter().find(|(name, ..)| !before.iter().any(|(n, ..)| n == name));
    ensure!(
        more.is_none(),
        wrong(format!(
            "the file has no field '{}'",
            more.map_or("", |(name, ..)| name)
        ))
    );
    Ok(())
}
