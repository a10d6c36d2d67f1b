//! Enumerations: the values that an attribute's integers stand for.

use super::cursor::Decoded;
use crate::column::Column;

/// A list of values, by index.
#[derive(Debug, Clone, PartialEq)]
pub struct Enumeration {
    /// Its name.
    pub name: String,
    /// The name of its own file.
    pub file: String,
    /// Whether the order of the values means something.
    pub ordered: bool,
    /// The values: the datatype and cell count are the enumeration's.
    pub values: Column,
}

impl Enumeration {
    /// Reads the payload of an enumeration's file.
    ///
    /// # Errors
    /// The payload is damaged.
    pub fn decode(payload: &[u8]) -> Decoded<Self> {
        let _ = payload;
        unimplemented!()
    }

    /// The payload of the enumeration's file.
    pub fn encode(&self) -> Vec<u8> {
        unimplemented!()
    }
}
