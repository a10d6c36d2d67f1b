//! `write`: writes the cells of a file as one fragment.

use anyhow::{Context as _, Result, anyhow};
use hyperslab::{Array, Error, WriteOptions};

use crate::args::Write;
use crate::cells::{assemble, points};
use crate::input::{Lines, Source, Table};
use crate::store::{Env, seed};
use crate::{show, time_args};

/// Runs the command.
pub(crate) async fn write(env: &Env, args: &Write) -> Result<()> {
    let source = Source::new(&args.input, args.format, args.separator)?;
    let array = env.open_to_write(&args.array).await?;
    let table = source.read()?;
    let what = || format!("cannot write {} into {}", source.shown(), args.array);
    let target = match &args.select {
        _ if args.points => Target::Points,
        Some(text) => Target::Box(text),
        None => Target::Table,
    };
    let timestamp_ms = time_args::of_change(args.timestamp, async |now| array.write_time(now).await);
    let timestamp_ms = timestamp_ms.await.with_context(what)?;
    let fragment = write_table(&array, table, target, timestamp_ms)
        .await
        .with_context(what)?;
    show::line(fragment)
}

/// Which cells of the array a table holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// The cells at the table's coordinates, or all cells.
    Table,
    /// The box of a selection.
    Box(&'a str),
    /// Single cells of a dense array.
    Points,
}

/// Writes a table into an array as one fragment, and returns its name.
pub(crate) async fn write_table(array: &Array, table: Table, target: Target<'_>, timestamp_ms: u64) -> Result<String> {
    let schema = array.schema();
    let dimensions = schema.dimensions.iter().map(|d| d.name.clone());
    let names: Vec<String> = dimensions
        .chain(schema.attributes.iter().map(|a| a.name.clone()))
        .collect();
    let fields = array.fields(&names).await?;
    let options = WriteOptions {
        timestamp_ms,
        seed: seed()?,
        sync: true,
    };
    let lines = table.lines();
    let select = match target {
        Target::Points => {
            let cells = points(schema, &fields, table)?;
            let written = array.write_points(cells, &options).await;
            return written.map_err(|e| by_line(e, lines.as_deref()));
        }
        Target::Box(text) => Some(text),
        Target::Table => None,
    };
    let cells = assemble(schema, &fields, table, select)?;
    let written = array.write(cells, &options).await;
    written.map_err(|e| by_line(e, lines.as_deref()))
}

/// Replaces the index of a cell in an error by its line in the file, if it has one.
fn by_line(error: Error, lines: Option<&Lines>) -> anyhow::Error {
    match error {
        Error::Cell { cell, why } => {
            let line = lines.zip(usize::try_from(cell).ok()).and_then(|(l, row)| l.of(row));
            match line {
                Some(line) => anyhow!("line {line}: {why}"),
                None => Error::Cell { cell, why }.into(),
            }
        }
        other => other.into(),
    }
}
