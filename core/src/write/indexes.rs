//! Checks that the cells of an enumerated attribute are valid indices. Does no I/O.

use crate::column::Column;
use crate::error::{Error, Result};
use crate::format::schema::Attribute;
use crate::scalar::Scalar;

/// Refuses indices beyond the end of an enumeration with this many values. tiledb-py cannot open an array that holds
/// one. The fill value and negative indices (pandas' missing categories) are allowed; they denote no value.
///
/// # Errors
/// [`Error::InvalidArgument`] names the first such cell.
pub(super) fn check(attribute: &Attribute, column: &Column, values: usize) -> Result<()> {
    let value = |bytes: &[u8]| Scalar::from_le_bytes(attribute.datatype.physical(), bytes)?.as_i128();
    let is_beyond = |bytes: &[u8]| bytes != attribute.fill && value(bytes).is_some_and(|v| v >= values as i128);
    let size = attribute.datatype.size();
    for i in (0..column.len()).filter(|&i| !column.is_null(i)) {
        if let Some(wrong) = column.cell(i).chunks(size).find(|v| is_beyond(v)) {
            return Err(Error::invalid(format!(
                "'{}': cell {i}, counted from 0, has the index {}, but its enumeration has {values} values; extend the enumeration first",
                attribute.name,
                value(wrong).unwrap_or(0)
            )));
        }
    }
    Ok(())
}
