//! Reads separated values with a header line. Quotes inside quotes are doubled. An empty value in quotes is an empty
//! string, and one without quotes is null.

use std::io::{BufRead, Read};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::{Column, Datatype};

use super::{BatchLimit, Lines, Named, Rounding, Table, Values, encoding};

/// Separators, with their names for messages. The header decides which one a file uses.
const SEPARATORS: [(u8, &str); 4] = [(b',', "','"), (b';', "';'"), (b'\t', "tab"), (b'|', "'|'")];
/// The longest row, in bytes. A longer one probably has an unclosed quote.
const ROW_BYTES_MAX: usize = 64 << 20;
/// The most columns: each has several files in every fragment of an array.
const COLUMNS_MAX: usize = 1 << 14;
/// Bytes that a value takes in addition to its text: an offset and a validity byte.
pub(crate) const VALUE_BYTES: usize = 9;

/// Parses the value of `--separator`.
pub(crate) fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] | [] => Err("a quote or a line end cannot separate values".to_owned()),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("give one ASCII character, as in --separator ';', or tab".to_owned()),
    }
}

/// A text table that is read row by row.
pub(crate) struct Sheet<'a> {
    reader: Reader<'a>,
    names: Vec<String>,
    /// Separators in the header, except the one in use.
    others: Vec<&'static str>,
    row: Row,
    rounding: Rounding,
}

/// A row of values.
#[derive(Default)]
pub(crate) struct Row {
    /// The line on which it starts, counted from 1.
    pub(crate) line: u64,
    text: Vec<u8>,
    /// The end of each value, and whether it was in quotes.
    ends: Vec<(usize, bool)>,
}

impl Row {
    /// Its values; `None` for empty values without quotes.
    pub(crate) fn values(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, quoted)| {
            let value = self.text.get(start..end).unwrap_or_default();
            start = end;
            (quoted || !value.is_empty()).then_some(value)
        })
    }

    fn clear(&mut self, line: u64) {
        self.line = line;
        self.text.clear();
        self.ends.clear();
    }
}

impl<'a> Sheet<'a> {
    /// Reads the header. Detects the separator from the header if none is given.
    pub(crate) fn open(input: impl Read + 'a, separator: Option<u8>) -> Result<Self> {
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
        let others = others.map(|(_, name)| name).collect();
        let mut reader = Reader {
            source,
            separator,
            end,
            line: 1 + u64::from(declared.is_some()),
        };
        let mut row = Row::default();
        ensure!(
            reader.row(&mut row)?,
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
        Ok(Self {
            reader,
            names,
            others,
            row,
            rounding: Rounding::Refused,
        })
    }

    /// The same, with this treatment of whole numbers that their column's type would round.
    pub(super) fn rounding(self, rounding: Rounding) -> Self {
        Self { rounding, ..self }
    }

    /// Names the columns that have no name, if there are several columns. Returns their positions.
    pub(super) fn name_columns(&mut self) -> Vec<usize> {
        let alone = self.names.len() == 1;
        let unnamed = self
            .names
            .iter()
            .enumerate()
            .filter(|(_, name)| name.is_empty() && !alone);
        let unnamed: Vec<usize> = unnamed.map(|(i, _)| i).collect();
        for i in &unnamed {
            let mut name = format!("column_{}", i + 1);
            while self.names.contains(&name) {
                name.push('_');
            }
            if let Some(slot) = self.names.get_mut(*i) {
                *slot = name;
            }
        }
        unnamed
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The next row; `None` at the end.
    pub(crate) fn row(&mut self) -> Result<Option<&Row>> {
        loop {
            if !self.reader.row(&mut self.row)? {
                return Ok(None);
            }
            let (n, names) = (self.row.ends.len(), self.names.len());
            // Skip empty lines in a table of several columns.
            if n == 1 && names > 1 && self.row.values().all(|v| v.is_none()) {
                continue;
            }
            if n != names {
                let hint = self.others.first().map_or_else(String::new, |other| {
                    format!("; if {other} separates the values, give --separator {other}")
                });
                bail!(
                    "line {} has {n} values, but the header has {names}{hint}",
                    self.row.line
                );
            }
            return Ok(Some(&self.row));
        }
    }

    /// Reads the `wanted` columns of the next rows. `None` if there are no more rows.
    pub(super) fn table(&mut self, wanted: impl Fn(&str) -> bool, take: BatchLimit) -> Result<Option<Table>> {
        let wanted: Vec<bool> = self.names.iter().map(|name| wanted(name)).collect();
        let mut columns: Vec<Option<Column>> = wanted.iter().map(|w| w.then(empty)).collect();
        let mut lines = Lines::default();
        let (mut rows, mut held) = (0, 0);
        let goes_on = |rows: usize, held: usize| match take {
            BatchLimit::Rows(most) => rows < most,
            BatchLimit::Bytes { bytes, step } => held < bytes || !rows.is_multiple_of(step.max(1)),
        };
        while goes_on(rows, held)
            && let Some(row) = self.row()?
        {
            lines.note(rows, row.line);
            rows += 1;
            for (column, value) in columns.iter_mut().zip(row.values()) {
                if let Some(column) = column {
                    held += VALUE_BYTES + value.map_or(0, <[u8]>::len);
                    push(column, value);
                }
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        Ok(Some(self.named(columns, lines)))
    }

    /// Reads all remaining rows.
    pub(super) fn whole(&mut self) -> Result<Table> {
        let table = self.table(|_| true, BatchLimit::Rows(usize::MAX))?;
        let none = || self.named(self.names.iter().map(|_| Some(empty())).collect(), Lines::default());
        Ok(table.unwrap_or_else(none))
    }

    /// The numbers of remaining rows, and of their bytes in memory.
    pub(super) fn size(&mut self) -> Result<(u64, u64)> {
        let (mut rows, mut bytes) = (0, 0);
        while let Some(row) = self.row()? {
            rows += 1;
            bytes += (row.text.len() + VALUE_BYTES * row.ends.len()) as u64;
        }
        Ok((rows, bytes))
    }

    /// A table of these columns, without those that are `None`.
    fn named(&self, columns: Vec<Option<Column>>, lines: Lines) -> Table {
        let lines = Arc::new(lines);
        let named = |(name, column): (&String, Option<Column>)| {
            Some(Named {
                name: name.clone(),
                values: Values::Text(column?, Arc::clone(&lines), self.rounding),
            })
        };
        Table {
            columns: self.names.iter().zip(columns).filter_map(named).collect(),
            ..Table::default()
        }
    }
}

/// Reads the whole table.
#[cfg(test)]
pub(super) fn read(input: impl Read, separator: Option<u8>) -> Result<Table> {
    let mut sheet = Sheet::open(input, separator)?;
    sheet.whole()
}

fn empty() -> Column {
    Column {
        validity: Some(Vec::new()),
        ..Column::from_cells::<&[u8]>(Datatype::StringUtf8, [])
    }
}

fn push(column: &mut Column, value: Option<&[u8]>) {
    column.data.extend_from_slice(value.unwrap_or_default());
    let end = column.data.len() as u64;
    column.offsets.get_or_insert_default().push(end);
    column.validity.get_or_insert_default().push(u8::from(value.is_some()));
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

struct Reader<'a> {
    source: Box<dyn BufRead + 'a>,
    separator: u8,
    /// The byte that ends a line.
    end: u8,
    line: u64,
}

impl Reader<'_> {
    /// Reads a row; false at the end.
    fn row(&mut self, row: &mut Row) -> Result<bool> {
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
