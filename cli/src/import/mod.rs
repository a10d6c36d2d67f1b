//! `import`: a new array from a file, its schema inferred.

mod extents;
#[cfg(test)]
mod hostile;
mod infer;
mod tiles;

use anyhow::{Context as _, Result};
use hyperslab::array::{CreateOptions, create};
use hyperslab::format::metadata::{Entry, MetaValue};
use hyperslab::write::WriteOptions;
use hyperslab::{CellCount, Column, Window};

use crate::args::Import;
use crate::build::Building;
use crate::input::{self, Table};
use crate::store::{Env, Place, seed};
use crate::when;
use crate::write::{Target, write_table};

/// Runs the command.
pub(crate) async fn import(env: &Env, args: &Import) -> Result<()> {
    let table = input::read(&args.input, args.format)?;
    let building = Building::start(&Place::new(&args.array)?).await?;
    let made = fill(env, args, table, building.place()).await;
    building
        .end(made.with_context(|| format!("cannot import {} into {}", args.input, args.array)))
        .await
}

async fn fill(env: &Env, args: &Import, mut table: Table, place: &Place) -> Result<()> {
    let timestamp_ms = when::or_now(args.timestamp)?;
    let extras = std::mem::take(&mut table.extras);
    let (schema, enumerations) = infer::schema(&mut table, args)?;
    let options = CreateOptions {
        timestamp_ms,
        seed: seed()?,
        key: env.key.clone(),
    };
    create(&place.context, &place.path, &schema, &enumerations, &options).await?;
    let array = env.open_at(place, Window::ALL).await?;
    let entries: Vec<Entry> = extras
        .into_iter()
        .map(|(key, column)| Entry {
            key,
            value: Some(metadata(&column)),
        })
        .collect();
    if !entries.is_empty() {
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
    write_table(&array, table, Target::Table, timestamp_ms).await?;
    Ok(())
}

/// The values of a short list. Several strings become one, a line each.
fn metadata(column: &Column) -> MetaValue {
    if column.cell == CellCount::Var && column.len() > 1 {
        let lines: Vec<&[u8]> = (0..column.len()).map(|i| column.cell(i)).collect();
        return MetaValue::bytes(column.datatype, &lines.join(b"\n".as_slice()));
    }
    MetaValue::bytes(column.datatype, &column.data)
}
