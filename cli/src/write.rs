//! `write`: writes the cells of a file as one fragment.

pub(crate) mod large;

use anyhow::{Context as _, Result, anyhow};
use hyperslab::internals::view::selection;
use hyperslab::schema::Field;
use hyperslab::vfs::redact;
use hyperslab::{Array, Error, ScalarRange, WriteOptions};
use serde_json::json;

use crate::args::Write;
use crate::batches::Budget;
use crate::cells::{assemble, points};
use crate::download::Inputs;
use crate::errors::usage;
use crate::formats::ImportFormat;
use crate::input::{Lines, Rounding, Source, Table};
use crate::store::{Env, seed};
use crate::{show, time_args};

/// Runs the command.
pub(crate) async fn write(env: &Env, args: &Write) -> Result<()> {
    let inputs = Inputs::fetch(std::slice::from_ref(&args.input), args.format.map(ImportFormat::Cells)).await?;
    let input = inputs.first();
    let source = Source::new(&input, args.format, &args.text)?;
    let budget = Budget::new(args.memory);
    let array = env.open_to_write(&args.array, Some(budget)).await?;
    let stream = source.stream(Rounding::Refused)?;
    let what = || format!("cannot write {} into {}", source.shown(), args.array);
    let select = match &args.select {
        Some(text) if array.schema().is_dense() => Some(
            selection::by_index(&array, text)
                .await
                .map_err(|e| usage("--select", e))?,
        ),
        other => other.clone(),
    };
    let target = match &select {
        _ if args.points => Target::Points,
        Some(text) => Target::Box(text),
        None => Target::Table,
    };
    let timestamp_ms = time_args::of_change(args.timestamp, async |now| array.write_time(now).await);
    let timestamp_ms = timestamp_ms.await.with_context(what)?;
    let fragment = if stream.bytes <= budget.batch_bytes() {
        let table = stream
            .table()
            .with_context(|| format!("cannot read {}", source.shown()))?;
        write_table(&array, table, target, timestamp_ms, 0).await
    } else {
        large::write(env, &array, &stream, target, timestamp_ms, budget).await
    };
    let fragment = fragment.with_context(what)?;
    if args.json {
        let done = json!({"array": redact(&args.array), "fragment": fragment});
        return show::line(format_args!("{done:#}"));
    }
    show::line(fragment)
}

/// Which cells of the array a table holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// The cells at the table's coordinates, or all cells.
    Table,
    /// The box of a selection.
    Box(&'a str),
    /// This box.
    Region(&'a [ScalarRange]),
    /// Single cells of a dense array.
    Points,
}

/// The types of all fields, dimensions first.
pub(crate) async fn all_fields(array: &Array) -> Result<Vec<Field>> {
    let schema = array.schema();
    let dimensions = schema.dimensions.iter().map(|d| d.name.clone());
    let names: Vec<String> = dimensions
        .chain(schema.attributes.iter().map(|a| a.name.clone()))
        .collect();
    Ok(array.fields(&names).await?)
}

/// Writes a table into an array as one fragment, and returns its name. `start` is the number of rows before the table
/// in its file.
pub(crate) async fn write_table(
    array: &Array,
    table: Table,
    target: Target<'_>,
    timestamp_ms: u64,
    start: u64,
) -> Result<String> {
    let schema = array.schema();
    let fields = all_fields(array).await?;
    let options = WriteOptions {
        timestamp_ms,
        seed: seed()?,
        sync: true,
    };
    let lines = table.lines();
    let written = match target {
        Target::Points => array.write_points(points(schema, &fields, table)?, &options).await,
        target => array.write(assemble(schema, &fields, table, target)?, &options).await,
    };
    written.map_err(|e| by_line(e, lines.as_deref(), start))
}

/// Replaces the index of a cell in an error by its line in the file, if it has one, or by its index in the file.
fn by_line(error: Error, lines: Option<&Lines>, start: u64) -> anyhow::Error {
    match error {
        Error::Cell { cell, why } => {
            let line = lines.zip(usize::try_from(cell).ok()).and_then(|(l, row)| l.of(row));
            match line {
                Some(line) => anyhow!("line {line}: {why}"),
                None => Error::Cell {
                    cell: start + cell,
                    why,
                }
                .into(),
            }
        }
        other => other.into(),
    }
}
