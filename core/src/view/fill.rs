//! `_FillValue`: which value of an attribute stands for none, as the CF conventions say it and xarray reads it. Pure.
//!
//! Zarr has a fill value of its own, but it says what missing chunks hold, and readers do not mask it.
//!
//! Readers turn integers into floats to mask a value, so it is named only if cells may have it that nobody wrote: if the
//! boxes of the fragments leave some out, or if the statistics of a merged fragment do not rule the value out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::attributes::stated;
use super::missing::Missing;
use super::tiles::readable;
use crate::array::index::Section;
use crate::array::{Array, Fragment};
use crate::datatype::{Datatype, Physical};
use crate::format::metadata::MetaValue;
use crate::format::schema::Attribute;
use crate::geometry::grid::Grid;
use crate::geometry::region::without;
use crate::query::Aggregate;
use crate::query::field::Field;
use crate::query::summary::{StatisticsQuery, Summary};
use crate::scalar::Scalar;

/// What CF calls the value that stands for none.
pub(super) const FILL_VALUE: &str = "_FillValue";
/// What it calls a second one.
const MISSING_VALUE: &str = "missing_value";
/// Boxes that what is not written is divided into, before it is said that something is.
const BOXES_MAX: usize = 1 << 12;

/// The attributes of CF that say which values of an attribute, shown as `shown`, stand for none: the one that its array
/// holds where there is no value, and the one that its metadata states.
pub(super) fn attributes(array: &Array, a: &Attribute, shown: Datatype, facts: &Facts) -> Vec<(String, Value)> {
    let read = |datatype: Datatype, bytes: &[u8]| Scalar::from_le_bytes(datatype.physical(), bytes);
    let own = own(array, a, &facts.filled).and_then(|bytes| number(shown, &read(shown, &bytes)?));
    let stated = |key: &str| stated(&facts.metadata, &a.name, key);
    let said = stated(FILL_VALUE).and_then(|v| number(shown, &read(v.datatype, &v.data)?));
    let mut values: Vec<Value> = own.into_iter().chain(said).collect();
    values.dedup();
    let mut values = values.into_iter();
    let first = values.next().map(|v| (FILL_VALUE.to_owned(), encoded(v)));
    let second = values.next().filter(|_| stated(MISSING_VALUE).is_none());
    first
        .into_iter()
        .chain(second.map(|v| (MISSING_VALUE.to_owned(), v)))
        .collect()
}

/// The value that the array holds where it has none. NaN needs no word: every reader leaves it out.
fn own(array: &Array, a: &Attribute, filled: &Filled) -> Option<Vec<u8>> {
    let missing = Missing::of(a);
    let is_float = matches!(a.datatype.physical(), Physical::F32 | Physical::F64);
    let value = match missing.null {
        Some(_) if is_float => return None,
        Some(null) => null,
        // Both values of a bool are values.
        None if a.datatype == Datatype::Bool || !missing.is_alike(a.datatype) => return None,
        None if !has_unwritten(array, a, |f| filled.has_fill(f, &a.name)) => return None,
        None => missing.unwritten,
    };
    value.get(..a.datatype.size()).map(<[u8]>::to_vec)
}

/// Whether cells of the attribute may hold its fill value because nobody wrote them. `has_fill` tells whether a merged
/// fragment may hold it: its box may have cells that none of its sources had.
fn has_unwritten(array: &Array, a: &Attribute, has_fill: impl Fn(&Fragment) -> bool) -> bool {
    let Ok(grid) = Grid::new(array.schema()) else {
        return false;
    };
    // In bytes every value is data. Where a merge may have left their default fill value, it is taken for that.
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

/// What is known of an array beside its schema.
#[derive(Debug)]
pub(super) struct Facts {
    /// Its metadata.
    pub(super) metadata: BTreeMap<String, MetaValue>,
    /// Where no fill values are.
    pub(super) filled: Filled,
}

/// The merged fragments, by name, whose statistics show that no cell of an attribute holds its fill value.
#[derive(Debug)]
pub(super) struct Filled(BTreeSet<(String, String)>);

impl Filled {
    fn has_fill(&self, fragment: &Fragment, attribute: &str) -> bool {
        !self.0.contains(&(fragment.name.clone(), attribute.to_owned()))
    }
}

/// Merged fragments and attributes of which statistics must tell whether there are fill values.
pub(super) struct Doubts(Vec<(Arc<Fragment>, Field, Scalar)>);

impl Doubts {
    /// The doubts that make a difference.
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

    /// The sections of the fragments' indexes that settle them.
    pub(super) fn sections(&self) -> Vec<(Arc<Fragment>, Vec<Section>)> {
        let sections = |(f, field, _): &(Arc<Fragment>, Field, Scalar)| {
            Some((
                Arc::clone(f),
                StatisticsQuery::new(Aggregate::Min, field, f)?.sections(),
            ))
        };
        self.0.iter().filter_map(sections).collect()
    }

    /// What the statistics say, once the sections are loaded.
    pub(super) fn settled(self) -> Filled {
        let is_free = |(f, field, fill): &(Arc<Fragment>, Field, Scalar)| {
            // The padding of tiles can widen what is between the extremes, and no more.
            StatisticsQuery::new(Aggregate::Min, field, f).is_some_and(|question| {
                (0..f.tiles).all(|tile| question.answer(tile, 1).is_some_and(|told| is_outside(fill, &told)))
            })
        };
        let free = self.0.into_iter().filter(is_free);
        Filled(free.map(|(f, field, _)| (f.name.clone(), field.name)).collect())
    }
}

/// Whether a value is less or greater than all those of a tile.
fn is_outside(value: &Scalar, tile: &Summary) -> bool {
    let (Some(min), Some(max)) = (&tile.min, &tile.max) else {
        return false;
    };
    value.order(min).is_lt() || value.order(max).is_gt()
}

/// A value as a number of the type `shown`; `None` for NaN and what the type cannot hold.
#[allow(clippy::cast_possible_truncation, reason = "values become those of the type")]
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

/// As xarray writes it into Zarr: floats as base64 of their 8 bytes.
fn encoded(value: Value) -> Value {
    match value.as_f64().filter(|_| value.is_f64()) {
        Some(float) => json!(BASE64_STANDARD.encode(float.to_le_bytes())),
        None => value,
    }
}
