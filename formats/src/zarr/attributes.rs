//! Attributes, which are JSON, as metadata.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyperslab::Datatype;
use hyperslab::metadata::MetaValue;
use serde_json::{Map, Value};

/// The names of the axes, of xarray in version 2.
pub(super) const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";
/// The missing value of xarray.
pub(super) const FILL: &str = "_FillValue";

/// All attributes but the names of axes.
pub(super) fn all(attributes: &Map<String, Value>, is_float: bool) -> Vec<(String, MetaValue)> {
    let kept = attributes.iter().filter(|(name, _)| *name != DIMENSIONS);
    kept.map(|(name, value)| match missing(name, value).filter(|_| is_float) {
        Some(found) => (name.clone(), found),
        None => (name.clone(), metadata(value)),
    })
    .collect()
}

/// The missing value of floats, which xarray writes as the base64 of 8 bytes, or as a word.
fn missing(name: &str, value: &Value) -> Option<MetaValue> {
    let text = value.as_str().filter(|_| name == FILL)?;
    let number = match text {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        _ => f64::from_le_bytes(BASE64_STANDARD.decode(text).ok()?.try_into().ok()?),
    };
    Some(MetaValue::bytes(Datatype::Float64, &number.to_le_bytes()))
}

/// A value. Lists of numbers and of texts are values too; all other lists and objects stay JSON.
fn metadata(value: &Value) -> MetaValue {
    let all = match value {
        Value::Array(values) if !values.is_empty() => values.as_slice(),
        one => std::slice::from_ref(one),
    };
    if let Some(texts) = all.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
        return MetaValue::text(&texts.join("\n"));
    }
    if let Some(bools) = all.iter().map(Value::as_bool).collect::<Option<Vec<_>>>() {
        // Other readers know no metadata of the type bool.
        let bytes: Vec<u8> = bools.into_iter().map(u8::from).collect();
        return MetaValue::bytes(Datatype::Int8, &bytes);
    }
    if let Some(integers) = all.iter().map(Value::as_i64).collect::<Option<Vec<_>>>() {
        let bytes: Vec<u8> = integers.into_iter().flat_map(i64::to_le_bytes).collect();
        return MetaValue::bytes(Datatype::Int64, &bytes);
    }
    if let Some(numbers) = all.iter().map(Value::as_f64).collect::<Option<Vec<_>>>() {
        let bytes: Vec<u8> = numbers.into_iter().flat_map(f64::to_le_bytes).collect();
        return MetaValue::bytes(Datatype::Float64, &bytes);
    }
    MetaValue::text(&value.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_keep_their_types() {
        assert_eq!(metadata(&json!("K")), MetaValue::text("K"));
        assert_eq!(metadata(&json!(["a", "b"])), MetaValue::text("a\nb"));
        assert_eq!(
            (metadata(&json!([1, 2])).datatype, metadata(&json!([1, 2])).num),
            (Datatype::Int64, 2)
        );
        assert_eq!(metadata(&json!([1, 2.5])).datatype, Datatype::Float64);
        assert_eq!(metadata(&json!(true)), MetaValue::bytes(Datatype::Int8, &[1]));
        assert_eq!(metadata(&json!({"a": [1]})), MetaValue::text(r#"{"a":[1]}"#));
        assert_eq!(metadata(&json!(null)), MetaValue::text("null"));
    }

    #[test]
    fn missing_floats_are_numbers() {
        let fill = missing(FILL, &json!("AAAAAAAA8L8=")).unwrap();
        assert_eq!(fill.data, (-1_f64).to_le_bytes());
        assert!(missing("units", &json!("NaN")).is_none());
    }
}
