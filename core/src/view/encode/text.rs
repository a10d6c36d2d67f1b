//! Formats a cell as text: a number, a date, a string, or a list of numbers.

use crate::column::{Column, typed};
use crate::datatype::{CellCount, Datatype, Physical};
use crate::scalar::{Scalar, json_word};

/// The text of a cell before it is quoted for CSV or JSON.
#[derive(Debug, PartialEq)]
pub(super) enum Cell {
    /// Null.
    Nothing,
    /// A number, a bool, or a list of them. Needs no quotes.
    Bare(Vec<u8>),
    /// A string, a date, or the name of a non-finite float. The text is UTF-8 unless a stored string is not.
    Quoted(Vec<u8>),
}

/// The spelling of non-finite floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// `nan`, `inf` and `-inf`, as in numpy and pandas.
    Plain,
    /// The strings `"NaN"`, `"Infinity"` and `"-Infinity"`, because JSON has no such numbers.
    Json,
}

/// Formats cell `i` of `column`.
pub(super) fn cell(column: &Column, i: usize, words: Words) -> Cell {
    if column.is_null(i) {
        return Cell::Nothing;
    }
    let bytes = column.cell(i);
    let t = column.datatype;
    if t.is_bytes() {
        return Cell::Quoted(string(bytes, t, column.cell));
    }
    if column.cell == CellCount::ONE {
        return value(bytes, t, words);
    }
    let mut list = vec![b'['];
    for (k, one) in bytes.chunks_exact(t.size()).enumerate() {
        if k > 0 {
            list.push(b',');
        }
        match value(one, t, words) {
            Cell::Nothing => list.extend(b"null"),
            Cell::Bare(text) => list.extend(text),
            Cell::Quoted(text) => {
                list.push(b'"');
                list.extend(text);
                list.push(b'"');
            }
        }
    }
    list.push(b']');
    Cell::Bare(list)
}

/// Formats one value.
fn value(bytes: &[u8], datatype: Datatype, words: Words) -> Cell {
    let Some(scalar) = Scalar::from_le_bytes(datatype.physical(), bytes) else {
        return Cell::Nothing;
    };
    if let Some(word) = scalar.as_f64().and_then(json_word) {
        return match (words, word) {
            (Words::Json, word) => Cell::Quoted(word.into()),
            (Words::Plain, "Infinity") => Cell::Bare(b"inf".to_vec()),
            (Words::Plain, "-Infinity") => Cell::Bare(b"-inf".to_vec()),
            (Words::Plain, _) => Cell::Bare(b"nan".to_vec()),
        };
    }
    if let Some(text) = scalar.date_text(datatype) {
        return Cell::Quoted(text.into_bytes());
    }
    match scalar {
        Scalar::F32(v) => Cell::Bare(format!("{v:?}").into_bytes()),
        Scalar::F64(v) => Cell::Bare(format!("{v:?}").into_bytes()),
        Scalar::U8(v) if datatype == Datatype::Bool => Cell::Bare((v != 0).to_string().into_bytes()),
        other => other
            .as_i128()
            .map_or(Cell::Nothing, |v| Cell::Bare(v.to_string().into_bytes())),
    }
}

/// Formats a string cell; opaque bytes are hexadecimal. The zero padding of fixed-length cells is omitted, as in numpy.
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
