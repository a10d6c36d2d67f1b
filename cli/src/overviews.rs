//! `overviews`: smaller versions of a dense array, which viewers read to show the whole array.
//!
//! Coordinate `c` of the array belongs to coordinate `c / factor` of an overview, rounded down. A cell of an overview is the mean
//! of those cells that have a value, rounded to the attribute's type, or the most frequent value if values name classes.
//! Nulls, NaN, the fill value and values that the metadata declares as "no data" do not count.

mod axis;
mod field;
mod gdal;
mod level;
mod tally;
mod target;

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use hyperslab::conventions::{self, Dataset, Role};
use hyperslab::schema::{Dimension, Layout, Schema};
use hyperslab::vfs::{last_part, redact};
use hyperslab::{
    Array, Batch, Cells, Column, CreateOptions, Query, Region, Scalar, ScalarRange, Window, WriteOptions, with_type,
};
use serde_json::json;

use self::axis::{Axis, block, cells};
use self::field::Field;
use self::level::{Absent, Block, Level, factors};
use self::tally::{Mean, Mode, Number};
use self::target::Target;
use crate::args::{Method, Overviews};
use crate::build::Building;
use crate::errors::usage;
use crate::progress::Progress;
use crate::store::{Env, Place, seed};
use crate::{show, time_args};

/// The most bytes for the cells of all overviews.
const COPIES_BYTES_MAX: u128 = 4 << 30;
/// The most cells of the array that are in memory at a time.
const BLOCK_CELLS_MAX: i128 = 1 << 28;

/// Runs the command.
pub(crate) async fn overviews(env: &Env, args: &Overviews) -> Result<()> {
    let given = Place::new(args.array.trim_end_matches('/'))?;
    let (place, target) = Target::of(env, &given).await?;
    let url = place.url.as_str();
    let array = env
        .open_at(&place, Window::ALL)
        .await
        .with_context(|| format!("cannot open {url}"))?;
    ensure!(
        array.schema().is_dense(),
        "cannot create overviews of {url}: they need a dense array, and this one is sparse"
    );
    let dataset = conventions::of_array(&array).await?;
    let fields = field::of(array.schema(), &dataset, args.method, url)?;
    let (axes, mut levels) = plan(&array, &dataset, args, url)?;
    fit(&levels, &fields)?;
    let places = target.places(&place, &levels).await?;
    levels.iter_mut().for_each(|level| level.allocate(&fields));
    gather(&array, &axes, &fields, &mut levels)
        .await
        .with_context(|| format!("cannot read {url}"))?;
    let stored = array.metadata().await?;
    let mut made = Vec::new();
    for (number, (level, place)) in (1..).zip(levels.iter_mut().zip(&places)) {
        let new = NewOverview {
            schema: overview_schema(array.schema(), &fields, level, target.is_padded())?,
            metadata: target.metadata(number, level, &dataset, &stored),
        };
        let done = make(env, &array, new, &fields, level, place).await;
        done.with_context(|| left(&made, format!("cannot make {}", place.url)))?;
        made.push(place.url.clone());
    }
    let names: Vec<String> = places.iter().map(|p| last_part(&p.url).to_owned()).collect();
    let list = target.announce(env, &array, &levels, &names).await;
    let list = list.with_context(|| left(&made, format!("cannot write the metadata of {url}")))?;
    if args.json {
        let made = json!({"array": redact(url), "overviews": list});
        show::line(format_args!("{made:#}"))?;
    }
    Ok(())
}

/// The axes of the array, and its overviews without cells, finest first.
fn plan(array: &Array, dataset: &Dataset, args: &Overviews, url: &str) -> Result<(Vec<Axis>, Vec<Level>)> {
    let schema = array.schema();
    let asked: BTreeSet<(u64, Vec<u64>)> = args
        .factors
        .iter()
        .map(|f| (f.0.iter().copied().fold(1, u64::saturating_mul), f.0.clone()))
        .collect();
    let count = schema.dimensions.len();
    for (product, factors) in &asked {
        let named = || factors.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        ensure!(
            factors.len() == 1 || factors.len() == count,
            usage(
                "--factors",
                format!(
                    "'{}' has {} factors, but the array has {count} axes; give one factor for each axis, or a single one. \
                     For several overviews, repeat --factors",
                    named(),
                    factors.len()
                )
            )
        );
        ensure!(
            *product > 1 && factors.iter().all(|f| *f > 0),
            usage(
                "--factors",
                format!("'{}' shrinks nothing; use factors greater than 1", named())
            )
        );
    }
    let written = array
        .non_empty_domain()
        .with_context(|| format!("cannot create overviews of {url}: nothing has been written"))?;
    let shrinking = shrinking(dataset, count);
    let all: Vec<Vec<u64>> = asked.iter().map(|(_, f)| factors(f, &shrinking)).collect();
    let axis = |(i, (d, range)): (usize, (&Dimension, &ScalarRange))| {
        let along: Vec<u64> = all.iter().filter_map(|f| f.get(i).copied()).collect();
        Axis::new(d, &used(dataset, i, d, range), &along)
    };
    let axes = schema.dimensions.iter().zip(&written).enumerate().map(axis);
    let axes: Vec<Axis> = axes.collect::<Option<_>>().context("a dimension is not an integer")?;
    let levels = asked.iter().map(|(_, f)| Level::new(f, &shrinking, &axes));
    let levels = levels.collect::<Option<Vec<_>>>();
    let levels = levels.with_context(|| {
        usage(
            "--factors",
            "overviews of the whole non-empty domain are too large; use larger factors",
        )
    })?;
    Ok((axes, levels))
}

/// Which axes a single factor shrinks: x and y, or all of them if it is not known which those are.
fn shrinking(dataset: &Dataset, count: usize) -> Vec<bool> {
    let axes = dataset.variables.first().map_or(&[][..], |v| &v.axes);
    let has = |role: Role| axes.iter().any(|a| a.role == role);
    if axes.len() == count && has(Role::X) && has(Role::Y) {
        axes.iter().map(|a| matches!(a.role, Role::X | Role::Y)).collect()
    } else {
        vec![true; count]
    }
}

/// The part of an axis with data: without the padding of rasters.
fn used(dataset: &Dataset, axis: usize, d: &Dimension, written: &ScalarRange) -> ScalarRange {
    let found = dataset.variables.first().and_then(|v| v.axes.get(axis));
    let ends = found.and_then(|a| Some((i128::from(a.first?), i128::from(a.length?))));
    let hi = ends
        .zip(written.hi.as_i128())
        .and_then(|((first, length), hi)| Scalar::from_i128(d.datatype, hi.min(first + length - 1)));
    ScalarRange {
        lo: written.lo.clone(),
        hi: hi.unwrap_or_else(|| written.hi.clone()),
    }
}

/// Returns an error if the overviews are too large to compute in memory.
fn fit(levels: &[Level], fields: &[Field]) -> Result<()> {
    let cell: usize = fields.iter().map(|f| f.attribute.datatype.size() + 1).sum();
    let cells = levels.iter().map(|level| level.count() as u128);
    let all = cells.fold(0, |n: u128, c| n.saturating_add(c.saturating_mul(cell as u128)));
    ensure!(
        all <= COPIES_BYTES_MAX,
        usage(
            "--factors",
            format!(
                "overviews of the whole non-empty domain need {} GiB of memory, but at most {} GiB are allowed; use larger \
                 factors",
                all >> 30,
                COPIES_BYTES_MAX >> 30
            )
        )
    );
    Ok(())
}

/// An overview to make.
struct NewOverview {
    schema: Schema,
    metadata: Vec<hyperslab::metadata::Entry>,
}

/// Makes one overview.
async fn make(
    env: &Env,
    array: &Array,
    new: NewOverview,
    fields: &[Field],
    level: &mut Level,
    place: &Place,
) -> Result<()> {
    let building = Building::start(place).await?;
    let made = store(env, array, new, fields, level, building.place()).await;
    building.end(made).await
}

/// An error message that also names the overviews to remove before another try.
fn left(made: &[String], what: String) -> String {
    if made.is_empty() {
        what
    } else {
        let made = made.join(" and ");
        format!("{what}, after {made} had been created; remove these overviews before you try again")
    }
}

/// Reads the array once, block by block, and fills the cells of all overviews.
async fn gather(array: &Array, axes: &[Axis], fields: &[Field], levels: &mut [Level]) -> Result<()> {
    let schema = Arc::clone(array.schema());
    let names: Vec<String> = fields.iter().map(|f| f.attribute.name.clone()).collect();
    let progress = Progress::new("reading", u64::try_from(cells(axes)).ok(), "cells");
    let block = block(axes);
    let lengths = axes.iter().zip(&block).map(|(axis, block)| axis.len().min(*block));
    ensure!(
        lengths.fold(1, i128::saturating_mul) <= BLOCK_CELLS_MAX,
        usage(
            "--factors",
            format!(
                "one cell of an overview needs more than {BLOCK_CELLS_MAX} cells of the array; use smaller factors"
            )
        )
    );
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
        add_block(fields, &batch, &at, &lengths, levels)?;
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

fn add_block(fields: &[Field], batch: &Batch, origin: &[i128], lengths: &[i128], levels: &mut [Level]) -> Result<()> {
    for (k, ((_, column), field)) in batch.columns.iter().zip(fields).enumerate() {
        with_type!(field.attribute.datatype.physical(), T => {
            add_column::<T>(k, field, column, (origin, lengths), levels)?;
        });
    }
    Ok(())
}

fn add_column<T: Number>(
    number: usize,
    field: &Field,
    column: &Column,
    (origin, lengths): (&[i128], &[i128]),
    levels: &mut [Level],
) -> Result<()> {
    let fill = bytemuck::try_pod_read_unaligned::<T>(&field.attribute.fill).ok();
    let values = column.values::<T>()?;
    let block = Block {
        origin,
        lengths,
        values: &values,
        validity: column.validity.as_deref(),
        absent: Absent {
            fill: fill.filter(|_| !field.fill_counts),
            nodata: &field.nodata,
            valid: field.valid,
        },
    };
    for level in levels {
        match field.method {
            Method::Mean => level.fill::<T, Mean>(number, &block),
            Method::Mode => level.fill::<T, Mode<T>>(number, &block),
        }
    }
    Ok(())
}

/// The schema of an overview, whose domain is padded to whole tiles if `padded`.
fn overview_schema(schema: &Schema, fields: &[Field], level: &Level, padded: bool) -> Result<Schema> {
    let mut schema = schema.clone();
    for ((d, low), length) in schema.dimensions.iter_mut().zip(&level.low).zip(&level.lengths) {
        let n = i128::try_from(*length)?;
        let value = |v| Scalar::from_i128(d.datatype, v).context("a coordinate does not fit");
        let extent = d.extent.as_ref().and_then(Scalar::as_i128).unwrap_or(n).clamp(1, n);
        let room = if padded { (n + extent - 1) / extent * extent } else { n };
        let domain = ScalarRange {
            lo: value(*low)?,
            hi: value(low + room - 1)?,
        };
        (d.domain, d.extent) = (Some(domain), Some(value(extent)?));
    }
    (schema.current_domain, schema.labels) = (None, Vec::new());
    schema.attributes = fields.iter().map(|f| f.attribute.clone()).collect();
    let attributes = &schema.attributes;
    let is_used = |name: &str| attributes.iter().any(|a| a.enumeration.as_deref() == Some(name));
    schema.enumerations.retain(|e| is_used(&e.name));
    Ok(schema)
}

async fn store(
    env: &Env,
    array: &Array,
    new: NewOverview,
    fields: &[Field],
    level: &mut Level,
    place: &Place,
) -> Result<()> {
    let mut enumerations = Vec::new();
    for used in &new.schema.enumerations {
        enumerations.push((*array.enumeration(&used.name).await?).clone());
    }
    let region = new.schema.dimensions.iter().zip(level.low.iter().zip(&level.lengths));
    let region = region.map(|(d, (low, length))| {
        let value = |v| Scalar::from_i128(d.datatype, v).context("a coordinate does not fit");
        Ok(ScalarRange {
            lo: value(*low)?,
            hi: value(low + i128::try_from(*length)? - 1)?,
        })
    });
    let region = region.collect::<Result<Vec<_>>>()?;
    let columns = fields.iter().zip(std::mem::take(&mut level.cells));
    let columns = columns
        .map(|(f, cells)| (f.attribute.name.clone(), cells.into_column()))
        .collect();
    let timestamp_ms = time_args::or_now(None)?;
    let options = CreateOptions {
        timestamp_ms,
        seed: seed()?,
        key: env.key.clone(),
    };
    Array::create(&place.context, &place.path, &new.schema, &enumerations, &options).await?;
    let made = env.open_at(place, Window::ALL).await?;
    let cells = Cells {
        region: Some(region),
        layout: Layout::RowMajor,
        columns,
    };
    let options = || {
        Ok::<_, anyhow::Error>(WriteOptions {
            timestamp_ms,
            seed: seed()?,
            sync: true,
        })
    };
    made.write(cells, &options()?).await?;
    if !new.metadata.is_empty() {
        made.write_metadata(&new.metadata, &options()?).await?;
    }
    Ok(())
}
