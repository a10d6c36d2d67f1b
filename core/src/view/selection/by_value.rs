//! Selections by the values along an axis, such as `lat=30.5:40` or `time=2020-01:2020-03`.

use std::ops::Range;

use super::{Axis, Beyond, Selection, coordinate, coordinate_text, labels, lexer, parse_with};
use crate::array::{Array, AxisValues};
use crate::calendar;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::format::domain::Dimension;
use crate::scalar::Scalar;

/// Parses a selection of `array` for reading, like [`parse`](super::parse) but clipped to the domain. Omitted ends are
/// taken from the non-empty domain. An axis with values is selected by value if it is named, and so is a dimension label.
///
/// # Errors
/// Same as [`parse`](super::parse), and errors of reading the values. [`Error::InvalidArgument`] if no coordinate has such
/// a value, or if the coordinates with such values are not contiguous.
pub async fn read(array: &Array, text: &str) -> Result<Selection> {
    let text = by_index(array, text).await?;
    parse_with(
        &text,
        array.schema(),
        array.non_empty_domain().as_deref(),
        Beyond::Clipped,
    )
}

/// The same selection without values: each axis by its coordinates, for [`parse`](super::parse).
///
/// # Errors
/// Those of [`read`] that concern values.
pub async fn by_index(array: &Array, text: &str) -> Result<String> {
    let (names, body) = lexer::split_attributes(text);
    let mut items: Vec<String> = Vec::new();
    for item in lexer::split(body, ',') {
        items.push(item_by_index(array, item).await?.unwrap_or_else(|| item.to_owned()));
    }
    let names = names.map_or_else(String::new, |names| format!("{names}@"));
    Ok(names + &items.join(","))
}

/// One item by its coordinates; `None` if it already is.
async fn item_by_index(array: &Array, item: &str) -> Result<Option<String>> {
    let Some((name, range)) = lexer::split_once(item, '=') else {
        return Ok(None);
    };
    let (name, range) = (lexer::unquote(name)?, range.trim());
    let Some(items) = lexer::list(range)? else {
        return range_by_index(array, &name, range).await;
    };
    let (mut dimension, mut parts) = (None, Vec::new());
    for item in items {
        let found = range_by_index(array, &name, item.trim()).await?;
        let found = found.as_deref().and_then(|found| lexer::split_once(found, '='));
        let (along, range) = found.unzip();
        dimension = dimension.or_else(|| along.map(str::to_owned));
        parts.push(range.map_or(item, |range| range.trim_start_matches('@')).to_owned());
    }
    Ok(dimension.map(|dimension| format!("{dimension}=@{{{}}}", parts.join(","))))
}

/// `name=range` by coordinates; `None` if it already is.
async fn range_by_index(array: &Array, name: &str, range: &str) -> Result<Option<String>> {
    let schema = array.schema();
    let Some((index, dimension)) = schema.dimension(name) else {
        let label = schema.labels.iter().find(|l| l.name == name);
        return match label {
            Some(label) => labels::by_coordinates(array, label, range).await.map(Some),
            None => Ok(None),
        };
    };
    let counted = range.starts_with('@') || matches!(range, ":" | "_" | "all" | "..");
    if counted || !schema.is_dense() || dimension.datatype.is_datetime() {
        return Ok(None);
    }
    let found = array.axis_values(index).await;
    let Some(values) = found.map_err(|e| unreadable(dimension, &e))? else {
        return Ok(None);
    };
    let places = places(&values, name, range)?;
    let at = |place: usize| values.first + place as i128;
    let last = at(places.end) - 1;
    let range = match places.len() {
        1 if !has_ends(&values, range) => format!("{last}"),
        _ => format!("{}:{}", at(places.start), last + 1),
    };
    Ok(Some(format!("{}=@{range}", lexer::quote(&dimension.name))))
}

fn unreadable(dimension: &Dimension, error: &Error) -> Error {
    let name = &dimension.name;
    Error::invalid(format!(
        "the values along '{name}' cannot be read: {error}; select by index, as in {name}=@0:10"
    ))
}

/// Whether the text has two ends. The colons of a time of day are none.
fn has_ends(values: &AxisValues, text: &str) -> bool {
    let datatype = values.values.datatype;
    if datatype.is_datetime() && calendar::parse(text, datatype).is_ok() {
        return false;
    }
    lexer::positions(text, |rest| rest.starts_with(':') || rest.starts_with(".."))
        .next()
        .is_some()
}

/// The places of the values that `text` selects, which are next to each other.
fn places(values: &AxisValues, name: &str, text: &str) -> Result<Range<usize>> {
    let wrong = |why: &str| {
        Error::invalid(format!(
            "'{text}' along '{name}': {why}; to select by index, write {name}=@0:10"
        ))
    };
    let parsed =
        axis(values, name, text).map_err(|e| Error::invalid(format!("{e}; to select by index, write {name}=@0:10")));
    let axis = parsed?;
    if axis.step != 1 {
        return Err(wrong("values cannot have a step"));
    }
    let Some(range) = axis.range else {
        return Ok(0..values.values.len());
    };
    let whole = values.values.datatype.is_integer() && !values.values.datatype.is_datetime();
    let value = |i: usize| match values.at(i) {
        Some(v) if whole => v.as_f64().map(Scalar::F64),
        other => other,
    };
    let inside = |i: &usize| value(*i).is_some_and(|v| range.contains(&v));
    let mut found = (0..values.values.len()).filter(inside);
    let Some(first) = found.next() else {
        // A single value means the nearest one. A range means what lies within it.
        let nearest = nearest(values, &range.lo).filter(|_| !has_ends(values, text));
        return nearest
            .map(|place| place..place + 1)
            .ok_or_else(|| wrong(&format!("no value is there; {}", extremes(values))));
    };
    let mut end = first + 1;
    for place in found {
        if place != end {
            return Err(wrong("the values in this range are not next to each other"));
        }
        end += 1;
    }
    Ok(first..end)
}

/// Parses the range as one of a dimension with the values' type.
fn axis(values: &AxisValues, name: &str, text: &str) -> Result<Axis> {
    let column = &values.values;
    // Whole numbers are compared with fractions too.
    let datatype = match column.datatype {
        t if t.is_integer() && !t.is_datetime() => Datatype::Float64,
        t if column.cell.is_var() && !t.is_string() => Datatype::StringAscii,
        t => t,
    };
    let domain = labels::everything(datatype);
    let dimension = Dimension {
        name: name.to_owned(),
        datatype,
        cell: column.cell,
        filters: crate::format::pipeline::Pipeline::default(),
        domain: domain.clone(),
        extent: None,
    };
    let whole = Axis::of(domain.clone());
    coordinate::axis(text, domain, &dimension, &whole, Beyond::Refused)
}

/// The place of the nearest value, if it is at most half as far away as its neighbour.
fn nearest(values: &AxisValues, wanted: &Scalar) -> Option<usize> {
    let number = |i: usize| values.at(i).and_then(|v| v.as_f64()).filter(|v| !v.is_nan());
    let wanted = wanted.as_f64()?;
    let distance = |i: &usize| number(*i).map_or(f64::INFINITY, |v| (v - wanted).abs());
    let place: usize = (0..values.values.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let neighbours = [place.checked_sub(1), Some(place + 1)].into_iter().flatten();
    let steps = neighbours.filter_map(|i| Some((number(i)? - number(place)?).abs()));
    let widest = steps.fold(0.0, f64::max);
    (distance(&place) <= widest / 2.0).then_some(place)
}

/// The ends of the axis, for messages.
fn extremes(values: &AxisValues) -> String {
    let shown = |v: Scalar| match values.values.datatype {
        t if t.is_datetime() => v.as_i128().map_or_else(String::new, |v| calendar::format(v as i64, t)),
        t => coordinate_text(&v, t),
    };
    let ends = (values.at(0), values.at(values.values.len().saturating_sub(1)));
    match ends {
        (Some(first), Some(last)) => format!("the values go from {} to {}", shown(first), shown(last)),
        _ => "there are no values".to_owned(),
    }
}
