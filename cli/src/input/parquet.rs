//! Reads Parquet files as record batches of columns that an array can store. Structs become a column for each of their
//! fields, half floats become `float32`, and decimals become integers or `float64`.

mod column;

use std::fs::File;
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hyperslab::arrow::IpcBatch;
use hyperslab_formats::guarded;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use column::{LeafColumn, leaves};

/// Bytes of a batch, by the sizes in the file's metadata.
const BATCH_BYTES: u64 = 4 << 20;
/// The most rows of a batch.
const BATCH_ROWS_MAX: u64 = 1 << 16;

/// A Parquet file that is read several times.
#[derive(Debug)]
pub(crate) struct ParquetFile {
    file: File,
    metadata: ArrowReaderMetadata,
    columns: Vec<LeafColumn>,
    notes: Vec<String>,
    /// Rows of a batch.
    batch_rows: usize,
}

/// Reads a Parquet file in order.
pub(crate) struct ParquetReader<'a> {
    batches: ParquetRecordBatchReader,
    /// The columns, each with the position of its root in a batch.
    columns: Vec<(usize, &'a LeafColumn)>,
    schema: SchemaRef,
}

impl ParquetFile {
    /// Reads the metadata at the end of the file.
    pub(super) fn open(file: File) -> Result<Self> {
        let options = || ArrowReaderOptions::new();
        let metadata = guarded(|| {
            let found = ArrowReaderMetadata::load(&file, options()).map_err(damaged)?;
            let viewed = options().with_schema(Arc::new(viewed(found.schema())));
            // Views of text share the dictionary of a page, where plain text repeats each value.
            Ok(ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), viewed).unwrap_or(found))
        })?;
        let mut notes = Vec::new();
        let mut columns = Vec::new();
        for (root, field) in metadata.schema().fields().iter().enumerate() {
            leaves(root, field, &mut columns, &mut notes);
        }
        ensure!(
            !columns.is_empty(),
            "no column of the file can be stored in an array: {}",
            notes.join("; ")
        );
        let groups = metadata.metadata().row_groups().iter();
        let row_bytes = |bytes: i64, rows: i64| u64::try_from(bytes.checked_div(rows).unwrap_or(0)).unwrap_or(0);
        let row_bytes = groups.map(|g| row_bytes(g.total_byte_size(), g.num_rows())).max();
        let rows = BATCH_BYTES / row_bytes.unwrap_or(0).max(1);
        Ok(Self {
            file,
            metadata,
            columns,
            notes,
            batch_rows: usize::try_from(rows.clamp(1, BATCH_ROWS_MAX))?,
        })
    }

    /// The columns that are left out or changed, in a sentence each.
    pub(super) fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(String::as_str)
    }

    /// The names and types of the columns, and the metadata of the file.
    pub(super) fn schema(&self) -> SchemaRef {
        schema(&self.metadata, self.columns.iter())
    }

    /// Reads the `wanted` columns from the first row.
    pub(super) fn reader(&self, wanted: &dyn Fn(&str) -> bool) -> Result<ParquetReader<'_>> {
        let kept: Vec<&LeafColumn> = self.columns.iter().filter(|c| wanted(c.field.name())).collect();
        let mut roots: Vec<usize> = kept.iter().map(|c| c.root).collect();
        roots.dedup();
        let file = self.file.try_clone()?;
        let batches = guarded(|| {
            let mask = ProjectionMask::roots(self.metadata.parquet_schema(), roots.iter().copied());
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_projection(mask)
                .with_batch_size(self.batch_rows)
                .build()
                .map_err(damaged)
        })?;
        let schema = schema(&self.metadata, kept.iter().copied());
        let placed = kept
            .into_iter()
            .filter_map(|c| Some((roots.iter().position(|r| *r == c.root)?, c)));
        Ok(ParquetReader {
            batches,
            columns: placed.collect(),
            schema,
        })
    }
}

impl ParquetReader<'_> {
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<IpcBatch>> {
        guarded(|| {
            let Some(batch) = self.batches.next().transpose().map_err(damaged)? else {
                return Ok(None);
            };
            let column = |(root, column): &(usize, &LeafColumn)| column.of(batch.column(*root));
            let arrays: Vec<ArrayRef> = self.columns.iter().map(column).collect::<Result<_>>()?;
            let bytes = arrays.iter().map(cell_bytes).sum();
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let rows = RecordBatch::try_new_with_options(self.schema(), arrays, &options).map_err(damaged)?;
            Ok(Some(IpcBatch { rows, bytes }))
        })
    }
}

/// The bytes of the cells of a column, with the values of dictionaries and views in place of what refers to them.
fn cell_bytes(array: &ArrayRef) -> u64 {
    let rows = array.len() as u64;
    let bytes = match array.data_type() {
        DataType::Utf8View => array.as_string_view().lengths().map(u64::from).sum(),
        DataType::BinaryView => array.as_binary_view().lengths().map(u64::from).sum(),
        DataType::Dictionary(..) => match array.as_any_dictionary_opt() {
            Some(found) => {
                let values = found.values();
                let each = (values.get_array_memory_size() as u64).div_ceil(values.len().max(1) as u64);
                each.saturating_mul(rows)
            }
            None => 0,
        },
        _ => array.to_data().get_slice_memory_size().unwrap_or(0) as u64,
    };
    bytes.saturating_add(8 * rows)
}

fn schema<'a>(metadata: &ArrowReaderMetadata, columns: impl Iterator<Item = &'a LeafColumn>) -> SchemaRef {
    let fields: Vec<Field> = columns.map(|c| c.field.clone()).collect();
    Arc::new(Schema::new_with_metadata(fields, metadata.schema().metadata().clone()))
}

/// The same schema, with text and bytes as views.
fn viewed(schema: &Schema) -> Schema {
    let view = |field: &Arc<Field>| match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => field.as_ref().clone().with_data_type(DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary => field.as_ref().clone().with_data_type(DataType::BinaryView),
        _ => field.as_ref().clone(),
    };
    let fields: Vec<Field> = schema.fields().iter().map(view).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn damaged(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("not a valid Parquet file: {error}; restore it from a backup, or export it again")
}
