//! Selections by dimension labels, such as `lat=30.0:40.0`, where `lat` labels the dimension `y`.

use super::{Axis, Beyond, Selection, coordinate, lexer, parse_with};
use crate::array::Array;
use crate::datatype::{Datatype, Physical};
use crate::error::{Error, Result};
use crate::format::dimension_label::DimensionLabel;
use crate::format::domain::Dimension;
use crate::scalar::{Scalar, ScalarRange};

/// Parses a selection of `array` for reading, like [`parse`](super::parse) but clipped to the domain. An item may name a dimension label to select the coordinates with
/// these labels. Omitted ends are taken from the non-empty domain.
///
/// # Errors
/// Same as [`parse`](super::parse), and errors of reading the labels. [`Error::InvalidArgument`] if no coordinate has such a label,
/// or if the coordinates with such labels are not contiguous.
pub async fn read(array: &Array, text: &str) -> Result<Selection> {
    let (schema, written) = (array.schema(), array.non_empty_domain());
    let (names, body) = match lexer::split_once(text, '@') {
        Some((names, body)) => (Some(names), body),
        None => (None, text),
    };
    let mut items: Vec<String> = Vec::new();
    let mut labelled = false;
    for item in lexer::split(body, ',') {
        let label = match lexer::split_once(item, '=') {
            Some((name, range)) => {
                let name = lexer::unquote(name)?;
                let label = schema.labels.iter().find(|l| l.name == name);
                label.filter(|_| schema.dimension(&name).is_none()).zip(Some(range))
            }
            None => None,
        };
        labelled |= label.is_some();
        items.push(match label {
            Some((label, range)) => by_coordinates(array, label, range).await?,
            None => item.to_owned(),
        });
    }
    if !labelled {
        return parse_with(text, schema, written.as_deref(), Beyond::Clipped);
    }
    let names = names.map_or_else(String::new, |names| format!("{names}@"));
    let text = names + &items.join(",");
    parse_with(&text, schema, written.as_deref(), Beyond::Clipped)
}

/// The same selection by the coordinates of the dimension.
async fn by_coordinates(array: &Array, label: &DimensionLabel, text: &str) -> Result<String> {
    let wrong = |why: &str| Error::invalid(format!("'{text}' (dimension label '{}'): {why}", label.name));
    let dimension = usize::try_from(label.dimension).ok();
    let dimension = dimension.and_then(|d| array.schema().dimensions.get(d));
    let dimension = dimension.ok_or_else(|| wrong("the labelled dimension does not exist"))?;
    let values = Dimension {
        name: label.name.clone(),
        datatype: label.datatype,
        cell: label.cell,
        domain: everything(label.datatype),
        ..dimension.clone()
    };
    let whole = Axis {
        range: values.domain.clone(),
        step: 1,
        single: false,
    };
    let axis = coordinate::axis(text, values.domain.clone(), &values, &whole, Beyond::Refused)?;
    if axis.step != 1 {
        return Err(wrong(
            "labels cannot have a step; select coordinates of the dimension with a step",
        ));
    }
    let range = axis
        .range
        .ok_or_else(|| wrong("write the first and the last label, as in first:last"))?;
    let mut found = array.labelled(&label.name, &range).await?;
    let Some(range) = found.pop() else {
        return Err(wrong("no coordinate has such a label"));
    };
    if !found.is_empty() {
        let dimension = &dimension.name;
        return Err(wrong(&format!(
            "the coordinates with such labels are not contiguous; select them along '{dimension}'"
        )));
    }
    let axis = Axis {
        single: axis.single && range.lo == range.hi,
        range: Some(range),
        step: 1,
    };
    Ok(format!(
        "{}={}",
        lexer::quote(&dimension.name),
        axis.text(dimension.datatype)
    ))
}

/// The range of all values of a number type; `None` for strings, which have no bounds.
fn everything(datatype: Datatype) -> Option<ScalarRange> {
    let integers = |bits: u32, signed: bool| {
        let (lo, hi) = if signed {
            (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            (0, (1 << bits) - 1)
        };
        Some(ScalarRange {
            lo: Scalar::from_i128(datatype, lo)?,
            hi: Scalar::from_i128(datatype, hi)?,
        })
    };
    match datatype.physical() {
        _ if datatype.is_string() => None,
        Physical::F32 => Some(ScalarRange::new(f32::NEG_INFINITY, f32::INFINITY)),
        Physical::F64 => Some(ScalarRange::new(f64::NEG_INFINITY, f64::INFINITY)),
        Physical::I8 => integers(8, true),
        Physical::I16 => integers(16, true),
        Physical::I32 => integers(32, true),
        Physical::I64 => integers(64, true),
        Physical::U8 => integers(8, false),
        Physical::U16 => integers(16, false),
        Physical::U32 => integers(32, false),
        Physical::U64 => integers(64, false),
    }
}
