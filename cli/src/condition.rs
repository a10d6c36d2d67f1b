//! Parses the conditions of `--where`.

use anyhow::Result;
use hyperslab::{Array, Condition, Error};

use crate::errors::usage;

/// Parses a condition, and checks it against the array's fields.
pub(crate) async fn read(text: &str, array: &Array) -> Result<Condition> {
    let condition: Condition = text.parse().map_err(|e| usage("--where", e))?;
    match array.check_condition(&condition).await {
        Err(e @ Error::InvalidArgument(_)) => Err(usage("--where", e)),
        other => Ok(other.map(|()| condition)?),
    }
}
