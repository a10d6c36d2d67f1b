//! Looks at all cells of a file before an array is created for them: the types and the range of coordinates.

use std::borrow::Cow;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef};
use hyperslab::Datatype;
use hyperslab::arrow::{FieldType, Role};

use super::infer;
use super::pandas::{self, DataFrame};
use crate::args::Import;
use crate::batches::Budget;
use crate::dictionaries;
use crate::input::{
    BatchLimit, Batches, CellFile, GEOJSON_AXES, Grid, Named, Stream, Summary, Table, Text, VALUE_BYTES, Values,
    geojson_metadata,
};

/// Scans a text table. Returns a table of columns without cells, and the cells. `given` are the types of some columns.
/// The coordinates of GeoJSON points become the dimensions, and `args` are changed accordingly.
pub(super) fn text(args: &mut Cow<'_, Import>, text: Text, given: &[(String, Datatype)]) -> Result<(Table, Stream)> {
    let mut table = text.look(given)?;
    if text.is_points() && args.dims.is_none() {
        let mut by_place = args.as_ref().clone();
        by_place.dims = Some(GEOJSON_AXES.map(str::to_owned).to_vec());
        by_place.sparse = true;
        by_place.domain.extend(degrees(args, &table));
        *args = Cow::Owned(by_place);
        table.metadata = geojson_metadata();
    }
    let rows = table.rows() as u64;
    let bytes = table.columns.iter().map(|c| match &c.values {
        Values::Seen(guess) => guess.bytes() + VALUE_BYTES as u64 * guess.rows(),
        _ => 0,
    });
    let stream = Stream::new(CellFile::Text(text), rows, bytes.sum());
    Ok((table, stream))
}

/// The domains of longitudes and latitudes, unless the user chose domains or some coordinates are beyond.
fn degrees(args: &Import, table: &Table) -> Vec<String> {
    let within = |(name, most): &(&str, f64)| {
        let column = table.columns.iter().find(|c| c.name == *name);
        let ends = column.and_then(|c| match &c.values {
            Values::Seen(guess) => guess.ends().ok()?,
            _ => None,
        });
        ends.is_some_and(|(lo, hi)| lo.as_f64() >= Some(-most) && hi.as_f64().is_some_and(|hi| hi <= *most))
    };
    let all = GEOJSON_AXES.into_iter().zip([180.0, 90.0]);
    let free = all.filter(|_| args.domain.is_empty()).filter(within);
    free.map(|(name, most)| format!("{name}=-{most}:{most}")).collect()
}

/// Adds the range of coordinates to the columns of a sparse import of numpy arrays.
pub(super) fn grid(args: &Import, mut table: Table, grid: Grid, budget: Budget) -> Result<(Table, Stream)> {
    let stream = Stream::counted(CellFile::Grid(grid))?;
    if !args.sparse {
        return Ok((table, stream));
    }
    let is_dimension = |name: &str| args.dims.iter().flatten().any(|d| d == name);
    let mut summaries: Vec<(String, Summary)> = Vec::new();
    let mut opened = stream.open()?;
    let mut reader = opened.reader(&is_dimension)?;
    let take = BatchLimit::Bytes {
        bytes: usize::try_from(budget.batch_bytes()).unwrap_or(usize::MAX),
        step: 1,
    };
    while let Some(batch) = reader.next(take)? {
        let columns = batch.columns.into_iter().filter(|c| is_dimension(&c.name));
        for (i, found) in columns.enumerate() {
            if summaries.len() == i {
                let field = infer::field_of(&found)?;
                summaries.push((found.name.clone(), summary(field)));
            }
            if let Some((_, summary)) = summaries.get_mut(i) {
                let rows = found.values.len();
                add_ends(summary, found)?;
                summary.rows += rows;
            }
        }
    }
    drop(reader);
    drop(opened);
    for (name, summary) in summaries {
        if let Some(column) = table.columns.iter_mut().find(|c| c.name == name) {
            column.values = Values::Summary(Box::new(summary));
        }
    }
    Ok((table, stream))
}

/// Scans all batches of an Arrow or a Parquet file. Returns a table of columns without cells, and the cells. If the file
/// holds a data frame of pandas, its index becomes the dimensions, and `args` are changed accordingly.
pub(super) fn arrow(args: &mut Cow<'_, Import>, batches: Batches) -> Result<(Table, Stream)> {
    let schema = batches.schema()?;
    let fields = schema.fields().iter().map(|f| FieldType::infer(f));
    let fields: Vec<FieldType> = fields.collect::<hyperslab::Result<_>>()?;
    let frame = DataFrame::of(&schema);
    let mut scanned = None;
    if let Some(frame) = &frame
        && let Some(by_index) = frame.options(args, &fields)
    {
        match scan(&by_index, &batches, &fields) {
            Ok(found) => {
                *args = Cow::Owned(by_index);
                scanned = Some(found);
            }
            Err(why) => frame.warn_of_index(&why),
        }
    }
    let (mut table, bytes) = match scanned {
        Some(found) => found,
        None => scan(args, &batches, &fields)?,
    };
    if let Some(frame) = frame {
        table.metadata = frame.metadata(args.dims.as_deref().unwrap_or(&[]));
        table.axes = Some(vec![pandas::ROWS.to_owned()]);
    }
    let rows = table.rows() as u64;
    Ok((table, Stream::new(CellFile::Arrow(batches), rows, bytes)))
}

/// Scans all batches. Returns a table of columns without cells, and the bytes of the cells.
fn scan(args: &Import, batches: &Batches, fields: &[FieldType]) -> Result<(Table, u64)> {
    let mut reader = batches.reader(&|_| true)?;
    let is_dimension = |f: &FieldType| match &args.dims {
        Some(dims) => dims.contains(&f.name),
        None => f.role == Some(Role::Dimension),
    };
    let mut summaries: Vec<Summary> = fields.iter().cloned().map(summary).collect();
    for (summary, field) in summaries.iter_mut().zip(reader.schema().fields()) {
        summary.stated = dictionaries::values(field);
    }
    let mut bytes = 0;
    while let Some(batch) = reader.next_batch()? {
        bytes += batch.bytes;
        for ((summary, field), array) in summaries.iter_mut().zip(fields).zip(batch.rows.columns()) {
            if is_dimension(field) && !array.is_empty() {
                add_coordinates(summary, field, array)?;
            } else {
                add_values(summary, array);
            }
            summary.rows += array.len();
        }
    }
    let columns = fields.iter().zip(summaries).map(|(field, summary)| Named {
        name: field.name.clone(),
        values: Values::Summary(Box::new(summary)),
    });
    let table = Table {
        columns: columns.collect(),
        ..Table::default()
    };
    Ok((table, bytes))
}

fn summary(field: FieldType) -> Summary {
    Summary {
        field,
        rows: 0,
        nulls: false,
        ends: None,
        stated: None,
        dictionaries: Vec::new(),
    }
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
    let found = infer::unfolded(Named {
        name: field.name.clone(),
        values: Values::Arrow(field.clone(), vec![Arc::clone(array)]),
    })?;
    summary.field = FieldType {
        role: field.role,
        facts: field.facts.clone(),
        ..infer::field_of(&found)?
    };
    add_ends(summary, found)
}

/// Widens the range of coordinates by those in `found`.
fn add_ends(summary: &mut Summary, mut found: Named) -> Result<()> {
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
