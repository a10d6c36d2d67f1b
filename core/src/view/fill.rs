//! `_FillValue`: which value of an attribute stands for none, as the CF conventions say it and xarray reads it. Pure.
//!
//! Zarr has a fill value of its own, but it says what missing chunks hold, and readers do not mask it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::attributes::stated;
use super::missing::Missing;
use super::tiles::readable;
use crate::array::Array;
use crate::datatype::{Datatype, Physical};
use crate::format::metadata::MetaValue;
use crate::format::schema::Attribute;
use crate::geometry::grid::Grid;
use crate::geometry::region::without;
use crate::scalar::Scalar;

/// What CF calls the value that stands for none.
pub(super) const FILL_VALUE: &str = "_FillValue";
/// What it calls a second one.
const MISSING_VALUE: &str = "missing_value";
/// Boxes that what is not written is divided into, before it is said that something is.
const BOXES_MAX: usize = 1 << 12;

/// The attributes of CF that say which values of an attribute, shown as `shown`, stand for none: the one that its array
/// holds where there is no value, and the one that its metadata states.
pub(super) fn attributes(
    array: &Array,
    a: &Attribute,
    shown: Datatype,
    facts: &BTreeMap<String, MetaValue>,
) -> Vec<(String, Value)> {
    let read = |datatype: Datatype, bytes: &[u8]| Scalar::from_le_bytes(datatype.physical(), bytes);
    let own = own(array, a).and_then(|bytes| number(shown, &read(shown, &bytes)?));
    let stated = |key: &str| stated(facts, &a.name, key);
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
fn own(array: &Array, a: &Attribute) -> Option<Vec<u8>> {
    let missing = Missing::of(a);
    let is_float = matches!(a.datatype.physical(), Physical::F32 | Physical::F64);
    let value = match missing.null {
        Some(_) if is_float => return None,
        Some(null) => null,
        // Both values of a bool are values.
        None if a.datatype == Datatype::Bool || !missing.is_alike(a.datatype) || !has_unwritten(array, a) => {
            return None;
        }
        None => missing.unwritten,
    };
    value.get(..a.datatype.size()).map(<[u8]>::to_vec)
}

/// Whether cells of the attribute may hold its fill value because nobody wrote them.
fn has_unwritten(array: &Array, a: &Attribute) -> bool {
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
    // The box of a merge may hold cells that none of its sources had.
    for fragment in written.filter(|f| in_bytes || f.start_ms == f.end_ms) {
        if let Ok(Some(spans)) = fragment.spans(&grid) {
            left = without(left, &spans, |_| ());
        }
        if left.is_empty() || left.len() > BOXES_MAX {
            break;
        }
    }
    !left.is_empty()
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
