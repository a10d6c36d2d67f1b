//! Selections by dimension labels, such as `lat=30.0:40.0`, where `lat` labels the dimension `y`.

use super::{Axis, Beyond, coordinate, lexer};
use crate::array::Array;
use crate::datatype::{Datatype, Physical};
use crate::error::{Error, Result};
use crate::format::dimension_label::DimensionLabel;
use crate::format::domain::Dimension;
use crate::scalar::{Scalar, ScalarRange};

/// The same selection by the coordinates of the dimension.
pub(super) async fn by_coordinates(array: &Array, label: &DimensionLabel, text: &str) -> Result<String> {
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
    let whole = Axis::of(values.domain.clone());
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
        ..Axis::of(Some(range))
    };
    Ok(format!(
        "{}={}",
        lexer::quote(&dimension.name),
        axis.text(dimension.datatype)
    ))
}

/// The range of all values of a number type; `None` for strings, which have no bounds.
pub(super) fn everything(datatype: Datatype) -> Option<ScalarRange> {
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
