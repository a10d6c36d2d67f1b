//! Dimension labels: one-dimensional dense arrays that name the coordinates of a dimension.

use super::attribute::DataOrder;
use crate::datatype::{CellCount, Datatype};

/// A label of a dimension, and where its array lies.
#[derive(Debug, Clone, PartialEq)]
pub struct DimensionLabel {
    /// Index of the labelled dimension.
    pub dimension: u32,
    /// The label's name.
    pub name: String,
    /// Whether `uri` is relative to the array.
    pub relative: bool,
    /// The label's array.
    pub uri: String,
    /// The attribute that holds the labels.
    pub attribute: String,
    /// How labels are ordered along the dimension.
    pub order: DataOrder,
    /// The type of a label.
    pub datatype: Datatype,
    /// How many values a label holds.
    pub cell: CellCount,
    /// Whether the array is somebody else's.
    pub external: bool,
}
