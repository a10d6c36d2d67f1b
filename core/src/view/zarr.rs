//! A dense array as a Zarr v3 hierarchy: `zarr/zarr.json`, `zarr/<name>/zarr.json`, `zarr/<name>/c/<i>/<j>`.
//! Does no I/O.
//!
//! - A chunk is a space tile. If the layout allows, it is a shard that serves the stored bytes unchanged
//!   ([`super::shard`]). Otherwise it is uncompressed cells, so its size is known and any part of it can be read.
//! - An unwritten tile has no chunk. Readers use the fill value.
//! - A nullable attribute has a second array, `<name>_valid`. [`super::missing`] defines the values of its null cells.
//! - `_FillValue` states the missing value for readers of the CF conventions ([`super::fill`]).
//! - Every dimension has an array of its coordinates: those that the array's application stored or can compute, with their
//!   unit, or else the dimension's own ([`super::meaning`]).
//! - `spatial_ref` has the parameters of the map projection ([`super::georeference`]).

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::fill::Facts;
use super::meaning::{Meaning, ShownCoordinates};
use super::members::{GRID_MAPPING, Member, dimension_names, may_have_grid_mapping, members, values_a_cell};
use super::missing::Missing;
use super::node::DirEntry;
use super::shard::Sharding;
use super::tiles::Tiles;
use super::tree::ViewPath;
use super::{attributes, fill, georeference};
use crate::array::Array;
use crate::datatype::{CellCount, Datatype, Physical};
use crate::error::{Error, Result};
use crate::format::attribute::is_complex;
use crate::format::schema::{Attribute, Schema};
use crate::geometry::grid::Grid;
use crate::scalar::{Scalar, json_word};

/// `zarr.json` of the group. It repeats the metadata of all arrays, so that one read opens everything.
pub(super) fn group(of: &Array, facts: &Facts) -> Result<Value> {
    let mut all = Map::new();
    for (name, member) in members(of.schema()) {
        all.insert(name, array(of, &member, facts)?);
    }
    if has_grid_mapping(of.schema(), &facts.meaning) {
        all.insert(GRID_MAPPING.to_owned(), array(of, &Member::GridMapping, facts)?);
    }
    Ok(json!({
        "zarr_format": 3,
        "node_type": "group",
        "attributes": attributes::of_group(&facts.metadata),
        "consolidated_metadata": { "kind": "inline", "must_understand": false, "metadata": all },
    }))
}

/// Whether the group has an array with the parameters of the map projection.
pub(super) fn has_grid_mapping(schema: &Schema, meaning: &Meaning) -> bool {
    may_have_grid_mapping(schema) && georeference::grid_mapping(meaning).is_some()
}

/// `zarr.json` of an array. `facts` are about the whole TileDB array.
pub(super) fn array(of: &Array, member: &Member, facts: &Facts) -> Result<Value> {
    let attribute = match member {
        Member::Values(name) => of.schema().attribute(name),
        Member::Valid(_) | Member::Coordinates(_) | Member::GridMapping => None,
    };
    let meaning = &facts.meaning;
    let sharding = attribute.and_then(|(_, a)| Sharding::of(of, a).ok());
    let mut json = metadata(of.schema(), member, sharding.as_ref(), meaning)?;
    let names = dimension_names(of.schema());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if let Some(known) = json["attributes"].as_object_mut() {
        for (key, value) in attributes::of_member(of.schema(), member, &facts.metadata) {
            // The datatype defines the unit of dates.
            known.entry(key).or_insert(value);
        }
        let described = match member {
            Member::Values(name) => meaning.of_values(name),
            Member::Coordinates(i) => meaning.of_coordinates(*i),
            Member::GridMapping => georeference::grid_mapping(meaning).unwrap_or_default(),
            Member::Valid(_) => Map::new(),
        };
        for (key, value) in described {
            known.entry(key).or_insert(value);
        }
        if let Some((_, a)) = attribute {
            known.extend(fill::attributes(of, a, shown_type(a), facts));
            known.extend(georeference::of_values(meaning, &a.name, &names));
        }
    }
    Ok(json)
}

/// `zarr.json` of an array whose chunks are shards or plain cells.
fn metadata(schema: &Schema, member: &Member, sharding: Option<&Sharding>, meaning: &Meaning) -> Result<Value> {
    let grid = Grid::new(schema)?;
    let lengths = meaning.lengths();
    // Readers find the coordinate arrays by these names.
    let names = dimension_names(schema);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let none = Attribute::new("", Datatype::Bool, CellCount::ONE);
    Ok(match member {
        Member::Values(name) => {
            let (_, a) = schema.attribute(name).unwrap_or((0, &none));
            let missing = Missing::of(a);
            let one = missing.unwritten.get(..a.datatype.size()).unwrap_or(&[]);
            let shown = shown_type(a);
            let count = values_a_cell(schema, name);
            let (mut lengths, mut chunk, mut names) = (lengths, grid.extents(), names);
            if count > 1 {
                lengths.push(count);
                chunk.push(count);
                names.push(if names.contains(&"value") { "value_" } else { "value" });
            }
            let mut json = describe(shown, &lengths, &chunk, &names, fill_value(shown, one));
            if is_complex(a.datatype, a.cell) {
                let parts = missing.unwritten.chunks(a.datatype.size());
                json["fill_value"] = parts.map(|part| fill_value(shown, part)).collect();
                json["data_type"] = json!(format!("complex{}", 16 * a.datatype.size()));
            }
            if let Some(sharding) = sharding {
                json["codecs"] = json!([sharding.codec(&bytes_codec(a.datatype), count)]);
            }
            json
        }
        Member::Valid(name) => {
            let fill = schema.attribute(name).is_some_and(|(_, a)| a.fill_valid);
            describe(Datatype::Bool, &lengths, &grid.extents(), &names, json!(fill))
        }
        Member::Coordinates(i) => {
            let length = lengths.get(*i).copied().unwrap_or(1);
            let own = schema.dimensions.get(*i).map_or(Datatype::Int64, |d| d.datatype);
            let (datatype, fill) = match meaning.axes.get(*i).map(|axis| &axis.coordinates) {
                Some(ShownCoordinates::Regular(_)) => (Datatype::Float64, json!("NaN")),
                Some(ShownCoordinates::Array(_, a, _)) => (a.datatype, fill_value(a.datatype, &a.fill)),
                Some(ShownCoordinates::Dimension) | None => (own, json!(0)),
            };
            let name = names.get(*i).copied().unwrap_or("");
            describe(datatype, &[length], &[chunk_length(&grid, *i, length)], &[name], fill)
        }
        Member::GridMapping => describe(Datatype::Int32, &[], &[], &[], json!(0)),
    })
}

/// The displayed type of values. A nullable bool needs a third value, so it becomes uint8.
fn shown_type(a: &Attribute) -> Datatype {
    match a.datatype {
        Datatype::Bool if a.nullable => Datatype::Uint8,
        t => t,
    }
}

/// The codec from values to bytes.
fn bytes_codec(datatype: Datatype) -> Value {
    if datatype.size() == 1 {
        json!({ "name": "bytes" })
    } else {
        json!({ "name": "bytes", "configuration": { "endian": "little" } })
    }
}

fn describe(datatype: Datatype, shape: &[u64], chunk: &[u64], names: &[&str], fill: Value) -> Value {
    // Readers of the CF conventions, such as xarray, convert these to dates and durations.
    let attributes = match datatype.time_unit() {
        Some(unit) if datatype.is_datetime() => {
            json!({ "units": format!("{unit} since 1970-01-01"), "calendar": "proleptic_gregorian" })
        }
        Some(unit) => json!({ "units": unit }),
        None => json!({}),
    };
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": type_name(datatype),
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "fill_value": fill,
        "codecs": [bytes_codec(datatype)],
        "attributes": attributes,
        "dimension_names": names,
    })
}

/// Zarr's name of the stored type.
const fn type_name(datatype: Datatype) -> &'static str {
    if matches!(datatype, Datatype::Bool) {
        return "bool";
    }
    match datatype.physical() {
        Physical::I8 => "int8",
        Physical::I16 => "int16",
        Physical::I32 => "int32",
        Physical::I64 => "int64",
        Physical::U8 => "uint8",
        Physical::U16 => "uint16",
        Physical::U32 => "uint32",
        Physical::U64 => "uint64",
        Physical::F32 => "float32",
        Physical::F64 => "float64",
    }
}

fn fill_value(datatype: Datatype, bytes: &[u8]) -> Value {
    let float = |v: f64| json_word(v).map_or_else(|| json!(v), Value::from);
    match Scalar::from_le_bytes(datatype.physical(), bytes) {
        Some(Scalar::U8(v)) if datatype == Datatype::Bool => json!(v != 0),
        Some(Scalar::F32(v)) => float(f64::from(v)),
        Some(Scalar::F64(v)) => float(v),
        Some(Scalar::U64(v)) => json!(v),
        Some(v) => json!(v.as_i128().and_then(|v| i64::try_from(v).ok()).unwrap_or(0)),
        None => json!(0),
    }
}

/// Coordinates per chunk of a dimension: the tile extent, or the axis length if that is shorter.
fn chunk_length(grid: &Grid, dimension: usize, length: u64) -> u64 {
    let extent = grid.axes.get(dimension).map_or(1, |axis| axis.extent);
    extent.min(length).max(1)
}

/// The number of coordinate chunks of a dimension.
fn chunks_along(grid: &Grid, dimension: usize, length: u64) -> u64 {
    length.div_ceil(chunk_length(grid, dimension, length))
}

/// The cells of a coordinate chunk, counted from the start of the domain, and the number of coordinates in each chunk.
/// `None` after the last chunk.
pub(super) fn coordinate_cells(
    schema: &Schema,
    meaning: &Meaning,
    dimension: usize,
    chunk: u64,
) -> Option<(Range<u64>, u64)> {
    let grid = Grid::new(schema).ok()?;
    let length = meaning.axes.get(dimension)?.length;
    let count = chunk_length(&grid, dimension, length);
    let first = chunk.checked_mul(count).filter(|first| *first < length)?;
    Some((first..(first + count).min(length), count))
}

/// A dimension's own coordinates of these cells.
pub(super) fn own_coordinates(schema: &Schema, dimension: usize, cells: Range<u64>) -> Option<Vec<u8>> {
    let grid = Grid::new(schema).ok()?;
    let axis = grid.axes.get(dimension)?;
    Some(cells.flat_map(|cell| axis.coordinate(cell).to_le_bytes()).collect())
}

/// Lists a folder of the hierarchy.
///
/// # Errors
/// [`Error::NotFound`] for a file or a folder without data; [`Error::LimitExceeded`] if there are too many names.
pub(super) fn list(array: &Array, place: &ViewPath<'_>, meaning: &Meaning) -> Result<Vec<DirEntry>> {
    let schema = array.schema();
    let metadata = DirEntry::file("zarr.json");
    Ok(match place {
        ViewPath::Zarr => {
            let names = members(schema).into_iter().map(|(name, _)| DirEntry::dir(name));
            let grid = has_grid_mapping(schema, meaning).then(|| DirEntry::dir(GRID_MAPPING));
            names.chain(grid).chain([metadata]).collect()
        }
        ViewPath::ZarrArray(Member::GridMapping) => vec![metadata],
        ViewPath::ZarrArray(_) => vec![DirEntry::dir("c"), metadata],
        ViewPath::ZarrDir(member, prefix) => {
            let is_last = prefix.len() + 1 == member.chunk_axes(schema);
            let entry = |n: u64| match is_last {
                true => DirEntry::file(n.to_string()),
                false => DirEntry::dir(n.to_string()),
            };
            next(array, member, prefix, meaning)?.into_iter().map(entry).collect()
        }
        _ => return Err(Error::not_found(array.path(), "this is a file, not a folder")),
    })
}

/// The possible next indices after `prefix` in the keys of existing chunks.
///
/// # Errors
/// [`Error::NotFound`] if no chunk key starts with `prefix`; [`Error::LimitExceeded`] if there are too many.
fn next(array: &Array, member: &Member, prefix: &[u64], meaning: &Meaning) -> Result<Vec<u64>> {
    if !holds(array, member, prefix, meaning)? {
        return Err(Error::not_found(array.path(), "no chunk in this folder contains data"));
    }
    match member {
        Member::Coordinates(i) => {
            let length = meaning.axes.get(*i).map_or(0, |axis| axis.length);
            Ok((0..chunks_along(&Grid::new(array.schema())?, *i, length)).collect())
        }
        Member::GridMapping => Ok(Vec::new()),
        // The values of a cell are always in one chunk.
        _ if prefix.len() == array.schema().dimensions.len() => Ok(vec![0]),
        _ => tiles(array, member)?.next(prefix),
    }
}

/// The tiles with chunks. These are the tiles that may contain cells. They are all tiles if the values of a cell have
/// different fill values, which Zarr can express for complex numbers only.
fn tiles(array: &Array, member: &Member) -> Result<Tiles> {
    let attribute = match member {
        Member::Values(name) => array.schema().attribute(name).map(|(_, a)| a),
        _ => None,
    };
    let is_stated = |a: &Attribute| is_complex(a.datatype, a.cell) || Missing::of(a).is_uniform(a.datatype);
    if attribute.is_none_or(is_stated) {
        Tiles::of(array)
    } else {
        Tiles::whole(array.schema())
    }
}

/// Whether a chunk key starts with `prefix`.
///
/// # Errors
/// Same as [`Grid::new`].
pub(super) fn holds(array: &Array, member: &Member, prefix: &[u64], meaning: &Meaning) -> Result<bool> {
    match (member, prefix) {
        (Member::Coordinates(_), []) => Ok(true),
        (Member::GridMapping, _) => Ok(false),
        (Member::Coordinates(i), [chunk, ..]) => {
            let length = meaning.axes.get(*i).map_or(0, |axis| axis.length);
            Ok(*chunk < chunks_along(&Grid::new(array.schema())?, *i, length))
        }
        _ => has_chunk(array, member, prefix),
    }
}

/// The same for an array of values or of validity.
pub(super) fn has_chunk(array: &Array, member: &Member, prefix: &[u64]) -> Result<bool> {
    let dimensions = array.schema().dimensions.len();
    if matches!(member, Member::Coordinates(_) | Member::GridMapping) {
        return Ok(false);
    }
    let (tile, inner) = prefix.split_at(dimensions.min(prefix.len()));
    Ok(inner.iter().all(|&n| n == 0) && tiles(array, member)?.holds(tile))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::members::tests::schema;

    #[test]
    fn metadata_states_shape_chunks_type_and_fill_value() {
        let json = metadata(&schema(), &Member::Values("__maybe".into()), None, &none(&schema())).unwrap();
        assert_eq!(json["shape"], json!([10, 3]));
        assert_eq!(json["chunk_grid"]["configuration"]["chunk_shape"], json!([4, 2]));
        assert_eq!(
            (&json["data_type"], &json["fill_value"]),
            (&json!("float32"), &json!("NaN"))
        );
        assert_eq!(json["dimension_names"], json!(["t", "dim_1"]));
        let json = metadata(&schema(), &Member::Values("rgb".into()), None, &none(&schema())).unwrap();
        assert_eq!((&json["shape"], &json["fill_value"]), (&json!([10, 3, 3]), &json!(255)));
        let mut complex = schema();
        complex.attributes[1] = Attribute::new("z", Datatype::Float32, CellCount::Fixed(2));
        complex.attributes[1].fill = [1_f32, f32::NAN].map(f32::to_le_bytes).concat();
        let json = metadata(&complex, &Member::Values("z".into()), None, &none(&complex)).unwrap();
        assert_eq!(
            (&json["shape"], &json["data_type"]),
            (&json!([10, 3]), &json!("complex64"))
        );
        assert_eq!(json["fill_value"], json!([1.0, "NaN"]));
        let json = metadata(&schema(), &Member::Coordinates(0), None, &none(&schema())).unwrap();
        assert_eq!(json["attributes"]["units"], json!("days since 1970-01-01"));
    }

    #[test]
    fn coordinates_end_with_the_domain() {
        let (schema, meaning) = (schema(), none(&schema()));
        assert_eq!(coordinate_cells(&schema, &meaning, 0, 2), Some((8..10, 4)));
        assert_eq!(coordinate_cells(&schema, &meaning, 0, 3), None);
        let bytes = own_coordinates(&schema, 0, 8..10).unwrap();
        assert_eq!(bytes, [18_i64, 19].map(i64::to_le_bytes).concat());
    }

    /// Nothing but the schema is known.
    fn none(schema: &Schema) -> Meaning {
        Meaning::new(schema, &crate::conventions::Dataset::default(), "")
    }
}
