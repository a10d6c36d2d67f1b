//! The inference of a schema without an array.

use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result};
use clap::Parser as _;
use hyperslab::schema::{Attribute, Enumeration, Field};

use super::infer;
use crate::args::{Cli, Command, Import};
use crate::input::Table;

/// The types of the attributes that an import without options infers for a table.
pub(crate) fn attributes(table: &mut Table) -> Result<Vec<Field>> {
    static ARGS: OnceLock<Option<Import>> = OnceLock::new();
    let args = ARGS.get_or_init(|| match Cli::try_parse_from(["hyperslab", "import", "in", "array"]) {
        Ok(Cli {
            command: Command::Import(args),
            ..
        }) => Some(args),
        _ => None,
    });
    let args = args.as_ref().context("these are the arguments of an import")?;
    let (schema, enumerations) = infer::schema(table, args, None)?;
    let field = |attribute: &Attribute| {
        let own = |e: &&Enumeration| Some(&e.name) == attribute.enumeration.as_ref();
        let enumeration = enumerations.iter().find(own).cloned().map(Arc::new);
        Field {
            enumeration,
            ..Field::attribute(attribute, 0)
        }
    };
    Ok(schema.attributes.iter().map(field).collect())
}
