//! Parses the conditions of `--where`.

use anyhow::{Context as _, Result};
use hyperslab::conventions::{self, Dataset};
use hyperslab::{Array, Condition, Error};

use crate::errors::usage;
use crate::show;

/// Parses a condition, and checks it against the array's fields.
pub(crate) async fn read(text: &str, array: &Array) -> Result<Condition> {
    let condition: Condition = text.parse().map_err(|e| usage("--where", e))?;
    match array.check_condition(&condition).await {
        Err(e @ Error::InvalidArgument(_)) => Err(usage("--where", e)),
        other => Ok(other.map(|()| condition)?),
    }
}

/// Parses a condition on unpacked values, as a condition on the stored numbers. Missing values fail it.
pub(crate) async fn read_unpacked(text: &str, array: &Array) -> Result<Condition> {
    let condition = read(text, array).await?;
    let dataset = conventions::of_array(array).await;
    let dataset = dataset.context("cannot read what the values mean; test the stored numbers with --stored")?;
    let packed = packed_otherwise(&condition, &dataset, array).await?;
    if !packed.is_empty() {
        show::note(format_args!(
            "--where tests the stored numbers of {}, because only variables with one scale and offset for all cells of a \
             dense array are unpacked",
            packed.join(", ")
        ));
    }
    Ok(conventions::stored_condition(&condition, &dataset, array.schema()))
}

/// The fields of a condition that are packed, but that the description does not unpack.
async fn packed_otherwise(condition: &Condition, dataset: &Dataset, array: &Array) -> Result<Vec<String>> {
    let metadata = array.metadata().await?;
    let is_packed = |field: &&str| {
        let mut variables = dataset.variables.iter().filter(|v| v.path.is_empty());
        let is_unpacked = variables.any(|v| v.attribute == *field && v.packing.is_some());
        let is_stated = ["scale_factor", "add_offset"]
            .iter()
            .any(|key| metadata.contains_key(&format!("__tiledb_attr.{field}.{key}")));
        let mut channels = dataset.channels.iter().filter(|c| c.variable == *field);
        !is_unpacked && (is_stated || channels.any(|c| c.packing.is_some()))
    };
    let fields = condition.fields();
    let packed = fields.iter().filter(|f| is_packed(f)).map(|f| (*f).to_owned());
    Ok(packed.collect())
}
