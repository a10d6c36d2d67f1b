//! Reads Arrow IPC files and streams.

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use hyperslab::arrow::{FieldType, IpcTable};

use super::bounds::{check_columns, unfolded_max};
use super::{Named, Table, Values};
use crate::show;

pub(crate) fn read(bytes: Vec<u8>) -> Result<Table> {
    let bytes_max = unfolded_max(bytes.len());
    let IpcTable { schema, batches } = IpcTable::read(bytes, bytes_max)?;
    check_columns(schema.fields().len())?;
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (i, field) in schema.fields().iter().enumerate() {
        warn_of_zone(field);
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

/// Warns about a column whose time zone is lost.
fn warn_of_zone(field: &Field) {
    let DataType::Timestamp(_, Some(zone)) = field.data_type() else {
        return;
    };
    if !matches!(zone.as_ref(), "UTC" | "Etc/UTC" | "Z" | "+00:00") {
        show::complaint(format_args!(
            "hyperslab: warning: column '{}' has the time zone {zone}, which an array cannot store; its times are stored \
             in UTC",
            field.name()
        ));
    }
}
