//! Arrow IPC: files, and streams too.

use anyhow::Result;
use arrow_array::ArrayRef;
use hyperslab::arrow::{FieldType, IpcTable};

use super::bounds::{check_columns, unfolded_max};
use super::{Named, Table, Values};

pub(crate) fn read(bytes: Vec<u8>) -> Result<Table> {
    let bytes_max = unfolded_max(bytes.len());
    let IpcTable { schema, batches } = IpcTable::read(bytes, bytes_max)?;
    check_columns(schema.fields().len())?;
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (i, field) in schema.fields().iter().enumerate() {
        let field = FieldType::infer(field)?;
        let arrays: Vec<ArrayRef> = batches.iter().filter_map(|b| b.columns().get(i).cloned()).collect();
        columns.push(Named {
            name: field.name.clone(),
            values: Values::Arrow(field, arrays),
        });
    }
    Ok(Table {
        columns,
        ..Table::default()
    })
}
