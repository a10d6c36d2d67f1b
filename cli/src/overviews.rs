//! `overviews`: smaller copies of a dense array, so that viewers need not read all of it to show all of it.
//!
//! Coordinate `c` of the array lies in coordinate `c / factor` of a copy, rounded down. A copy holds
//! the mean of the cells that have a value, rounded to the attribute's type.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::array::{Array, CreateOptions, create, object_type};
use hyperslab::format::metadata::{Entry, MetaValue};
use hyperslab::format::schema::{Layout, Schema};
use hyperslab::write::{Cells, WriteOptions};
use hyperslab::{Batch, CellCount, Column, Datatype, Query, Region, Scalar, ScalarRange, Window, with_type};
use serde_json::{Value, json};

use crate::args::Overviews;
use crate::build::Building;
use crate::failure::usage;
use crate::progress::Progress;
use crate::store::{Env, Place, seed};
use crate::when;

/// The metadata key under which viewers look.
const KEY: &str = "overviews";
/// Cells that are in memory at once.
const BAND_CELLS: i128 = 1 << 25;

/// Runs the command.
pub(crate) async fn overviews(env: &Env, args: &Overviews) -> Result<()> {
    let url = args.array.trim_end_matches('/');
    let array = env.open(url, when::window(None)?).await?;
    ensure!(
        array.schema().is_dense(),
        "{url}: overviews are made of dense arrays, and this one is sparse"
    );
    ensure!(
        args.factors.iter().all(|f| *f > 1),
        usage("--factors", "they are greater than 1")
    );
    let domain = array
        .non_empty_domain()
        .with_context(|| format!("{url}: nothing has been written"))?;
    let fields = numbers(array.schema());
    ensure!(
        !fields.is_empty(),
        "{url}: no attribute holds one number a cell, and overviews are made of those"
    );
    let factors: BTreeSet<u64> = args.factors.iter().copied().collect();
    for factor in &factors {
        let place = Place::new(&format!("{url}.{factor}"))?;
        let there = object_type(&place.context, &place.path).await?;
        ensure!(
            there.is_none(),
            "{}: already exists; remove it first, or leave out its factor",
            place.url
        );
    }
    let mut levels = factors
        .iter()
        .map(|f| Level::new(*f, &domain, fields.len()))
        .collect::<Result<Vec<_>>>()?;
    gather(&array, &domain, &fields, &mut levels)
        .await
        .with_context(|| format!("cannot read {url}"))?;
    let name = url.rsplit('/').next().unwrap_or(url);
    let mut list = made_before(&array).await?;
    for level in levels {
        list.insert(
            level.factor,
            json!({"factor": level.factor, "path": format!("../{name}.{}", level.factor)}),
        );
        let place = Place::new(&format!("{url}.{}", level.factor))?;
        let building = Building::start(&place).await?;
        let made = store(env, &array, &fields, &level, building.place()).await;
        building
            .end(made.with_context(|| format!("cannot make {}", place.url)))
            .await?;
    }
    let value = MetaValue::text(&list.into_values().collect::<Value>().to_string());
    let options = WriteOptions {
        timestamp_ms: when::or_now(None)?,
        seed: seed()?,
        sync: true,
    };
    array
        .write_metadata(
            &[Entry {
                key: KEY.to_owned(),
                value: Some(value),
            }],
            &options,
        )
        .await?;
    Ok(())
}

/// The copies that the array names already, by their factors.
async fn made_before(array: &Array) -> Result<BTreeMap<u64, Value>> {
    let metadata = array.metadata().await?;
    let list = metadata.get(KEY).and_then(|v| serde_json::from_slice(&v.data).ok());
    let list: Vec<Value> = list.unwrap_or_default();
    let by_factor = |entry: Value| Some((entry.get("factor")?.as_u64()?, entry));
    Ok(list.into_iter().filter_map(by_factor).collect())
}

/// The attributes that have a mean.
fn numbers(schema: &Schema) -> Vec<usize> {
    let one = |(i, a): (usize, &hyperslab::format::schema::Attribute)| {
        let plain = a.datatype.is_integer() || a.datatype.is_float() || a.datatype == Datatype::Bool;
        (plain && a.cell == CellCount::ONE && a.enumeration.is_none()).then_some(i)
    };
    schema.attributes.iter().enumerate().filter_map(one).collect()
}

/// A copy in the making.
struct Level {
    factor: u64,
    /// First coordinate and length of each axis.
    low: Vec<i128>,
    lengths: Vec<usize>,
    /// For each attribute the sum and the number of values in each cell.
    sums: Vec<Vec<(f64, u32)>>,
}

impl Level {
    fn new(factor: u64, domain: &[ScalarRange], fields: usize) -> Result<Self> {
        let f = i128::from(factor);
        let (mut low, mut lengths) = (Vec::new(), Vec::new());
        for range in domain {
            let (Some(lo), Some(hi)) = (range.lo.as_i128(), range.hi.as_i128()) else {
                bail!("a dimension is no integer")
            };
            low.push(lo.div_euclid(f));
            lengths.push(usize::try_from(hi.div_euclid(f) - lo.div_euclid(f) + 1)?);
        }
        let cells = lengths
            .iter()
            .try_fold(1_usize, |n, m| n.checked_mul(*m))
            .context("the copy is too large")?;
        Ok(Self {
            factor,
            low,
            lengths,
            sums: vec![vec![(0.0, 0); cells]; fields],
        })
    }

    /// Adds a run of values along the last axis that starts at `at`.
    fn add<T: Number>(&mut self, field: usize, at: &[i128], values: &Run<'_, T>) {
        let f = i128::from(self.factor);
        let axes = at
            .iter()
            .zip(&self.low)
            .zip(&self.lengths)
            .take(at.len().saturating_sub(1));
        let row = axes.fold(0_usize, |n, ((c, lo), len)| {
            n * len + usize::try_from(c.div_euclid(f) - lo).unwrap_or(0)
        });
        let (Some(first), Some(lo), Some(length)) = (at.last(), self.low.last(), self.lengths.last()) else {
            return;
        };
        let Some(cells) = self
            .sums
            .get_mut(field)
            .and_then(|s| s.get_mut(row * length..(row + 1) * length))
        else {
            return;
        };
        let cell = usize::try_from(first.div_euclid(f) - lo).unwrap_or(0);
        // The run is cut where the copy's cells are.
        let (mut start, mut end) = (0, usize::try_from(f - first.rem_euclid(f)).unwrap_or(usize::MAX));
        for (sum, n) in cells.iter_mut().skip(cell) {
            let (s, k) = values.sum(start..end.min(values.values.len()));
            *sum += s;
            *n += k;
            (start, end) = (end, end.saturating_add(usize::try_from(f).unwrap_or(usize::MAX)));
            if start >= values.values.len() {
                break;
            }
        }
    }
}

/// A value with a mean.
trait Number: Copy + PartialEq + bytemuck::Pod {
    fn double(self) -> f64;
}

macro_rules! numbers {
    ($($T:ty),*) => {$(
        impl Number for $T {
            // The nearest double is what is wanted.
            fn double(self) -> f64 {
                self as f64
            }
        }
    )*};
}
numbers!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

/// Neighbours along the last axis.
struct Run<'a, T> {
    values: &'a [T],
    /// 0 for null.
    validity: Option<&'a [u8]>,
    /// What cells without a value hold.
    fill: Option<T>,
}

impl<T: Number> Run<'_, T> {
    /// The sum of these values and how many there are; nulls, fill values and NaN do not count.
    fn sum(&self, range: Range<usize>) -> (f64, u32) {
        let (mut sum, mut n) = (0.0, 0);
        let values = self.values.get(range.clone()).unwrap_or(&[]);
        let mut add = |v: T| {
            let double = v.double();
            if Some(v) != self.fill && !double.is_nan() {
                sum += double;
                n += 1;
            }
        };
        match self.validity.and_then(|v| v.get(range)) {
            None => values.iter().for_each(|v| add(*v)),
            Some(valid) => values
                .iter()
                .zip(valid)
                .filter(|(_, valid)| **valid != 0)
                .for_each(|(v, _)| add(*v)),
        }
        (sum, n)
    }
}

/// Reads the array once, in bands of the first axis, and adds it up for all copies.
async fn gather(array: &Array, domain: &[ScalarRange], fields: &[usize], levels: &mut [Level]) -> Result<()> {
    let schema = Arc::clone(array.schema());
    let lengths: Vec<i128> = domain
        .iter()
        .map(|r| Some(r.hi.as_i128()? - r.lo.as_i128()? + 1))
        .collect::<Option<_>>()
        .context("a dimension is no integer")?;
    let low: Vec<i128> = domain.iter().filter_map(|r| r.lo.as_i128()).collect();
    let (Some(first), Some(&rows), Some(&start)) = (schema.dimensions.first(), lengths.first(), low.first()) else {
        bail!("the array has no dimensions")
    };
    let extent = first.extent.as_ref().and_then(Scalar::as_i128).unwrap_or(1);
    let row_cells: i128 = lengths.iter().skip(1).product();
    // Whole tiles, as many as fit.
    let band = ((BAND_CELLS / row_cells.max(1)) / extent).max(1) * extent;
    let names: Vec<String> = fields
        .iter()
        .filter_map(|i| schema.attributes.get(*i))
        .map(|a| a.name.clone())
        .collect();
    let progress = Progress::new("reading", Some(u64::try_from(rows * row_cells)?), "cells");
    let mut at = start;
    while at < start + rows {
        let end = (at + band - at.rem_euclid(band)).min(start + rows);
        let mut region = domain.to_vec();
        let coordinate = |v| Scalar::from_i128(first.datatype, v).context("a coordinate does not fit");
        let slab = ScalarRange {
            lo: coordinate(at)?,
            hi: coordinate(end - 1)?,
        };
        region.iter_mut().take(1).for_each(|r| *r = slab.clone());
        let query = Query {
            fields: Some(names.clone()),
            region: Region::from_box(region),
            order: Layout::RowMajor,
            ..Query::default()
        };
        let batch = array.read(&query).await?;
        let mut origin = low.clone();
        origin.iter_mut().take(1).for_each(|o| *o = at);
        add_band(&schema, fields, &batch, &origin, &lengths, levels)?;
        progress.add(batch.cells);
        at = end;
    }
    Ok(())
}

fn add_band(
    schema: &Schema,
    fields: &[usize],
    batch: &Batch,
    origin: &[i128],
    lengths: &[i128],
    levels: &mut [Level],
) -> Result<()> {
    for (k, ((_, column), i)) in batch.columns.iter().zip(fields).enumerate() {
        let Some(attribute) = schema.attributes.get(*i) else {
            continue;
        };
        with_type!(attribute.datatype.physical(), T => {
            let fill = attribute.fill.as_slice().try_into().ok().map(T::from_le_bytes);
            // Of so few values the fill is one that means something, such as the white of a picture.
            let fill = fill.filter(|_| attribute.datatype.size() > 1);
            add_column::<T>(k, column, fill, origin, lengths, levels)?;
        });
    }
    Ok(())
}

fn add_column<T: Number>(
    field: usize,
    column: &Column,
    fill: Option<T>,
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
        let run = Run { values, validity, fill };
        levels.iter_mut().for_each(|level| level.add(field, &at, &run));
        // The next run, as an odometer counts: all axes but the last.
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

async fn store(env: &Env, array: &Array, fields: &[usize], level: &Level, place: &Place) -> Result<()> {
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
        .filter_map(|i| schema.attributes.get(*i).cloned())
        .collect();
    let columns = schema
        .attributes
        .iter()
        .zip(&level.sums)
        .map(|(a, sums)| (a.name.clone(), means(a.datatype, &a.fill, a.nullable, sums)))
        .collect();
    let timestamp_ms = when::or_now(None)?;
    let options = CreateOptions {
        timestamp_ms,
        seed: seed()?,
        key: env.key.clone(),
    };
    create(&place.context, &place.path, &schema, &[], &options).await?;
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

fn means(datatype: Datatype, fill: &[u8], nullable: bool, sums: &[(f64, u32)]) -> Column {
    let mut data = Vec::with_capacity(sums.len() * datatype.size());
    for (sum, n) in sums {
        let mean = sum / f64::from(*n);
        let value = if datatype.is_float() { mean } else { mean.round() };
        let bytes = with_type!(datatype.physical(), T => (value as T).to_le_bytes().to_vec());
        data.extend_from_slice(if *n == 0 { fill } else { &bytes });
    }
    let validity = nullable.then(|| sums.iter().map(|(_, n)| u8::from(*n > 0)).collect());
    Column {
        datatype,
        cell: CellCount::ONE,
        data,
        offsets: None,
        validity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_holds_means_of_what_is_there() {
        let domain = [ScalarRange::new(0_i32, 1_i32), ScalarRange::new(1_i32, 4_i32)];
        let mut level = Level::new(2, &domain, 1).unwrap();
        assert_eq!(level.lengths, [1, 3]);
        let run = |values| Run {
            values,
            validity: None,
            fill: Some(9_i16),
        };
        level.add(0, &[0, 1], &run(&[1, 2, 3, 9]));
        level.add(0, &[1, 1], &run(&[2, 4, 6, 9]));
        let column = means(Datatype::Int16, &[9, 0], false, &level.sums[0]);
        assert_eq!(*column.values::<i16>().unwrap(), [2, 4, 9]);
    }
}
