//! Converts columns to record batches.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use super::types::FieldType;
use crate::column::Column;
use crate::error::{Error, Result};

/// Converts the columns of a table to record batches.
#[derive(Debug)]
pub struct Table {
    fields: Vec<FieldType>,
    schema: SchemaRef,
    /// The dictionary of each field, shared by its arrays.
    dictionaries: Vec<Option<ArrayRef>>,
}

impl Table {
    /// A table of these fields of a dense or sparse array. The forms of the fields must be final.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if the values of an enumeration exceed 2 GiB.
    pub fn new(fields: Vec<FieldType>, dense: bool) -> Result<Self> {
        let kind = if dense { "dense" } else { "sparse" };
        let metadata = HashMap::from([("tiledb.array_type".to_owned(), kind.to_owned())]);
        let named: Vec<_> = fields.iter().map(FieldType::arrow_field).collect();
        Ok(Self {
            schema: Arc::new(Schema::new_with_metadata(named, metadata)),
            dictionaries: fields.iter().map(FieldType::dictionary).collect::<Result<_>>()?,
            fields,
        })
    }

    /// The names and types of the columns.
    pub const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Converts a range of cells to record batches; `columns` has one column per field. One batch is enough unless its
    /// values exceed Arrow's 31-bit offsets. After an error of [`FieldType::array`] the iterator ends.
    pub fn batches<'a>(
        &'a self,
        columns: &'a [&Column],
        cells: Range<usize>,
    ) -> impl Iterator<Item = Result<RecordBatch>> + use<'a> {
        let mut parts = vec![cells];
        std::iter::from_fn(move || {
            loop {
                let part = parts.pop()?;
                match self.batch(columns, part.clone()) {
                    // Split in half; the first half is next.
                    Err(Error::LimitExceeded { .. }) if part.len() > 1 => {
                        let middle = part.start + part.len() / 2;
                        parts.extend([middle..part.end, part.start..middle]);
                    }
                    Err(e) => {
                        parts.clear();
                        return Some(Err(e));
                    }
                    batch => return Some(batch),
                }
            }
        })
    }

    fn batch(&self, columns: &[&Column], cells: Range<usize>) -> Result<RecordBatch> {
        let fields = self.fields.iter().zip(&self.dictionaries).zip(columns);
        let arrays =
            fields.map(|((field, dictionary), column)| field.array(column, cells.clone(), dictionary.as_ref()));
        let arrays = arrays.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(cells.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        batch.map_err(|e| Error::invalid(format!("cannot build an Arrow batch from these columns: {e}")))
    }
}
