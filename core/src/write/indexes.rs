//! Whether enumerated cells stand for a value. Pure.

use crate::column::Column;
use crate::error::{Error, Result};
use crate::format::schema::Attribute;
use crate::scalar::Scalar;

/// Complains of indices beyond the end of an enumeration of so many values: tiledb-py opens no array that holds one. The fill
/// value and negative ones, which pandas has for missing categories, stand for nothing.
///
/// # Errors
/// [`Error::InvalidArgument`] names the first.
pub(super) fn check(attribute: &Attribute, column: &Column, values: usize) -> Result<()> {
    let value = |bytes: &[u8]| Scalar::from_le_bytes(attribute.datatype.physical(), bytes)?.as_i128();
    let is_beyond = |bytes: &[u8]| bytes != attribute.fill && value(bytes).is_some_and(|v| v >= values as i128);
    let size = attribute.datatype.size();
    for i in (0..column.len()).filter(|&i| !column.is_null(i)) {
        if let Some(wrong) = column.cell(i).chunks(size).find(|v| is_beyond(v)) {
            return Err(Error::invalid(format!(
                "'{}': cell {i}, counted from 0, is {}, and its enumeration has {values} values, from 0 on; extend it first",
                attribute.name,
                value(wrong).unwrap_or(0)
            )));
        }
    }
    Ok(())
}
