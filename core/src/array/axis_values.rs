//! The values along an axis.

use crate::column::Column;
use crate::scalar::Scalar;

/// The values along an axis of a dense array, one per coordinate.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisValues {
    /// The coordinate of the first value.
    pub first: i128,
    /// The values: unpacked numbers, dates, or strings. Times such as `hours since 2000-01-01` are dates in
    /// milliseconds.
    pub values: Column,
}

impl AxisValues {
    /// The value with this index.
    pub fn at(&self, index: usize) -> Option<Scalar> {
        if index >= self.values.len() {
            return None;
        }
        let bytes = self.values.cell(index);
        match self.values.cell.is_var() {
            true => Some(Scalar::Bytes(bytes.to_vec())),
            false => Scalar::from_le_bytes(self.values.datatype.physical(), bytes),
        }
    }
}
