//! `--where`: conditions as they are typed.

use anyhow::Result;
use hyperslab::Condition;
use hyperslab::format::schema::Schema;

use crate::failure::usage;

/// The condition, once its fields are known to be those of the array.
pub(crate) fn read(text: &str, schema: &Schema) -> Result<Condition> {
    let condition: Condition = text.parse().map_err(|e| usage("--where", e))?;
    condition.check_fields(schema).map_err(|e| usage("--where", e))?;
    Ok(condition)
}
