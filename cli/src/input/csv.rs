//! Reads separated values with a header line. Quotes inside quotes are doubled. An empty value in quotes is an empty
//! string, and one without quotes is null.

use std::io::{BufRead, Read};

use anyhow::{Context as _, Result, bail, ensure};

use super::encoding;
use super::sheet::{COLUMNS_MAX, ROW_BYTES_MAX, Row};
#[cfg(test)]
use super::{Table, TextRules, sheet};

/// Separators, with their names for messages. The header decides which one a file uses.
const SEPARATORS: [(u8, &str); 4] = [(b',', "','"), (b';', "';'"), (b'\t', "tab"), (b'|', "'|'")];

/// Parses the value of `--separator`.
pub(crate) fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] | [] => Err("a quote or a line end cannot separate values".to_owned()),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("give one ASCII character, as in --separator ';', or tab".to_owned()),
    }
}

/// Opens a table. Returns its rows and the names of its columns. Detects the separator from the header if none is
/// given.
pub(super) fn open<'a>(input: impl Read + 'a, separator: Option<u8>) -> Result<(Reader<'a>, Vec<String>)> {
    let mut source = encoding::decoded(input)?;
    let declared = declared(source.fill_buf()?);
    if let Some((_, bytes)) = declared {
        source.consume(bytes);
    }
    let end = line_end(source.fill_buf()?);
    let found = found(source.fill_buf()?, end);
    let separator = separator.or(declared.map(|(byte, _)| byte));
    let separator = separator.unwrap_or_else(|| found.first().map_or(b',', |(byte, _)| *byte));
    let others = found.into_iter().filter(|(byte, _)| *byte != separator);
    let mut reader = Reader {
        source,
        separator,
        others: others.map(|(_, name)| name).collect(),
        end,
        line: 1 + u64::from(declared.is_some()),
    };
    let mut row = Row::default();
    ensure!(
        reader.record(&mut row)?,
        "the file is empty; it needs a header line with the names of the columns"
    );
    let name = |value: Option<&[u8]>| {
        let name = std::str::from_utf8(value.unwrap_or_default());
        let name = name.context("the header is not UTF-8; convert the file, for instance with iconv")?;
        ensure!(
            !name.contains('\0'),
            "the header has zero bytes; if the file is text, convert it to UTF-8, for instance with iconv"
        );
        Ok(name.to_owned())
    };
    let names = row.values().map(name).collect::<Result<_>>()?;
    Ok((reader, names))
}

/// A table of separated values.
#[cfg(test)]
pub(super) fn sheet<'a>(input: impl Read + 'a, separator: Option<u8>) -> Result<sheet::Sheet<'a>> {
    let (rows, names) = open(input, separator)?;
    Ok(sheet::Sheet::new(
        sheet::Rows::Separated(rows),
        names,
        TextRules::default(),
    ))
}

/// Reads the whole table.
#[cfg(test)]
pub(super) fn read(input: impl Read, separator: Option<u8>) -> Result<Table> {
    sheet(input, separator)?.whole()
}

/// The separator that a first line such as `sep=;` declares, as Excel writes it, and the bytes of that line.
fn declared(head: &[u8]) -> Option<(u8, usize)> {
    let ends = |b: &u8| matches!(b, b'\n' | b'\r');
    let length = head.iter().position(ends)?;
    let (line, rest) = head.split_at(length);
    let line = line
        .strip_prefix(b"\"")
        .and_then(|l| l.strip_suffix(b"\""))
        .unwrap_or(line);
    let (key, value) = line.split_at_checked(4)?;
    let separator = separator(std::str::from_utf8(value).ok()?).ok()?;
    let end = if rest.starts_with(b"\r\n") { 2 } else { 1 };
    (key.eq_ignore_ascii_case(b"sep=") && value.len() == 1).then_some((separator, length + end))
}

/// The byte that ends lines: `\n`, or `\r` as on old Macs if there is no `\n` outside quotes.
fn line_end(head: &[u8]) -> u8 {
    let mut quoted = false;
    let mut returns = false;
    for byte in head {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => return b'\n',
            b'\r' if !quoted => returns = true,
            _ => {}
        }
    }
    if returns { b'\r' } else { b'\n' }
}

/// The separators outside quotes in the first line of a file: the comma first, then the most frequent one.
fn found(head: &[u8], end: u8) -> Vec<(u8, &'static str)> {
    let mut quoted = false;
    let mut counts = [0_usize; SEPARATORS.len()];
    for byte in head {
        match byte {
            b'"' => quoted = !quoted,
            byte if *byte == end && !quoted => break,
            _ if quoted => {}
            byte => {
                let counts = counts.iter_mut().zip(SEPARATORS);
                counts.filter(|(_, (s, _))| s == byte).for_each(|(n, _)| *n += 1);
            }
        }
    }
    let mut found: Vec<_> = SEPARATORS.into_iter().zip(counts).filter(|(_, n)| *n > 0).collect();
    found.sort_by_key(|((byte, _), n)| (*byte != b',', std::cmp::Reverse(*n)));
    found.into_iter().map(|(separator, _)| separator).collect()
}

/// Reads rows.
pub(super) struct Reader<'a> {
    source: Box<dyn BufRead + 'a>,
    separator: u8,
    /// Separators in the header, except the one in use.
    others: Vec<&'static str>,
    /// The byte that ends a line.
    end: u8,
    line: u64,
}

impl Reader<'_> {
    /// The byte between values.
    pub(super) fn separator(&self) -> u8 {
        self.separator
    }

    /// Reads the next row, which has this many values; false at the end.
    pub(super) fn row(&mut self, names: usize, row: &mut Row) -> Result<bool> {
        while self.record(row)? {
            let n = row.ends.len();
            // Skip empty lines in a table of several columns.
            if n == 1 && names > 1 && row.values().all(|v| v.is_none()) {
                continue;
            }
            if n != names {
                let hint = self.others.first().map_or_else(String::new, |other| {
                    format!("; if {other} separates the values, give --separator {other}")
                });
                bail!("line {} has {n} values, but the header has {names}{hint}", row.line);
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads a line of any number of values; false at the end.
    fn record(&mut self, row: &mut Row) -> Result<bool> {
        row.clear(self.line);
        if self.peek()?.is_none() {
            return Ok(false);
        }
        self.line += 1;
        loop {
            let quoted = self.peek()? == Some(b'"');
            if quoted {
                self.source.consume(1);
                self.quoted(row)?;
            } else {
                self.bare(row)?;
            }
            let more = self.goes_on(row.line)?;
            if !quoted && !more && self.end == b'\n' && row.text.len() > row.ends.last().map_or(0, |e| e.0) {
                row.text.pop_if(|b| *b == b'\r');
            }
            ensure!(
                row.ends.len() < COLUMNS_MAX,
                "line {} has more than {COLUMNS_MAX} values, which is the limit; split the table by columns",
                row.line
            );
            row.ends.push((row.text.len(), quoted));
            if !more {
                return Ok(true);
            }
        }
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        Ok(self.source.fill_buf()?.first().copied())
    }

    /// Reads the text up to a separator or the end of the line.
    fn bare(&mut self, row: &mut Row) -> Result<()> {
        let (separator, end) = (self.separator, self.end);
        self.up_to(row, |b| *b == separator || *b == end).map(|_| ())
    }

    /// Reads the text up to a byte for which `ends` is true. Returns false if the file ends first.
    fn up_to(&mut self, row: &mut Row, ends: impl Fn(&u8) -> bool) -> Result<bool> {
        loop {
            let buffer = self.source.fill_buf()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let end = buffer.iter().position(&ends);
            let taken = end.unwrap_or(buffer.len());
            row.text.extend_from_slice(buffer.get(..taken).unwrap_or_default());
            self.source.consume(taken);
            ensure!(
                row.text.len() <= ROW_BYTES_MAX,
                "the row on line {} is longer than {} MiB; perhaps a quote on it is never closed",
                row.line,
                ROW_BYTES_MAX >> 20
            );
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Reads what follows a value. Returns true for a separator, false for the end of the line.
    fn goes_on(&mut self, line: u64) -> Result<bool> {
        let mut byte = self.peek()?;
        let returned = byte == Some(b'\r') && self.end == b'\n';
        if returned {
            self.source.consume(1);
            byte = self.peek()?;
        }
        match byte {
            None => return Ok(false),
            Some(b) if b == self.end => {}
            Some(b) if b == self.separator && !returned => {}
            Some(_) => bail!("line {line} has text after a closing quote"),
        }
        self.source.consume(1);
        Ok(byte != Some(self.end))
    }

    fn quoted(&mut self, row: &mut Row) -> Result<()> {
        let first = row.text.len();
        loop {
            let closed = self.up_to(row, |b| *b == b'"')?;
            ensure!(closed, "the quote on line {} is never closed", row.line);
            self.source.consume(1);
            if self.peek()? != Some(b'"') {
                let text = row.text.get(first..).unwrap_or_default();
                self.line += text.iter().filter(|b| **b == self.end).count() as u64;
                return Ok(());
            }
            self.source.consume(1);
            row.text.push(b'"');
        }
    }
}
