//! Files whose cells are read in batches, when they are written.

use std::io::Read;

use anyhow::Result;
use arrow_array::RecordBatch;

use super::arrow::BatchReader;
use super::grid::{Member, OpenMember};
use super::{Batches, Grid, Sheet, Table, Text, arrow};

/// A file of cells, and how many there are.
#[derive(Debug)]
pub(crate) struct Stream {
    file: CellFile,
    /// The number of rows or cells.
    pub(crate) rows: u64,
    /// Bytes of all cells in memory.
    pub(crate) bytes: u64,
}

/// The formats that are read in batches.
#[derive(Debug)]
pub(crate) enum CellFile {
    Text(Text),
    Grid(Grid),
    Arrow(Batches),
}

/// How many rows to read at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BatchLimit {
    /// This many.
    Rows(usize),
    /// About as many as take this many bytes in memory, and a multiple of `step` except at the end.
    Bytes { bytes: usize, step: usize },
}

/// Reads the rows of a file in order.
pub(crate) trait Reader {
    /// The next rows; `None` at the end.
    fn next(&mut self, take: BatchLimit) -> Result<Option<Table>>;
}

/// A [`Stream`] that was opened, with its archives.
pub(crate) struct OpenedStream<'a> {
    stream: &'a Stream,
    archives: Vec<OpenMember<'a>>,
}

impl Stream {
    /// The cells of `file`, which has this many rows and bytes.
    pub(crate) fn new(file: CellFile, rows: u64, bytes: u64) -> Self {
        Self { file, rows, bytes }
    }

    /// Reads the file once to count its cells.
    pub(crate) fn counted(file: CellFile) -> Result<Self> {
        let (rows, bytes) = match &file {
            CellFile::Text(text) => text.size()?,
            CellFile::Grid(grid) => grid.size(),
            CellFile::Arrow(batches) => batches.size()?,
        };
        Ok(Self { file, rows, bytes })
    }

    /// The table with all cells.
    pub(crate) fn table(&self) -> Result<Table> {
        match &self.file {
            CellFile::Text(text) => text.table(),
            CellFile::Grid(grid) => grid.table(),
            CellFile::Arrow(batches) => batches.table(),
        }
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        Ok(match &self.file {
            CellFile::Text(text) => text.sheet()?.names().to_vec(),
            CellFile::Grid(grid) => grid.names()?,
            CellFile::Arrow(batches) => {
                let schema = batches.schema()?;
                schema.fields().iter().map(|f| f.name().clone()).collect()
            }
        })
    }

    /// The arrays of the file, if it is numpy's.
    pub(crate) fn grid(&self) -> Option<&Grid> {
        match &self.file {
            CellFile::Grid(grid) => Some(grid),
            CellFile::Text(_) | CellFile::Arrow(_) => None,
        }
    }

    /// How many rows take this many bytes, at least one.
    pub(crate) fn rows_in(&self, bytes: u64) -> u64 {
        let row_bytes = self.bytes.checked_div(self.rows).unwrap_or(0);
        bytes.checked_div(row_bytes).unwrap_or(u64::MAX).max(1)
    }

    /// Opens the file at its first row.
    pub(crate) fn open(&self) -> Result<OpenedStream<'_>> {
        let archives = self.grid().map_or_else(|| Ok(Vec::new()), Grid::archives)?;
        Ok(OpenedStream { stream: self, archives })
    }

    fn count(&self, take: BatchLimit) -> usize {
        match take {
            BatchLimit::Rows(rows) => rows,
            BatchLimit::Bytes { bytes, step } => {
                let rows = usize::try_from(self.rows_in(bytes as u64)).unwrap_or(usize::MAX);
                let step = step.max(1);
                (rows - rows % step).max(step)
            }
        }
    }
}

impl<'a> OpenedStream<'a> {
    /// A reader of the columns with `wanted` names. Columns without a name are always read.
    pub(crate) fn reader<'b>(&'b mut self, wanted: &'b dyn Fn(&str) -> bool) -> Result<Box<dyn Reader + 'b>> {
        let stream = self.stream;
        Ok(match &stream.file {
            CellFile::Text(text) => Box::new(TextReader {
                sheet: text.sheet()?,
                wanted,
            }),
            CellFile::Arrow(batches) => Box::new(ArrowReader {
                stream,
                reader: batches.reader(&|name| name.is_empty() || wanted(name))?,
                rest: None,
                wanted,
            }),
            CellFile::Grid(grid) => Box::new(GridReader {
                stream,
                inputs: grid.inputs(&mut self.archives, wanted)?,
                left: stream.rows,
                wanted,
            }),
        })
    }
}

struct TextReader<'a> {
    sheet: Sheet<'a>,
    wanted: &'a dyn Fn(&str) -> bool,
}

impl Reader for TextReader<'_> {
    fn next(&mut self, take: BatchLimit) -> Result<Option<Table>> {
        self.sheet.table(|name| name.is_empty() || (self.wanted)(name), take)
    }
}

struct ArrowReader<'a> {
    stream: &'a Stream,
    reader: BatchReader<'a>,
    /// Rows of the last message that were not returned yet.
    rest: Option<RecordBatch>,
    wanted: &'a dyn Fn(&str) -> bool,
}

impl Reader for ArrowReader<'_> {
    fn next(&mut self, take: BatchLimit) -> Result<Option<Table>> {
        let most = self.stream.count(take);
        let (mut held, mut rows) = (Vec::new(), 0);
        while rows < most {
            let next = match self.rest.take() {
                Some(rest) => Some(rest),
                None => self.reader.next_batch()?.map(|batch| batch.rows),
            };
            let Some(batch) = next else { break };
            let taken = batch.num_rows().min(most - rows);
            if taken < batch.num_rows() {
                self.rest = Some(batch.slice(taken, batch.num_rows() - taken));
            }
            rows += taken;
            held.push(batch.slice(0, taken));
        }
        if rows == 0 {
            return Ok(None);
        }
        let mut table = arrow::table(&self.reader.schema(), &held)?;
        retain(&mut table, self.wanted);
        Ok(Some(table))
    }
}

struct GridReader<'a> {
    stream: &'a Stream,
    inputs: Vec<(&'a Member, Box<dyn Read + 'a>)>,
    /// Cells that were not read yet.
    left: u64,
    wanted: &'a dyn Fn(&str) -> bool,
}

impl Reader for GridReader<'_> {
    fn next(&mut self, take: BatchLimit) -> Result<Option<Table>> {
        let cells = self.left.min(self.stream.count(take) as u64);
        if cells == 0 {
            return Ok(None);
        }
        self.left -= cells;
        let mut table = Table::default();
        for (member, input) in &mut self.inputs {
            table.columns.extend(member.columns(input.as_mut(), cells)?);
        }
        retain(&mut table, self.wanted);
        Ok(Some(table))
    }
}

fn retain(table: &mut Table, wanted: &dyn Fn(&str) -> bool) {
    table.columns.retain(|c| c.name.is_empty() || wanted(&c.name));
}
