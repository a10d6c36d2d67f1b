//! The header of numpy's `.npy` files.

use super::Frame;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::view::selection::column_names;

/// Alignment of the values in bytes, so that they can be memory-mapped.
const ALIGN: usize = 64;

/// Encodes magic, version, length, and the dictionary that describes the values.
///
/// A single field that is not nullable becomes a plain array, with one more axis for several values per cell. Two floats
/// per cell are a complex number, as in TileDB-Py. Other fields become a structured array. In it, a nullable field `a` is followed by a bool `a_valid`, or `a_valid_` if that
/// name is taken.
///
/// # Errors
/// [`Error::InvalidArgument`] for several values per cell in column-major order, which would separate them.
pub(super) fn header(frame: &Frame) -> Result<Vec<u8>> {
    let fields = &frame.fields;
    let mut shape = frame.shape.clone();
    let descr = match fields.as_slice() {
        [field] if !field.nullable => {
            let (dtype, count) = dtype(field);
            if count.is_some() && frame.column_major {
                return Err(Error::invalid(
                    "cells of several values cannot be written in column-major order; use row-major",
                ));
            }
            shape.extend(count);
            format!("'{dtype}'")
        }
        _ => {
            let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
            let all = fields.iter().zip(column_names(&names));
            format!(
                "[{}]",
                all.map(|(f, n)| structured(f, &n)).collect::<Vec<_>>().join(", ")
            )
        }
    };
    let axes = match shape.as_slice() {
        [one] => format!("{one},"),
        axes => axes.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    };
    let fortran = if frame.column_major { "True" } else { "False" };
    let dictionary = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': ({axes}), }}");
    // The length has 2 bytes in version 1, and 4 bytes later. Version 2 is Latin-1, version 3 is UTF-8.
    let version = match (dictionary.is_ascii(), dictionary.len() + ALIGN > usize::from(u16::MAX)) {
        (false, _) => 3,
        (true, true) => 2,
        (true, false) => 1,
    };
    let before = if version == 1 { 10 } else { 12 };
    let total = (before + dictionary.len() + 1).next_multiple_of(ALIGN);
    let mut out = b"\x93NUMPY".to_vec();
    out.extend([version, 0]);
    let length = (total - before) as u64;
    out.extend(length.to_le_bytes().iter().take(before - 8));
    out.extend(dictionary.bytes());
    out.resize(total - 1, b' ');
    out.push(b'\n');
    Ok(out)
}

fn structured(field: &Field, (name, valid): &(String, String)) -> String {
    let quoted = |name: &str| name.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
    let name = quoted(name);
    let (dtype, count) = dtype(field);
    let values = match count {
        None => format!("('{name}', '{dtype}')"),
        Some(n) => format!("('{name}', '{dtype}', ({n},))"),
    };
    if field.nullable {
        format!("{values}, ('{}', '|b1')", quoted(valid))
    } else {
        values
    }
}

/// numpy's type code of the field, and the length of an additional axis for several values per cell.
fn dtype(field: &Field) -> (String, Option<u64>) {
    let count = match field.cell {
        CellCount::Fixed(n) => u64::from(n),
        CellCount::Var => 0,
    };
    let size = field.datatype.size();
    let whole_cell = |code: &str| (format!("{code}{count}"), None);
    match field.datatype {
        Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8 => return whole_cell("|S"),
        Datatype::StringUtf32 | Datatype::StringUcs4 => return whole_cell("<U"),
        t if t.is_opaque() => return whole_cell("|V"),
        _ => {}
    }
    if field.is_complex() {
        return (format!("<c{}", 2 * size), None);
    }
    let code = match field.datatype {
        Datatype::Bool => "|b1".to_owned(),
        t if t.is_datetime() => format!("<M8[{}]", unit(t)),
        t if t.is_time() => format!("<m8[{}]", unit(t)),
        t => {
            let kind = match t.physical() {
                crate::Physical::F32 | crate::Physical::F64 => 'f',
                crate::Physical::I8 | crate::Physical::I16 | crate::Physical::I32 | crate::Physical::I64 => 'i',
                _ => 'u',
            };
            format!("{}{kind}{size}", if size == 1 { '|' } else { '<' })
        }
    };
    (code, (count != 1).then_some(count))
}

/// numpy's code of a time unit.
const fn unit(datatype: Datatype) -> &'static str {
    match datatype {
        Datatype::DatetimeYear => "Y",
        Datatype::DatetimeMonth => "M",
        Datatype::DatetimeWeek => "W",
        Datatype::DatetimeDay => "D",
        Datatype::DatetimeHr | Datatype::TimeHr => "h",
        Datatype::DatetimeMin | Datatype::TimeMin => "m",
        Datatype::DatetimeSec | Datatype::TimeSec => "s",
        Datatype::DatetimeMs | Datatype::TimeMs => "ms",
        Datatype::DatetimeUs | Datatype::TimeUs => "us",
        Datatype::DatetimeNs | Datatype::TimeNs => "ns",
        Datatype::DatetimePs | Datatype::TimePs => "ps",
        Datatype::DatetimeFs | Datatype::TimeFs => "fs",
        _ => "as",
    }
}
