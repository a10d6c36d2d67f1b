//! Enumerations: lists of values that an attribute's integers index.
//!
//! ```text
//! version u32 (0) | name str32 | file str32 | datatype u8 | values per cell u32 | ordered u8
//! | data str64 | if of variable length: size of the offsets u64, offsets u64
//! ```

use super::cursor::{Decoded, Reader, Writer};
use crate::column::Column;
use crate::error::Malformed;

/// A list of values that integers index.
#[derive(Debug, Clone, PartialEq)]
pub struct Enumeration {
    /// Its name.
    pub name: String,
    /// Name of the file that stores it.
    pub file: String,
    /// Whether the order of the values is meaningful.
    pub ordered: bool,
    /// The values, with the datatype and cell count of the enumeration.
    pub values: Column,
}

impl Enumeration {
    /// Decodes the payload of an enumeration's file.
    ///
    /// # Errors
    /// The payload is damaged or has a newer version.
    #[doc(hidden)]
    pub fn decode(payload: &[u8]) -> Decoded<Self> {
        let mut r = Reader::new(payload);
        let version = r.u32("enumeration version")?;
        if version != 0 {
            return Err(Malformed::newer("enumeration version", version, 0));
        }
        let name = r.string32("enumeration name")?.to_owned();
        let file = r.string32("enumeration file name")?.to_owned();
        let datatype = r.datatype("enumeration datatype")?;
        let cell = r.cell_count("enumeration values per cell")?;
        let ordered = r.bool("enumeration ordered flag")?;
        let data = r.bytes64("enumeration values")?.to_vec();
        let at = r.offset();
        let offsets = if cell.is_var() {
            // The file of an enumeration without values may omit the offsets.
            let bytes = if r.is_done() { 0 } else { r.u64("enumeration offsets")? };
            let mut starts: Vec<u64> = r.u64s(bytes / 8, "enumeration offsets")?.collect();
            starts.push(data.len() as u64);
            if starts.len() == 1 {
                starts = vec![0];
            }
            Some(starts)
        } else {
            None
        };
        r.finish("enumeration")?;
        let values = Column {
            datatype,
            cell,
            data,
            offsets,
            validity: None,
        };
        values
            .check(&name)
            .map_err(|e| Malformed::new("enumeration values", at, e.to_string()))?;
        Ok(Self {
            name,
            file,
            ordered,
            values,
        })
    }

    /// The index of the first value that equals an earlier one. Values are compared by their bytes, as in libtiledb,
    /// which opens no array with such a value.
    pub(crate) fn repeated(&self) -> Option<usize> {
        let mut seen = std::collections::HashSet::new();
        (0..self.values.len()).find(|&i| !seen.insert(self.values.cell(i)))
    }

    /// Encodes the payload of the enumeration's file.
    #[doc(hidden)]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u32(0)
            .bytes32(self.name.as_bytes())
            .bytes32(self.file.as_bytes())
            .u8(self.values.datatype.id());
        w.cell_count(self.values.cell)
            .bool(self.ordered)
            .bytes64(&self.values.data);
        if let Some((_, starts)) = self.values.offsets.as_deref().and_then(<[u64]>::split_last) {
            w.u64(starts.len() as u64 * 8).u64s(starts);
        }
        w.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;

    fn enumeration(values: Column) -> Enumeration {
        Enumeration {
            name: "e".into(),
            file: "__00_0".into(),
            ordered: false,
            values,
        }
    }

    #[test]
    fn strings_and_numbers_round_trip() {
        for values in [
            Column::from_cells(Datatype::StringUtf8, ["red", "", "green"]),
            Column::from_cells(Datatype::StringAscii, [""; 0]),
            Column::from_values(Datatype::Int32, &[3_i32, 1]),
        ] {
            let e = enumeration(values);
            assert_eq!(Enumeration::decode(&e.encode()).unwrap(), e);
        }
    }

    #[test]
    fn offsets_beyond_the_values_are_an_error() {
        let mut e = enumeration(Column::from_cells(Datatype::StringUtf8, ["red", "green"]));
        e.values.offsets = Some(vec![0, 99, 8]);
        assert!(Enumeration::decode(&e.encode()).unwrap_err().why.contains("offsets"));
    }
}
