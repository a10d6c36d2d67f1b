//! One cell as text: a number, a date, a string, or a list of numbers.

use std::io::Write as _;

use crate::calendar;
use crate::column::{Column, typed};
use crate::datatype::{CellCount, Datatype, Physical};
use crate::scalar::Scalar;

/// What a cell looks like before it is dressed for CSV or JSON.
#[derive(Debug, PartialEq)]
pub(super) enum Cell {
    /// Null; without words, also a float that is no finite number and a time that is none.
    Nothing,
    /// Bare: a number, a truth value or a list of them.
    Bare(Vec<u8>),
    /// A string or a date: UTF-8, but for strings that are stored as something else.
    Quoted(Vec<u8>),
}

/// Cell `i` of `column`. `words`: whether there are words for what is no number and no time, `nan`, `inf`, `-inf` and
/// `NaT`; JSON has none.
pub(super) fn cell(column: &Column, i: usize, words: bool) -> Cell {
    if column.is_null(i) {
        return Cell::Nothing;
    }
    let bytes = column.cell(i);
    let t = column.datatype;
    if t.is_string() || t.is_opaque() {
        return Cell::Quoted(string(bytes, t, column.cell));
    }
    if column.cell == CellCount::ONE {
        return match value(bytes, t, words) {
            None => Cell::Nothing,
            Some(text) if t.is_datetime() => Cell::Quoted(text.into_bytes()),
            Some(text) => Cell::Bare(text.into_bytes()),
        };
    }
    let mut list = vec![b'['];
    for (k, one) in bytes.chunks_exact(t.size()).enumerate() {
        if k > 0 {
            list.push(b',');
        }
        let text = value(one, t, words);
        let _ = match text {
            None => list.write_all(b"null"),
            Some(text) if t.is_datetime() => write!(list, "\"{text}\""),
            Some(text) => list.write_all(text.as_bytes()),
        };
    }
    list.push(b']');
    Cell::Bare(list)
}

/// One value; without `words`, `None` for NaN, infinities and "not a time".
fn value(bytes: &[u8], datatype: Datatype, words: bool) -> Option<String> {
    let scalar = Scalar::from_le_bytes(datatype.physical(), bytes)?;
    let word = |v: f64| match v {
        f64::INFINITY => "inf".to_owned(),
        f64::NEG_INFINITY => "-inf".to_owned(),
        _ => "nan".to_owned(),
    };
    match scalar {
        Scalar::F32(v) if v.is_finite() => Some(format!("{v:?}")),
        Scalar::F64(v) if v.is_finite() => Some(format!("{v:?}")),
        Scalar::F32(v) => words.then(|| word(f64::from(v))),
        Scalar::F64(v) => words.then(|| word(v)),
        Scalar::Bytes(_) => None,
        Scalar::U8(v) if datatype == Datatype::Bool => Some((v != 0).to_string()),
        Scalar::I64(v) if datatype.is_datetime() => (words || v != i64::MIN).then(|| calendar::format(v, datatype)),
        other => other.as_i128().map(|v| v.to_string()),
    }
}

/// A string cell; opaque bytes in hexadecimal. The zeros that pad cells of a fixed length are left out, as numpy
/// does.
fn string(bytes: &[u8], datatype: Datatype, cell: CellCount) -> Vec<u8> {
    let text = match datatype {
        Datatype::Any | Datatype::Blob | Datatype::GeomWkb => {
            return bytes.iter().flat_map(|b| format!("{b:02x}").into_bytes()).collect();
        }
        _ => match datatype.physical() {
            Physical::U16 => String::from_utf16_lossy(&typed::<u16>(bytes)).into_bytes(),
            Physical::U32 => typed::<u32>(bytes)
                .iter()
                .map(|&c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect::<String>()
                .into_bytes(),
            _ => bytes.to_vec(),
        },
    };
    let padding = if cell.is_var() {
        0
    } else {
        text.iter().rev().take_while(|b| **b == 0).count()
    };
    text.get(..text.len() - padding).unwrap_or_default().to_vec()
}
