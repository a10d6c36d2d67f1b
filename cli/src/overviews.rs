//! `overviews`: smaller copies of a dense array, which viewers read to show the whole array.
//!
//! Coordinate `c` of the array belongs to coordinate `c / factor` of a copy, rounded down. A cell of a copy is the mean
//! of those cells that have a value, rounded to the attribute's type. Nulls, NaN, the fill value and values that the
//! metadata declares as "no data" do not count.

mod axis;
mod level;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use hyperslab::group::object_type;
use hyperslab::internals::format::metadata::nodata;
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::schema::{Attribute, Dimension, Layout, Schema};
use hyperslab::vfs::redact;
use hyperslab::{
    Array, Batch, CellCount, Cells, Column, CreateOptions, Datatype, Query, Region, Scalar, ScalarRange, Window,
    WriteOptions, with_type,
};
use serde_json::{Value, json};

use self::axis::{Axis, block, cells};
use self::level::{Absent, Level, Number, Run, means};
use crate::args::Overviews;
use crate::build::Building;
use crate::errors::usage;
use crate::progress::Progress;
use crate::store::{Env, Place, seed};
use crate::{show, time_args};

/// The metadata key that lists the copies for viewers.
const KEY: &str = "overviews";
/// The most bytes for the sums of all copies.
const SUMS_BYTES_MAX: u128 = 4 << 30;

/// Runs the command.
pub(crate) async fn overviews(env: &Env, args: &Overviews) -> Result<()> {
    let url = args.array.trim_end_matches('/');
    let array = env.open(url, time_args::window(None)?).await?;
    ensure!(
        array.schema().is_dense(),
        "cannot create overviews of {url}: they need a dense array, and this one is sparse"
    );
    ensure!(
        args.factors.iter().all(|f| *f > 1),
        usage("--factors", "factors must be greater than 1")
    );
    let domain = array
        .non_empty_domain()
        .with_context(|| format!("cannot create overviews of {url}: nothing has been written"))?;
    let metadata = array.metadata().await?;
    let fields = numbers(array.schema());
    let fields: Vec<Field> = fields
        .into_iter()
        .map(|i| Field::new(array.schema(), i, &metadata))
        .collect();
    ensure!(
        !fields.is_empty(),
        "cannot create overviews of {url}: no attribute has one number per cell; overviews need one"
    );
    let factors: BTreeSet<u64> = args.factors.iter().copied().collect();
    for factor in &factors {
        let place = Place::new(&format!("{url}.{factor}"))?;
        let there = object_type(&place.context, &place.path).await?;
        ensure!(
            there.is_none(),
            "cannot create {}: already exists; remove it first, or leave out its factor",
            place.url
        );
    }
    let axes = array
        .schema()
        .dimensions
        .iter()
        .zip(&domain)
        .map(|(d, r)| Axis::new(d, r));
    let axes: Vec<Axis> = axes.collect::<Option<_>>().context("a dimension is not an integer")?;
    fit(&factors, &axes, fields.len())?;
    let levels = factors.iter().map(|f| Level::new(*f, &axes, fields.len()));
    let mut levels = levels.collect::<Result<Vec<_>>>()?;
    gather(&array, &axes, &fields, &mut levels)
        .await
        .with_context(|| format!("cannot read {url}"))?;
    let name = url.rsplit('/').next().unwrap_or(url);
    let mut list = made_before(&metadata);
    let mut made = Vec::new();
    for level in levels {
        list.insert(
            level.factor,
            json!({"factor": level.factor, "path": format!("../{name}.{}", level.factor)}),
        );
        let place = Place::new(&format!("{url}.{}", level.factor))?;
        let done = make(env, &array, &fields, &level, &place).await;
        done.with_context(|| left(&made, format!("cannot make {}", place.url)))?;
        made.push(place.url);
    }
    let list: Value = list.into_values().collect();
    let named = name_them(&array, MetaValue::text(&list.to_string())).await;
    named.with_context(|| left(&made, format!("cannot write the metadata of {url}")))?;
    if args.json {
        let made = json!({"array": redact(url), "overviews": list});
        show::line(format_args!("{made:#}"))?;
    }
    Ok(())
}

/// Makes one copy.
async fn make(env: &Env, array: &Array, fields: &[Field], level: &Level, place: &Place) -> Result<()> {
    let building = Building::start(place).await?;
    let made = store(env, array, fields, level, building.place()).await;
    building.end(made).await
}

/// An error message that also names the copies to remove before another try.
fn left(made: &[String], what: String) -> String {
    if made.is_empty() {
        what
    } else {
        let made = made.join(" and ");
        format!("{what}, after {made} had been created; remove these copies before you try again")
    }
}

/// Writes the paths of the copies to the array's metadata.
async fn name_them(array: &Array, list: MetaValue) -> Result<()> {
    let options = WriteOptions {
        timestamp_ms: time_args::or_now(None)?,
        seed: seed()?,
        sync: true,
    };
    let entry = Entry {
        key: KEY.to_owned(),
        value: Some(list),
    };
    Ok(array.write_metadata(&[entry], &options).await?)
}

/// The copies that the array's metadata lists already, by factor.
fn made_before(metadata: &BTreeMap<String, MetaValue>) -> BTreeMap<u64, Value> {
    let list = metadata.get(KEY).and_then(|v| serde_json::from_slice(&v.data).ok());
    let list: Vec<Value> = list.unwrap_or_default();
    let by_factor = |entry: Value| Some((entry.get("factor")?.as_u64()?, entry));
    list.into_iter().filter_map(by_factor).collect()
}

/// An attribute of the copies.
struct Field {
    /// Its index in the array's schema.
    attribute: usize,
    /// Values that mean "no data", in addition to the fill value.
    nodata: Vec<f64>,
    /// Whether the fill value counts as a value. The default fill value of one-byte types is often real data, such as
    /// white in an image.
    fill_counts: bool,
}

impl Field {
    fn new(schema: &Schema, attribute: usize, metadata: &BTreeMap<String, MetaValue>) -> Self {
        let found = schema.attributes.get(attribute);
        Self {
            attribute,
            nodata: found.map_or_else(Vec::new, |a| nodata(metadata, &a.name)),
            fill_counts: found.is_some_and(|a| a.datatype.size() == 1 && a.fill == a.datatype.default_fill()),
        }
    }

    /// The value of a cell of a copy if none of the array's cells in it has a value.
    fn empty(&self, attribute: &Attribute) -> Vec<u8> {
        match self.nodata.first().filter(|_| self.fill_counts) {
            Some(nodata) => with_type!(attribute.datatype.physical(), T => (*nodata as T).to_le_bytes().to_vec()),
            None => attribute.fill.clone(),
        }
    }
}

/// The attributes that have a mean.
fn numbers(schema: &Schema) -> Vec<usize> {
    let one = |(i, a): (usize, &Attribute)| {
        let plain = a.datatype.is_integer() || a.datatype.is_float() || a.datatype == Datatype::Bool;
        (plain && a.cell == CellCount::ONE && a.enumeration.is_none()).then_some(i)
    };
    schema.attributes.iter().enumerate().filter_map(one).collect()
}

/// Returns an error if the copies are too large to compute in memory.
fn fit(factors: &BTreeSet<u64>, axes: &[Axis], fields: usize) -> Result<()> {
    let bytes = |factor: &u64| {
        let lengths = axes.iter().map(|axis| axis.shrunk(*factor).1.unsigned_abs());
        let cells = lengths.fold(1, u128::saturating_mul);
        cells.saturating_mul((fields * size_of::<(f64, u64)>()) as u128)
    };
    let all = factors.iter().map(bytes).fold(0, u128::saturating_add);
    ensure!(
        all <= SUMS_BYTES_MAX,
        usage(
            "--factors",
            format!(
                "copies of the whole non-empty domain need {} GiB of memory, but at most {} GiB are allowed; use larger \
                 factors",
                all >> 30,
                SUMS_BYTES_MAX >> 30
            )
        )
    );
    Ok(())
}

/// Reads the array once, block by block, and adds the values to all copies.
async fn gather(array: &Array, axes: &[Axis], fields: &[Field], levels: &mut [Level]) -> Result<()> {
    let schema = Arc::clone(array.schema());
    let names: Vec<String> = fields
        .iter()
        .filter_map(|f| schema.attributes.get(f.attribute))
        .map(|a| a.name.clone())
        .collect();
    let progress = Progress::new("reading", u64::try_from(cells(axes)).ok(), "cells");
    let block = block(axes);
    let mut at: Vec<i128> = axes.iter().map(|axis| axis.lo).collect();
    loop {
        let ends = axes.iter().zip(at.iter().zip(&block));
        let ends: Vec<i128> = ends.map(|(axis, (at, block))| axis.end(*at, *block)).collect();
        let range = |(d, (at, end)): (&Dimension, (&i128, &i128))| {
            let coordinate = |v| Scalar::from_i128(d.datatype, v).context("a coordinate does not fit");
            Ok(ScalarRange {
                lo: coordinate(*at)?,
                hi: coordinate(end - 1)?,
            })
        };
        let region = schema.dimensions.iter().zip(at.iter().zip(&ends)).map(range);
        let query = Query {
            fields: Some(names.clone()),
            region: Region::from_box(region.collect::<Result<_>>()?),
            order: Layout::RowMajor,
            ..Query::default()
        };
        let batch = array.read(&query).await?;
        let lengths: Vec<i128> = ends.iter().zip(&at).map(|(end, at)| end - at).collect();
        add_block(&schema, fields, &batch, &at, &lengths, levels)?;
        progress.add(batch.cells);
        // Advance to the next block, like an odometer.
        let is_open = |&i: &usize| axes.get(i).zip(ends.get(i)).is_some_and(|(axis, end)| *end <= axis.hi);
        let Some(turned) = (0..axes.len()).rev().find(is_open) else {
            return Ok(());
        };
        for (i, (at, (axis, end))) in at.iter_mut().zip(axes.iter().zip(&ends)).enumerate().skip(turned) {
            *at = if i == turned { *end } else { axis.lo };
        }
    }
}

fn add_block(
    schema: &Schema,
    fields: &[Field],
    batch: &Batch,
    origin: &[i128],
    lengths: &[i128],
    levels: &mut [Level],
) -> Result<()> {
    for (k, ((_, column), field)) in batch.columns.iter().zip(fields).enumerate() {
        let Some(attribute) = schema.attributes.get(field.attribute) else {
            continue;
        };
        with_type!(attribute.datatype.physical(), T => {
            let fill = attribute.fill.as_slice().try_into().ok().map(T::from_le_bytes);
            let absent = Absent { fill: fill.filter(|_| !field.fill_counts), nodata: &field.nodata };
            add_column::<T>(k, column, absent, origin, lengths, levels)?;
        });
    }
    Ok(())
}

fn add_column<T: Number>(
    field: usize,
    column: &Column,
    absent: Absent<'_, T>,
    origin: &[i128],
    lengths: &[i128],
    levels: &mut [Level],
) -> Result<()> {
    let length = usize::try_from(lengths.last().copied().unwrap_or(1))?.max(1);
    let values = column.values::<T>()?;
    let mut at = origin.to_vec();
    for (i, values) in values.chunks(length).enumerate() {
        let validity = column
            .validity
            .as_ref()
            .and_then(|v| v.get(i * length..i * length + values.len()));
        let run = Run {
            values,
            validity,
            absent,
        };
        levels.iter_mut().for_each(|level| level.add(field, &at, &run));
        // Advance to the next run, like an odometer, on all axes except the last.
        for axis in (0..at.len().saturating_sub(1)).rev() {
            let (Some(c), Some(o), Some(n)) = (at.get_mut(axis), origin.get(axis), lengths.get(axis)) else {
                break;
            };
            *c += 1;
            if *c < o + n || axis == 0 {
                break;
            }
            *c = *o;
        }
    }
    Ok(())
}

async fn store(env: &Env, array: &Array, fields: &[Field], level: &Level, place: &Place) -> Result<()> {
    let mut schema = Schema::clone(array.schema());
    let mut region = Vec::new();
    for ((d, low), length) in schema.dimensions.iter_mut().zip(&level.low).zip(&level.lengths) {
        let n = i128::try_from(*length)?;
        let value = |v| Scalar::from_i128(d.datatype, v).context("a coordinate does not fit");
        let range = ScalarRange {
            lo: value(*low)?,
            hi: value(low + n - 1)?,
        };
        let extent = d.extent.as_ref().and_then(Scalar::as_i128).unwrap_or(n).clamp(1, n);
        (d.domain, d.extent) = (Some(range.clone()), Some(value(extent)?));
        region.push(range);
    }
    schema.current_domain = None;
    (schema.labels, schema.enumerations) = (Vec::new(), Vec::new());
    schema.attributes = fields
        .iter()
        .filter_map(|f| schema.attributes.get(f.attribute).cloned())
        .collect();
    let column = |((a, field), sums): ((&Attribute, &Field), &Vec<(f64, u64)>)| {
        (a.name.clone(), means(a.datatype, &field.empty(a), a.nullable, sums))
    };
    let attributes = schema.attributes.iter().zip(fields);
    let columns = attributes.zip(&level.sums).map(column).collect();
    let timestamp_ms = time_args::or_now(None)?;
    let options = CreateOptions {
        timestamp_ms,
        seed: seed()?,
        key: env.key.clone(),
    };
    Array::create(&place.context, &place.path, &schema, &[], &options).await?;
    let made = env.open_at(place, Window::ALL).await?;
    let cells = Cells {
        region: Some(region),
        layout: Layout::RowMajor,
        columns,
    };
    made.write(
        cells,
        &WriteOptions {
            timestamp_ms,
            seed: seed()?,
            sync: true,
        },
    )
    .await?;
    Ok(())
}
