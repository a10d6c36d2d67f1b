//! One cell as text: a number, a date, a string, or a list of numbers.

use std::io::Write as _;

use crate::calendar;
use crate::column::{Column, typed};
use crate::datatype::{CellCount, Datatype, Physical};
use crate::scalar::Scalar;

/// What a cell looks like before it is dressed for CSV or JSON.
#[derive(Debug, PartialEq)]
pub(super) enum Cell {
    /// Null, not a time, or not a number.
    Nothing,
    /// Bare: a number, a truth value or a list of them.
    Bare(Vec<u8>),
    /// A string or a date.
    Quoted(String),
}

/// Cell `i` of `column`.
pub(super) fn cell(column: &Column, i: usize) -> Cell {
    if column.is_null(i) {
        return Cell::Nothing;
    }
    let bytes = column.cell(i);
    let t = column.datatype;
    if t.is_string() || t.is_opaque() {
        return Cell::Quoted(string(bytes, t));
    }
    if column.cell == CellCount::ONE {
        return match value(bytes, t) {
            None => Cell::Nothing,
            Some(text) if t.is_datetime() => Cell::Quoted(text),
            Some(text) => Cell::Bare(text.into_bytes()),
        };
    }
    let mut list = vec![b'['];
    for (k, one) in bytes.chunks_exact(t.size()).enumerate() {
        if k > 0 {
            list.push(b',');
        }
        let text = value(one, t);
        let _ = match text {
            None => list.write_all(b"null"),
            Some(text) if t.is_datetime() => write!(list, "\"{text}\""),
            Some(text) => list.write_all(text.as_bytes()),
        };
    }
    list.push(b']');
    Cell::Bare(list)
}

/// One value; `None` for NaN, infinities and "not a time", which JSON has no word for.
fn value(bytes: &[u8], datatype: Datatype) -> Option<String> {
    let scalar = Scalar::from_le_bytes(datatype.physical(), bytes)?;
    match scalar {
        Scalar::F32(v) if v.is_finite() => Some(format!("{v:?}")),
        Scalar::F64(v) if v.is_finite() => Some(format!("{v:?}")),
        Scalar::F32(_) | Scalar::F64(_) | Scalar::Bytes(_) => None,
        Scalar::U8(v) if datatype == Datatype::Bool => Some((v != 0).to_string()),
        Scalar::I64(v) if datatype.is_datetime() => (v != i64::MIN).then(|| calendar::format(v, datatype)),
        other => other.as_i128().map(|v| v.to_string()),
    }
}

/// A string cell; opaque bytes in hexadecimal. Padding zeros at the end are left out, as numpy does.
fn string(bytes: &[u8], datatype: Datatype) -> String {
    let text = match datatype {
        Datatype::Any | Datatype::Blob | Datatype::GeomWkb => {
            return bytes.iter().map(|b| format!("{b:02x}")).collect();
        }
        _ => match datatype.physical() {
            Physical::U16 => String::from_utf16_lossy(&typed::<u16>(bytes)),
            Physical::U32 => typed::<u32>(bytes)
                .iter()
                .map(|&c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
            _ => String::from_utf8_lossy(bytes).into_owned(),
        },
    };
    text.trim_end_matches('\0').to_owned()
}
