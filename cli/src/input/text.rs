//! Converts text to values of any datatype.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::internals::calendar;
use hyperslab::schema::{Field, FieldId};
use hyperslab::{CellCount, Column, Datatype, Physical, Scalar, ScalarRange};

use super::customs::Customs;

/// The lines on which the rows of a file start. Holds only rows that do not start on the line after the row before.
/// Empty for text that is not from a file.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<(usize, u64)>);

impl Lines {
    /// Records the line on which a row starts. Rows come in order; if a row is recorded twice, the last line counts.
    pub(super) fn note(&mut self, row: usize, line: u64) {
        self.0.pop_if(|(last, _)| *last == row);
        if self.of(row) != Some(line) {
            self.0.push((row, line));
        }
    }

    /// The line on which a row starts, counted from 1.
    pub(crate) fn of(&self, row: usize) -> Option<u64> {
        let before = self.0.partition_point(|(first, _)| *first <= row).checked_sub(1)?;
        let (first, line) = self.0.get(before)?;
        Some(line + (row - first) as u64)
    }

    /// The position of a row, for messages.
    fn place(&self, row: usize) -> String {
        self.of(row)
            .map_or_else(|| format!("value {}", row + 1), |line| format!("line {line}"))
    }
}

/// The treatment of whole numbers that a float type would round. Decimal fractions are always rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Rounding {
    #[default]
    Refused,
    Accepted,
}

/// How text is converted to values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TextRules {
    pub(crate) rounding: Rounding,
    pub(crate) customs: Customs,
}

impl Rounding {
    fn check(self, text: &str, datatype: Datatype) -> Result<()> {
        if self == Self::Accepted || !is_whole(text) {
            return Ok(());
        }
        let rounded = match datatype.physical() {
            Physical::F32 => text.trim().parse::<f32>().ok().map(f64::from),
            Physical::F64 => text.trim().parse::<f64>().ok(),
            _ => None,
        };
        let Some(rounded) = rounded.filter(|f| f.is_finite() && !is_exactly(text, *f)) else {
            return Ok(());
        };
        bail!(
            "{datatype} would round it to {rounded:.0}; write that number to accept this, or import the file into a \
             new array, which keeps all digits"
        )
    }
}

/// Whether a text is digits with an optional sign.
pub(super) fn is_whole(text: &str) -> bool {
    let text = text.trim_ascii();
    let digits = text.strip_prefix('-').or(text.strip_prefix('+')).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a float is exactly the whole number in a text.
pub(super) fn is_exactly(text: &str, float: f64) -> bool {
    let text = text.trim().trim_start_matches('+');
    let (sign, digits) = text.split_at(usize::from(text.starts_with('-')));
    let digits = digits.trim_start_matches('0');
    digits.is_empty() || format!("{float:.0}") == format!("{sign}{digits}")
}

/// Converts a column of text to the type of `field`.
pub(super) fn column(text: &Column, lines: &Lines, rules: TextRules, field: &Field) -> Result<Column> {
    if let Some(e) = &field.enumeration {
        let shown = Field {
            nullable: true,
            ..Field::new(&field.name, e.values.datatype, e.values.cell)
        };
        let values = column(text, lines, rules, &shown)?;
        let known: HashMap<&[u8], usize> = (0..e.values.len()).map(|i| (e.values.cell(i), i)).collect();
        return cells(text, lines, field, |i, _, out| {
            let found = known
                .get(values.cell(i))
                .and_then(|p| Scalar::from_i128(field.datatype, *p as i128));
            let found = found.with_context(|| {
                format!(
                    "it is not a value of enumeration '{}'; add it with `hyperslab evolve`",
                    e.name
                )
            })?;
            out.extend_from_slice(&found.to_le_bytes());
            Ok(())
        });
    }
    if field.datatype.is_string() || field.datatype == Datatype::GeomWkt {
        return cells(text, lines, field, |_, t, out| {
            match field.datatype.size() {
                2 => out.extend(utf8(t)?.encode_utf16().flat_map(u16::to_le_bytes)),
                4 => out.extend(utf8(t)?.chars().flat_map(|c| u32::from(c).to_le_bytes())),
                _ if field.datatype == Datatype::StringUtf8 => out.extend_from_slice(utf8(t)?.as_bytes()),
                _ => out.extend_from_slice(t),
            }
            Ok(())
        });
    }
    if field.datatype.is_opaque() {
        return cells(text, lines, field, |_, t, out| hex(t, out));
    }
    if field.cell == CellCount::ONE {
        return cells(text, lines, field, |_, t, out| {
            let plain = rules.customs.plain(utf8(t)?, field.datatype)?;
            rules.rounding.check(&plain, field.datatype)?;
            number(&plain, field.datatype, out)
        });
    }
    cells(text, lines, field, |_, t, out| {
        let t = utf8(t)?.trim();
        let inner = t
            .strip_prefix('[')
            .and_then(|t| t.strip_suffix(']'))
            .context("write several values as [1,2,3]")?;
        inner
            .split(',')
            .map(|v| v.trim().trim_matches('"'))
            .filter(|v| !v.is_empty())
            .try_for_each(|v| {
                rules.rounding.check(v, field.datatype)?;
                number(v, field.datatype, out)
            })
    })
}

/// Builds a column from each cell's text; cells of fixed length are padded, empty ones may be null.
fn cells(
    text: &Column,
    lines: &Lines,
    field: &Field,
    mut cell: impl FnMut(usize, &[u8], &mut Vec<u8>) -> Result<()>,
) -> Result<Column> {
    let mut data = Vec::new();
    let mut ends = vec![0];
    for i in 0..text.len() {
        let before = data.len();
        if !text.is_null(i) {
            let quote = || {
                let shown = String::from_utf8_lossy(text.cell(i));
                format!("{}, '{}': '{shown}'", lines.place(i), field.name)
            };
            cell(i, text.cell(i), &mut data).with_context(quote)?;
        } else if matches!(field.id, Some(FieldId::Dimension(_))) && !field.datatype.is_string() {
            bail!(
                "{}, '{}': there is no coordinate; fill it in, or remove the line",
                lines.place(i),
                field.name
            );
        } else if !field.nullable {
            empty_cell(field, &mut data).with_context(|| format!("{}, '{}'", lines.place(i), field.name))?;
        }
        if let Some(size) = field.cell.cell_bytes(field.datatype) {
            let written = data.len() - before;
            let padded = text.is_null(i) || field.datatype.is_string() || field.datatype == Datatype::GeomWkt;
            if written > size || (written < size && !padded) {
                bail!(
                    "{}, '{}': the value has {written} bytes, but a cell has {size}",
                    lines.place(i),
                    field.name
                );
            }
            data.resize(before + size, 0);
        }
        ends.push(data.len() as u64);
    }
    let validity = field
        .nullable
        .then(|| text.validity.clone().unwrap_or_else(|| vec![1; text.len()]));
    Ok(Column {
        datatype: field.datatype,
        cell: field.cell,
        data,
        offsets: field.cell.is_var().then_some(ends),
        validity,
    })
}

/// Appends the value of an empty cell in a field that is not nullable.
fn empty_cell(field: &Field, out: &mut Vec<u8>) -> Result<()> {
    let t = field.datatype;
    match t.physical() {
        _ if t.is_bytes() || field.cell.is_var() => {}
        Physical::F32 => out.extend_from_slice(&f32::NAN.to_le_bytes()),
        Physical::F64 => out.extend_from_slice(&f64::NAN.to_le_bytes()),
        _ if t.is_temporal() => out.extend_from_slice(&i64::MIN.to_le_bytes()),
        _ if field.enumeration.is_some() && !field.fill.is_empty() => out.extend_from_slice(&field.fill),
        _ => bail!("it is empty, but the field is not nullable; fill it in"),
    }
    Ok(())
}

/// Parses a value, and appends its bytes.
pub(crate) fn number(text: &str, datatype: Datatype, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&value(text, datatype)?.to_le_bytes());
    Ok(())
}

/// Parses a value. Errors show the text.
pub(crate) fn scalar(text: &str, datatype: Datatype) -> Result<Scalar> {
    value(text, datatype).with_context(|| format!("'{text}'"))
}

/// Parses `LO:HI`, which includes both ends. For strings, both may be empty.
pub(crate) fn range(text: &str, datatype: Datatype, cell: CellCount) -> Result<ScalarRange> {
    // Dates have colons too, so split at the middle one.
    let colons: Vec<usize> = text.match_indices(':').map(|(i, _)| i).collect();
    let middle = colons
        .get(colons.len() / 2)
        .with_context(|| format!("'{text}' is not written as LO:HI"))?;
    let (lo, hi) = text.split_at(*middle);
    let end = |text: &str| match cell {
        CellCount::Var => Ok(Scalar::Bytes(text.as_bytes().to_vec())),
        CellCount::Fixed(_) => scalar(text, datatype),
    };
    Ok(ScalarRange {
        lo: end(lo)?,
        hi: end(hi.strip_prefix(':').unwrap_or(hi))?,
    })
}

pub(super) fn value(text: &str, datatype: Datatype) -> Result<Scalar> {
    let text = text.trim();
    let value = match datatype.physical() {
        _ if datatype == Datatype::Bool => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(Scalar::U8(1)),
            "false" | "0" => Some(Scalar::U8(0)),
            _ => None,
        },
        _ if datatype.is_temporal() && text.eq_ignore_ascii_case("nat") => Some(Scalar::I64(i64::MIN)),
        _ if datatype.is_datetime() => {
            let (tick, _) = calendar::parse(text, datatype).map_err(anyhow::Error::msg)?;
            let (first, _) = calendar::starts(text, datatype).map_err(anyhow::Error::msg)?;
            ensure!(
                tick == first,
                "it is finer than {datatype}, which would truncate it to {}",
                calendar::format(tick, datatype)
            );
            Some(Scalar::I64(tick))
        }
        Physical::F32 => finite(text.parse::<f32>().ok().map(Scalar::F32), text, datatype)?,
        Physical::F64 => finite(text.parse::<f64>().ok().map(Scalar::F64), text, datatype)?,
        physical => match text.parse::<i128>() {
            Ok(v) => Some(Scalar::from_i128(datatype, v).with_context(|| {
                let bits = 8 * physical.size();
                format!("it is out of range for {datatype}, which has {bits} bits")
            })?),
            Err(_) => None,
        },
    };
    value.with_context(|| format!("it is not a valid {datatype}"))
}

/// Returns an error if a value became infinite because its digits are out of range for the type.
fn finite(value: Option<Scalar>, text: &str, datatype: Datatype) -> Result<Option<Scalar>> {
    let infinite = value.as_ref().and_then(Scalar::as_f64).is_some_and(f64::is_infinite);
    ensure!(
        !infinite || !text.contains(|c: char| c.is_ascii_digit()),
        "it is out of range for {datatype}; write inf for infinity"
    );
    Ok(value)
}

/// Parses pairs of hex digits, and appends their bytes.
pub(crate) fn hex(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let digit = |b: &u8| char::from(*b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    for pair in text.chunks(2) {
        let byte = match pair {
            [a, b] => digit(a).zip(digit(b)).map(|(a, b)| a << 4 | b),
            _ => None,
        };
        out.push(byte.context("write bytes as pairs of hex digits")?);
    }
    Ok(())
}

pub(super) fn utf8(text: &[u8]) -> Result<&str> {
    std::str::from_utf8(text).context("it is not UTF-8; convert the file, for instance with iconv")
}
