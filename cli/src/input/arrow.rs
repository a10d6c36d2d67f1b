//! Arrow IPC: files, and streams too.

use std::io::Cursor;

use anyhow::{Context as _, Result};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};
use hyperslab::arrow::FieldType;

use super::{Named, Table, Values};

const FILE_MAGIC: &[u8] = b"ARROW1";

pub(super) fn read(bytes: Vec<u8>) -> Result<Table> {
    let damaged = "this is no whole Arrow IPC file";
    if bytes.starts_with(FILE_MAGIC) {
        let reader = FileReader::try_new(Cursor::new(bytes), None).context(damaged)?;
        let schema = reader.schema();
        return table(&schema, reader);
    }
    let reader = StreamReader::try_new(Cursor::new(bytes), None).context(damaged)?;
    let schema = reader.schema();
    table(&schema, reader)
}

fn table(schema: &SchemaRef, batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>) -> Result<Table> {
    let fields = schema
        .fields()
        .iter()
        .map(|f| FieldType::infer(f))
        .collect::<Result<Vec<_>, _>>()?;
    let mut arrays: Vec<Vec<ArrayRef>> = vec![Vec::new(); fields.len()];
    for batch in batches {
        let batch = batch.context("an Arrow batch is damaged")?;
        for (list, array) in arrays.iter_mut().zip(batch.columns()) {
            list.push(array.clone());
        }
    }
    let columns = fields.into_iter().zip(arrays).map(|(f, a)| Named {
        name: f.name.clone(),
        values: Values::Arrow(f, a),
    });
    Ok(Table {
        columns: columns.collect(),
        ..Table::default()
    })
}
