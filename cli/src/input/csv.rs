//! Separated values with a header line. Quotes are doubled inside quotes, and a quoted empty string
//! is a string while nothing between two separators is nothing.

use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use hyperslab::{CellCount, Column, Datatype};

use super::{Named, Table, Values};

pub(super) fn read(bytes: &[u8], separator: u8) -> Result<Table> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = Lines {
        rest: bytes,
        separator,
        line: 1,
    };
    let mut names: Vec<String> = Vec::new();
    let mut columns: Vec<Column> = Vec::new();
    let mut starts = super::Lines::default();
    let more = lines.record(|_, text, _| {
        names.push(String::from_utf8_lossy(text).into_owned());
        columns.push(Column {
            validity: Some(Vec::new()),
            ..Column::from_cells::<&[u8]>(Datatype::StringUtf8, [])
        });
        Ok(())
    })?;
    ensure!(
        more.is_some(),
        "the file is empty; a header line with the names of the columns is needed"
    );
    loop {
        let line = lines.line;
        starts.note(columns.first().map_or(0, Column::len), line);
        let found = lines.record(|i, text, quoted| {
            let Some(column) = columns.get_mut(i) else {
                bail!("line {line} has more values than the header has names")
            };
            push(column, text, quoted);
            Ok(())
        })?;
        match found {
            None => break,
            // A line with nothing on it, in a table of several columns, is no row.
            Some((1, true)) if columns.len() > 1 => columns.iter_mut().take(1).for_each(pop),
            Some((n, _)) => ensure!(
                n == columns.len(),
                "line {line} has {n} values, the header {} names",
                columns.len()
            ),
        }
    }
    let starts = Arc::new(starts);
    let columns = names.into_iter().zip(columns).map(|(name, c)| Named {
        name,
        values: Values::Text(c, Arc::clone(&starts)),
    });
    Ok(Table {
        columns: columns.collect(),
        ..Table::default()
    })
}

fn push(column: &mut Column, text: &[u8], quoted: bool) {
    column.data.extend_from_slice(text);
    let end = column.data.len() as u64;
    column.offsets.get_or_insert_default().push(end);
    column
        .validity
        .get_or_insert_default()
        .push(u8::from(quoted || !text.is_empty()));
    debug_assert_eq!(column.cell, CellCount::Var);
}

fn pop(column: &mut Column) {
    column.offsets.get_or_insert_default().pop();
    column.validity.get_or_insert_default().pop();
}

struct Lines<'a> {
    rest: &'a [u8],
    separator: u8,
    line: u64,
}

impl<'a> Lines<'a> {
    /// Hands over the values of the next record with their positions, and whether they were quoted.
    /// Returns how many there were and whether all were empty; `None` at the end.
    fn record(&mut self, mut value: impl FnMut(usize, &[u8], bool) -> Result<()>) -> Result<Option<(usize, bool)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        let (mut n, mut empty) = (0, true);
        loop {
            let more = if let Some(quoted) = self.rest.strip_prefix(b"\"") {
                self.rest = quoted;
                let text = self.quoted()?;
                empty = false;
                value(n, &text, true)?;
                self.separator()?
            } else {
                let separator = self.separator;
                let end = self
                    .rest
                    .iter()
                    .position(|b| *b == separator || *b == b'\n')
                    .unwrap_or(self.rest.len());
                let (text, rest) = self.rest.split_at(end);
                let text = if rest.first() == Some(&separator) {
                    text
                } else {
                    text.strip_suffix(b"\r").unwrap_or(text)
                };
                self.rest = rest;
                empty &= text.is_empty();
                value(n, text, false)?;
                self.separator()?
            };
            n += 1;
            if !more {
                return Ok(Some((n, empty)));
            }
        }
    }

    /// What follows a value: true for a separator, false for the end of the line.
    fn separator(&mut self) -> Result<bool> {
        let (found, rest) = match self.rest {
            [] => (false, self.rest),
            [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => (false, rest),
            [b, rest @ ..] if *b == self.separator => (true, rest),
            _ => bail!("line {} goes on after a closing quote", self.line - 1),
        };
        self.rest = rest;
        Ok(found)
    }

    fn quoted(&mut self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let start = self.line - 1;
        loop {
            let Some(end) = self.rest.iter().position(|b| *b == b'"') else {
                bail!("the quote on line {start} is never closed")
            };
            let (part, rest) = self.rest.split_at(end);
            self.line += part.iter().filter(|b| **b == b'\n').count() as u64;
            text.extend_from_slice(part);
            match rest {
                [_, b'"', rest @ ..] => {
                    text.push(b'"');
                    self.rest = rest;
                }
                [_, rest @ ..] => {
                    self.rest = rest;
                    return Ok(text);
                }
                [] => bail!("the quote on line {start} is never closed"),
            }
        }
    }
}
