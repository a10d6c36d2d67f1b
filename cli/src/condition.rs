//! `--where`: conditions as they are typed.

use anyhow::Result;
use hyperslab::{Array, Condition, Error};

use crate::failure::usage;

/// The condition, once the array's fields are known to be such that it can test them.
pub(crate) async fn read(text: &str, array: &Array) -> Result<Condition> {
    let condition: Condition = text.parse().map_err(|e| usage("--where", e))?;
    match array.check_condition(&condition).await {
        Err(e @ Error::InvalidArgument(_)) => Err(usage("--where", e)),
        other => Ok(other.map(|()| condition)?),
    }
}
