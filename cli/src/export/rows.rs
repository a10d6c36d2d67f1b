//! The cells of an export, batch by batch: with the values along the axes as coordinates, and no more than asked for.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use hyperslab::internals::view::encode::Format;
use hyperslab::internals::view::selection::Selection;
use hyperslab::schema::{Attribute, Field};
use hyperslab::{Array, AxisValues, Batch, Batches, Column, Scalar};

use crate::args::{Coordinates, Export};
use crate::errors::usage;
use crate::formats::Output;
use crate::show;

/// The values along some dimensions, with the dimensions' names.
pub(crate) type Axes = Vec<(String, Arc<AxisValues>)>;

/// Checks that a file of this format has rows, if an option is about rows.
pub(super) fn check(args: &Export, output: Output, dense: bool) -> Result<()> {
    let is_stream = matches!(output, Output::Slice(Format::Npy | Format::Bin));
    let has_rows = output.is_table() || is_stream && (!dense || args.rows);
    let option = match (args.rows, args.limit) {
        (true, _) if !output.is_table() && !is_stream => "--rows",
        (_, Some(_)) if !has_rows => "--limit",
        _ => return Ok(()),
    };
    let ending = output.extension();
    let instead = if args.rows { "" } else { ", or use --select" };
    let why = format!("a .{ending} file has no rows; export to .csv, .jsonl, .arrow or .parquet{instead}");
    Err(usage(option, why))
}

/// The values that the coordinates of a dense array are replaced by.
pub(super) async fn axes(args: &Export, output: Output, array: &Array, selected: Option<&Selection>) -> Result<Axes> {
    let default = match output {
        Output::Slice(Format::Csv | Format::Tsv | Format::Json | Format::Jsonl) | Output::Parquet => {
            Coordinates::Values
        }
        _ => Coordinates::Index,
    };
    let schema = array.schema();
    let wanted = args.coordinates.unwrap_or(default) == Coordinates::Values && !args.is_summary();
    let mut found = Vec::new();
    let Some(selected) = selected.filter(|_| wanted && schema.is_dense()) else {
        return Ok(found);
    };
    for (d, (dimension, axis)) in schema.dimensions.iter().zip(&selected.axes).enumerate() {
        // Dates along a dimension are values already.
        if dimension.datatype.is_datetime() {
            continue;
        }
        let ends = axis.range.as_ref().and_then(|r| r.lo.as_i128().zip(r.hi.as_i128()));
        let why = match array.axis_values(d).await {
            Ok(None) => continue,
            Ok(Some(values)) => {
                let last = values.first + values.values.len() as i128;
                if ends.is_some_and(|(lo, hi)| values.first <= lo && hi < last) {
                    found.push((dimension.name.clone(), values));
                    continue;
                }
                "they do not cover the selection".to_owned()
            }
            Err(error) => error.to_string(),
        };
        show::note(format_args!(
            "the coordinates along '{}' are indices, because its values cannot be used: {why}",
            dimension.name
        ));
    }
    Ok(found)
}

/// Changes the fields of dimensions to the types of their values. They are plain columns then, because floats and text
/// cannot be dimensions of a dense array.
pub(super) fn retype(fields: &mut [Field], axes: &Axes) {
    for (name, axis) in axes {
        let column = &axis.values;
        for field in fields.iter_mut().filter(|f| f.is_dimension() && f.name == *name) {
            (field.datatype, field.cell) = (column.datatype, column.cell);
            field.fill = Attribute::new("", column.datatype, column.cell).fill;
        }
    }
    for field in fields.iter_mut().filter(|f| f.is_dimension() && !axes.is_empty()) {
        field.id = None;
    }
}

/// The batches of an export.
pub(crate) struct CellBatches<'a> {
    pub(super) batches: Batches,
    pub(super) axes: &'a Axes,
    /// Leave out cells that fail the condition.
    pub(super) matching: bool,
    /// The most cells still to come.
    pub(super) left: u64,
    /// The array, for messages.
    pub(super) url: &'a str,
}

impl CellBatches<'_> {
    /// The next batch; `None` after the last one.
    pub(crate) async fn next(&mut self) -> Result<Option<Batch>> {
        if self.left == 0 {
            return Ok(None);
        }
        let next = match self.matching {
            true => self.batches.next_matching().await,
            false => self.batches.next().await,
        };
        let Some(mut batch) = next.with_context(|| format!("cannot read {}", self.url))? else {
            return Ok(None);
        };
        if batch.cells > self.left {
            let kept = 0..usize::try_from(self.left)?;
            batch.columns.iter_mut().for_each(|(_, c)| *c = c.slice(kept.clone()));
            batch.cells = self.left;
        }
        self.left -= batch.cells;
        for (name, values) in self.axes {
            for (_, column) in batch.columns.iter_mut().filter(|(n, _)| n == name) {
                *column = valued(column, values)?;
            }
        }
        Ok(Some(batch))
    }
}

/// The values at these coordinates.
fn valued(coordinates: &Column, axis: &AxisValues) -> Result<Column> {
    let physical = coordinates.datatype.physical();
    let place = |i: usize| {
        let coordinate = Scalar::from_le_bytes(physical, coordinates.cell(i))?.as_i128()?;
        u32::try_from(coordinate - axis.first).ok()
    };
    let places: Option<Vec<u32>> = (0..coordinates.len()).map(place).collect();
    let places = places.context("a coordinate is outside of the values along its axis; give --coordinates index")?;
    Ok(axis.values.picked(&places))
}
