//! Fill values, which are JSON.

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyperslab::{Datatype, Scalar};
use serde_json::Value;

use super::types::{Kind, Type};

/// The bytes of a fill value as an element in the byte order of the machine. Zeros, or no bytes, if there is none.
pub(super) fn of(value: Option<&Value>, of: Type) -> Result<Vec<u8>> {
    let Some(value) = value else {
        return Ok(vec![0; of.bytes]);
    };
    let found = match of.kind {
        Kind::Number(datatype) => number(value, datatype),
        Kind::Half => match hexadecimal(value, 2) {
            Some(bytes) => Some(bytes),
            None => float(value).map(|n| half::f16::from_f64(n).to_le_bytes().to_vec()),
        },
        Kind::Complex(datatype) => match value.as_array().map(Vec::as_slice) {
            Some([re, im]) => number(re, datatype)
                .zip(number(im, datatype))
                .map(|(re, im)| [re, im].concat()),
            _ => number(value, datatype).map(|re| padded(re, of.bytes)),
        },
        Kind::Text | Kind::Blob => value.as_str().map(|text| padded(decoded(text), of.bytes)),
        Kind::Utf32 => value.as_str().map(|text| {
            let points = text.chars().flat_map(|c| u32::from(c).to_le_bytes());
            padded(points.collect(), of.bytes)
        }),
        Kind::LongText => value.as_str().map(|text| text.as_bytes().to_vec()),
        Kind::LongBlob => value.as_str().map(decoded),
    };
    // Version 2 wrote 0 for text, and version 3 a list of bytes.
    let plain = || value.as_i64() == Some(0);
    let list = || {
        value
            .as_array()
            .map(|bytes| padded(bytes.iter().filter_map(byte).collect(), of.bytes))
    };
    found
        .or_else(list)
        .or_else(|| plain().then(|| vec![0; of.bytes]))
        .with_context(|| format!("its fill value {value} does not fit its type"))
}

fn byte(value: &Value) -> Option<u8> {
    value.as_u64().and_then(|n| u8::try_from(n).ok())
}

fn padded(mut bytes: Vec<u8>, length: usize) -> Vec<u8> {
    if length > 0 {
        bytes.resize(length, 0);
    }
    bytes
}

/// Bytes as version 2 writes them, or plain text.
fn decoded(text: &str) -> Vec<u8> {
    BASE64_STANDARD
        .decode(text)
        .unwrap_or_else(|_| text.as_bytes().to_vec())
}

/// The bytes of a number of this type.
fn number(value: &Value, datatype: Datatype) -> Option<Vec<u8>> {
    let scalar = match datatype {
        Datatype::Bool => return Some(vec![u8::from(value.as_bool().unwrap_or(value.as_u64() == Some(1)))]),
        Datatype::Float32 | Datatype::Float64 => {
            if let Some(bytes) = hexadecimal(value, datatype.size()) {
                return Some(bytes);
            }
            let number = float(value)?;
            match datatype {
                Datatype::Float32 => Scalar::F32(number as f32),
                _ => Scalar::F64(number),
            }
        }
        // No time.
        _ if value.as_str() == Some("NaT") => Scalar::from_i128(datatype, i128::from(i64::MIN))?,
        _ => {
            let whole = value.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i128);
            let number = value
                .as_i64()
                .map(i128::from)
                .or_else(|| value.as_u64().map(i128::from))
                .or(whole);
            Scalar::from_i128(datatype, number?)?
        }
    };
    Some(scalar.to_le_bytes())
}

fn float(value: &Value) -> Option<f64> {
    match value.as_str() {
        None => value.as_f64(),
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
    }
}

/// The bytes of a float such as `0x7fc00000`.
fn hexadecimal(value: &Value, bytes: usize) -> Option<Vec<u8>> {
    let bits = u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()?;
    bits.to_le_bytes().get(..bytes).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fill_values_are_elements() {
        let check = |dtype: &str, value: Value, bytes: &[u8]| {
            let dtype = Type::of_v2(&json!(dtype), &[]).unwrap();
            assert_eq!(of(Some(&value), dtype).unwrap(), bytes, "{value}");
        };
        check(">i2", json!(-2), &[0xfe, 0xff]);
        check("<f4", json!("NaN"), &f32::NAN.to_le_bytes());
        check("<f4", json!("0x7fc00001"), &[1, 0, 0xc0, 0x7f]);
        check("|b1", json!(true), &[1]);
        check("|S3", json!("YWI="), b"ab\0");
        check("<U2", json!("é"), &[0xe9, 0, 0, 0, 0, 0, 0, 0]);
        check(
            "<c8",
            json!([1.0, "NaN"]),
            &[1_f32.to_le_bytes(), f32::NAN.to_le_bytes()].concat(),
        );
        check("|S2", json!(0), &[0, 0]);
        assert!(of(Some(&json!("x")), Type::of_v2(&json!("<i4"), &[]).unwrap()).is_err());
    }
}
