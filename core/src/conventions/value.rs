//! Metadata values as text, numbers and JSON. Values may be hostile: sizes are bounded, nothing is evaluated.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::model::{Packing, Regular};
use crate::calendar;
use crate::datatype::Datatype;
use crate::format::metadata::MetaValue;
use crate::scalar::{Scalar, json_word};

/// The longest text that is read, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 1 << 20;
/// The longest text that is passed on, in bytes.
const SHOWN_BYTES_MAX: usize = 1 << 12;
/// The most numbers of a value that are passed on.
const SHOWN_NUMBERS_MAX: usize = 256;
/// The largest integer that every JSON parser keeps.
const EXACT: i128 = 1 << 53;

/// The value as text, without one trailing NUL. `None` if it is no text or too long.
pub(super) fn text(stored: &MetaValue) -> Option<Cow<'_, str>> {
    let bytes_are_text = matches!(
        stored.datatype,
        Datatype::StringUtf8 | Datatype::StringAscii | Datatype::Char | Datatype::Uint8
    );
    if !bytes_are_text || stored.data.len() > TEXT_BYTES_MAX {
        return None;
    }
    let bytes = stored.data.strip_suffix(&[0]).unwrap_or(&stored.data);
    Some(String::from_utf8_lossy(bytes))
}

/// The values as numbers, or none if they are not numbers. A text is parsed as a number. At most [`SHOWN_NUMBERS_MAX`].
pub(super) fn numbers(stored: &MetaValue) -> Vec<f64> {
    scalars(stored).iter().filter_map(Scalar::as_f64).collect()
}

fn scalars(stored: &MetaValue) -> Vec<Scalar> {
    if stored.datatype.is_string() {
        let number = text(stored).and_then(|t| t.trim().parse::<f64>().ok());
        return number.map(Scalar::F64).into_iter().collect();
    }
    if stored.datatype.is_opaque() {
        return Vec::new();
    }
    let values = stored.data.chunks_exact(stored.datatype.size());
    let values = values.filter_map(|bytes| Scalar::from_le_bytes(stored.datatype.physical(), bytes));
    values.take(SHOWN_NUMBERS_MAX).collect()
}

/// The values as JSON values of their own type.
pub(super) fn list(stored: &MetaValue) -> Vec<Value> {
    scalars(stored).iter().map(|v| scalar(v, stored.datatype)).collect()
}

/// The value as JSON: a text, a number or a list of numbers. `None` for opaque bytes and other encodings.
pub(super) fn shown(stored: &MetaValue) -> Option<Value> {
    if stored.datatype.is_string() {
        return text(stored).map(|t| Value::from(shortened(&t)));
    }
    let mut all = list(stored);
    match all.len() {
        0 => None,
        1 => all.pop(),
        _ => Some(Value::from(all)),
    }
}

/// At most [`SHOWN_BYTES_MAX`] bytes of a text.
pub(super) fn shortened(text: &str) -> String {
    if text.len() <= SHOWN_BYTES_MAX {
        return text.to_owned();
    }
    let end = (0..=SHOWN_BYTES_MAX).rev().find(|&i| text.is_char_boundary(i));
    format!("{}…", text.get(..end.unwrap_or(0)).unwrap_or_default())
}

/// A number as JSON, a boolean, or a text for what JSON lacks.
pub(super) fn scalar(v: &Scalar, datatype: Datatype) -> Value {
    if let (Datatype::Bool, Some(bit)) = (datatype, v.as_i128()) {
        return Value::from(bit != 0);
    }
    if let Some(date) = v.date_text(datatype) {
        return Value::from(date);
    }
    match (v, v.as_i128()) {
        (_, Some(i)) if i.abs() <= EXACT => i64::try_from(i).map_or(Value::Null, Value::from),
        (_, Some(i)) => Value::from(i.to_string()),
        // The shortest text that gives this float, rather than all digits of it as an `f64`.
        (Scalar::F32(f), None) if f.is_finite() => f.to_string().parse().map_or(Value::Null, float),
        _ => v.as_f64().map_or(Value::Null, float),
    }
}

/// Parses a JSON value of a description, such as a [missing value](super::Missing), into a number that can be compared
/// with values of `datatype`. `None` if it is not a number.
///
/// ```
/// use hyperslab::{Datatype, Scalar, conventions};
/// let stored = |json| conventions::stored_number(&json, Datatype::DatetimeDay);
/// assert_eq!(stored("1970-01-03".into()), Some(Scalar::I64(2)));
/// assert_eq!(stored(2.5.into()), Some(Scalar::F64(2.5)));
/// ```
pub fn stored_number(shown: &Value, datatype: Datatype) -> Option<Scalar> {
    let whole = |v: i128| {
        let signed = i64::try_from(v).map(Scalar::I64);
        signed.or_else(|_| u64::try_from(v).map(Scalar::U64)).ok()
    };
    match shown {
        Value::Bool(bit) => whole(i128::from(*bit)),
        Value::Number(number) => {
            let integer = number
                .as_i64()
                .map(Scalar::I64)
                .or_else(|| number.as_u64().map(Scalar::U64));
            integer.or_else(|| number.as_f64().map(Scalar::F64))
        }
        Value::String(text) if text == "NaT" => Some(Scalar::I64(i64::MIN)),
        // JSON lacks integers this large, and no year is.
        Value::String(text) if text.parse().is_ok_and(|v: i128| v.unsigned_abs() > EXACT as u128) => {
            whole(text.parse().ok()?)
        }
        Value::String(text) if datatype.is_datetime() => {
            let ticks = calendar::parse(text, datatype);
            ticks.ok().map(|(first, _)| Scalar::I64(first))
        }
        Value::String(text) => match text.parse() {
            Ok(integer) => whole(integer),
            Err(_) => text.parse().ok().map(Scalar::F64),
        },
        _ => None,
    }
}

/// A float as JSON, or a word for one that is not finite.
pub(super) fn float(v: f64) -> Value {
    match Number::from_f64(v) {
        Some(number) => Value::from(number),
        None => json_word(v).map_or(Value::Null, Value::from),
    }
}

/// A text of a JSON document, shortened.
pub(super) fn json_text(json: Option<&Value>) -> Option<String> {
    json?.as_str().map(shortened).filter(|t| !t.is_empty())
}

/// A list of lengths of a JSON document. `None` if any is no length.
pub(super) fn json_lengths(json: Option<&Value>) -> Option<Vec<u64>> {
    let list = json?.as_array().filter(|l| l.len() <= 64)?;
    list.iter().map(Value::as_u64).collect()
}

/// A packing, unless it changes nothing. `None` too if a number is not finite or the scale is 0.
pub(super) fn packing(scale: Option<f64>, offset: Option<f64>) -> Option<Packing> {
    let packing = Packing {
        scale: scale.unwrap_or(1.0),
        offset: offset.unwrap_or(0.0),
    };
    let is_sound = packing.scale.is_finite() && packing.offset.is_finite() && packing.scale != 0.0;
    let is_identity = packing.scale == 1.0 && packing.offset == 0.0;
    (is_sound && !is_identity).then_some(packing)
}

/// The formula of evenly spaced values. `None` if they are fewer than two or not evenly spaced.
pub(super) fn regular(values: &[f64]) -> Option<Regular> {
    let (start, end) = (*values.first()?, *values.last()?);
    let step = (end - start) / (values.len().checked_sub(1)? as f64);
    if values.len() < 2 || !step.is_finite() || step == 0.0 {
        return None;
    }
    // A thousandth of a step, and what float32 rounds away.
    let slack = (step.abs() * 1e-3).max(start.abs().max(end.abs()) * 6e-8);
    let is_near = |(i, v): (usize, &f64)| (v - (start + i as f64 * step)).abs() <= slack;
    let even = slack < step.abs() / 4.0 && values.iter().enumerate().all(is_near);
    even.then_some(Regular { start, step })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_spacing_survives_float32_and_nothing_else_does() {
        let from = |n: u16, f: fn(f64) -> f64| (0..n).map(|i| f(f64::from(i))).collect::<Vec<_>>();
        let coarse = from(3600, |i| f64::from((-179.95 + 0.1 * i) as f32));
        assert!((regular(&coarse).unwrap().step - 0.1).abs() < 1e-6);
        assert_eq!(regular(&[3.0, 1.0, -1.0]), Some(Regular { start: 3.0, step: -2.0 }));
        assert_eq!(regular(&from(10, |i| i * i)), None);
        assert_eq!(regular(&[f64::NAN, 1.0]), None);
        assert_eq!(
            (regular(&[1.0]), regular(&[]), regular(&[1.0, 1.0])),
            (None, None, None)
        );
    }

    #[test]
    fn texts_are_bounded_and_lose_one_nul() {
        let stored = MetaValue::bytes(Datatype::Uint8, b"ab\0\0");
        assert_eq!(text(&stored).as_deref(), Some("ab\0"));
        let long = MetaValue::text(&"é".repeat(TEXT_BYTES_MAX / 2 + 1));
        assert_eq!(text(&long), None);
        assert_eq!(shortened(&"é".repeat(5000)).chars().count(), 2049);
    }
}
