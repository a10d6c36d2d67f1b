//! `write`: the cells of a file as one fragment.

use anyhow::{Context as _, Result};
use hyperslab::Window;
use hyperslab::array::Array;
use hyperslab::write::WriteOptions;

use crate::args::Write;
use crate::cells::assemble;
use crate::export::fields;
use crate::input::{self, Table};
use crate::store::{Env, seed};
use crate::when;

/// Runs the command.
pub(crate) async fn write(env: &Env, args: &Write) -> Result<()> {
    let array = env.open(&args.array, Window::ALL).await?;
    let table = input::read(&args.input, args.format)?;
    let name = if args.input == "-" {
        "standard input"
    } else {
        &args.input
    };
    let what = || format!("cannot write {name} into {}", args.array);
    let fragment = write_table(&array, table, args.select.as_deref(), when::or_now(args.timestamp)?)
        .await
        .with_context(what)?;
    println!("{fragment}");
    Ok(())
}

/// Writes a table into an array as one fragment, and returns its name.
pub(crate) async fn write_table(
    array: &Array,
    table: Table,
    select: Option<&str>,
    timestamp_ms: u64,
) -> Result<String> {
    let schema = array.schema();
    let dimensions = schema.dimensions.iter().map(|d| d.name.clone());
    let names: Vec<String> = dimensions
        .chain(schema.attributes.iter().map(|a| a.name.clone()))
        .collect();
    let fields = fields(array, &names).await?;
    let cells = assemble(schema, &fields, table, select)?;
    let options = WriteOptions {
        timestamp_ms,
        seed: seed()?,
        sync: true,
    };
    Ok(array.write(cells, &options).await?)
}
