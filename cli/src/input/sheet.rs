//! Tables of text that are read row by row.

use std::sync::Arc;

use anyhow::{Result, ensure};
use hyperslab::{Column, Datatype};

use super::{BatchLimit, Lines, Named, Table, TextRules, Values, csv, json};

/// Bytes that a value takes in addition to its text: an offset and a validity byte.
pub(crate) const VALUE_BYTES: usize = 9;
/// The most columns: each has several files in every fragment of an array.
pub(super) const COLUMNS_MAX: usize = 1 << 14;
/// The longest row, in bytes.
pub(super) const ROW_BYTES_MAX: usize = 64 << 20;

/// A text table that is read row by row.
pub(crate) struct Sheet<'a> {
    rows: Rows<'a>,
    names: Vec<String>,
    row: Row,
    rules: TextRules,
}

/// The rows of a table in one of the syntaxes of text.
pub(super) enum Rows<'a> {
    Separated(csv::Reader<'a>),
    Objects(json::Reader<'a>),
}

/// A row of values.
#[derive(Default)]
pub(crate) struct Row {
    /// The line on which it starts, counted from 1.
    pub(crate) line: u64,
    pub(super) text: Vec<u8>,
    /// The end of each value, and whether it was in quotes.
    pub(super) ends: Vec<(usize, bool)>,
}

impl Row {
    /// Its values; `None` for empty values without quotes.
    pub(crate) fn values(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.cells().map(|(value, _)| value)
    }

    /// Its values, and whether each was in quotes.
    pub(super) fn cells(&self) -> impl Iterator<Item = (Option<&[u8]>, bool)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, quoted)| {
            let value = self.text.get(start..end).unwrap_or_default();
            start = end;
            ((quoted || !value.is_empty()).then_some(value), quoted)
        })
    }

    pub(super) fn clear(&mut self, line: u64) {
        self.line = line;
        self.text.clear();
        self.ends.clear();
    }
}

impl<'a> Sheet<'a> {
    /// A table of these rows. `names` are the columns that are known before the first row.
    pub(super) fn new(rows: Rows<'a>, names: Vec<String>, rules: TextRules) -> Self {
        Self {
            rows,
            names,
            row: Row::default(),
            rules,
        }
    }

    /// Names the columns of separated values that have no name, if there are several columns. Returns their positions.
    pub(super) fn name_columns(&mut self) -> Vec<usize> {
        if self.names.len() == 1 || matches!(self.rows, Rows::Objects(_)) {
            return Vec::new();
        }
        let unnamed = self.names.iter().enumerate().filter(|(_, name)| name.is_empty());
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

    /// The names of the columns. JSON objects may add some with each row.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The keys of JSON objects whose values are lists or objects.
    pub(super) fn nested(&self) -> &[String] {
        match &self.rows {
            Rows::Separated(_) => &[],
            Rows::Objects(objects) => objects.nested(),
        }
    }

    /// The byte between values, if there is one.
    pub(super) fn separator(&self) -> Option<u8> {
        match &self.rows {
            Rows::Separated(separated) => Some(separated.separator()),
            Rows::Objects(_) => None,
        }
    }

    /// The next row; `None` at the end.
    pub(crate) fn row(&mut self) -> Result<Option<&Row>> {
        Ok(self.advance()?.then_some(&self.row))
    }

    /// The row that was read last.
    pub(super) fn current(&self) -> &Row {
        &self.row
    }

    /// Reads the next row; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool> {
        let found = match &mut self.rows {
            Rows::Separated(separated) => separated.row(self.names.len(), &mut self.row)?,
            Rows::Objects(objects) => objects.row(&mut self.names, &mut self.row)?,
        };
        ensure!(
            self.names.len() <= COLUMNS_MAX,
            "there are more than {COLUMNS_MAX} keys until line {}, which is the limit; split the table by columns",
            self.row.line
        );
        Ok(found)
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

    /// A table of these columns, without those that are `None`.
    fn named(&self, columns: Vec<Option<Column>>, lines: Lines) -> Table {
        let lines = Arc::new(lines);
        let named = |(name, column): (&String, Option<Column>)| {
            Some(Named {
                name: name.clone(),
                values: Values::Text(column?, Arc::clone(&lines), self.rules),
            })
        };
        Table {
            columns: self.names.iter().zip(columns).filter_map(named).collect(),
            ..Table::default()
        }
    }
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
