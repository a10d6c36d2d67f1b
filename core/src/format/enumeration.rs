//! Enumerations: the values that an attribute's integers stand for.

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
