//! Arrow IPC files, as the command line exports them: a column for each dimension and attribute.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, Schema};

use super::{Field, Frame, wrong_columns};
use crate::arrow::{FieldType, Form, Role};
use crate::column::Column;
use crate::error::{Error, Result};

/// A table whose batches are being gathered: only when all are there is it known whether a field can
/// be shown in its natural form.
#[derive(Debug)]
pub(super) struct Table {
    fields: Vec<FieldType>,
    dense: bool,
    batches: Vec<Vec<Column>>,
}

impl Table {
    pub(super) fn new(frame: &Frame) -> Self {
        Self {
            fields: frame.fields.iter().map(field_type).collect(),
            dense: frame.dense,
            batches: Vec::new(),
        }
    }

    pub(super) fn cells(&mut self, columns: Vec<Column>) -> Result<()> {
        if columns.len() != self.fields.len() {
            return Err(wrong_columns());
        }
        for (field, column) in self.fields.iter_mut().zip(&columns) {
            if field.form == Form::Natural && !field.is_natural(column) {
                field.form = Form::Raw;
            }
        }
        self.batches.push(columns);
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<Vec<u8>> {
        let kind = if self.dense { "dense" } else { "sparse" };
        let metadata = HashMap::from([("tiledb.array_type".to_owned(), kind.to_owned())]);
        let fields: Vec<_> = self.fields.iter().map(FieldType::field).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let dictionaries = self
            .fields
            .iter()
            .map(FieldType::dictionary)
            .collect::<Result<Vec<_>>>()?;
        let mut writer = FileWriter::try_new(Vec::new(), &schema).map_err(failed)?;
        for columns in std::mem::take(&mut self.batches) {
            let cells = columns.first().map_or(0, Column::len);
            // Arrow counts in 31 bits: what is too long is halved, and the first half comes first.
            let mut parts = vec![0..cells];
            while let Some(part) = parts.pop() {
                let fields = self.fields.iter().zip(&dictionaries).zip(&columns);
                let arrays: Result<Vec<ArrayRef>> =
                    fields.map(|((f, d), c)| f.array(c, part.clone(), d.as_ref())).collect();
                match arrays {
                    Ok(arrays) => {
                        let options = RecordBatchOptions::new().with_row_count(Some(part.len()));
                        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options);
                        writer.write(&batch.map_err(failed)?).map_err(failed)?;
                    }
                    Err(Error::LimitExceeded { .. }) if part.len() > 1 => {
                        let middle = part.start + part.len() / 2;
                        parts.extend([middle..part.end, part.start..middle]);
                    }
                    Err(e) => return Err(e),
                }
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
        fill: field.fill.clone(),
        form: Form::Natural,
    }
}

// By value, as `map_err` wants it.
fn failed(error: ArrowError) -> Error {
    Error::invalid(format!("this cannot be written as an Arrow file: {error}"))
}
