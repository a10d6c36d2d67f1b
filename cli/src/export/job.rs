//! The query of an export: fields, cells, order.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use hyperslab::internals::suggest;
use hyperslab::internals::view::encode::Format;
use hyperslab::internals::view::selection;
use hyperslab::schema::{Field, Layout};
use hyperslab::{Array, Batch, Cpu, Query, Region, Window};

use super::rows::{self, CellBatches};
use crate::args::{Export, Order};
use crate::condition;
use crate::errors::usage;
use crate::formats::Output;
use crate::progress::Progress;
use crate::sizes::{ALL_CORES_BYTES, PROGRAM_BYTES};
use crate::store::{Env, Place};
use crate::{show, time_args};

/// The least memory for reading, whatever the budget.
const READ_BYTES_MIN: u64 = 40 << 20;
/// A batch may take a sixth of that, because sorting holds sparse cells several times.
const BATCH_SHARE: u64 = 6;
/// The cache may take an eighth, so that a tile that two batches need is decoded once.
const CACHE_SHARE: u64 = 8;
/// Bytes of cells that are encoded at a time. Text and Arrow messages hold one or two more copies of them.
const PART_BYTES: u64 = 1 << 20;
/// Bytes of a long row.
const ROW_BYTES: u64 = 1 << 10;

/// A read that is ready to run.
pub(crate) struct Job {
    /// The array.
    pub(crate) array: Array,
    /// The query to run.
    pub(crate) query: Query,
    /// The fields, in the query's order.
    pub(crate) fields: Vec<Field>,
    /// Lengths of the axes, except those with a single selected coordinate; `None` for sparse arrays and rows.
    pub(crate) shape: Option<Vec<u64>>,
    /// Whether the cells of a dense array become rows, without those that fail the condition.
    rows: bool,
    /// The values that replace the coordinates of a dense array.
    axes: selection::TableAxes,
    /// The most rows.
    pub(crate) limit: u64,
    /// Whether there are no cells to read.
    is_empty: bool,
    /// The selected coordinates; `None` for all of a sparse array.
    #[cfg_attr(
        not(feature = "formats"),
        expect(dead_code, reason = "only file formats place what was selected")
    )]
    pub(crate) selected: Option<selection::Selection>,
    /// The array's path or URL as typed, for messages.
    pub(crate) url: String,
}

impl Job {
    /// Opens the array and resolves the options for it.
    pub(crate) async fn new(env: &Env, args: &Export, output: Output) -> Result<Self> {
        let format = output.like();
        let pick = &args.pick;
        let memory = args.memory.saturating_sub(PROGRAM_BYTES).max(READ_BYTES_MIN);
        let place = Place::new(&args.array)?;
        let mut context = place.context.clone().with_cache_bytes(memory / CACHE_SHARE);
        if args.memory < ALL_CORES_BYTES {
            context = context.with_cpu(Cpu::Inline);
        }
        let place = Place { context, ..place };
        let array = env.open_at(&place, time_args::window(pick.at)?).await?;
        if array.fragments().is_empty() {
            warn_no_writes(env, &place, &array).await?;
        }
        let schema = Arc::clone(array.schema());
        let written = array.non_empty_domain();
        let selected = match &pick.select {
            Some(text) => Some(selection::read(&array, text).await.map_err(|e| usage("--select", e))?),
            None if schema.is_dense() => Some(selection::Selection::all(&schema, written.as_deref())),
            None => None,
        };
        rows::check(args, output, schema.is_dense())?;
        let rows = args.rows && schema.is_dense();
        let nothing = schema.is_dense() && pick.select.is_none() && written.is_none();
        let region = match &selected {
            Some(s) => s.region(&schema)?,
            None => Region::all(),
        };
        let shape = selected.as_ref().filter(|_| schema.is_dense()).map(|s| {
            let axes = s.axes.iter().filter(|a| !a.single);
            axes.map(|a| if nothing { 0 } else { a.len().unwrap_or(u64::MAX) })
                .collect::<Vec<_>>()
        });
        let is_empty = shape.as_ref().is_some_and(|s| s.contains(&0));
        let axes = rows::axes(args, output, &array, selected.as_ref()).await;
        let attributes = pick
            .attrs
            .clone()
            .or_else(|| selected.as_ref().and_then(|s| s.attributes.clone()));
        let listed = if rows { Format::Csv } else { format };
        let names = names(&array, attributes.as_deref(), listed)?;
        let condition = match &pick.condition {
            Some(text) if args.stored => Some(condition::read(text, &array).await?),
            Some(text) => Some(condition::read_unpacked(text, &array).await?),
            None => None,
        };
        let order = order(pick.order, schema.is_dense(), format)?;
        let query = Query {
            fields: Some(names.clone()),
            region,
            order,
            condition,
            batch_bytes: args.limit.map_or(u64::MAX, limited).min(memory / BATCH_SHARE),
        };
        let fields = array.fields(&names).await;
        let mut fields = fields.with_context(|| format!("cannot read {}", args.array))?;
        axes.retype(&mut fields);
        Ok(Self {
            array,
            query,
            fields,
            shape: shape.filter(|_| !rows),
            rows,
            axes,
            limit: args.limit.unwrap_or(u64::MAX),
            is_empty,
            selected,
            url: args.array.clone(),
        })
    }

    /// Whether there are no cells to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Whether the file says that its cells are those of a dense array.
    pub(crate) fn is_dense(&self) -> bool {
        self.array.schema().is_dense() && !self.rows && self.axes.is_empty()
    }

    /// Whether the coordinates along a dimension of a dense array are indices.
    pub(crate) fn counts(&self, dimension: &str) -> bool {
        self.array.schema().is_dense() && !self.axes.has(dimension)
    }

    /// The cells, in batches.
    pub(crate) fn batches(&self) -> CellBatches<'_> {
        CellBatches {
            batches: self.array.batches(self.query.clone()),
            axes: &self.axes,
            matching: self.rows,
            left: if self.is_empty { 0 } else { self.limit },
            url: &self.url,
        }
    }

    /// The number of cells, if it is known before reading.
    pub(crate) fn cells(&self) -> Option<u64> {
        self.shape
            .as_ref()
            .map(|s| s.iter().fold(1, |n: u64, m| n.saturating_mul(*m)).min(self.limit))
    }

    /// A progress bar for one pass over the cells.
    pub(crate) fn progress(&self, what: &'static str) -> Progress {
        Progress::new(what, self.cells(), "cells")
    }
}

/// Bytes of a batch with about this many rows. More are read than needed if rows are short.
fn limited(rows: u64) -> u64 {
    rows.saturating_mul(ROW_BYTES).max(PART_BYTES)
}

/// Prints that nothing was written in the requested window, with the times of the first and the last write.
async fn warn_no_writes(env: &Env, place: &Place, array: &Array) -> Result<()> {
    let all = env.open_at(place, Window::ALL).await?;
    let (Some(first), Some(last)) = (all.times().first().copied(), all.times().last().copied()) else {
        return Ok(());
    };
    let Window { start_ms, end_ms } = array.window();
    let (asked, from) = (time_args::iso(end_ms), time_args::iso(start_ms));
    let window = if start_ms == 0 {
        format!("until {asked}")
    } else {
        format!("from {from} until {asked}")
    };
    show::warning(format_args!(
        "{}: nothing was written {window}, so the export is empty or has only fill values; the writes date \
         from {} to {}",
        place.url,
        time_args::iso(first),
        time_args::iso(last)
    ));
    Ok(())
}

/// Splits the cells of a batch into ranges that are encoded one by one.
pub(crate) fn parts(batch: &Batch) -> impl Iterator<Item = Range<usize>> + use<> {
    let columns = batch.columns.iter().map(|(_, c)| c.data.len() as u64);
    let (bytes, cells) = (columns.sum::<u64>(), batch.columns.first().map_or(0, |(_, c)| c.len()));
    let count = usize::try_from(bytes.div_ceil(PART_BYTES)).unwrap_or(usize::MAX);
    let step = cells.div_ceil(count.max(1)).max(1);
    (0..cells)
        .step_by(step)
        .map(move |start| start..cells.min(start + step))
}

/// The fields to export.
pub(super) fn names(array: &Array, asked: Option<&[String]>, format: Format) -> Result<Vec<String>> {
    let schema = array.schema();
    let asked: Option<Vec<String>> = asked
        .map(|asked| asked.iter().map(|name| attribute(array, name)).collect::<Result<_>>())
        .transpose()?;
    if let Some(twice) = asked.as_deref().and_then(repeated) {
        let why = format!(
            "'{}' is named twice; name it once",
            selection::shown_name(twice, schema)
        );
        return Err(usage("--attrs", why));
    }
    Ok(format.fields(schema, asked.as_deref()))
}

/// The first name that a list repeats.
pub(crate) fn repeated(names: &[String]) -> Option<&str> {
    let mut seen = HashSet::new();
    names.iter().map(String::as_str).find(|name| !seen.insert(*name))
}

/// The field that `--attrs` names; `data` may refer to the unnamed attribute.
fn attribute(array: &Array, name: &str) -> Result<String> {
    let schema = array.schema();
    if let Some(found) = selection::field_named(name, schema) {
        return Ok(found.to_owned());
    }
    let known: Vec<_> = schema
        .attributes
        .iter()
        .map(|a| selection::shown_name(&a.name, schema))
        .collect();
    Err(usage("--attrs", suggest::unknown("attribute", name, &known)))
}

fn order(asked: Option<Order>, dense: bool, format: Format) -> Result<Layout> {
    let order = match asked {
        Some(Order::Row) => Layout::RowMajor,
        Some(Order::Col) => Layout::ColMajor,
        Some(Order::Global) => Layout::Global,
        Some(Order::Unordered) => Layout::Unordered,
        None if dense => Layout::RowMajor,
        None => Layout::Global,
    };
    match order {
        _ if !dense || format.orders().contains(&order) => Ok(order),
        Layout::Unordered => Ok(Layout::RowMajor),
        _ => {
            let col = if format.orders().contains(&Layout::ColMajor) {
                " or col"
            } else {
                ""
            };
            let ending = format.extension();
            Err(usage(
                "--order",
                format!("a .{ending} of a dense array is in row{col} order"),
            ))
        }
    }
}
