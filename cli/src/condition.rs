//! Parses the conditions of `--where`.

use anyhow::{Context as _, Result};
use hyperslab::{Array, Condition, Error, conventions};

use crate::errors::usage;

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
    Ok(conventions::stored_condition(&condition, &dataset, array.schema()))
}
