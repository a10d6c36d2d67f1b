//! Attributes: name, type, filters, fill value.

use super::pipeline::Pipeline;
use crate::datatype::{CellCount, Datatype};

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
        let times = match cell {
            CellCount::Fixed(n) => n as usize,
            CellCount::Var => 1,
        };
        Self {
            name: name.to_owned(),
            datatype,
            cell,
            filters: Pipeline::default(),
            fill: datatype.default_fill().repeat(times),
            nullable: false,
            fill_valid: false,
            order: DataOrder::Unordered,
            enumeration: None,
        }
    }
}
