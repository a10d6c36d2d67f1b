//! `--where`: conditions as they are typed.

use anyhow::Result;
use hyperslab::Condition;
use hyperslab::format::schema::Schema;

use crate::failure::usage;

/// The condition, once its fields are known to be those of the array.
pub(crate) fn read(text: &str, schema: &Schema) -> Result<Condition> {
    let condition: Condition = text.parse().map_err(|e| usage("--where", e))?;
    let known = |name: &str| schema.attribute(name).is_some() || schema.dimension(name).is_some();
    let unknown = condition.fields().into_iter().find(|name| !known(name));
    if let Some(unknown) = unknown {
        let dimensions = schema.dimensions.iter().map(|d| d.name.as_str());
        let attributes = schema.attributes.iter().map(|a| a.name.as_str());
        let fields: Vec<_> = dimensions.chain(attributes).filter(|name| !name.is_empty()).collect();
        let why = format!("there is no field '{unknown}'; the fields are {}", fields.join(", "));
        return Err(usage("--where", why));
    }
    Ok(condition)
}
