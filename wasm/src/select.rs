//! Parses selections, which JavaScript passes as JSON.
//!
//! ```text
//! box    := "the grammar of the view" | [axis, …]             one axis per dimension
//! axis   := {} | {"at": value} | {"range": [value, value]} | {"from": value?, "until": value?, "step": n?}
//! ranges := {"dimension": [[value, value], …], …}             closed
//! value  := number | "text" | {"int": "digits"} | null        null: the domain's end
//! ```
//!
//! Integers that may not fit a double are digits. Dates are ISO 8601 text.

use std::hint::black_box;
use std::pin::Pin;

use hyperslab::internals::calendar;
use hyperslab::internals::view::selection;
use hyperslab::internals::view::selection::{Axis, Selection};
use hyperslab::schema::{Dimension, Schema};
use hyperslab::{Array, Datatype, Error, Region, Result, Scalar, ScalarRange};
use serde_json::Value;

/// The selection of a dense read or write.
pub(crate) async fn selection(json: &str, array: &Array) -> Result<Selection> {
    let schema = array.schema();
    let axes = match parse(json)? {
        Value::String(text) => return from_text(array.clone(), text).await,
        Value::Array(axes) => axes,
        other => return Err(Error::invalid(format!("{other} is not a selection"))),
    };
    let mut selected = Selection::all(schema, None);
    if axes.len() > selected.axes.len() {
        return Err(Error::invalid(format!(
            "{} ranges were given, but the array has {} dimensions",
            axes.len(),
            selected.axes.len()
        )));
    }
    for ((slot, dimension), json) in selected.axes.iter_mut().zip(&schema.dimensions).zip(&axes) {
        axis(slot, json, dimension)?;
    }
    Ok(selected)
}

/// Parses a selection in the grammar of the mount.
#[inline(never)] // The browser loads it separately.
fn from_text(array: Array, text: String) -> Pin<Box<dyn Future<Output = Result<Selection>>>> {
    // Hides the type of the future from the compiler, which would otherwise move its code into the core.
    black_box(Box::pin(async move { selection::read(&array, &text).await }))
}

/// Whether a selection has the form of ranges, not of a box.
pub(crate) fn is_ranges(json: &str) -> bool {
    json.starts_with('{')
}

/// The region of a query, from closed ranges by dimension name.
pub(crate) fn region(json: &str, schema: &Schema) -> Result<Region> {
    let Value::Object(named) = parse(json)? else {
        return Err(Error::invalid("give ranges as an object: {dimension: [low, high]}"));
    };
    let mut ranges = vec![Vec::new(); schema.dimensions.len()];
    for (name, list) in &named {
        let Some((index, dimension)) = schema.dimension(name) else {
            let names: Vec<&str> = schema.dimensions.iter().map(|d| d.name.as_str()).collect();
            return Err(Error::invalid(format!(
                "there is no dimension '{name}'; the dimensions are {}",
                names.join(", ")
            )));
        };
        let list = list
            .as_array()
            .ok_or_else(|| Error::invalid(format!("the ranges of '{name}' are not a list")))?;
        if let Some(slot) = ranges.get_mut(index) {
            *slot = list.iter().map(|pair| closed(pair, dimension)).collect::<Result<_>>()?;
        }
    }
    Ok(Region(ranges))
}

fn parse(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(|e| Error::invalid(format!("the selection is not valid JSON: {e}")))
}

fn axis(slot: &mut Axis, json: &Value, dimension: &Dimension) -> Result<()> {
    if let Some(at) = json.get("at") {
        let (lo, hi) = (value(at, dimension, End::Low)?, value(at, dimension, End::High)?);
        // A date may name several coordinates: a month of days.
        let single = lo == hi;
        *slot = Axis {
            single,
            ..Axis::of(Some(ScalarRange { lo, hi }))
        };
        return Ok(());
    }
    if let Some(pair) = json.get("range") {
        *slot = Axis::of(Some(closed(pair, dimension)?));
        return Ok(());
    }
    let Some(whole) = slot.range.clone() else {
        // A string dimension that is selected whole has no ends to move.
        return Ok(());
    };
    let end = |name: &str, end: End, default: &Scalar| match json.get(name) {
        None | Some(Value::Null) => Ok((default.clone(), false)),
        Some(given) => value(given, dimension, end).map(|v| (v, true)),
    };
    let (lo, _) = end("from", End::Low, &whole.lo)?;
    let (hi, given) = end("until", End::High, &whole.hi)?;
    // Integer ranges are half-open, as in Python and in the mount's file names. All others are closed.
    let hi = match (lo.as_i128(), hi.as_i128()) {
        (Some(lo), Some(hi)) if given && !dimension.datatype.is_datetime() => {
            let last = Scalar::from_i128(dimension.datatype, hi - 1).filter(|_| lo < hi);
            last.ok_or_else(|| selection::selects_nothing(&format!("{lo}:{hi}"), dimension, lo))?
        }
        _ => hi,
    };
    if lo.order(&hi).is_gt() {
        let why = "selects nothing: it starts after the last coordinate";
        return Err(Error::invalid(format!("the slice of '{}' {why}", dimension.name)));
    }
    let step = json.get("step").map_or(Some(1), Value::as_u64).filter(|&n| n > 0);
    let step = step.ok_or_else(|| Error::invalid("a step must be an integer of at least 1"))?;
    *slot = Axis {
        step,
        ..Axis::of(Some(ScalarRange { lo, hi }))
    };
    Ok(())
}

fn closed(pair: &Value, dimension: &Dimension) -> Result<ScalarRange> {
    let Some([lo, hi]) = pair.as_array().map(Vec::as_slice) else {
        return Err(Error::invalid(format!(
            "give a range of '{}' as two values: [low, high]",
            dimension.name
        )));
    };
    Ok(ScalarRange {
        lo: value(lo, dimension, End::Low)?,
        hi: value(hi, dimension, End::High)?,
    })
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Low,
    High,
}

/// A coordinate of `dimension`. For a date such as `2020-03`, `end` chooses its first or its last value.
fn value(json: &Value, dimension: &Dimension, end: End) -> Result<Scalar> {
    let datatype = dimension.datatype;
    let wrong = || {
        Error::invalid(format!(
            "{json} is not a coordinate of '{}', which has the type {}",
            dimension.name,
            datatype.name()
        ))
    };
    let found = match json {
        Value::Null => {
            let domain = dimension.domain.as_ref();
            domain.map(|d| if end == End::Low { d.lo.clone() } else { d.hi.clone() })
        }
        Value::String(text) if dimension.datatype.is_string() => Some(Scalar::Bytes(text.as_bytes().to_vec())),
        Value::String(text) if datatype.is_datetime() => {
            let (lo, hi) = calendar::parse(text, datatype).map_err(Error::InvalidArgument)?;
            Some(Scalar::I64(if end == End::Low { lo } else { hi }))
        }
        Value::String(text) => float(text.parse().map_err(|_| wrong())?, datatype),
        Value::Number(number) if datatype.is_float() => number.as_f64().and_then(|v| float(v, datatype)),
        Value::Number(number) => whole(number).and_then(|v| Scalar::from_i128(datatype, v)),
        Value::Object(_) => {
            let digits = json
                .get("int")
                .and_then(Value::as_str)
                .and_then(|text| text.parse().ok());
            digits.and_then(|v| Scalar::from_i128(datatype, v))
        }
        _ => None,
    };
    found.ok_or_else(wrong)
}

fn whole(number: &serde_json::Number) -> Option<i128> {
    let exact = number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from));
    // Casts only whole numbers. A saturated value is out of every type's range.
    exact.or_else(|| number.as_f64().filter(|v| v.fract() == 0.0).map(|v| v as i128))
}

// Rounds to the nearest float.
fn float(value: f64, datatype: Datatype) -> Option<Scalar> {
    match datatype {
        Datatype::Float32 => Some(Scalar::F32(value as f32)),
        Datatype::Float64 => Some(Scalar::F64(value)),
        _ => None,
    }
}
