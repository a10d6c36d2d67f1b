//! Writes Arrow IPC files with one column per dimension and attribute, as the CLI exports them.

mod fixed;
mod stream;

pub(in crate::view) use fixed::{BATCHES_MAX, FixedTable};
pub(in crate::view) use stream::FixedStream;

use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;

use super::{Field, Frame, wrong_columns};
use crate::arrow::{self, FieldType, Form, Role};
use crate::column::Column;
use crate::error::{Error, Result};

/// A table with text, bool or enumerations. It buffers all batches, because all cells must be seen to choose between
/// the natural and the raw form of a field.
#[derive(Debug)]
pub(super) struct Table {
    fields: Vec<FieldType>,
    dense: bool,
    batches: Vec<Vec<Column>>,
    /// Bytes of the buffered batches.
    bytes: u64,
}

impl Table {
    pub(super) fn new(frame: &Frame) -> Self {
        Self {
            fields: frame.fields.iter().map(field_type).collect(),
            dense: frame.dense,
            batches: Vec::new(),
            bytes: 0,
        }
    }

    /// Bytes of the batches buffered so far.
    pub(super) const fn kept_bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn cells(&mut self, columns: Vec<Column>) -> Result<()> {
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
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<Vec<u8>> {
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

/// Dimensions have no fill value.
fn is_dimension(field: &Field) -> bool {
    field.fill.is_empty()
}

fn field_type(field: &Field) -> FieldType {
    FieldType {
        name: field.name.clone(),
        role: Some(if is_dimension(field) {
            Role::Dimension
        } else {
            Role::Attribute
        }),
        datatype: field.datatype,
        cell: field.cell,
        nullable: field.nullable,
        enumeration: field.labels.clone(),
        ordered: field.labels.as_ref().is_some_and(|e| e.ordered),
        fill: field.fill.clone(),
        form: Form::Natural,
    }
}

// `map_err` passes the error by value.
fn failed(error: ArrowError) -> Error {
    Error::invalid(format!("cannot write an Arrow file: {error}"))
}
