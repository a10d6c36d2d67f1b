//! `_FillValue`: the missing value of an attribute, as in the CF conventions and xarray. Does no I/O.
//!
//! Zarr's own fill value defines the contents of missing chunks, but readers do not mask it.
//!
//! Readers convert integers to floats to mask a value, so the fill value is stated only if some cells may be unwritten:
//!
//! - The boxes of the fragments do not cover the array.
//! - The statistics of a consolidated fragment do not rule out the fill value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::attributes::{FILL_VALUE, stated};
use super::meaning::{Meaning, MeaningLines};
use super::missing::Missing;
use super::tiles::readable;
use crate::array::index::Section;
use crate::array::{Array, Fragment};
use crate::datatype::{Datatype, Physical};
use crate::format::attribute::is_complex;
use crate::format::field::Field;
use crate::format::metadata::MetaValue;
use crate::format::schema::Attribute;
use crate::geometry::grid::Grid;
use crate::geometry::region::without;
use crate::query::Aggregate;
use crate::query::Summary;
use crate::query::summary::StatisticsQuery;
use crate::scalar::Scalar;

/// The CF attribute for a second missing value.
const MISSING_VALUE: &str = "missing_value";
/// The largest number of boxes of unwritten cells. Beyond it, some cells are assumed to be unwritten.
const BOXES_MAX: usize = 1 << 12;

/// The CF attributes for the missing values of an attribute, as numbers of type `shown`. They are the value in
/// unwritten or null cells, and the value in the array's metadata.
pub(super) fn attributes(array: &Array, a: &Attribute, shown: Datatype, facts: &Facts) -> Vec<(String, Value)> {
    // The CF conventions have no missing complex numbers.
    if is_complex(a.datatype, a.cell) {
        return Vec::new();
    }
    let read = |datatype: Datatype, bytes: &[u8]| Scalar::from_le_bytes(datatype.physical(), bytes);
    let missing = missing_value(array, a, &facts.filled).and_then(|bytes| number(shown, &read(shown, &bytes)?));
    let stated = |key: &str| stated(&facts.metadata, &a.name, key);
    let in_metadata = stated(FILL_VALUE).and_then(|v| number(shown, &read(v.datatype, &v.data)?));
    // What `missing_value` states remains there.
    let is_stated = stated(MISSING_VALUE).is_some();
    let described = facts.meaning.missing(&a.name).iter().filter(|_| !is_stated);
    let described = described.filter_map(|v| number(shown, &scalar(v)?));
    let mut values: Vec<Value> = Vec::new();
    for value in missing.into_iter().chain(in_metadata).chain(described) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let mut values = values.into_iter();
    let first = values.next().map(|v| (FILL_VALUE.to_owned(), encoded(v)));
    let mut others: Vec<Value> = values.filter(|_| stated(MISSING_VALUE).is_none()).collect();
    let others = match others.len() {
        0 => None,
        1 => others.pop(),
        _ => Some(Value::Array(others)),
    };
    first
        .into_iter()
        .chain(others.map(|v| (MISSING_VALUE.to_owned(), v)))
        .collect()
}

/// A number of JSON.
fn scalar(value: &Value) -> Option<Scalar> {
    match (value.as_i64(), value.as_u64()) {
        (Some(v), _) => Some(Scalar::I64(v)),
        (None, Some(v)) => Some(Scalar::U64(v)),
        (None, None) => value.as_f64().map(Scalar::F64),
    }
}

/// The value of missing cells in the array; `None` for NaN, which every reader masks.
fn missing_value(array: &Array, a: &Attribute, filled: &Filled) -> Option<Vec<u8>> {
    let missing = Missing::of(a);
    let is_float = matches!(a.datatype.physical(), Physical::F32 | Physical::F64);
    let value = match missing.null {
        Some(_) if is_float => return None,
        Some(null) => null,
        // Both values of a bool are data.
        None if a.datatype == Datatype::Bool || !missing.is_uniform(a.datatype) => return None,
        None if !has_unwritten(array, a, |f| filled.has_fill(f, &a.name)) => return None,
        None => missing.unwritten,
    };
    value.get(..a.datatype.size()).map(<[u8]>::to_vec)
}

/// Whether cells of the attribute may have its fill value because they are unwritten. `has_fill` is whether a
/// consolidated fragment may contain it: the box of such a fragment may include cells that no source had.
fn has_unwritten(array: &Array, a: &Attribute, has_fill: impl Fn(&Fragment) -> bool) -> bool {
    let Ok(grid) = Grid::new(array.schema()) else {
        return false;
    };
    // Any value of a byte may be data, so a default fill value in a consolidated fragment counts as data.
    let in_bytes = a.datatype.size() == 1 && a.fill == a.datatype.default_fill();
    let mut left = vec![readable(array.schema(), &grid)];
    let written = array
        .fragments()
        .iter()
        .filter(|f| f.dense && f.schema.attribute(&a.name).is_some());
    for fragment in written.filter(|f| in_bytes || !is_merged(f) || !has_fill(f)) {
        if let Ok(Some(spans)) = fragment.spans(&grid) {
            left = without(left, &spans, |_| ());
        }
        if left.is_empty() || left.len() > BOXES_MAX {
            break;
        }
    }
    !left.is_empty()
}

fn is_merged(fragment: &Fragment) -> bool {
    fragment.start_ms < fragment.end_ms
}

/// The facts about an array that the Zarr view needs besides its schema.
#[derive(Debug)]
pub(super) struct Facts {
    /// The array's metadata.
    pub(super) metadata: BTreeMap<String, MetaValue>,
    /// Fragments without fill values.
    pub(super) filled: Filled,
    /// What the array means.
    pub(super) meaning: Meaning,
    /// The same in lines for people.
    pub(super) summary: MeaningLines,
}

/// Consolidated fragments and attributes, by name, whose statistics rule out fill values.
#[derive(Debug)]
pub(super) struct Filled(BTreeSet<(String, String)>);

impl Filled {
    fn has_fill(&self, fragment: &Fragment, attribute: &str) -> bool {
        !self.0.contains(&(fragment.name.clone(), attribute.to_owned()))
    }
}

/// Consolidated fragments and attributes whose statistics must be checked for fill values.
pub(super) struct Doubts(Vec<(Arc<Fragment>, Field, Scalar)>);

impl Doubts {
    /// The checks that affect the result.
    pub(super) fn of(array: &Array) -> Self {
        let schema = array.schema();
        let open = |a: &&Attribute| !a.nullable && !a.cell.is_var() && has_unwritten(array, a, |_| true);
        let fields = schema.attributes.iter().filter(open).filter_map(|a| {
            let fill = Scalar::from_le_bytes(a.datatype.physical(), &a.fill)?;
            Some((Field::named(schema, &a.name).ok()?, fill))
        });
        let merged = || array.fragments().iter().filter(|f| f.dense && is_merged(f));
        let with_fragments =
            |(field, fill): (Field, Scalar)| merged().map(move |f| (Arc::clone(f), field.clone(), fill.clone()));
        Self(fields.flat_map(with_fragments).collect())
    }

    /// The sections of the fragment metadata that the checks need.
    pub(super) fn sections(&self) -> Vec<(Arc<Fragment>, Vec<Section>)> {
        let sections = |(f, field, _): &(Arc<Fragment>, Field, Scalar)| {
            Some((
                Arc::clone(f),
                StatisticsQuery::new(Aggregate::Min, field, f)?.sections(),
            ))
        };
        self.0.iter().filter_map(sections).collect()
    }

    /// Runs the checks after the sections are loaded.
    pub(super) fn settled(self) -> Filled {
        let is_free = |(f, field, fill): &(Arc<Fragment>, Field, Scalar)| {
            // The padding of tiles can only widen the range between minimum and maximum.
            StatisticsQuery::new(Aggregate::Min, field, f).is_some_and(|question| {
                (0..f.tiles).all(|tile| question.answer(tile, 1).is_some_and(|told| is_outside(fill, &told)))
            })
        };
        let free = self.0.into_iter().filter(is_free);
        Filled(free.map(|(f, field, _)| (f.name.clone(), field.name)).collect())
    }
}

/// Whether a value is outside the range of a tile's values.
fn is_outside(value: &Scalar, tile: &Summary) -> bool {
    let (Some(min), Some(max)) = (&tile.min, &tile.max) else {
        return false;
    };
    value.order(min).is_lt() || value.order(max).is_gt()
}

/// Converts a value to a number of type `shown`; `None` for NaN and for values that do not fit.
#[allow(clippy::cast_possible_truncation, reason = "the value is rounded to the type")]
fn number(shown: Datatype, value: &Scalar) -> Option<Value> {
    match shown.physical() {
        Physical::F32 => value
            .as_f64()
            .map(|v| f64::from(v as f32))
            .filter(|v| !v.is_nan())
            .map(Value::from),
        Physical::F64 => value.as_f64().filter(|v| !v.is_nan()).map(Value::from),
        _ => {
            let whole = || value.as_f64().filter(|v| v.fract() == 0.0).map(|v| v as i128);
            let whole = value.as_i128().or_else(whole)?;
            match Scalar::from_i128(shown, whole)? {
                Scalar::U64(v) => Some(json!(v)),
                fits => Some(json!(i64::try_from(fits.as_i128()?).ok()?)),
            }
        }
    }
}

/// Encodes a value as xarray does in Zarr: floats as base64 of their 8 bytes.
fn encoded(value: Value) -> Value {
    match value.as_f64().filter(|_| value.is_f64()) {
        Some(float) => json!(BASE64_STANDARD.encode(float.to_le_bytes())),
        None => value,
    }
}
