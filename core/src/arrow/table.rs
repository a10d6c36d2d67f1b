//! Converts columns to record batches.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use super::types::FieldType;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::format::attribute::column_names;

/// Converts the columns of a table to record batches.
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
/// # use hyperslab::*;
/// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
/// # let context = Context::memory();
/// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
/// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
/// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
/// # Array::create(&context, "line", &schema, &[], &options).await?;
/// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
/// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
/// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
/// # let cells = Cells { region: None, layout: Layout::RowMajor, columns: column(&[0, 1, 2, 3, 4, 5, 6, 7]) };
/// # array.write(cells, &at(10)).await?;
/// use hyperslab::arrow::{FieldType, Table};
/// use hyperslab::schema::Field;
///
/// let array = array.at(Window::ALL).await?;
/// let batch = array.read(&Query::default()).await?;
/// let column = batch.column("a").unwrap();
///
/// // To Arrow…
/// let table = Table::new(vec![Field::named(array.schema(), "a")?.into()], true)?;
/// let rows = table.batches(&[column], 0..8).next().unwrap()?;
/// assert_eq!(rows.num_rows(), 8);
///
/// // … and back.
/// let field = FieldType::infer(rows.schema().field(0))?;
/// assert_eq!(field.column(rows.column(0))?, *column);
/// # Ok(()) }) }
/// ```
#[derive(Debug)]
pub struct Table {
    fields: Vec<FieldType>,
    schema: SchemaRef,
    /// The dictionary of each field, shared by its arrays.
    dictionaries: Vec<Option<ArrayRef>>,
}

impl Table {
    /// A table of these fields of a dense or sparse array. The column of an unnamed field is called `data`. The forms of the fields must be final.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if the values of an enumeration exceed 2 GiB.
    pub fn new(fields: Vec<FieldType>, dense: bool) -> Result<Self> {
        let kind = if dense { "dense" } else { "sparse" };
        let metadata = HashMap::from([("tiledb.array_type".to_owned(), kind.to_owned())]);
        let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
        let named = fields.iter().zip(column_names(&names));
        let named: Vec<_> = named.map(|(f, (name, _))| f.column_field(&name)).collect();
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
