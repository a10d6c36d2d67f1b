//! Writes Arrow IPC files with one column per dimension and attribute, as the CLI exports them.

mod fixed;
mod stream;

use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;

use super::{Encode, Frame, wrong_columns};
use crate::arrow::{self, FieldType};
use crate::column::Column;
use crate::error::{Error, Result};
use crate::format::field::Field;

/// The encoder of a frame. The number of cells determines the length of a file of numbers, dates and times.
pub(super) fn encoder(frame: &Frame) -> Result<Box<dyn Encode>> {
    Ok(match fixed::FixedTable::of(frame)? {
        Some(table) => Box::new(stream::FixedStream::new(table, frame.cells()?)),
        None => Box::new(BufferedTable::new(frame)),
    })
}

fn field_types(fields: &[Field]) -> Vec<FieldType> {
    fields.iter().cloned().map(FieldType::from).collect()
}

/// A table with text, bool or enumerations. It buffers all batches, because all cells must be seen to choose between
/// the natural and the raw form of a field.
#[derive(Debug)]
pub(super) struct BufferedTable {
    fields: Vec<FieldType>,
    dense: bool,
    batches: Vec<Vec<Column>>,
    /// Bytes of the buffered batches.
    bytes: u64,
}

impl BufferedTable {
    fn new(frame: &Frame) -> Self {
        Self {
            fields: field_types(&frame.fields),
            dense: frame.dense,
            batches: Vec::new(),
            bytes: 0,
        }
    }
}

impl Encode for BufferedTable {
    fn size(&self) -> Option<u64> {
        None
    }

    fn is_buffered(&self) -> bool {
        true
    }

    fn kept_bytes(&self) -> u64 {
        self.bytes
    }

    fn cells(&mut self, columns: Vec<Column>) -> Result<Vec<u8>> {
        if columns.len() != self.fields.len() {
            return Err(wrong_columns());
        }
        for (field, column) in self.fields.iter_mut().zip(&columns) {
            field.fit(column);
        }
        let of = |c: &Column| {
            c.data.len() + c.offsets.as_ref().map_or(0, |o| 8 * o.len()) + c.validity.as_ref().map_or(0, Vec::len)
        };
        self.bytes += columns.iter().map(|c| of(c) as u64).sum::<u64>();
        self.batches.push(columns);
        Ok(Vec::new())
    }

    fn finish(&mut self) -> Result<Vec<u8>> {
        let table = arrow::Table::new(self.fields.clone(), self.dense)?;
        let mut writer = FileWriter::try_new(Vec::new(), table.schema()).map_err(failed)?;
        for columns in std::mem::take(&mut self.batches) {
            // Each batch is freed after it is written.
            let columns: Vec<&Column> = columns.iter().collect();
            let cells = columns.first().map_or(0, |c| c.len());
            for batch in table.batches(&columns, 0..cells) {
                writer.write(&batch?).map_err(failed)?;
            }
        }
        writer.into_inner().map_err(failed)
    }
}

// `map_err` passes the error by value.
fn failed(error: ArrowError) -> Error {
    Error::invalid(format!("cannot write an Arrow file: {error}"))
}
