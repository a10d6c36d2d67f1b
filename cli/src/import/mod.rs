//! `import`: creates an array from a file, with an inferred schema.

mod arrow;
mod batches;
mod enumerations;
mod extents;
#[cfg(test)]
mod hostile;
mod infer;
mod odd;
#[cfg(test)]
mod tests;
mod tiles;

use anyhow::{Context as _, Result};
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::{Array, CellCount, Column, CreateOptions, Datatype, Window, WriteOptions};

use crate::args::Import;
use crate::build::Building;
use crate::errors::usage;
use crate::input::{Grid, Source, Table, Text};
use crate::show;
use crate::store::{Env, Place, seed};
use crate::time_args;
use crate::write::{Target, write_table};

/// Runs the command.
pub(crate) async fn import(env: &Env, args: &Import) -> Result<()> {
    let source = Source::new(&args.input, args.format, args.separator)?;
    let (table, later) = look(args, &source)?;
    let building = Building::start(&Place::new(&args.array)?).await?;
    let made = fill(env, args, table, later, building.place()).await;
    building
        .end(made.with_context(|| format!("cannot import {} into {}", args.input, args.array)))
        .await
}

/// Cells that are read when they are written.
enum Later {
    Text(Text),
    Grid(Grid),
    Arrow(arrow::Cells),
}

impl Later {
    /// The sides of the blocks in which the cells are written, if they have the axes of the file.
    fn block(&self, args: &Import, table: &Table) -> Vec<u64> {
        match self {
            Self::Text(_) => vec![batches::rows(args, batches::text_bytes(table), table.rows() as u64)],
            Self::Grid(grid) => grid.block(batches::batch_bytes(args)),
            Self::Arrow(cells) => vec![cells.rows_at_a_time(args)],
        }
    }
}

/// The table in the file. Cells that need not be known before they are written are not read yet.
fn look(args: &Import, source: &Source<'_>) -> Result<(Table, Option<Later>)> {
    if let Some(text) = source.text()? {
        let table = text.look(&types(args)?);
        let table = table.with_context(|| format!("cannot read {}", source.shown()))?;
        return Ok((table, Some(Later::Text(text))));
    }
    if !args.types.is_empty() {
        return Err(usage("--types", "only columns of CSV and TSV files can be given types"));
    }
    if !args.sparse
        && let Some((table, grid)) = source.grid()?
    {
        return Ok((table, Some(Later::Grid(grid))));
    }
    if let Some(batches) = source.batches()? {
        let looked = arrow::look(args, batches);
        let (table, cells) = looked.with_context(|| format!("cannot read {}", source.shown()))?;
        return Ok((table, cells.map(Later::Arrow)));
    }
    Ok((source.read()?, None))
}

/// Parses `--types` to column names and types.
fn types(args: &Import) -> Result<Vec<(String, Datatype)>> {
    let of = |text: &String| {
        let (name, datatype) = text
            .rsplit_once('=')
            .ok_or_else(|| usage("--types", format!("'{text}' is not written as COLUMN=TYPE")))?;
        let datatype = Datatype::from_name(datatype).map_err(|e| usage("--types", e))?;
        Ok((name.to_owned(), datatype))
    };
    args.types.iter().map(of).collect()
}

async fn fill(env: &Env, args: &Import, mut table: Table, later: Option<Later>, place: &Place) -> Result<()> {
    let timestamp_ms = time_args::or_now(args.timestamp)?;
    let extras = std::mem::take(&mut table.extras);
    let block = later.as_ref().map(|l| l.block(args, &table));
    let (schema, enumerations) = infer::schema(&mut table, args, block.as_deref())?;
    let options = CreateOptions {
        timestamp_ms,
        seed: seed()?,
        key: env.key.clone(),
    };
    Array::create(&place.context, &place.path, &schema, &enumerations, &options).await?;
    let array = env.open_at(place, Window::ALL).await?;
    let entries: Vec<Entry> = extras
        .into_iter()
        .map(|(key, column)| Entry {
            key,
            value: Some(metadata(&column)),
        })
        .collect();
    if !entries.is_empty() {
        let keys: Vec<&str> = entries.iter().map(|e| e.key.as_str()).collect();
        show::note(format_args!(
            "stored as metadata, because they have fewer axes than the cells: {}; read them with `hyperslab meta \
             get ARRAY KEY`",
            keys.join(", ")
        ));
        array
            .write_metadata(
                &entries,
                &WriteOptions {
                    timestamp_ms,
                    seed: seed()?,
                    sync: true,
                },
            )
            .await?;
    }
    match later {
        Some(Later::Text(text)) => batches::write(env, args, place, &text, &table, timestamp_ms).await,
        Some(Later::Grid(grid)) => batches::write_grid(env, args, place, &grid, &table, timestamp_ms).await,
        Some(Later::Arrow(cells)) => arrow::write(env, args, place, &cells, &table, timestamp_ms).await,
        None => write_table(&array, table, Target::Table, timestamp_ms).await.map(drop),
    }
}

/// A short list as a metadata value. Several strings are joined to one, with a line for each.
fn metadata(column: &Column) -> MetaValue {
    if column.cell == CellCount::Var && column.len() > 1 {
        let lines: Vec<&[u8]> = (0..column.len()).map(|i| column.cell(i)).collect();
        return MetaValue::bytes(column.datatype, &lines.join(b"\n".as_slice()));
    }
    MetaValue::bytes(column.datatype, &column.data)
}
