//! The metadata of an array as attributes of the Zarr hierarchy. Does no I/O.
//!
//! TileDB-CF stores the attributes of a NetCDF variable in the array's metadata, with keys such as
//! `__tiledb_attr.NAME.KEY` for attributes and `__tiledb_dim.NAME.KEY` for dimensions.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::documents::meta_value;
use super::members::Member;
use crate::format::metadata::MetaValue;
use crate::format::schema::Schema;

/// The CF attribute for the missing value.
pub(super) const FILL_VALUE: &str = "_FillValue";
const OF_ATTRIBUTE: &str = "__tiledb_attr.";
const OF_DIMENSION: &str = "__tiledb_dim.";

/// The Zarr attributes of the whole array.
pub(super) fn of_group(metadata: &BTreeMap<String, MetaValue>) -> Map<String, Value> {
    let own = |key: &str| !key.starts_with(OF_ATTRIBUTE) && !key.starts_with(OF_DIMENSION);
    let entries = metadata.iter().filter(|(key, _)| own(key));
    entries.map(|(key, value)| (key.clone(), meta_value(value))).collect()
}

/// The metadata value of `key` for an attribute.
pub(super) fn stated<'a>(
    metadata: &'a BTreeMap<String, MetaValue>,
    attribute: &str,
    key: &str,
) -> Option<&'a MetaValue> {
    metadata.get(&format!("{OF_ATTRIBUTE}{attribute}.{key}"))
}

/// The Zarr attributes of an attribute or a dimension.
pub(super) fn of_member(
    schema: &Schema,
    member: &Member,
    metadata: &BTreeMap<String, MetaValue>,
) -> Map<String, Value> {
    match member {
        Member::Values(name) => of_attribute(name, metadata),
        Member::Coordinates(i) => {
            let name = schema.dimensions.get(*i).map_or("", |d| &d.name);
            below(&format!("{OF_DIMENSION}{name}."), metadata)
        }
        Member::Valid(_) | Member::GridMapping => Map::new(),
    }
}

/// The Zarr attributes of an attribute.
pub(super) fn of_attribute(name: &str, metadata: &BTreeMap<String, MetaValue>) -> Map<String, Value> {
    below(&format!("{OF_ATTRIBUTE}{name}."), metadata)
}

fn below(prefix: &str, metadata: &BTreeMap<String, MetaValue>) -> Map<String, Value> {
    let entries = metadata
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(prefix)?, value)));
    // `_FillValue` is written separately.
    let entries = entries.filter(|(key, _)| *key != FILL_VALUE);
    entries
        .map(|(key, value)| (key.to_owned(), meta_value(value)))
        .collect()
}
