//! Names of the data files in a fragment's folder.

use percent_encoding::percent_encode_byte;

use super::fragment::slots::FieldId;
use super::schema::Schema;
use super::version::Version;

/// The parts of a field, each with its own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldFile {
    /// Values of fixed-size cells, or offsets of variable-length cells.
    Fixed,
    /// Values of variable-length cells.
    Var,
    /// Validity of a nullable attribute, one byte per cell.
    Validity,
}

/// Name of the fragment metadata file.
pub const FRAGMENT_METADATA: &str = "__fragment_metadata.tdb";

/// Name of the file for one part of a field, in a fragment of this version written with `schema`.
pub fn file_name(schema: &Schema, version: Version, field: FieldId, part: FieldFile) -> String {
    let suffix = match part {
        FieldFile::Fixed => "",
        FieldFile::Var => "_var",
        FieldFile::Validity => "_validity",
    };
    stem(schema, version, field) + suffix + ".tdb"
}

fn stem(schema: &Schema, version: Version, field: FieldId) -> String {
    let (letter, i, name) = match field {
        FieldId::Attribute(i) => ('a', i, schema.attributes.get(i).map(|a| &a.name)),
        FieldId::Dimension(i) => ('d', i, schema.dimensions.get(i).map(|d| &d.name)),
        FieldId::Coords => return "__coords".into(),
        FieldId::Timestamps => return "t".into(),
        FieldId::DeleteTimestamps => return "dt".into(),
        FieldId::DeleteConditions => return "dci".into(),
    };
    if version.has_index_file_names() {
        return format!("{letter}{i}");
    }
    let name = name.map_or("", String::as_str);
    if version.has_encoded_file_names() {
        percent_encoded(name)
    } else {
        name.to_owned()
    }
}

/// Percent-encodes a name like version 8. Four of the codes differ from RFC 3986. Names are only encoded and compared,
/// never decoded.
fn percent_encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '<' => out.push_str("%20"),
            '>' => out.push_str("%2D"),
            '\\' => out.push_str("%30"),
            '|' => out.push_str("%3C"),
            c if "!#$%&'()*+,/:;=?@[]\"".contains(c) => out.push_str(percent_encode_byte(c as u8)),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::schema::{ArrayType, Attribute, Dimension};

    #[test]
    fn names_follow_the_version() {
        let a = Attribute::new("w<x|y", Datatype::Int32, CellCount::ONE);
        let schema = Schema::new(ArrayType::Sparse, vec![Dimension::string("d/1")], vec![a]);
        let check = |version, field, part, expect| {
            assert_eq!(file_name(&schema, Version::new(version).unwrap(), field, part), expect);
        };
        check(22, FieldId::Attribute(0), FieldFile::Validity, "a0_validity.tdb");
        check(9, FieldId::Dimension(0), FieldFile::Var, "d0_var.tdb");
        check(8, FieldId::Attribute(0), FieldFile::Fixed, "w%20x%3Cy.tdb");
        check(8, FieldId::Dimension(0), FieldFile::Fixed, "d%2F1.tdb");
        check(7, FieldId::Attribute(0), FieldFile::Var, "w<x|y_var.tdb");
        check(4, FieldId::Coords, FieldFile::Fixed, "__coords.tdb");
        check(22, FieldId::DeleteConditions, FieldFile::Fixed, "dci.tdb");
    }
}
