//! Export as a Parquet file.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use hyperslab::arrow::FieldType;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::arrow::BatchWriter;
use crate::dictionaries::stated;
use crate::output_file::{self, Out};
use crate::sizes::PROGRAM_BYTES;

/// The part of the budget that the row group in memory may take.
const ROW_GROUP_SHARE: u64 = 6;
/// The largest row group. Readers hold a column of a row group in memory.
const ROW_GROUP_BYTES_MAX: u64 = 128 << 20;
const ROW_GROUP_BYTES_MIN: u64 = 1 << 20;
/// The level that the zstd tool uses by default.
const LEVEL: i32 = 3;

/// A file that is written batch by batch.
pub(super) struct ParquetWriter<'a> {
    writer: ArrowWriter<&'a mut Out>,
    name: String,
    /// Bytes of the row group in memory, at most.
    group_bytes: usize,
}

impl<'a> ParquetWriter<'a> {
    /// A writer within a budget of `memory` bytes. The schema is stored too, so that an import restores all types.
    pub(super) fn new(file: &'a mut Out, schema: &SchemaRef, fields: &[FieldType], memory: u64) -> Result<Self> {
        let name = file.name().to_owned();
        let free = memory.saturating_sub(PROGRAM_BYTES) / ROW_GROUP_SHARE;
        let group_bytes = usize::try_from(free.clamp(ROW_GROUP_BYTES_MIN, ROW_GROUP_BYTES_MAX))?;
        let level = ZstdLevel::try_new(LEVEL)?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level));
        let writer = ArrowWriter::try_new(file, Arc::new(stated(schema, fields)), Some(properties.build()));
        Ok(Self {
            writer: writer.map_err(|e| failed(&name, e))?,
            name,
            group_bytes,
        })
    }
}

impl BatchWriter for ParquetWriter<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut written = self.writer.write(batch);
        if self.writer.memory_size() >= self.group_bytes {
            written = written.and_then(|()| self.writer.flush());
        }
        written.map_err(|e| failed(&self.name, e))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.writer.finish().map(drop).map_err(|e| failed(&self.name, e))
    }
}

/// The error for an output that cannot be written. The crate wraps the system's error, which is clearer by itself.
fn failed(name: &str, error: ParquetError) -> anyhow::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast() {
            Ok(cause) => output_file::failed(name, *cause),
            Err(other) => anyhow::Error::from_boxed(other).context(format!("cannot write {name}")),
        },
        other => anyhow::Error::new(other).context(format!("cannot write {name}")),
    }
}
