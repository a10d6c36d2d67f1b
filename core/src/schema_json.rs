//! Schemas as JSON: what `hyperslab schema` prints and `create --schema` accepts.

use serde_json::Value;

use crate::error::Result;
use crate::format::enumeration::Enumeration;
use crate::format::pipeline::Pipeline;
use crate::format::schema::Schema;

/// The schema as JSON, its enumerations with their values.
pub fn to_json(schema: &Schema, enumerations: &[Enumeration]) -> Value {
    let _ = (schema, enumerations);
    unimplemented!()
}

/// The schema that JSON describes, and its enumerations. Everything but dimensions, attributes and
/// their types may be left out. File names of enumerations are empty: creating an array names them.
///
/// # Errors
/// [`crate::Error::InvalidArgument`] names the entry and says what it takes.
pub fn from_json(json: &Value) -> Result<(Schema, Vec<Enumeration>)> {
    let _ = json;
    unimplemented!()
}

/// Filters from a list such as `byteshuffle,zstd:5`.
///
/// # Errors
/// [`crate::Error::InvalidArgument`] names the filter and lists those there are.
pub fn parse_filters(text: &str) -> Result<Pipeline> {
    let _ = text;
    unimplemented!()
}
