//! Prints values and tables. Names and values may come from untrusted files, so the control characters that a terminal
//! would obey are escaped.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};
use hyperslab::internals::scalar::json_word;
use hyperslab::internals::view::selection::display_name;
use hyperslab::internals::{coloured_message, escape, printable};
use hyperslab::schema::{Attribute, Dimension};
use hyperslab::{CellCount, Datatype, Scalar, ScalarRange};
use serde_json::Value;

/// Prints a line, or a JSON document, whose values stay exact. `println!` would panic on a closed pipe or a full disk.
pub(crate) fn line(text: impl Display) -> Result<()> {
    print(&printable(&text.to_string(), &['\n']))
}

/// Prints a value. Control characters are not escaped in a pipe or a file.
pub(crate) fn value(text: &str) -> Result<()> {
    if io::stdout().is_terminal() {
        print(&printable(text, &['\n', '\t']))
    } else {
        print(text)
    }
}

fn print(text: &str) -> Result<()> {
    writeln!(io::stdout().lock(), "{text}").context("cannot write to standard output")
}

/// Prints a report or a message on standard error, with its colours only on a terminal. Ignores write errors, on which
/// `eprintln!` would panic.
pub(crate) fn styled(text: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints a warning: the result may not be what was meant.
pub(crate) fn warning(text: impl Display) {
    styled(coloured_message("warning", &text.to_string()));
}

/// Prints a note: what else the command did.
pub(crate) fn note(text: impl Display) {
    styled(coloured_message("note", &text.to_string()));
}

/// Prints rows with their columns aligned.
pub(crate) fn table(header: &[&str], rows: Vec<Vec<String>>) -> Result<()> {
    let mut all: Vec<Vec<String>> = Vec::new();
    if !header.is_empty() && !rows.is_empty() {
        all.push(header.iter().map(|h| (*h).to_owned()).collect());
    }
    // A name may contain line ends.
    let cell = |cell: String| printable(&cell, &[]).into_owned();
    all.extend(rows.into_iter().map(|row| row.into_iter().map(cell).collect()));
    let columns = all.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| {
        all.iter()
            .filter_map(|r| r.get(i))
            .map(|c| c.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in &all {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells.map(|(c, w)| format!("{c:<w$}")).collect();
        line(cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// At most `n` characters, on one line.
pub(crate) fn shorten(text: &str, n: usize) -> String {
    let text = text.replace(['\n', '\r', '\t'], " ");
    if text.chars().count() <= n {
        text
    } else {
        text.chars().take(n.saturating_sub(1)).chain(['…']).collect()
    }
}

/// A number, a date or a boolean as JSON. Values that JSON lacks become strings.
pub(crate) fn json(datatype: Datatype, bytes: &[u8]) -> Value {
    let value = Scalar::from_le_bytes(datatype.physical(), bytes);
    if let Some(text) = value.as_ref().and_then(|v| v.date_text(datatype)) {
        return Value::from(text);
    }
    match value {
        Some(Scalar::U8(v)) if datatype == Datatype::Bool => Value::from(v != 0),
        Some(Scalar::F32(v)) => float(f64::from(v), format!("{v}")),
        Some(Scalar::F64(v)) => float(v, format!("{v}")),
        Some(v) => v
            .as_i128()
            .and_then(|v| {
                i64::try_from(v)
                    .ok()
                    .map(Value::from)
                    .or_else(|| u64::try_from(v).ok().map(Value::from))
            })
            .unwrap_or(Value::Null),
        None => Value::Null,
    }
}

fn float(v: f64, text: String) -> Value {
    // Converted through text, so that a float32 of 0.1 stays 0.1.
    json_word(v).map_or_else(|| text.parse::<f64>().map_or(Value::Null, Value::from), Value::from)
}

/// The text that a string datatype stores.
pub(crate) fn string(datatype: Datatype, bytes: &[u8]) -> String {
    match datatype.size() {
        2 => String::from_utf16_lossy(
            &bytes
                .chunks_exact(2)
                .filter_map(|c| Some(u16::from_le_bytes(c.try_into().ok()?)))
                .collect::<Vec<_>>(),
        ),
        4 => {
            let points = bytes
                .chunks_exact(4)
                .filter_map(|c| Some(u32::from_le_bytes(c.try_into().ok()?)));
            points
                .map(|c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        }
        _ => escape::text(bytes).into_owned(),
    }
}

/// Bytes as hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// A coordinate.
pub(crate) fn coordinate(datatype: Datatype, value: &Scalar) -> Value {
    match value {
        Scalar::Bytes(bytes) => Value::from(string(datatype, bytes)),
        other => json(datatype, &other.to_le_bytes()),
    }
}

/// A coordinate without quotes.
pub(crate) fn coordinate_text(datatype: Datatype, value: &Scalar) -> String {
    match coordinate(datatype, value) {
        Value::String(s) => s,
        other => other.to_string(),
    }
}

/// `lo..hi` along one dimension, with both ends included.
pub(crate) fn range(dimension: &Dimension, range: &ScalarRange) -> String {
    format!(
        "{}..{}",
        coordinate_text(dimension.datatype, &range.lo),
        coordinate_text(dimension.datatype, &range.hi)
    )
}

/// `name int64 0..99 by 10`.
pub(crate) fn dimension(d: &Dimension) -> String {
    let mut text = format!("{} {}", if d.name.is_empty() { "_" } else { &d.name }, d.datatype);
    if let Some(domain) = &d.domain {
        text.push_str(&format!(" {}", range(d, domain)));
    }
    if let Some(extent) = &d.extent {
        let plain = d.extent_cells().map_or_else(
            || extent.as_f64().map_or_else(String::new, |v| v.to_string()),
            |cells| cells.to_string(),
        );
        text.push_str(&format!(" by {plain}"));
    }
    text
}

/// `mag float32`, with its cell count and `?` if it is nullable.
pub(crate) fn attribute(a: &Attribute) -> String {
    let cell = match a.cell {
        CellCount::Fixed(1) => String::new(),
        CellCount::Fixed(n) => format!("[{n}]"),
        CellCount::Var => "[]".to_owned(),
    };
    let nullable = if a.nullable { "?" } else { "" };
    format!("{} {}{cell}{nullable}", display_name(&a.name), a.datatype)
}

/// `1 fragment`, `2 fragments`.
pub(crate) fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The number of cells in a range of integers.
pub(crate) fn length(range: &ScalarRange) -> Option<u128> {
    u128::try_from(range.hi.as_i128()? - range.lo.as_i128()? + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_above_the_signed_maximum_are_shown_unsigned() {
        let mut d = Dimension::new("d", Datatype::Int64, i64::MIN, i64::MAX - 1, -1_i64);
        assert!(dimension(&d).ends_with(" by 18446744073709551615"), "{}", dimension(&d));
        d = Dimension::new("d", Datatype::Float32, 0.0_f32, 1.0_f32, 0.5_f32);
        assert!(dimension(&d).ends_with(" by 0.5"), "{}", dimension(&d));
    }
}
