//! Arrow files, read batch by batch: once for the schema, and once for the cells.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use hyperslab::Window;
use hyperslab::arrow::{FieldType, Role};

use super::{batches, infer};
use crate::args::Import;
use crate::input::{Batches, Named, Summary, Table, Values, arrow_table, warn_of_zones};
use crate::store::{Env, Place};
use crate::write::{Target, write_table};

/// The cells of a file that has been scanned.
pub(super) struct Cells {
    batches: Batches,
    rows: u64,
    /// Bytes of all cells.
    bytes: u64,
}

/// Scans all batches. Returns a table of columns without cells, and the reader of the cells. If a sparse array has no
/// dimensions among the columns, the table has the cells and there is no reader.
pub(super) fn look(args: &Import, batches: Batches) -> Result<(Table, Option<Cells>)> {
    let mut reader = batches.reader()?;
    let schema = reader.schema();
    let fields = schema.fields().iter().map(|f| FieldType::infer(f));
    let fields: Vec<FieldType> = fields.collect::<hyperslab::Result<_>>()?;
    let is_dimension = |f: &FieldType| match &args.dims {
        Some(dims) => dims.contains(&f.name),
        None => f.role == Some(Role::Dimension),
    };
    if args.sparse && !fields.iter().any(is_dimension) {
        return Ok((batches.table()?, None));
    }
    warn_of_zones(&schema);
    let summary = |field: &FieldType| Summary {
        field: field.clone(),
        rows: 0,
        nulls: false,
        ends: None,
        dictionaries: Vec::new(),
    };
    let mut summaries: Vec<Summary> = fields.iter().map(summary).collect();
    let mut bytes = 0;
    while let Some(batch) = reader.next_batch()? {
        bytes += batch.bytes;
        for ((summary, field), array) in summaries.iter_mut().zip(&fields).zip(batch.rows.columns()) {
            if is_dimension(field) && !array.is_empty() {
                add_coordinates(summary, field, array)?;
            } else {
                add_values(summary, array);
            }
            summary.rows += array.len();
        }
    }
    let columns = fields.into_iter().zip(summaries).map(|(field, summary)| Named {
        name: field.field.name,
        values: Values::Summary(Box::new(summary)),
    });
    let table = Table {
        columns: columns.collect(),
        ..Table::default()
    };
    let rows = table.rows() as u64;
    Ok((table, Some(Cells { batches, rows, bytes })))
}

fn add_values(summary: &mut Summary, array: &ArrayRef) {
    summary.nulls |= array.logical_null_count() > 0;
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let values = dictionary.values();
        if !summary
            .dictionaries
            .last()
            .is_some_and(|last| Arc::ptr_eq(last, values))
        {
            summary.dictionaries.push(Arc::clone(values));
        }
    }
}

fn add_coordinates(summary: &mut Summary, field: &FieldType, array: &ArrayRef) -> Result<()> {
    let mut found = infer::unfolded(Named {
        name: field.name.clone(),
        values: Values::Arrow(field.clone(), vec![Arc::clone(array)]),
    })?;
    summary.field = FieldType {
        role: field.role,
        ..infer::field_of(&found)?
    };
    if summary.field.datatype.is_string() {
        return Ok(());
    }
    let (lo, hi) = infer::ends(&mut found, &summary.field, summary.rows)?;
    summary.ends = Some(match summary.ends.take() {
        None => (lo, hi),
        Some((least, greatest)) => (
            if lo.order(&least).is_lt() { lo } else { least },
            if hi.order(&greatest).is_gt() { hi } else { greatest },
        ),
    });
    Ok(())
}

impl Cells {
    /// The most rows that are written at a time.
    pub(super) fn rows_at_a_time(&self, args: &Import) -> u64 {
        batches::rows(args, self.bytes, self.rows)
    }
}

/// Writes the cells that belong to the columns of `table`, into the new array at `place`.
pub(super) async fn write(
    env: &Env,
    args: &Import,
    place: &Place,
    cells: &Cells,
    table: &Table,
    timestamp_ms: u64,
) -> Result<()> {
    let place = batches::within(args, place);
    let array = env.open_at(&place, Window::ALL).await?;
    let is_dense = array.schema().is_dense();
    let by_row = is_dense && table.shape.is_some();
    if is_dense && !by_row {
        batches::check_grid(args, cells.bytes)?;
    }
    let most = match (is_dense, by_row) {
        (true, false) => u64::MAX,
        (true, true) => {
            // Tiles that one batch has whole are taken over as they are when batches are merged.
            let most = cells.rows_at_a_time(args);
            let extent = array
                .schema()
                .dimensions
                .first()
                .and_then(|d| d.extent.as_ref()?.as_i128());
            let extent = extent.and_then(|n| u64::try_from(n).ok()).unwrap_or(1).max(1);
            (most - most % extent).max(extent)
        }
        (false, _) => cells.rows_at_a_time(args),
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let (mut fragments, mut row) = (0, 0);
    let mut put = async |rows: &[RecordBatch]| -> Result<()> {
        let [first, ..] = rows else { return Ok(()) };
        let mut batch = arrow_table(&first.schema(), rows)?;
        batch
            .columns
            .retain(|c| c.name.is_empty() || table.columns.iter().any(|t| t.name == c.name));
        let end = row + batch.rows();
        let region = format!("{row}:{end}");
        let target = if by_row { Target::Box(&region) } else { Target::Table };
        write_table(&array, batch, target, timestamp_ms).await?;
        (fragments, row) = (fragments + 1, end);
        Ok(())
    };
    let mut reader = cells.batches.reader()?;
    let (mut held, mut held_rows): (Vec<RecordBatch>, usize) = (Vec::new(), 0);
    while let Some(batch) = reader.next_batch()? {
        let mut rest = batch.rows;
        while rest.num_rows() > 0 {
            let taken = rest.num_rows().min(most - held_rows);
            held.push(rest.slice(0, taken));
            held_rows += taken;
            rest = rest.slice(taken, rest.num_rows() - taken);
            if held_rows == most {
                put(&std::mem::take(&mut held)).await?;
                held_rows = 0;
            }
        }
    }
    put(&held).await?;
    drop(held);
    if fragments > 1 {
        batches::merge(env, args, &place, timestamp_ms, cells.rows).await?;
    }
    Ok(())
}
