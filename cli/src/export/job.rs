//! What is to be exported: fields, cells, order.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use hyperslab::array::Array;
use hyperslab::arrow::FieldType;
use hyperslab::format::enumeration::Enumeration;
use hyperslab::format::schema::Layout;
use hyperslab::view::selection;
use hyperslab::{Batch, Cpu, Query, Region, Window};

use crate::args::{Export, Order};
use crate::condition;
use crate::failure::usage;
use crate::formats::Output;
use crate::progress::Progress;
use crate::sizes::{ALL_CORES_BYTES, PROGRAM_BYTES};
use crate::store::{Env, Place};
use crate::{show, when};

/// The least that reading is given, whatever the budget.
const READ_BYTES_MIN: u64 = 40 << 20;
/// What part of that a batch may take: sparse cells are held several times while they are sorted.
const BATCH_SHARE: u64 = 6;
/// What part the cache may take: a tile that two batches meet is decoded once.
const CACHE_SHARE: u64 = 8;
/// Bytes of cells that are encoded at a time: as text, or in Arrow's messages, they are held once more or twice.
const PART_BYTES: u64 = 1 << 20;

/// A read that is ready to run.
pub(crate) struct Job {
    /// The array.
    pub(crate) array: Array,
    /// What to read.
    pub(crate) query: Query,
    /// The fields, in the order of the query's.
    pub(crate) fields: Vec<FieldType>,
    /// Lengths of the axes, without those along which one coordinate was named; `None` for sparse arrays.
    pub(crate) shape: Option<Vec<u64>>,
    /// As typed, for messages.
    pub(crate) url: String,
}

impl Job {
    /// Opens the array and finds out what the options mean for it.
    pub(crate) async fn new(env: &Env, args: &Export, format: Output) -> Result<Self> {
        let pick = &args.pick;
        let memory = args.memory.saturating_sub(PROGRAM_BYTES).max(READ_BYTES_MIN);
        let place = Place::new(&args.array)?;
        let mut context = place.context.clone().with_cache_bytes(memory / CACHE_SHARE);
        if args.memory < ALL_CORES_BYTES {
            context = context.with_cpu(Cpu::Inline);
        }
        let place = Place { context, ..place };
        let array = env.open_at(&place, when::window(pick.at)?).await?;
        if array.fragments().is_empty() {
            tell_of_no_writes(env, &place, &array).await?;
        }
        let schema = Arc::clone(array.schema());
        let written = array.non_empty_domain();
        let selected = match &pick.select {
            Some(text) => Some(selection::read(&array, text).await.map_err(|e| usage("--select", e))?),
            None if schema.is_dense() => Some(selection::Selection::all(&schema, written.as_deref())),
            None => None,
        };
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
        let attributes = pick
            .attrs
            .clone()
            .or_else(|| selected.as_ref().and_then(|s| s.attributes.clone()));
        let names = names(&array, attributes.as_deref(), format)?;
        let condition = match &pick.condition {
            Some(text) => Some(condition::read(text, &array).await?),
            None => None,
        };
        let order = order(pick.order, schema.is_dense(), format)?;
        let query = Query {
            fields: Some(names.clone()),
            region,
            order,
            condition,
            batch_bytes: memory / BATCH_SHARE,
        };
        let fields = fields(&array, &names).await;
        let fields = fields.with_context(|| format!("cannot read {}", args.array))?;
        Ok(Self {
            array,
            query,
            fields,
            shape,
            url: args.array.clone(),
        })
    }

    /// Whether there is anything to read at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.shape.as_ref().is_some_and(|s| s.contains(&0))
    }

    /// How many cells there will be, where that is known beforehand.
    pub(crate) fn cells(&self) -> Option<u64> {
        self.shape
            .as_ref()
            .map(|s| s.iter().fold(1, |n: u64, m| n.saturating_mul(*m)))
    }

    /// A bar for reading it all once.
    pub(crate) fn progress(&self, what: &'static str) -> Progress {
        Progress::new(what, self.cells(), "cells")
    }
}

/// Says that nothing was written in the window of time that was asked for, and when something was.
async fn tell_of_no_writes(env: &Env, place: &Place, array: &Array) -> Result<()> {
    let all = env.open_at(place, Window::ALL).await?;
    let (Some(first), Some(last)) = (all.times().first().copied(), all.times().last().copied()) else {
        return Ok(());
    };
    let Window { start_ms, end_ms } = array.window();
    let (asked, from) = (when::iso(end_ms), when::iso(start_ms));
    let window = if start_ms == 0 {
        format!("until {asked}")
    } else {
        format!("from {from} until {asked}")
    };
    show::complaint(format_args!(
        "hyperslab: {}: nothing was written {window}, so the export has no cells or fill values only; writes reach from {} \
         to {}",
        place.url,
        when::iso(first),
        when::iso(last)
    ));
    Ok(())
}

/// The cells of a batch in parts that are encoded one by one.
pub(crate) fn parts(batch: &Batch) -> impl Iterator<Item = Range<usize>> + use<> {
    let columns = batch.columns.iter().map(|(_, c)| c.data.len() as u64);
    let (bytes, cells) = (columns.sum::<u64>(), batch.columns.first().map_or(0, |(_, c)| c.len()));
    let count = usize::try_from(bytes.div_ceil(PART_BYTES)).unwrap_or(usize::MAX);
    let step = cells.div_ceil(count.max(1)).max(1);
    (0..cells)
        .step_by(step)
        .map(move |start| start..cells.min(start + step))
}

/// Which fields go out. Tables and Arrow files list coordinates first; arrays of numbers hold what
/// was asked for, or every attribute, and the coordinates of sparse cells.
fn names(array: &Array, asked: Option<&[String]>, format: Output) -> Result<Vec<String>> {
    let schema = array.schema();
    let dimensions: Vec<String> = schema.dimensions.iter().map(|d| d.name.clone()).collect();
    let listed = matches!(
        format,
        Output::Arrow | Output::Csv | Output::Tsv | Output::Json | Output::Jsonl
    );
    let attributes: Vec<String> = match asked {
        None => schema.attributes.iter().map(|a| a.name.clone()).collect(),
        Some(asked) => asked.iter().map(|name| attribute(array, name)).collect::<Result<_>>()?,
    };
    if let Some(twice) = repeated(&attributes) {
        let why = format!(
            "'{}' is named twice; name it once",
            selection::shown_name(twice, schema)
        );
        return Err(usage("--attrs", why));
    }
    let coordinates = listed || (!schema.is_dense() && asked.is_none() && format != Output::Png);
    let mut names = if coordinates { dimensions } else { Vec::new() };
    for name in attributes {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// The first name that is in a list twice.
pub(crate) fn repeated(names: &[String]) -> Option<&str> {
    let mut seen = HashSet::new();
    names.iter().map(String::as_str).find(|name| !seen.insert(*name))
}

/// The field that `--attrs` names; `data` may stand for the attribute without a name.
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
    Err(usage(
        "--attrs",
        format!(
            "there is no attribute '{name}'; the attributes are {}",
            known.join(", ")
        ),
    ))
}

fn order(asked: Option<Order>, dense: bool, format: Output) -> Result<Layout> {
    let order = match asked {
        Some(Order::Row) => Layout::RowMajor,
        Some(Order::Col) => Layout::ColMajor,
        Some(Order::Global) => Layout::Global,
        Some(Order::Unordered) => Layout::Unordered,
        None if dense => Layout::RowMajor,
        None => Layout::Global,
    };
    let shaped = dense && matches!(format, Output::Npy | Output::Png);
    match (shaped, format, order) {
        (true, Output::Npy, Layout::Global | Layout::Unordered) => {
            Err(usage("--order", "an .npy of a dense array is in row or col order"))
        }
        (true, Output::Png, Layout::ColMajor | Layout::Global) => Err(usage("--order", "a picture is in row order")),
        (true, Output::Png, _) => Ok(Layout::RowMajor),
        _ => Ok(order),
    }
}

/// How each of these fields is typed.
pub(crate) async fn fields(array: &Array, names: &[String]) -> Result<Vec<FieldType>> {
    let schema = array.schema();
    let mut known: HashMap<String, Arc<Enumeration>> = HashMap::new();
    let mut fields = Vec::with_capacity(names.len());
    for name in names {
        if let Some((_, d)) = schema.dimension(name) {
            fields.push(FieldType::dimension(d));
        } else if let Some((_, a)) = schema.attribute(name) {
            let enumeration = match &a.enumeration {
                None => None,
                Some(e) if known.contains_key(e) => known.get(e).cloned(),
                Some(e) => {
                    let loaded = array.enumeration(e).await?;
                    known.insert(e.clone(), Arc::clone(&loaded));
                    Some(loaded)
                }
            };
            fields.push(FieldType::attribute(a, enumeration));
        }
    }
    Ok(fields)
}
