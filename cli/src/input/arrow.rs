//! Reads Arrow IPC files and streams.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use hyperslab::arrow::{FieldType, IpcReader};

use super::bounds::{check_columns, unfolded_max};
use super::{Named, Table, Values};
use crate::show;

/// The table in a file or a stream, with all cells.
pub(crate) fn read(input: impl Read + Seek) -> Result<Table> {
    let mut reader = open(input)?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        batches.push(batch.rows);
    }
    warn_of_zones(&reader.schema());
    table(&reader.schema(), &batches)
}

/// An Arrow file that is read several times, batch by batch.
#[derive(Debug)]
pub(crate) struct Batches {
    pub(super) file: File,
}

impl Batches {
    /// Reads the file from its first batch.
    pub(crate) fn reader(&self) -> Result<IpcReader<&File>> {
        open(&self.file)
    }

    /// The numbers of rows and bytes.
    pub(super) fn size(&self) -> Result<(u64, u64)> {
        let mut reader = self.reader()?;
        let (mut rows, mut bytes) = (0, 0);
        while let Some(batch) = reader.next_batch()? {
            rows += batch.rows.num_rows() as u64;
            bytes += batch.bytes;
        }
        Ok((rows, bytes))
    }

    /// The table with all cells.
    pub(super) fn table(&self) -> Result<Table> {
        read(&self.file)
    }
}

fn open<R: Read + Seek>(mut input: R) -> Result<IpcReader<R>> {
    let bytes = usize::try_from(input.seek(SeekFrom::End(0))?)?;
    let reader = IpcReader::new(input, unfolded_max(bytes))?;
    check_columns(reader.schema().fields().len())?;
    Ok(reader)
}

/// The columns of these batches.
pub(crate) fn table(schema: &Schema, batches: &[RecordBatch]) -> Result<Table> {
    let column = |(i, field): (usize, &std::sync::Arc<Field>)| -> Result<Named> {
        let field = FieldType::infer(field)?;
        let arrays = batches.iter().filter_map(|b| b.columns().get(i).cloned());
        Ok(Named {
            name: field.name.clone(),
            values: Values::Arrow(field, arrays.collect()),
        })
    };
    let columns = schema.fields().iter().enumerate().map(column);
    Ok(Table {
        columns: columns.collect::<Result<_>>()?,
        ..Table::default()
    })
}

/// Warns of columns whose time zones are not kept.
pub(crate) fn warn_of_zones(schema: &Schema) {
    schema.fields().iter().for_each(|field| warn_of_zone(field));
}

/// Warns about a column whose time zone is lost.
fn warn_of_zone(field: &Field) {
    let DataType::Timestamp(_, Some(zone)) = field.data_type() else {
        return;
    };
    if !matches!(zone.as_ref(), "UTC" | "Etc/UTC" | "Z" | "+00:00") {
        show::warning(format_args!(
            "column '{}' has the time zone {zone}, which an array cannot store; its times are stored \
             in UTC",
            field.name()
        ));
    }
}
