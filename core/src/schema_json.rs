//! Schemas as JSON, as printed by `hyperslab schema` and accepted by `create --schema`.
//!
//! ```
//! use hyperslab::schema_json::from_json;
//! let json = serde_json::json!({
//!     "type": "dense",
//!     "dimensions": [{"name": "x", "type": "int32", "domain": [0, 99], "tile": 10}],
//!     "attributes": [{"name": "a", "type": "float64", "filters": ["byteshuffle", "zstd:5"]}],
//! });
//! let (schema, _) = from_json(&json).unwrap();
//! assert_eq!(schema.attributes[0].filters.filters.len(), 2);
//! ```
//!
//! Integers beyond 2^53 are strings. Floats that are not finite are `"nan"`, `"inf"` and `"-inf"`. Dates are ISO 8601.
//! Bytes that are not text are `{"hex": "…"}`. Defaults are omitted.

mod fields;
mod filters;
mod read;
pub(crate) mod value;

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::format::current_domain::CurrentDomain;
use crate::format::enumeration::Enumeration;
use crate::format::pipeline::Pipeline;
use crate::format::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use read::{Entry, choice};

pub use filters::parse_filters;

const TYPES: &[(&str, ArrayType)] = &[("dense", ArrayType::Dense), ("sparse", ArrayType::Sparse)];
const LAYOUTS: &[(&str, Layout)] = &[
    ("row-major", Layout::RowMajor),
    ("col-major", Layout::ColMajor),
    ("hilbert", Layout::Hilbert),
    ("global", Layout::Global),
    ("unordered", Layout::Unordered),
];

/// The schema as JSON, including the values of its enumerations.
pub fn to_json(schema: &Schema, enumerations: &[Enumeration]) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| drop(out.insert(key.to_owned(), value));
    put("type", json!(name_of(TYPES, schema.array_type)));
    put("tile_order", json!(name_of(LAYOUTS, schema.tile_order)));
    put("cell_order", json!(name_of(LAYOUTS, schema.cell_order)));
    put("capacity", json!(schema.capacity));
    if !schema.is_dense() {
        put("allows_duplicates", json!(schema.allows_duplicates));
    }
    put(
        "dimensions",
        schema.dimensions.iter().map(fields::dimension_to_json).collect(),
    );
    put(
        "attributes",
        schema.attributes.iter().map(fields::attribute_to_json).collect(),
    );
    if !schema.enumerations.is_empty() {
        put(
            "enumerations",
            schema
                .enumerations
                .iter()
                .map(|e| fields::enumeration_to_json(&e.name, enumerations))
                .collect(),
        );
    }
    if let Some(current) = &schema.current_domain {
        let ranges = current.ranges.iter().zip(&schema.dimensions);
        put(
            "current_domain",
            ranges.map(|(r, d)| value::range_to_json(r, d.datatype)).collect(),
        );
    }
    if !schema.labels.is_empty() {
        put(
            "labels",
            schema
                .labels
                .iter()
                .enumerate()
                .map(|(i, l)| fields::label_to_json(l, i, schema))
                .collect(),
        );
    }
    put("coords_filters", filters::to_json(&schema.coords_filters));
    put("offsets_filters", filters::to_json(&schema.offsets_filters));
    put("validity_filters", filters::to_json(&schema.validity_filters));
    Value::Object(out)
}

/// The schema described by JSON, and its enumerations. Only dimensions, attributes and their types are required. The
/// file names of enumerations are empty, because they are assigned when the array is created.
///
/// # Errors
/// [`crate::Error::InvalidArgument`] names the invalid entry and says what is allowed.
pub fn from_json(json: &Value) -> Result<(Schema, Vec<Enumeration>)> {
    let top = Entry::object(json, "schema", KEYS)?;
    let dimensions: Vec<Dimension> = top.list("dimensions", fields::dimension_from_json)?;
    let attributes: Vec<Attribute> = top.list("attributes", fields::attribute_from_json)?;
    let array_type = top
        .get("type")
        .ok_or_else(|| Error::invalid("schema: 'type' is missing; it must be dense or sparse"))?;
    let mut schema = Schema::new(choice(&array_type, TYPES)?, dimensions, attributes);
    let layout = |key: &str, default| top.get(key).map_or(Ok(default), |e| choice(&e, LAYOUTS));
    schema.tile_order = layout("tile_order", schema.tile_order)?;
    schema.cell_order = layout("cell_order", schema.cell_order)?;
    schema.capacity = top.get("capacity").map_or(Ok(schema.capacity), |e| e.u64())?;
    schema.allows_duplicates = top.bool("allows_duplicates")?;
    let pipeline = |key: &str, default: &Pipeline| top.get(key).map_or(Ok(default.clone()), |e| filters::from_json(&e));
    schema.coords_filters = pipeline("coords_filters", &schema.coords_filters)?;
    schema.offsets_filters = pipeline("offsets_filters", &schema.offsets_filters)?;
    schema.validity_filters = pipeline("validity_filters", &schema.validity_filters)?;
    let enumerations = top.list("enumerations", fields::enumeration_from_json)?;
    schema.enumerations = enumerations.iter().map(Into::into).collect();
    schema.labels = top.list("labels", |e| fields::label_from_json(e, &schema))?;
    schema.current_domain = current_domain(&top, &schema)?;
    Ok((schema, enumerations))
}

const KEYS: &[&str] = &[
    "type",
    "tile_order",
    "cell_order",
    "capacity",
    "allows_duplicates",
    "dimensions",
    "attributes",
    "enumerations",
    "current_domain",
    "labels",
    "coords_filters",
    "offsets_filters",
    "validity_filters",
];

fn current_domain(top: &Entry<'_>, schema: &Schema) -> Result<Option<CurrentDomain>> {
    let Some(entry) = top.get("current_domain") else {
        return Ok(None);
    };
    let ranges = entry.items()?;
    if ranges.len() != schema.dimensions.len() {
        return Err(entry.wrong("a range [lo, hi] for each dimension"));
    }
    let pairs = ranges.iter().zip(&schema.dimensions);
    let ranges = pairs
        .map(|(e, d)| value::range_from_json(e, d.datatype, d.cell))
        .collect::<Result<_>>()?;
    Ok(Some(CurrentDomain { ranges }))
}

fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|(_, v)| *v == value).map_or("", |(name, _)| name)
}

#[cfg(test)]
mod tests;
