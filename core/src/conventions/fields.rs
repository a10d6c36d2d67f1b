//! The facts of a field as pairs of texts, as columns of Arrow and Parquet files carry them. The keys are the attributes
//! of the CF conventions, which are also the keys that xarray has in `attrs`.
//!
//! | key | text |
//! | --- | --- |
//! | `units`, `calendar`, `long_name`, `standard_name` | as it is |
//! | `scale_factor`, `add_offset` | a number |
//! | `missing_value` | the stored number, or several as in `[-9999,-1]` |
//! | `valid_min`, `valid_max` | a stored number |

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::{Application, Axis, Coordinates, Dataset, Variable};
use super::value;
use crate::datatype::Datatype;
use crate::format::metadata::MetaValue;
use crate::scalar::Scalar;

const TEXTS: [&str; 4] = ["units", "calendar", "long_name", "standard_name"];
const FACTORS: [&str; 2] = ["scale_factor", "add_offset"];
/// The missing values and the limits of valid ones: stored numbers.
const STORED: [&str; 3] = ["missing_value", "valid_min", "valid_max"];
/// The most numbers of a text that is read.
const NUMBERS_MAX: usize = 256;

/// What is known of a field.
pub type FieldFacts = BTreeMap<String, String>;

/// What is known of an attribute of an array, or of the coordinates along a dimension. `metadata` is that of the array,
/// and `dataset` its description.
///
/// ```
/// use std::collections::BTreeMap;
/// use hyperslab::conventions::{Dataset, field_facts};
/// use hyperslab::metadata::MetaValue;
///
/// let metadata = BTreeMap::from([("__tiledb_attr.temp.units".to_owned(), MetaValue::text("K"))]);
/// let facts = field_facts(&Dataset::default(), &metadata, "temp");
/// assert_eq!(facts["units"], "K");
/// ```
pub fn field_facts(dataset: &Dataset, metadata: &BTreeMap<String, MetaValue>, field: &str) -> FieldFacts {
    let mut found = FieldFacts::new();
    let mut variables = dataset.variables.iter().filter(|v| v.path.is_empty());
    if let Some(variable) = variables.clone().find(|v| v.attribute == field) {
        of_variable(variable, &mut found);
        // Nobody says there that the fill value is missing: it may be a value as well.
        if matches!(dataset.application, Application::Bare | Application::Hyperslab) {
            found.retain(|key, _| !STORED.contains(&key.as_str()));
        }
    } else if let Some(axis) = variables.find_map(|v| v.axes.iter().find(|a| a.dimension == field)) {
        of_axis(axis, &mut found);
    }
    for table in dataset.tables.iter().filter(|t| t.path.is_empty()) {
        let column = table.columns.iter().find(|c| c.name == field);
        let of_points = table.unit.as_ref().filter(|_| table.points.iter().any(|p| p == field));
        let unit = column.and_then(|c| c.unit.as_ref()).or(of_points);
        found.extend(unit.map(|unit| ("units".to_owned(), unit.clone())));
    }
    // Of tables, the description has units only.
    for key in TEXTS.iter().chain(&FACTORS).chain(&STORED) {
        let stated = ["attr", "dim"].iter().find_map(|kind| {
            let stored = metadata.get(&format!("__tiledb_{kind}.{field}.{key}"))?;
            shown(&value::shown(stored)?)
        });
        if let Some(stated) = stated
            && !found.contains_key(*key)
        {
            found.insert((*key).to_owned(), stated);
        }
    }
    found
}

fn of_variable(variable: &Variable, found: &mut FieldFacts) {
    let texts = [
        &variable.unit,
        &variable.calendar,
        &variable.long_name,
        &variable.standard_name,
    ];
    add_texts(texts, found);
    if let Some(packing) = variable.packing {
        let factors = [(packing.scale, 1.0), (packing.offset, 0.0)];
        for (key, (factor, neutral)) in FACTORS.iter().zip(factors) {
            if factor != neutral {
                found.insert((*key).to_owned(), value::float(factor).to_string());
            }
        }
    }
    let missing = &variable.missing;
    let values = match missing.values.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(Value::from(several)),
    };
    for (key, value) in STORED.iter().zip([&values, &missing.valid_min, &missing.valid_max]) {
        if let Some(text) = value.as_ref().and_then(shown) {
            found.insert((*key).to_owned(), text);
        }
    }
}

fn of_axis(axis: &Axis, found: &mut FieldFacts) {
    // Numbers of positions have no unit.
    if !matches!(axis.coordinates, Coordinates::Index) {
        let texts = [&axis.unit, &axis.calendar, &axis.long_name, &axis.standard_name];
        add_texts(texts, found);
    }
}

fn add_texts(texts: [&Option<String>; 4], found: &mut FieldFacts) {
    for (key, text) in TEXTS.iter().zip(texts) {
        found.extend(text.as_ref().map(|text| ((*key).to_owned(), text.clone())));
    }
}

/// A text as it is, and anything else as JSON.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// The metadata of an array for the facts of a field, as TileDB-CF stores them: the inverse of [`field_facts`]. Keys that
/// are none of these facts are left out. A text that should be a number but is none is kept as text.
///
/// ```
/// use std::collections::BTreeMap;
/// use hyperslab::{Datatype, conventions};
///
/// let facts = BTreeMap::from([("units".to_owned(), "K".to_owned()), ("PARQUET:field_id".to_owned(), "1".to_owned())]);
/// let metadata = conventions::metadata_of_facts("temp", false, Datatype::Int16, &facts);
/// assert_eq!(metadata.len(), 1);
/// assert_eq!(metadata[0].0, "__tiledb_attr.temp.units");
/// ```
pub fn metadata_of_facts(
    field: &str,
    is_dimension: bool,
    datatype: Datatype,
    facts: &FieldFacts,
) -> Vec<(String, MetaValue)> {
    let kind = if is_dimension { "dim" } else { "attr" };
    let fits = |text: &String| !text.is_empty() && text.len() <= value::TEXT_BYTES_MAX;
    let mut metadata = Vec::new();
    for (key, text) in facts.iter().filter(|(_, text)| fits(text)) {
        let key = key.as_str();
        let number = match key {
            _ if FACTORS.contains(&key) => numbers(text, Datatype::Float64),
            _ if STORED.contains(&key) => numbers(text, datatype),
            _ if TEXTS.contains(&key) => None,
            _ => continue,
        };
        let stored = number.unwrap_or_else(|| MetaValue::text(text));
        metadata.push((format!("__tiledb_{kind}.{field}.{key}"), stored));
    }
    metadata
}

/// The numbers of a text; `None` if some is no number of the type.
fn numbers(text: &str, datatype: Datatype) -> Option<MetaValue> {
    if datatype.is_bytes() {
        return None;
    }
    let parsed = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let all = match parsed {
        Value::Array(all) => all,
        one => vec![one],
    };
    if all.is_empty() || all.len() > NUMBERS_MAX {
        return None;
    }
    let mut data = Vec::new();
    for value in &all {
        data.extend(number(&value::stored_number(value, datatype)?, datatype)?.to_le_bytes());
    }
    Some(MetaValue::bytes(datatype, &data))
}

/// The number in the type; `None` if the type does not have it.
#[allow(clippy::cast_possible_truncation, reason = "compared with the original")]
fn number(value: &Scalar, datatype: Datatype) -> Option<Scalar> {
    let float = value.as_f64()?;
    match datatype {
        Datatype::Float64 => Some(Scalar::F64(float)),
        Datatype::Float32 => {
            // Shown with as few digits as tell floats apart.
            let narrow = float as f32;
            (narrow.is_finite() || !float.is_finite()).then_some(Scalar::F32(narrow))
        }
        _ => Scalar::from_i128(datatype, value.as_i128()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(pairs: &[(&str, &str)]) -> FieldFacts {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[track_caller]
    fn round_trip(datatype: Datatype, pairs: &[(&str, &str)]) {
        let wanted = facts(pairs);
        let metadata = metadata_of_facts("a.b", false, datatype, &wanted).into_iter().collect();
        assert_eq!(field_facts(&Dataset::default(), &metadata, "a.b"), wanted);
    }

    #[test]
    fn facts_become_metadata_and_facts_again() {
        round_trip(
            Datatype::Int16,
            &[("units", "K"), ("long_name", "Grad °C"), ("missing_value", "-9999")],
        );
        round_trip(Datatype::Int16, &[("scale_factor", "0.01"), ("add_offset", "273.15")]);
        // JSON lacks integers this large, so they are texts in a list.
        round_trip(Datatype::Int64, &[("missing_value", r#"["-9223372036854775808",7]"#)]);
        round_trip(Datatype::Uint64, &[("valid_max", "18446744073709551615")]);
        round_trip(Datatype::Float32, &[("missing_value", "NaN"), ("valid_min", "0.1")]);
        round_trip(Datatype::DatetimeDay, &[("missing_value", "1970-01-03")]);
        // Nothing is lost that is no number of the type.
        round_trip(Datatype::Uint8, &[("missing_value", "-1"), ("scale_factor", "ten")]);
    }

    #[test]
    fn other_keys_and_endless_texts_are_left_out() {
        let long = "1,".repeat(value::TEXT_BYTES_MAX);
        let given = facts(&[
            ("PARQUET:field_id", "3"),
            ("comment", "x"),
            ("units", &long),
            ("calendar", ""),
        ]);
        assert_eq!(metadata_of_facts("a", true, Datatype::Int16, &given), []);
        let many = format!("[{}1]", "1,".repeat(NUMBERS_MAX));
        let kept = metadata_of_facts("a", true, Datatype::Int16, &facts(&[("missing_value", &many)]));
        assert_eq!(
            kept,
            [("__tiledb_dim.a.missing_value".to_owned(), MetaValue::text(&many))]
        );
    }
}
