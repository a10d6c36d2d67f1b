//! What the values of a condition are in terms of a field's type.

use std::sync::Arc;

use super::parse::numbers;
use crate::calendar;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::enumeration::Enumeration;
use crate::scalar::Scalar;

/// What a field's values are.
pub(super) struct FieldType {
    pub(super) datatype: Datatype,
    pub(super) cell: CellCount,
    pub(super) enumeration: Option<Arc<Enumeration>>,
}

impl FieldType {
    /// Whether cells are compared as one number each, rather than as bytes.
    pub(super) fn is_number(&self) -> bool {
        self.cell == CellCount::ONE && !self.datatype.is_string() && !self.datatype.is_opaque()
            || self.cell == CellCount::ONE && matches!(self.datatype.size(), 2 | 4)
    }

    /// Whether cells are lists of numbers.
    fn holds_numbers(&self) -> bool {
        self.cell != CellCount::ONE && !self.datatype.is_string() && !self.datatype.is_opaque()
    }
}

/// `value` as a number of `datatype`; `None` if there is no such number. Literals for `float32` are
/// rounded to it, so that `x == 0.1` finds what was written as 0.1.
pub(super) fn exact(field: &str, value: &Scalar, datatype: Datatype) -> Result<Option<Scalar>> {
    let Some(float) = value.as_f64() else {
        return Err(Error::invalid(format!(
            "condition: '{field}' holds {datatype}, which is compared with numbers; it cannot be compared with a string"
        )));
    };
    // Rounding to float32 is what is wanted; integers are checked.
    Ok(match datatype {
        Datatype::Float32 => Some(Scalar::F32(float as f32)),
        Datatype::Float64 => Some(Scalar::F64(float)),
        _ => {
            let whole = value
                .as_i128()
                .or_else(|| (float.fract() == 0.0).then_some(float as i128));
            whole.and_then(|v| Scalar::from_i128(datatype, v))
        }
    })
}

/// The bytes a cell must have to be equal to `value`.
pub(super) fn cell_bytes(field: &str, value: &Scalar, ty: &FieldType) -> Result<Vec<u8>> {
    let one_byte = ty.datatype.size() == 1;
    if ty.holds_numbers() && !one_byte {
        return Err(Error::invalid(format!(
            "condition: '{field}' holds several {} a cell; conditions cannot test those, choose another field",
            ty.datatype
        )));
    }
    match value {
        Scalar::Bytes(bytes) if one_byte => Ok(bytes.clone()),
        Scalar::Bytes(bytes) => utf_units(bytes, ty.datatype)
            .ok_or_else(|| Error::invalid(format!("condition: '{field}' holds text, and {value} is none"))),
        _ if one_byte && ty.cell == CellCount::ONE => {
            let v = exact(field, value, ty.datatype)?;
            v.map(|v| v.to_le_bytes())
                .ok_or_else(|| Error::invalid(format!("condition: no {} is {value}", ty.datatype)))
        }
        _ => Err(Error::invalid(format!(
            "condition: '{field}' holds {}; put the value in quotes",
            ty.datatype
        ))),
    }
}

/// UTF-8 text in the units of a wider string type.
fn utf_units(bytes: &[u8], datatype: Datatype) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    match datatype {
        Datatype::StringUtf16 | Datatype::StringUcs2 => Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        Datatype::StringUtf32 | Datatype::StringUcs4 => {
            Some(text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect())
        }
        _ => None,
    }
}

/// The bytes of a cell of several numbers; `None` if its type has no such numbers.
fn several(field: &str, value: &Scalar, ty: &FieldType) -> Result<Option<Vec<u8>>> {
    let text = match value {
        Scalar::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    };
    let Some(Ok(numbers)) = text.map(numbers) else {
        return Err(Error::invalid(format!(
            "condition: values of '{field}' are lists of {}; write one as '[1, 2]', in quotes",
            ty.datatype
        )));
    };
    let exact = numbers.iter().map(|v| exact(field, v, ty.datatype));
    let exact = exact.collect::<Result<Option<Vec<Scalar>>>>()?;
    Ok(exact.map(|all| all.iter().flat_map(Scalar::to_le_bytes).collect()))
}

/// A date as text that is a single value of `datatype`, or lies between two: an enumeration has no periods.
fn one_date(field: &str, text: &[u8], datatype: Datatype) -> Result<Option<i64>> {
    let text = String::from_utf8_lossy(text);
    let (first, last) =
        calendar::starts(&text, datatype).map_err(|e| Error::invalid(format!("condition on '{field}': {e}")))?;
    if first >= last {
        return Ok((first == last).then_some(first));
    }
    let first = calendar::format(first, datatype);
    Err(Error::invalid(format!(
        "condition on '{field}': '{text}' is a period, and values of an enumeration are {datatype}: write one in full, such as '{first}'"
    )))
}

/// The index of `value` in an enumeration.
pub(super) fn enumeration_index(field: &str, value: &Scalar, e: &Enumeration) -> Result<Option<u64>> {
    let ty = FieldType {
        datatype: e.values.datatype,
        cell: e.values.cell,
        enumeration: None,
    };
    let numbers = ty.is_number() || ty.holds_numbers();
    let wanted = if let (Scalar::Bytes(text), true) = (value, ty.datatype.is_datetime() && ty.is_number()) {
        one_date(field, text, ty.datatype)?.map(|v| v.to_le_bytes().to_vec())
    } else if ty.is_number() {
        exact(field, value, ty.datatype)?.map(|v| v.to_le_bytes())
    } else if numbers {
        several(field, value, &ty)?
    } else {
        Some(cell_bytes(field, value, &ty)?)
    };
    let Some(wanted) = wanted else { return Ok(None) };
    // Text of a fixed length ends with zeros.
    let trim = |b: &[u8]| b.len() - b.iter().rev().take_while(|&&b| b == 0).count();
    let same =
        |cell: &[u8]| cell == wanted || (!ty.cell.is_var() && !numbers && cell.get(..trim(cell)) == Some(&wanted));
    Ok((0..e.values.len()).find(|&i| same(e.values.cell(i))).map(|i| i as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;

    #[test]
    fn dates_of_an_enumeration_are_found_by_their_text() {
        let find = |datatype, text: &str| {
            let e = Enumeration {
                name: "e".into(),
                file: String::new(),
                ordered: false,
                values: Column::from_values(datatype, &[10_i64, -5, 86_400_000]),
            };
            enumeration_index("a", &Scalar::from(text), &e).map_err(|e| e.to_string())
        };
        assert_eq!(find(Datatype::DatetimeDay, "1970-01-11"), Ok(Some(0)));
        assert_eq!(find(Datatype::DatetimeDay, "1969-12-27"), Ok(Some(1)));
        assert_eq!(find(Datatype::DatetimeDay, "1970-01-12"), Ok(None));
        assert_eq!(find(Datatype::DatetimeMs, "1970-01-02T00:00:00.000"), Ok(Some(2)));
        let period = find(Datatype::DatetimeMs, "1970-01-02").unwrap_err();
        assert!(period.contains("such as '1970-01-02T00:00:00.000'"), "{period}");
        assert!(find(Datatype::DatetimeDay, "x").is_err());
    }
}
