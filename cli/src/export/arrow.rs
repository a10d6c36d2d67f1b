//! Export as an Arrow IPC file.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use hyperslab::arrow::{FieldType, Form};
use hyperslab::{Batch, Error, Query};

use super::job::{Job, parts};
use crate::out::{self, Out};

/// Streams the job into an IPC file.
pub(super) async fn export(job: &Job, out: &str) -> Result<()> {
    let mut fields = job.fields.clone();
    let mut file = Out::create(out)?;
    if file.is_stream() {
        // What has gone down a pipe cannot be taken back, so the forms must be known first.
        scan(job, &mut fields).await?;
    }
    while !attempt(job, &mut fields, &mut file).await? {
        file = Out::create(out)?;
    }
    file.finish()
}

/// Marks the fields that cannot be shown in their natural form.
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

/// Gives raw form to each field that a batch shows to need it. Whether there were any.
fn mark(fields: &mut [FieldType], batch: &Batch) -> bool {
    let mut any = false;
    for field in fields.iter_mut().filter(|f| f.form == Form::Natural) {
        if batch.column(&field.name).is_some_and(|c| !field.is_natural(c)) {
            field.form = Form::Raw;
            any = true;
        }
    }
    any
}

/// Writes everything; false, with the fields marked, if one of them turned out to need raw form.
async fn attempt(job: &Job, fields: &mut [FieldType], file: &mut Out) -> Result<bool> {
    let kind = if job.array.schema().is_dense() {
        "dense"
    } else {
        "sparse"
    };
    let metadata = HashMap::from([("tiledb.array_type".to_owned(), kind.to_owned())]);
    let schema = Schema::new_with_metadata(fields.iter().map(FieldType::field).collect::<Vec<_>>(), metadata);
    let schema: SchemaRef = Arc::new(schema);
    let dictionaries = fields
        .iter()
        .map(FieldType::dictionary)
        .collect::<Result<Vec<_>, _>>()?;
    let name = file.name().to_owned();
    let failed = |e| failed(&name, e);
    let mut writer = FileWriter::try_new(file, &schema).map_err(failed)?;
    let progress = job.progress("exporting");
    let mut batches = job.array.batches(job.query.clone());
    while !job.is_empty()
        && let Some(batch) = batches
            .next()
            .await
            .with_context(|| format!("cannot read {}", job.url))?
    {
        if mark(fields, &batch) {
            return Ok(false);
        }
        let mut parts: Vec<_> = parts(&batch).collect();
        parts.reverse();
        while let Some(part) = parts.pop() {
            match arrays(fields, &dictionaries, &batch, part.clone()) {
                Ok(arrays) => {
                    let options = RecordBatchOptions::new().with_row_count(Some(part.len()));
                    let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)?;
                    writer.write(&batch).map_err(failed)?;
                }
                // Arrow counts in 31 bits: halves, the first one first.
                Err(Error::LimitExceeded { .. }) if part.len() > 1 => {
                    let middle = part.start + part.len() / 2;
                    parts.extend([middle..part.end, part.start..middle]);
                }
                Err(e) => return Err(e.into()),
            }
        }
        progress.add(batch.cells);
    }
    writer.finish().map_err(failed)?;
    Ok(true)
}

/// The failure to write the output of this name. Arrow wraps the system's error, which says more by itself.
fn failed(name: &str, error: ArrowError) -> anyhow::Error {
    match error {
        ArrowError::IoError(_, cause) => out::failed(name, cause),
        other => anyhow::Error::new(other).context(format!("cannot write {name}")),
    }
}

fn arrays(
    fields: &[FieldType],
    dictionaries: &[Option<ArrayRef>],
    batch: &Batch,
    cells: std::ops::Range<usize>,
) -> Result<Vec<ArrayRef>, Error> {
    let columns = batch.columns.iter().map(|(_, c)| c);
    fields
        .iter()
        .zip(dictionaries)
        .zip(columns)
        .map(|((f, d), c)| f.array(c, cells.clone(), d.as_ref()))
        .collect()
}
