//! Converts the values of a condition to a field's type.

use std::collections::HashMap;

use hashlink::DefaultHashBuilder;

use super::parse::numbers;
use crate::calendar;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::enumeration::Enumeration;
use crate::format::field::Field;
use crate::scalar::Scalar;

/// Whether a cell is compared as a single number instead of as bytes.
pub(super) fn is_number(field: &Field) -> bool {
    field.cell == CellCount::ONE && (!field.datatype.is_bytes() || matches!(field.datatype.size(), 2 | 4))
}

/// Whether cells are lists of numbers.
fn holds_numbers(field: &Field) -> bool {
    field.cell != CellCount::ONE && !field.datatype.is_bytes()
}

/// Converts `value` to a number of `datatype`; `None` if there is no such number. Literals for `float32` are rounded,
/// so that `x == 0.1` finds cells written as 0.1.
pub(super) fn exact(field: &str, value: &Scalar, datatype: Datatype) -> Result<Option<Scalar>> {
    let Some(float) = value.as_f64() else {
        return Err(Error::invalid(format!(
            "condition: '{field}' holds {datatype} and cannot be compared with a string; use a number"
        )));
    };
    Ok(match datatype {
        // Rounding is intended, but it must not turn a finite number into infinity.
        Datatype::Float32 => Some(float as f32)
            .filter(|v| v.is_finite() || !float.is_finite())
            .map(Scalar::F32),
        Datatype::Float64 => Some(Scalar::F64(float)),
        _ => {
            let whole = value
                .as_i128()
                .or_else(|| (float.fract() == 0.0).then_some(float as i128));
            whole.and_then(|v| Scalar::from_i128(datatype, v))
        }
    })
}

/// The bytes of a cell that equals `value`.
pub(super) fn cell_bytes(field: &Field, value: &Scalar) -> Result<Vec<u8>> {
    let name = &field.name;
    let one_byte = field.datatype.size() == 1;
    if holds_numbers(field) && !one_byte {
        return Err(Error::invalid(format!(
            "condition: '{name}' holds several {} values per cell, which conditions cannot test; choose another field",
            field.datatype
        )));
    }
    match value {
        Scalar::Bytes(bytes) if one_byte => Ok(bytes.clone()),
        Scalar::Bytes(bytes) => utf_units(bytes, field.datatype)
            .ok_or_else(|| Error::invalid(format!("condition: '{name}' holds text, but {value} is not valid text"))),
        _ if one_byte && field.cell == CellCount::ONE => {
            let v = exact(name, value, field.datatype)?;
            v.map(|v| v.to_le_bytes())
                .ok_or_else(|| Error::invalid(format!("condition: {value} does not fit {}", field.datatype)))
        }
        _ => Err(Error::invalid(format!(
            "condition: '{name}' holds {}; put the value in quotes",
            field.datatype
        ))),
    }
}

/// Converts UTF-8 text to the code units of a wider string type.
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

/// The bytes of a cell of several numbers; `None` if its type does not have these numbers.
fn number_list_bytes(field: &Field, value: &Scalar) -> Result<Option<Vec<u8>>> {
    let text = match value {
        Scalar::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    };
    let Some(Ok(numbers)) = text.map(numbers) else {
        return Err(Error::invalid(format!(
            "condition: values of '{}' are lists of {}; write a list as '[1, 2]', with quotes",
            field.name, field.datatype
        )));
    };
    let exact = numbers.iter().map(|v| exact(&field.name, v, field.datatype));
    let exact = exact.collect::<Result<Option<Vec<Scalar>>>>()?;
    Ok(exact.map(|all| all.iter().flat_map(Scalar::to_le_bytes).collect()))
}

/// Parses a date as a single value of `datatype`; `None` if it is between two values. Periods are errors, because an
/// enumeration holds single values.
fn one_date(field: &str, text: &[u8], datatype: Datatype) -> Result<Option<i64>> {
    let text = String::from_utf8_lossy(text);
    let (first, last) =
        calendar::starts(&text, datatype).map_err(|e| Error::invalid(format!("condition on '{field}': {e}")))?;
    if first >= last {
        return Ok((first == last).then_some(first));
    }
    let first = calendar::format(first, datatype);
    Err(Error::invalid(format!(
        "condition on '{field}': '{text}' is a period, but the enumeration holds {datatype} values; write one in full, such as '{first}'"
    )))
}

/// The index of each of `values` in an enumeration; `None` for values that it lacks.
pub(super) fn enumeration_indexes(field: &str, values: &[Scalar], e: &Enumeration) -> Result<Vec<Option<u64>>> {
    let member = Field::new(field, e.values.datatype, e.values.cell);
    let wanted = values.iter().map(|v| member_bytes(&member, v));
    let wanted: Vec<Option<Vec<u8>>> = wanted.collect::<Result<_>>()?;
    // Fixed-length text is padded with zeros.
    let is_padded = !member.cell.is_var() && !is_number(&member) && !holds_numbers(&member);
    let trimmed = |cell: &'_ [u8]| cell.len() - cell.iter().rev().take_while(|&&b| b == 0).count();
    let mut found: HashMap<&[u8], Option<u64>, DefaultHashBuilder> =
        wanted.iter().flatten().map(|bytes| (bytes.as_slice(), None)).collect();
    for (i, cell) in (0..).zip((0..e.values.len()).map(|i| e.values.cell(i))) {
        let text = cell.get(..trimmed(cell)).filter(|_| is_padded);
        for bytes in [Some(cell), text].into_iter().flatten() {
            if let Some(index) = found.get_mut(bytes) {
                index.get_or_insert(i);
            }
        }
    }
    let index = |bytes: &Option<Vec<u8>>| found.get(bytes.as_deref()?).copied().flatten();
    Ok(wanted.iter().map(index).collect())
}

/// The bytes of `value` in an enumeration with values of this type; `None` if no member can equal it.
fn member_bytes(member: &Field, value: &Scalar) -> Result<Option<Vec<u8>>> {
    let datatype = member.datatype;
    if let (Scalar::Bytes(text), true) = (value, datatype.is_datetime() && is_number(member)) {
        return Ok(one_date(&member.name, text, datatype)?.map(|v| v.to_le_bytes().to_vec()));
    }
    if is_number(member) {
        return Ok(exact(&member.name, value, datatype)?.map(|v| v.to_le_bytes()));
    }
    if holds_numbers(member) {
        return number_list_bytes(member, value);
    }
    cell_bytes(member, value).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;

    #[test]
    fn enumerated_dates_are_found_by_text() {
        let find = |datatype, text: &str| {
            let e = Enumeration {
                name: "e".into(),
                file: String::new(),
                ordered: false,
                values: Column::from_values(datatype, &[10_i64, -5, 86_400_000]),
            };
            let found = enumeration_indexes("a", &[Scalar::from(text)], &e);
            found.map(|all| all[0]).map_err(|e| e.to_string())
        };
        assert_eq!(find(Datatype::DatetimeDay, "1970-01-11"), Ok(Some(0)));
        assert_eq!(find(Datatype::DatetimeDay, "1969-12-27"), Ok(Some(1)));
        assert_eq!(find(Datatype::DatetimeDay, "1970-01-12"), Ok(None));
        assert_eq!(find(Datatype::DatetimeMs, "1970-01-02T00:00:00.000"), Ok(Some(2)));
        let period = find(Datatype::DatetimeMs, "1970-01-02").unwrap_err();
        assert!(period.contains("such as '1970-01-02T00:00:00.000'"), "{period}");
        assert!(find(Datatype::DatetimeDay, "x").is_err());
    }

    #[test]
    fn members_are_found_without_padding() {
        let e = Enumeration {
            name: "e".into(),
            file: String::new(),
            ordered: false,
            values: Column {
                cell: CellCount::Fixed(2),
                ..Column::from_values(Datatype::StringAscii, b"ab\0\0c\0dd")
            },
        };
        let values = ["dd", "c", "e", "", "c", "ab"].map(Scalar::from);
        let found = enumeration_indexes("a", &values, &e).unwrap();
        assert_eq!(found, [Some(3), Some(2), None, Some(1), Some(2), Some(0)]);
    }
}
