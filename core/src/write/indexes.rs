//! Whether enumerated cells stand for a value.

use crate::array::Array;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::scalar::Scalar;

impl Array {
    /// Complains of indices beyond the end of an enumeration: tiledb-py opens no array that holds one. The fill value and
    /// negative ones, which pandas has for missing categories, stand for nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] names the first; others as for [`Array::enumeration`].
    pub(super) async fn check_indexes(&self, columns: &[(String, Column)]) -> Result<()> {
        for (name, column) in columns {
            let attribute = self.schema().attribute(name).map(|(_, a)| a);
            let Some(a) = attribute.filter(|a| a.enumeration.is_some() && a.datatype == column.datatype) else {
                continue;
            };
            let values = self
                .enumeration(a.enumeration.as_deref().unwrap_or(""))
                .await?
                .values
                .len();
            let value = |bytes: &[u8]| Scalar::from_le_bytes(a.datatype.physical(), bytes)?.as_i128();
            let is_beyond = |bytes: &[u8]| bytes != a.fill && value(bytes).is_some_and(|v| v >= values as i128);
            for i in (0..column.len()).filter(|&i| !column.is_null(i)) {
                if let Some(wrong) = column.cell(i).chunks(a.datatype.size()).find(|v| is_beyond(v)) {
                    return Err(Error::invalid(format!(
                        "'{name}': cell {i}, counted from 0, is {}, and its enumeration has {values} values, from 0 on; extend it first",
                        value(wrong).unwrap_or(0)
                    )));
                }
            }
        }
        Ok(())
    }
}
