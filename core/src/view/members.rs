//! The arrays of the Zarr view: which there are, and their names. Does no I/O.

use super::file_names::{file_name, shortened};
use super::selection::column_names;
use super::tiles::lengths;
use crate::datatype::CellCount;
use crate::format::attribute::is_complex;
use crate::format::domain::Dimension;
use crate::format::schema::{Attribute, Schema};
use crate::geometry::grid::Grid;

/// The longest axis with an array of coordinates. Readers load such arrays as a whole.
const COORDINATES_MAX: u64 = 1 << 24;

/// The name of the array with the parameters of the map projection, as rioxarray has it.
pub(super) const GRID_MAPPING: &str = "spatial_ref";

/// An array of the hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Member {
    /// Values of this attribute.
    Values(String),
    /// Validity of this attribute.
    Valid(String),
    /// Coordinates of the dimension with this index.
    Coordinates(usize),
    /// The parameters of the map projection. It has attributes and no chunk, and exists only in some arrays.
    GridMapping,
}

/// The arrays of the hierarchy, with the names of their folders.
pub fn members(schema: &Schema) -> Vec<(String, Member)> {
    let mut found: Vec<(String, Member)> = Vec::new();
    let Some(grid) = Grid::new(schema).ok().filter(|_| schema.is_dense()) else {
        return found;
    };
    let shown = |a: &&Attribute| !a.datatype.is_bytes() && !a.cell.is_var();
    let attributes: Vec<&Attribute> = schema.attributes.iter().filter(shown).collect();
    let names: Vec<&str> = attributes.iter().map(|a| a.name.as_str()).collect();
    let mut all: Vec<(String, Member)> = Vec::new();
    for (a, (name, valid)) in attributes.iter().zip(column_names(&names)) {
        all.push((name, Member::Values(a.name.clone())));
        all.extend(a.nullable.then(|| (valid, Member::Valid(a.name.clone()))));
    }
    let names: Vec<&str> = all.iter().map(|(n, _)| n.as_str()).collect();
    let names = node_names(&names, &[]);
    found.extend(names.into_iter().zip(all).map(|(name, (_, member))| (name, member)));
    let lengths = lengths(schema, &grid);
    for (i, (name, length)) in dimension_names(schema).into_iter().zip(lengths).enumerate() {
        let taken = found.iter().any(|(n, _)| *n == name);
        if !taken && length <= COORDINATES_MAX {
            found.push((name, Member::Coordinates(i)));
        }
    }
    found
}

/// The attributes that the hierarchy lacks, each after the name of an array for it.
pub fn text_members(schema: &Schema) -> Vec<(String, String)> {
    let mut taken: Vec<String> = members(schema).into_iter().map(|(name, _)| name).collect();
    let lacking = schema
        .attributes
        .iter()
        .filter(|a| a.datatype.is_bytes() || a.cell.is_var());
    let lacking: Vec<&str> = lacking.map(|a| a.name.as_str()).collect();
    let named = column_names(&lacking).into_iter().zip(&lacking);
    let place = |((name, _), attribute): ((String, String), &&str)| {
        let mut node = node_name(&name);
        while taken.contains(&node) {
            node.push('_');
        }
        taken.push(node.clone());
        (node, (*attribute).to_owned())
    };
    named.map(place).collect()
}

/// The names of the dimensions, which are also those of their arrays of coordinates. An unnamed dimension is called
/// `dim_N`, where N is its number, counted from 0.
pub fn dimension_names(schema: &Schema) -> Vec<String> {
    let name = |(i, d): (usize, &Dimension)| match d.name.as_str() {
        "" => format!("__dim_{i}"),
        name => name.to_owned(),
    };
    let names: Vec<String> = schema.dimensions.iter().enumerate().map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let attributes: Vec<&str> = schema.attributes.iter().map(|a| a.name.as_str()).collect();
    node_names(&names, &attributes)
}

/// Node names for these names, with underscores appended to a changed name that equals another one. `others` are names
/// that no changed name may equal.
fn node_names(names: &[&str], others: &[&str]) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    let node = |&name: &&str| {
        let mut node = node_name(name);
        let is_kept = node == name;
        while taken.contains(&node) || (!is_kept && names.iter().chain(others).any(|n| *n == node)) {
            node.push('_');
        }
        taken.push(node.clone());
        node
    };
    names.iter().map(node).collect()
}

/// The array with this name.
pub(super) fn member(schema: &Schema, name: &str) -> Option<Member> {
    let found = members(schema).into_iter().find(|(n, _)| n == name).map(|(_, m)| m);
    found.or_else(|| (name == GRID_MAPPING).then_some(Member::GridMapping))
}

/// Whether no other array has the name of the grid mapping.
pub(super) fn may_have_grid_mapping(schema: &Schema) -> bool {
    member(schema, GRID_MAPPING) == Some(Member::GridMapping)
}

impl Member {
    /// The number of indices in a chunk key.
    pub(super) fn chunk_axes(&self, schema: &Schema) -> usize {
        match self {
            Self::Coordinates(_) => 1,
            Self::GridMapping => 0,
            Self::Valid(_) => schema.dimensions.len(),
            Self::Values(name) => schema.dimensions.len() + usize::from(values_a_cell(schema, name) > 1),
        }
    }
}

/// Values per cell of an attribute. A complex number is one value.
pub(super) fn values_a_cell(schema: &Schema, attribute: &str) -> u64 {
    match schema.attribute(attribute).map(|(_, a)| a) {
        Some(a) if is_complex(a.datatype, a.cell) => 1,
        Some(Attribute {
            cell: CellCount::Fixed(n),
            ..
        }) => u64::from(*n),
        _ => 1,
    }
}

/// A valid node name. Zarr reserves `zarr.json` and names that start with two underscores, so these underscores are left
/// out: `__dim_0` becomes `dim_0`. zarr-python treats a backslash as a slash, and then finds no array in the group.
fn node_name(name: &str) -> String {
    let node = match name.strip_prefix("__").map(|rest| rest.trim_start_matches('_')) {
        Some("") => "_".to_owned(),
        Some(rest) => file_name(rest),
        None if name == "zarr.json" => "zarr%2Ejson".to_owned(),
        None => file_name(name),
    };
    shortened(node.replace('\\', "%5C"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::datatype::Datatype;
    use crate::format::schema::ArrayType;

    /// Attributes that have a Zarr array, with unusual names, and one that has none.
    pub(in crate::view) fn schema() -> Schema {
        let dims = vec![
            Dimension::new("t", Datatype::DatetimeDay, 10_i64, 19_i64, 4_i64),
            Dimension::new("", Datatype::Int64, 0_i64, 2_i64, 2_i64),
        ];
        let mut maybe = Attribute::new("__maybe", Datatype::Float32, CellCount::ONE);
        maybe.nullable = true;
        let attributes = vec![
            maybe,
            Attribute::new("rgb", Datatype::Uint8, CellCount::Fixed(3)),
            Attribute::new(r"s\t", Datatype::Uint8, CellCount::ONE),
            Attribute::new("text", Datatype::StringUtf8, CellCount::Var),
        ];
        Schema::new(ArrayType::Dense, dims, attributes)
    }

    #[test]
    fn members_are_numbers_and_coordinates() {
        let names: Vec<String> = members(&schema()).into_iter().map(|(n, _)| n).collect();
        assert_eq!(names, ["maybe", "maybe_valid", "rgb", "s%5Ct", "t", "dim_1"]);
        let mut sparse = schema();
        sparse.array_type = ArrayType::Sparse;
        assert_eq!(members(&sparse), []);
    }

    #[test]
    fn array_names_are_unique() {
        let mut schema = schema();
        let attribute = |name: &str, nullable| {
            let mut a = Attribute::new(name, Datatype::Uint8, CellCount::ONE);
            a.nullable = nullable;
            a
        };
        let all = [
            ("n", true),
            ("n_valid", true),
            ("", false),
            ("data", true),
            ("zarr.json", false),
        ];
        schema.attributes = all.iter().map(|(name, nullable)| attribute(name, *nullable)).collect();
        let found = members(&schema);
        let names: Vec<&str> = found.iter().map(|(n, _)| n.as_str()).collect();
        let expected = [
            "n",
            "n_valid_",
            "n_valid",
            "n_valid_valid",
            "data_",
            "data",
            "data_valid",
            "zarr%2Ejson",
            "t",
            "dim_1",
        ];
        assert_eq!(names, expected);
        assert_eq!(member(&schema, "n_valid_"), Some(Member::Valid("n".into())));
        assert_eq!(member(&schema, "data_"), Some(Member::Values(String::new())));
        // Names that Zarr reserves.
        schema.attributes = ["__a", "a", "dim_0"].map(|n| attribute(n, false)).into();
        schema.dimensions[0].name = "__dim_0".into();
        let names: Vec<String> = members(&schema).into_iter().map(|(n, _)| n).collect();
        assert_eq!(names, ["a_", "a", "dim_0", "dim_0_", "dim_1"]);
    }
}
