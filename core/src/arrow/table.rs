//! Columns as record batches.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use super::types::FieldType;
use crate::column::Column;
use crate::error::{Error, Result};

/// A table of cells: what its columns are, and the batches that hold them.
#[derive(Debug)]
pub struct Table {
    fields: Vec<FieldType>,
    schema: SchemaRef,
    /// What the arrays of each field share.
    dictionaries: Vec<Option<ArrayRef>>,
}

impl Table {
    /// The table of these fields of a dense or sparse array, whose forms are final.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] for more than 2 GiB of values of an enumeration.
    pub fn new(fields: Vec<FieldType>, dense: bool) -> Result<Self> {
        let kind = if dense { "dense" } else { "sparse" };
        let metadata = HashMap::from([("tiledb.array_type".to_owned(), kind.to_owned())]);
        let named: Vec<_> = fields.iter().map(FieldType::field).collect();
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

    /// These cells of the columns, one for each field, as one batch; as several, in order, where there are more values
    /// than Arrow can count in 31 bits. A batch may be an error as of [`FieldType::array`], and is the last one then.
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
                    // Halves, the first one first.
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
        batch.map_err(|e| Error::invalid(format!("these columns make no Arrow batch: {e}")))
    }
}
