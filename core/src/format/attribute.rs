//! Attributes: name, type, filters, fill value.
//!
//! ```text
//! name str32 | datatype u8 | values per cell u32 | filters
//! | since 6: fill str64 | since 7: nullable u8, fill is valid u8 | since 17: order u8
//! | since 20: enumeration str32, empty if it has none
//! ```

use super::cursor::{Decoded, Reader, Writer};
use super::pipeline::Pipeline;
use super::version::Version;
use crate::datatype::{CellCount, Datatype};
use crate::error::Malformed;

/// The name that releases before 2.0 gave to an unnamed attribute. Later releases refuse to create an attribute with
/// this name and store an empty name instead.
pub const OLD_ANONYMOUS: &str = "__attr";

/// The largest default fill value that is allocated for a schema, in bytes. A hostile schema can claim cells of any
/// size.
const DEFAULT_FILL_BYTES_MAX: u64 = 1 << 16;

/// The name to display for an attribute: its own name, or `data` if it has none.
pub fn display_name(attribute: &str) -> &str {
    if attribute.is_empty() { "data" } else { attribute }
}

/// Whether each cell is a complex number: two floats, as TileDB-Py stores them.
pub(crate) fn is_complex(datatype: Datatype, cell: CellCount) -> bool {
    datatype.is_float() && cell == CellCount::Fixed(2)
}

/// Unique column names for these fields: for each, the column of its values and the column of its validity flags. Named
/// fields keep their names; generated names get underscores appended until they are unique.
pub fn column_names(fields: &[&str]) -> Vec<(String, String)> {
    let mut taken: Vec<String> = fields.iter().map(|&f| f.to_owned()).collect();
    let mut once = |mut name: String| {
        while taken.contains(&name) {
            name.push('_');
        }
        taken.push(name.clone());
        name
    };
    let named = |&field: &&str| {
        let name = match field {
            "" => once(display_name(field).to_owned()),
            _ => field.to_owned(),
        };
        let valid = once(format!("{name}_valid"));
        (name, valid)
    };
    fields.iter().map(named).collect()
}

/// A named value, or several values, in each cell of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Its name. One attribute of an array may be unnamed.
    pub name: String,
    /// The type of its values.
    pub datatype: Datatype,
    /// Number of values per cell.
    pub cell: CellCount,
    /// Its filter pipeline.
    pub filters: Pipeline,
    /// The fill value, which cells that were never written hold. One cell, or one value if cells have variable length.
    pub fill: Vec<u8>,
    /// Whether cells may be null.
    pub nullable: bool,
    /// Whether the fill value is valid (true) or null (false). Only for nullable attributes.
    pub fill_valid: bool,
    /// Whether values increase or decrease along the array. Only for the arrays of dimension labels.
    pub order: DataOrder,
    /// The enumeration that this attribute's integers index.
    pub enumeration: Option<String>,
}

/// How the values of an attribute are ordered along the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub enum DataOrder {
    #[default]
    Unordered,
    Increasing,
    Decreasing,
}

impl Attribute {
    /// An attribute without filters, with the datatype's default fill.
    pub fn new(name: &str, datatype: Datatype, cell: CellCount) -> Self {
        let mut new = Self {
            name: name.to_owned(),
            datatype,
            cell,
            filters: Pipeline::default(),
            fill: Vec::new(),
            nullable: false,
            fill_valid: false,
            order: DataOrder::Unordered,
            enumeration: None,
        };
        new.set_default_fill();
        new
    }

    /// Size of the default fill value in bytes: one cell, or one value if cells have variable length.
    pub(super) const fn default_fill_bytes(&self) -> u64 {
        let values = match self.cell {
            CellCount::Fixed(n) => n as u64,
            CellCount::Var => 1,
        };
        values * self.datatype.size() as u64
    }

    /// Sets the fill value to the default of the datatype.
    pub(super) fn set_default_fill(&mut self) {
        let value = self.datatype.default_fill();
        let values = usize::try_from(self.default_fill_bytes()).unwrap_or(0) / value.len().max(1);
        self.fill = value.repeat(values);
    }

    /// Decodes an attribute of a schema of this version. Before version 6, the fill value is left empty: its
    /// size does not follow from the bytes in the file, so the schema checks and sets it.
    pub(super) fn decode(r: &mut Reader<'_>, version: Version) -> Decoded<Self> {
        let name = r.string32("attribute name")?.to_owned();
        let datatype = r.datatype("attribute datatype")?;
        let cell = r.cell_count("attribute values per cell")?;
        let filters = Pipeline::decode(r, version)?;
        let at = r.offset();
        let fill = if version.has_fill_values() {
            r.bytes64("attribute fill value")?.to_vec()
        } else {
            Vec::new()
        };
        let (nullable, fill_valid) = if version.has_validity() {
            (
                r.bool("attribute nullable flag")?,
                r.u8("attribute fill validity")? != 0,
            )
        } else {
            (false, false)
        };
        let order = if version.has_data_order() {
            DataOrder::decode(r)?
        } else {
            DataOrder::Unordered
        };
        let enumeration = if version.has_enumerations() {
            r.string32("attribute enumeration")?.to_owned()
        } else {
            String::new()
        };
        let enumeration = (!enumeration.is_empty()).then_some(enumeration);
        let mut new = Self {
            name,
            datatype,
            cell,
            filters,
            fill,
            nullable,
            fill_valid,
            order,
            enumeration,
        };
        // Releases store no fill value for datatypes that were new to them: 2.2 for times, 2.8 and 2.9 for bool.
        let small = new.default_fill_bytes() <= DEFAULT_FILL_BYTES_MAX;
        if new.fill.is_empty() && small && version.has_fill_values() {
            new.set_default_fill();
        }
        let expected = (version.has_fill_values() && !cell.is_var()).then(|| new.default_fill_bytes());
        if let Some(expected) = expected.filter(|&n| n != new.fill.len() as u64) {
            let why = format!("{} bytes for cells of {expected} bytes", new.fill.len());
            return Err(Malformed::new("attribute fill value", at, why));
        }
        Ok(new)
    }

    pub(super) fn encode(&self, w: &mut Writer) {
        w.bytes32(self.name.as_bytes())
            .u8(self.datatype.id())
            .cell_count(self.cell);
        self.filters.encode(w);
        w.bytes64(&self.fill)
            .bool(self.nullable)
            .bool(self.fill_valid)
            .u8(self.order.id());
        w.bytes32(self.enumeration.as_deref().unwrap_or("").as_bytes());
    }
}

impl DataOrder {
    /// The number in the file.
    pub(super) const fn id(self) -> u8 {
        self as u8
    }

    pub(super) fn decode(r: &mut Reader<'_>) -> Decoded<Self> {
        let at = r.offset();
        match r.u8("data order")? {
            0 => Ok(Self::Unordered),
            1 => Ok(Self::Increasing),
            2 => Ok(Self::Decreasing),
            other => Err(Malformed::new("data order", at, format!("{other} is not an order"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_fill_values_get_the_default_of_the_type() {
        let stored = |datatype: Datatype, fill: &[u8]| {
            let mut w = Writer::new();
            w.bytes32(b"b").u8(datatype.id()).cell_count(CellCount::ONE);
            Pipeline::default().encode(&mut w);
            w.bytes64(fill).bool(false).bool(false);
            Attribute::decode(&mut Reader::new(&w.into_bytes()), Version::new(14).unwrap())
        };
        let mut huge = Writer::new();
        huge.bytes32(b"b")
            .u8(Datatype::Bool.id())
            .cell_count(CellCount::Fixed(1 << 30));
        Pipeline::default().encode(&mut huge);
        huge.bytes64(b"").bool(false).bool(false);
        assert!(Attribute::decode(&mut Reader::new(&huge.into_bytes()), Version::new(14).unwrap()).is_err());
        for datatype in [Datatype::Bool, Datatype::TimeMs] {
            let attribute = Attribute::new("b", datatype, CellCount::ONE);
            assert_eq!(stored(datatype, b""), Ok(attribute));
            assert!(stored(datatype, b"\0\0").is_err());
        }
    }
}
