//! Export as an Arrow IPC file or a Parquet file, which hold the same batches.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use hyperslab::arrow::{FieldType, Table};
use hyperslab::schema::Field;
use hyperslab::{Batch, Query, conventions};

use super::job::{Job, parts};
use super::parquet::ParquetWriter;
use crate::args::Export;
use crate::formats::Output;
use crate::output_file::{self, Out};

/// A file of record batches.
pub(super) trait BatchWriter {
    /// Appends a batch.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;
    /// Writes the end of the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// An Arrow IPC file, and its name for messages.
struct IpcWriter<'a>(FileWriter<&'a mut Out>, String);

impl BatchWriter for IpcWriter<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch).map_err(|e| failed(&self.1, e))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.0.finish().map_err(|e| failed(&self.1, e))
    }
}

/// Streams the job into a file.
pub(super) async fn export(job: &Job, args: &Export, format: Output) -> Result<()> {
    let mut fields = described(job).await?;
    let mut file = Out::create(&args.out, args.force)?;
    if file.is_stream() {
        // Output to a pipe cannot be rewritten, so find the fields that need raw form first.
        scan(job, &mut fields).await?;
    }
    while !attempt(job, args, format, &mut fields, &mut file).await? {
        file = Out::create(&args.out, args.force)?;
    }
    file.finish()
}

/// The fields, with what is known of them.
async fn described(job: &Job) -> Result<Vec<FieldType>> {
    let dataset = conventions::of_array(&job.array).await;
    let metadata = job.array.metadata().await;
    let cannot_read = || format!("cannot read {}", job.url);
    let (dataset, metadata) = (dataset.with_context(cannot_read)?, metadata.with_context(cannot_read)?);
    let described = |field: &Field| FieldType {
        facts: match job.array.schema().dimension(&field.name).is_some() && job.counts(&field.name) {
            true => BTreeMap::new(),
            false => conventions::field_facts(&dataset, &metadata, &field.name),
        },
        ..FieldType::from(field.clone())
    };
    Ok(job.fields.iter().map(described).collect())
}

/// Reads the fields that may need raw form, and marks those that do.
async fn scan(job: &Job, fields: &mut [FieldType]) -> Result<()> {
    let doubtful: Vec<String> = fields
        .iter()
        .filter(|f| f.may_need_raw())
        .map(|f| f.name.clone())
        .collect();
    if doubtful.is_empty() || job.is_empty() {
        return Ok(());
    }
    let progress = job.progress("looking");
    let mut batches = job.array.batches(Query {
        fields: Some(doubtful),
        ..job.query.clone()
    });
    while let Some(batch) = batches
        .next()
        .await
        .with_context(|| format!("cannot read {}", job.url))?
    {
        progress.add(batch.cells);
        mark(fields, &batch);
    }
    Ok(())
}

/// Switches each field that needs it for this batch to raw form. Returns whether there were any.
fn mark(fields: &mut [FieldType], batch: &Batch) -> bool {
    let mut any = false;
    for field in fields {
        any |= batch.column(&field.name).is_some_and(|c| field.fit(c));
    }
    any
}

/// Writes everything. Returns false, with the fields marked, if one of them turns out to need raw form.
async fn attempt(job: &Job, args: &Export, format: Output, fields: &mut [FieldType], file: &mut Out) -> Result<bool> {
    let table = Table::new(fields.to_vec(), job.is_dense())?;
    let mut writer: Box<dyn BatchWriter> = if format == Output::Parquet {
        Box::new(ParquetWriter::new(file, table.schema(), fields, args.memory)?)
    } else {
        let name = file.name().to_owned();
        let writer = FileWriter::try_new(file, table.schema()).map_err(|e| failed(&name, e))?;
        Box::new(IpcWriter(writer, name))
    };
    let progress = job.progress("exporting");
    let mut batches = job.batches();
    while let Some(batch) = batches.next().await? {
        if mark(fields, &batch) {
            return Ok(false);
        }
        let columns: Vec<_> = batch.columns.iter().map(|(_, c)| c).collect();
        for part in parts(&batch) {
            for batch in table.batches(&columns, part) {
                writer.write(&batch?)?;
            }
        }
        progress.add(batch.cells);
    }
    writer.finish()?;
    Ok(true)
}

/// The error for an output that cannot be written. Arrow wraps the system's error, which is clearer by itself.
fn failed(name: &str, error: ArrowError) -> anyhow::Error {
    match error {
        ArrowError::IoError(_, cause) => output_file::failed(name, cause),
        other => anyhow::Error::new(other).context(format!("cannot write {name}")),
    }
}
