//! `write`: the cells of a file as one fragment.

use anyhow::{Context as _, Result};
use hyperslab::array::Array;
use hyperslab::write::WriteOptions;

use crate::args::Write;
use crate::cells::{assemble, points};
use crate::export::fields;
use crate::input::{self, Table};
use crate::store::{Env, seed};
use crate::{show, when};

/// Runs the command.
pub(crate) async fn write(env: &Env, args: &Write) -> Result<()> {
    let array = env.open_to_write(&args.array).await?;
    let table = input::read(&args.input, args.format)?;
    let name = if args.input == "-" {
        "standard input"
    } else {
        &args.input
    };
    let what = || format!("cannot write {name} into {}", args.array);
    let target = match &args.select {
        _ if args.points => Target::Points,
        Some(text) => Target::Box(text),
        None => Target::Table,
    };
    let fragment = write_table(&array, table, target, when::or_now(args.timestamp)?)
        .await
        .with_context(what)?;
    show::line(fragment)
}

/// Which cells of the array a table holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// Those that the table itself says, or all.
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
    let fields = fields(array, &names).await?;
    let options = WriteOptions {
        timestamp_ms,
        seed: seed()?,
        sync: true,
    };
    let select = match target {
        Target::Points => {
            return Ok(array.write_points(points(schema, &fields, table)?, &options).await?);
        }
        Target::Box(text) => Some(text),
        Target::Table => None,
    };
    Ok(array.write(assemble(schema, &fields, table, select)?, &options).await?)
}
