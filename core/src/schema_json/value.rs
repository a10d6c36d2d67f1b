//! Converts values of every datatype to and from JSON, without loss.

use serde_json::{Value, json};

use super::read::Entry;
use crate::calendar;
use crate::datatype::{CellCount, Datatype};
use crate::error::Result;
use crate::scalar::{Scalar, ScalarRange};

/// Integers up to this limit are exact in every JSON parser.
const EXACT: i128 = 1 << 53;

/// Formats a number. NaNs other than the default one are handled by [`cell_to_json`].
pub(super) fn number_to_json(value: &Scalar, datatype: Datatype) -> Value {
    if let (Scalar::U8(v @ (0 | 1)), Datatype::Bool) = (value, datatype) {
        return json!(*v == 1);
    }
    if let (Scalar::I64(v), Some(text)) = (value, value.date_text(datatype))
        && (calendar::is_nat(*v, datatype) || calendar::parse(&text, datatype).is_ok_and(|(start, _)| start == *v))
    {
        return json!(text);
    }
    match value {
        Scalar::F32(v) if v.is_finite() => {
            // The shortest text that gives this float, rather than all digits of it as an `f64`.
            let short = v.to_string().parse::<f64>().unwrap_or(f64::from(*v));
            let exact = (short as f32).to_bits() == v.to_bits();
            json!(if exact { short } else { f64::from(*v) })
        }
        Scalar::F64(v) if v.is_finite() => json!(v),
        Scalar::F32(v) => json!(not_finite(f64::from(*v))),
        Scalar::F64(v) => json!(not_finite(*v)),
        Scalar::Bytes(v) => text_to_json(v, Datatype::StringAscii),
        other => match other.as_i128() {
            Some(v) if v.abs() <= EXACT => json!(v as i64),
            Some(v) => json!(v.to_string()),
            None => Value::Null,
        },
    }
}

fn not_finite(v: f64) -> &'static str {
    match v {
        f64::INFINITY => "inf",
        f64::NEG_INFINITY => "-inf",
        _ => "nan",
    }
}

/// Parses a number of this datatype.
pub(super) fn number_from_json(entry: &Entry<'_>, datatype: Datatype) -> Result<Scalar> {
    let wrong = || entry.wrong(&format!("a value of {datatype}"));
    if datatype.is_float() {
        let value = match entry.value {
            Value::String(s) => s.trim().to_ascii_lowercase().parse().map_err(|_| wrong())?,
            other => other.as_f64().ok_or_else(wrong)?,
        };
        // The default NaN, whichever one the parser returns.
        let nan = Scalar::from_le_bytes(datatype.physical(), &datatype.default_fill());
        return match (value.is_nan(), datatype) {
            (true, _) => nan.ok_or_else(wrong),
            (_, Datatype::Float32) => Ok(Scalar::F32(value as f32)),
            _ => Ok(Scalar::F64(value)),
        };
    }
    let integer = match entry.value {
        Value::Bool(b) => Some(i128::from(*b)),
        Value::Number(n) => n
            .as_i64()
            .map(i128::from)
            .or(n.as_u64().map(i128::from))
            .or_else(|| whole(n.as_f64()?)),
        Value::String(s) if datatype.is_temporal() => date(s, datatype).or_else(|| s.parse().ok()),
        Value::String(s) => s.parse().ok(),
        _ => None,
    };
    integer.and_then(|v| Scalar::from_i128(datatype, v)).ok_or_else(wrong)
}

fn date(text: &str, datatype: Datatype) -> Option<i128> {
    if text.eq_ignore_ascii_case("nat") {
        return Some(i128::from(i64::MIN));
    }
    calendar::parse(text, datatype).ok().map(|(start, _)| i128::from(start))
}

/// Integers in float notation, such as `1e3`.
fn whole(v: f64) -> Option<i128> {
    (v.fract() == 0.0 && v.abs() <= EXACT as f64).then_some(v as i128)
}

/// Formats a closed range as `[lo, hi]`.
pub(super) fn range_to_json(range: &ScalarRange, datatype: Datatype) -> Value {
    json!([number_to_json(&range.lo, datatype), number_to_json(&range.hi, datatype)])
}

/// Parses a closed range from `[lo, hi]`.
pub(super) fn range_from_json(entry: &Entry<'_>, datatype: Datatype, cell: CellCount) -> Result<ScalarRange> {
    let items = entry.items()?;
    let [lo, hi] = items.as_slice() else {
        return Err(entry.wrong("a list of two values, the smallest and the largest"));
    };
    let one = |e: &Entry<'_>| {
        if cell.is_var() {
            text_from_json(e, datatype).map(Scalar::Bytes)
        } else {
            number_from_json(e, datatype)
        }
    };
    Ok(ScalarRange {
        lo: one(lo)?,
        hi: one(hi)?,
    })
}

/// Formats a cell: text, a number, or a list of numbers.
pub(super) fn cell_to_json(bytes: &[u8], datatype: Datatype, cell: CellCount) -> Value {
    if datatype.is_bytes() {
        return text_to_json(bytes, datatype);
    }
    let one = |bytes: &[u8]| {
        let value = Scalar::from_le_bytes(datatype.physical(), bytes)?;
        let nan = value.as_f64().is_some_and(f64::is_nan) && *bytes != datatype.default_fill();
        (!nan).then(|| number_to_json(&value, datatype))
    };
    let values: Option<Vec<Value>> = bytes.chunks(datatype.size()).map(one).collect();
    match (values, cell) {
        (None, _) => hex_to_json(bytes),
        (Some(mut values), CellCount::ONE) if values.len() == 1 => values.swap_remove(0),
        (Some(values), _) => Value::Array(values),
    }
}

/// Formats a cell for a message: text without quotes, or JSON.
pub(crate) fn cell_text(bytes: &[u8], datatype: Datatype, cell: CellCount) -> String {
    match cell_to_json(bytes, datatype, cell) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Parses a cell. For a fixed cell, the number of bytes must match.
pub(super) fn cell_from_json(entry: &Entry<'_>, datatype: Datatype, cell: CellCount) -> Result<Vec<u8>> {
    let bytes = if datatype.is_bytes() || entry.value.is_object() {
        text_from_json(entry, datatype)?
    } else if entry.value.is_array() {
        let values = entry.items()?;
        values
            .iter()
            .map(|e| Ok(number_from_json(e, datatype)?.to_le_bytes()))
            .collect::<Result<Vec<_>>>()?
            .concat()
    } else {
        number_from_json(entry, datatype)?.to_le_bytes()
    };
    match cell.cell_bytes(datatype) {
        Some(n) if n != bytes.len() => Err(entry.because(format!(
            "has {} bytes; a cell takes {n} ({} values of {datatype})",
            bytes.len(),
            n / datatype.size()
        ))),
        None if bytes.len() % datatype.size() != 0 => {
            Err(entry.because(format!("its bytes are not a whole number of {datatype} values")))
        }
        _ => Ok(bytes),
    }
}

fn text_to_json(bytes: &[u8], datatype: Datatype) -> Value {
    let text = match (datatype.size(), datatype) {
        (_, Datatype::Blob | Datatype::GeomWkb | Datatype::Any) => None,
        (2, _) => String::from_utf16(&units(bytes, |b: [u8; 2]| u16::from_le_bytes(b))).ok(),
        (4, _) => units(bytes, |b: [u8; 4]| u32::from_le_bytes(b))
            .into_iter()
            .map(char::from_u32)
            .collect(),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    };
    let whole = bytes.len().is_multiple_of(datatype.size());
    text.filter(|_| whole).map_or_else(|| hex_to_json(bytes), Value::String)
}

fn text_from_json(entry: &Entry<'_>, datatype: Datatype) -> Result<Vec<u8>> {
    if entry.value.is_object() {
        return Entry::object(entry.value, &entry.at, &["hex"]).and_then(|e| hex_from_json(&e.need("hex")?));
    }
    let text = entry
        .value
        .as_str()
        .ok_or_else(|| entry.wrong("a string, or {\"hex\": \"…\"}"))?;
    Ok(match datatype.size() {
        2 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        4 => text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect(),
        _ => text.as_bytes().to_vec(),
    })
}

fn units<const N: usize, T>(bytes: &[u8], one: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .chunks_exact(N)
        .filter_map(|c| c.try_into().ok())
        .map(one)
        .collect()
}

pub(super) fn hex_to_json(bytes: &[u8]) -> Value {
    json!({ "hex": hex(bytes) })
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Parses a string of hexadecimal digits.
pub(super) fn hex_from_json(entry: &Entry<'_>) -> Result<Vec<u8>> {
    let digits = entry.str()?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let all_digits = digits.iter().all(u8::is_ascii_hexdigit) && digits.len() % 2 == 0;
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    bytes
        .filter(|_| all_digits)
        .ok_or_else(|| entry.wrong("pairs of hexadecimal digits"))
}
