//! Text tables with one line per cell: `.csv`, `.tsv`, `.json` and `.jsonl`.

use super::text::{self, Cell, Words};
use super::{Encode, Frame, wrong_columns};
use crate::column::Column;
use crate::datatype::CellCount;
use crate::error::Result;
use crate::escape;
use crate::format::field::Field;
use crate::scalar::Scalar;
use crate::view::selection::column_names;

/// The syntax of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// A header, then values with this separator.
    Separated(u8),
    /// A JSON list of objects.
    List,
    /// One JSON object per line.
    Lines,
}

/// Encodes a table.
#[derive(Debug)]
pub(super) struct TextTable {
    style: Style,
    fields: Vec<Field>,
    /// The displayed name of each field.
    names: Vec<String>,
    /// `"name":` of each field, encoded as JSON.
    keys: Vec<Vec<u8>>,
    rows: u64,
}

impl TextTable {
    pub(super) fn new(style: Style, frame: &Frame) -> Self {
        let key = |name: &String| {
            let mut key = Vec::new();
            json_string(&mut key, name);
            key.push(b':');
            key
        };
        let names: Vec<&str> = frame.fields.iter().map(|f| f.name.as_str()).collect();
        let names: Vec<String> = column_names(&names).into_iter().map(|n| n.0).collect();
        Self {
            style,
            keys: names.iter().map(key).collect(),
            names,
            fields: frame.fields.clone(),
            rows: 0,
        }
    }

    fn separated_row(&self, out: &mut Vec<u8>, columns: &[Column], i: usize, separator: u8) {
        for (k, (column, field)) in columns.iter().zip(&self.fields).enumerate() {
            if k > 0 {
                out.push(separator);
            }
            if is_unwritten_text(column, field, i) {
                continue;
            }
            match labelled(column, field, i, Words::Plain) {
                Cell::Nothing => {}
                Cell::Bare(text) => separated(out, &text, separator),
                // Quotes distinguish an empty string from null.
                Cell::Quoted(text) if text.is_empty() => out.extend(b"\"\""),
                Cell::Quoted(text) => separated(out, &text, separator),
            }
        }
        out.push(b'\n');
    }

    fn object(&self, out: &mut Vec<u8>, columns: &[Column], i: usize) {
        out.push(b'{');
        for (k, ((column, field), key)) in columns.iter().zip(&self.fields).zip(&self.keys).enumerate() {
            if k > 0 {
                out.push(b',');
            }
            out.extend(key);
            match labelled(column, field, i, Words::Json) {
                Cell::Nothing => out.extend(b"null"),
                Cell::Bare(text) => out.extend(text),
                // JSON must be UTF-8, so other bytes are escaped.
                Cell::Quoted(text) => json_string(out, &escape::text(&text)),
            }
        }
        out.push(b'}');
    }
}

impl Encode for TextTable {
    fn size(&self) -> Option<u64> {
        None
    }

    /// The smallest size of a row in bytes, without coordinates: syntax, and one digit for each value that cannot be
    /// empty.
    fn text_bytes_at_least(&self) -> u64 {
        let fields = self.fields.len() as u64;
        let may_be_nothing = |f: &Field| f.nullable || f.enumeration.is_some() || f.datatype.is_bytes();
        let digits = |f: &Field| u64::from(!may_be_nothing(f) && f.cell == CellCount::ONE);
        let values: u64 = self.fields.iter().filter(|f| !f.is_dimension()).map(digits).sum();
        match self.style {
            Style::Separated(_) => values + fields,
            // Braces, a comma after each field but the last, and the end of the line.
            Style::List | Style::Lines => values + self.keys.iter().map(|k| k.len() as u64 + 1).sum::<u64>() + 2,
        }
    }

    fn start(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        match self.style {
            Style::Separated(separator) => {
                for (i, name) in self.names.iter().enumerate() {
                    if i > 0 {
                        out.push(separator);
                    }
                    separated(&mut out, name.as_bytes(), separator);
                }
                out.push(b'\n');
            }
            Style::List => out.extend(b"["),
            Style::Lines => {}
        }
        out
    }

    fn cells(&mut self, columns: Vec<Column>) -> Result<Vec<u8>> {
        let rows = columns.first().map_or(0, Column::len);
        if columns.len() != self.fields.len() || columns.iter().any(|c| c.len() != rows) {
            return Err(wrong_columns());
        }
        let mut out = Vec::with_capacity(rows * columns.len() * 8);
        for i in 0..rows {
            match self.style {
                Style::Separated(separator) => self.separated_row(&mut out, &columns, i, separator),
                Style::List => {
                    out.extend(if self.rows == 0 { b"\n".as_slice() } else { b",\n" });
                    self.object(&mut out, &columns, i);
                }
                Style::Lines => {
                    self.object(&mut out, &columns, i);
                    out.push(b'\n');
                }
            }
            self.rows += 1;
        }
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<u8>> {
        Ok(match self.style {
            Style::List => b"\n]\n".to_vec(),
            Style::Separated(_) | Style::Lines => Vec::new(),
        })
    }
}

/// Whether a cell is unwritten variable-length text. Its fill value is a single fill character, which a text file would
/// show as a zero byte.
fn is_unwritten_text(column: &Column, field: &Field, i: usize) -> bool {
    let t = column.datatype;
    let unwritten = !field.is_dimension() && field.fill == t.default_fill();
    t.is_string() && column.cell.is_var() && unwritten && column.cell(i) == field.fill
}

/// The text of a cell. An enumerated cell is shown as its value.
fn labelled(column: &Column, field: &Field, i: usize, words: Words) -> Cell {
    let Some(e) = field.enumeration.as_ref().filter(|_| !column.is_null(i)) else {
        return text::cell(column, i, words);
    };
    let index = Scalar::from_le_bytes(column.datatype.physical(), column.cell(i)).and_then(|v| v.as_i128());
    match index
        .and_then(|v| usize::try_from(v).ok())
        .filter(|&v| v < e.values.len())
    {
        Some(index) => text::cell(&e.values, index, words),
        None => Cell::Nothing,
    }
}

fn separated(out: &mut Vec<u8>, text: &[u8], separator: u8) {
    let special = |b: &u8| *b == separator || matches!(b, b'"' | b'\n' | b'\r');
    let spaces = text.first() == Some(&b' ') || text.last() == Some(&b' ');
    if !spaces && !text.iter().any(special) {
        return out.extend(text);
    }
    out.push(b'"');
    for &b in text {
        if b == b'"' {
            out.push(b'"');
        }
        out.push(b);
    }
    out.push(b'"');
}

fn json_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for c in text.chars() {
        match c {
            '"' => out.extend(b"\\\""),
            '\\' => out.extend(b"\\\\"),
            '\n' => out.extend(b"\\n"),
            '\r' => out.extend(b"\\r"),
            '\t' => out.extend(b"\\t"),
            c if c < ' ' => out.extend(format!("\\u{:04x}", u32::from(c)).bytes()),
            c => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    out.push(b'"');
}
