//! Attributes: name, type, filters, fill value.
//!
//! ```text
//! name str32 | datatype u8 | values a cell u32 | filters
//! | since 6: fill str64 | since 7: nullable u8, fill is valid u8 | since 17: order u8
//! | since 20: enumeration str32, empty for none
//! ```

use super::cursor::{Decoded, Reader, Writer};
use super::pipeline::Pipeline;
use super::version::Version;
use crate::datatype::{CellCount, Datatype};
use crate::error::Malformed;

/// What releases before 2.0 called an attribute without a name. Later ones refuse to make an attribute of
/// this name, and leave the name empty.
pub const OLD_ANONYMOUS: &str = "__attr";

/// A fill value that a schema leaves out is believed to be no larger: hostile bytes may say anything of a cell.
const DEFAULT_FILL_BYTES_MAX: u64 = 1 << 16;

/// What an attribute is called where a name is needed: its own name, or `data` if it has none.
pub fn display_name(attribute: &str) -> &str {
    if attribute.is_empty() { "data" } else { attribute }
}

/// What fields of these names are called side by side, and what the column is called that says which cells of
/// them are null: each name stands once, and those that were given stay as they are.
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

/// One value (or several) that every cell holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Its name; one attribute of an array may be anonymous.
    pub name: String,
    /// The type of its values.
    pub datatype: Datatype,
    /// How many values a cell holds.
    pub cell: CellCount,
    /// Its filters.
    pub filters: Pipeline,
    /// What a cell that nobody wrote holds: one cell, or one value where cells are of variable length.
    pub fill: Vec<u8>,
    /// Whether cells may be null.
    pub nullable: bool,
    /// Whether the fill value of a nullable attribute is a value (true) or null (false).
    pub fill_valid: bool,
    /// Whether values rise or fall along the array (label arrays only).
    pub order: DataOrder,
    /// The enumeration whose values the integers of this attribute stand for.
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

    /// Bytes of the default fill: one cell, or one value where cells are of variable length.
    pub(super) const fn default_fill_bytes(&self) -> u64 {
        let values = match self.cell {
            CellCount::Fixed(n) => n as u64,
            CellCount::Var => 1,
        };
        values * self.datatype.size() as u64
    }

    /// Gives the attribute the default fill of its datatype.
    pub(super) fn set_default_fill(&mut self) {
        let value = self.datatype.default_fill();
        let values = usize::try_from(self.default_fill_bytes()).unwrap_or(0) / value.len().max(1);
        self.fill = value.repeat(values);
    }

    /// Reads an attribute of a schema of this version. Before version 6 the fill is left empty, for
    /// the schema to set: its size does not follow from bytes that are present.
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
        // Releases know no fill value of types that were new to them: 2.2 of times, 2.8 and 2.9 of bool.
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
    /// The number on disk.
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
    fn types_without_a_fill_value_have_their_own() {
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
