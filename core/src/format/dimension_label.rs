//! Dimension labels: one-dimensional dense arrays that label the coordinates of a dimension.
//!
//! ```text
//! dimension u32 | name str32 | relative u8 | uri str64 | attribute str32 | order u8 | datatype u8
//! | values per label u32 | external u8
//! ```

use super::attribute::DataOrder;
use super::cursor::{Decoded, Reader, Writer};
use crate::datatype::{CellCount, Datatype};

/// A label of a dimension, with the location of its array.
#[derive(Debug, Clone, PartialEq)]
pub struct DimensionLabel {
    /// Index of the labelled dimension.
    pub dimension: u32,
    /// The label's name.
    pub name: String,
    /// Whether `uri` is relative to the array.
    pub relative: bool,
    /// Location of the label's array.
    pub uri: String,
    /// The attribute that holds the labels.
    pub attribute: String,
    /// How labels are ordered along the dimension.
    pub order: DataOrder,
    /// The type of a label.
    pub datatype: Datatype,
    /// Number of values per label.
    pub cell: CellCount,
    /// Whether the label's array exists independently of this array.
    pub external: bool,
}

/// Size of a label with empty names.
pub(super) const LABEL_BYTES_MIN: usize = 28;

impl DimensionLabel {
    pub(super) fn decode(r: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self {
            dimension: r.u32("label dimension")?,
            name: r.string32("label name")?.to_owned(),
            relative: r.bool("label relative flag")?,
            uri: r.string64("label URI")?.to_owned(),
            attribute: r.string32("label attribute")?.to_owned(),
            order: DataOrder::decode(r)?,
            datatype: r.datatype("label datatype")?,
            cell: r.cell_count("label values per cell")?,
            external: r.bool("label external flag")?,
        })
    }

    pub(super) fn encode(&self, w: &mut Writer) {
        w.u32(self.dimension)
            .bytes32(self.name.as_bytes())
            .bool(self.relative)
            .bytes64(self.uri.as_bytes());
        w.bytes32(self.attribute.as_bytes())
            .u8(self.order.id())
            .u8(self.datatype.id());
        w.cell_count(self.cell).bool(self.external);
    }
}
