//! Reads Arrow IPC files and streams, and Parquet files as the same batches.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hyperslab::arrow::{FieldType, IpcBatch, IpcReader};

use super::bounds::{check_columns, unfolded_max};
use super::parquet::{ParquetFile, ParquetReader};
use super::{Named, Table, Values};
use crate::show;

/// The table in the bytes of an Arrow file or stream, with all cells.
#[cfg(test)]
pub(super) fn read(input: impl Read + Seek) -> Result<Table> {
    let mut reader = open(input)?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        batches.push(batch.rows);
    }
    table(&reader.schema(), &batches)
}

/// A file of record batches that is read several times.
#[derive(Debug)]
pub(crate) enum Batches {
    /// An Arrow IPC file or stream.
    Ipc(File),
    /// A Parquet file.
    Parquet(Box<ParquetFile>),
}

/// Reads a file of record batches in order.
pub(crate) enum BatchReader<'a> {
    Ipc(Box<IpcReader<&'a File>>),
    Parquet(Box<ParquetReader<'a>>),
}

impl BatchReader<'_> {
    /// The names and types of the columns that are read.
    pub(crate) fn schema(&self) -> SchemaRef {
        match self {
            Self::Ipc(reader) => reader.schema(),
            Self::Parquet(reader) => reader.schema(),
        }
    }

    /// The next batch; `None` after the last.
    pub(crate) fn next_batch(&mut self) -> Result<Option<IpcBatch>> {
        match self {
            Self::Ipc(reader) => Ok(reader.next_batch()?),
            Self::Parquet(reader) => reader.next_batch(),
        }
    }
}

impl Batches {
    /// Opens a file.
    pub(crate) fn open(file: File, is_parquet: bool) -> Result<Self> {
        let opened = if is_parquet {
            Self::Parquet(Box::new(ParquetFile::open(file)?))
        } else {
            Self::Ipc(file)
        };
        check_columns(opened.schema()?.fields().len())?;
        Ok(opened)
    }

    /// Tells the user which columns are left out or changed.
    pub(super) fn warn(&self) -> Result<()> {
        self.schema()?.fields().iter().for_each(|field| warn_of_zone(field));
        if let Self::Parquet(file) = self {
            file.notes().for_each(show::note);
        }
        Ok(())
    }

    /// The names and types of all columns.
    pub(crate) fn schema(&self) -> Result<SchemaRef> {
        match self {
            Self::Ipc(file) => Ok(open(file)?.schema()),
            Self::Parquet(file) => Ok(file.schema()),
        }
    }

    /// Reads the file from its first batch. A Parquet file is read without the columns that are not `wanted`.
    pub(crate) fn reader(&self, wanted: &dyn Fn(&str) -> bool) -> Result<BatchReader<'_>> {
        Ok(match self {
            Self::Ipc(file) => BatchReader::Ipc(Box::new(open(file)?)),
            Self::Parquet(file) => BatchReader::Parquet(Box::new(file.reader(wanted)?)),
        })
    }

    /// The numbers of rows and bytes.
    pub(super) fn size(&self) -> Result<(u64, u64)> {
        let mut reader = self.reader(&|_| true)?;
        let (mut rows, mut bytes) = (0, 0);
        while let Some(batch) = reader.next_batch()? {
            rows += batch.rows.num_rows() as u64;
            bytes += batch.bytes;
        }
        Ok((rows, bytes))
    }

    /// The table with all cells.
    pub(super) fn table(&self) -> Result<Table> {
        let mut reader = self.reader(&|_| true)?;
        let mut batches = Vec::new();
        while let Some(batch) = reader.next_batch()? {
            batches.push(batch.rows);
        }
        table(&reader.schema(), &batches)
    }
}

fn open<R: Read + Seek>(mut input: R) -> Result<IpcReader<R>> {
    let bytes = usize::try_from(input.seek(SeekFrom::End(0))?)?;
    Ok(IpcReader::new(input, unfolded_max(bytes))?)
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
