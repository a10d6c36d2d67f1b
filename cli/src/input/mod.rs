//! Reads files of cells to tables, which are then converted to the types of an array.

mod arrow;
mod bounds;
mod convert;
mod csv;
mod encoding;
mod grid;
mod guess;
mod magic;
mod npy;
mod npz;
mod parquet;
mod stream;
mod text;
mod zones;

use std::fs::File;
#[cfg(test)]
use std::io::Cursor;
use std::io::{self, Read, Seek as _};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use arrow_array::ArrayRef;
use hyperslab::arrow::FieldType;
use hyperslab::schema::Layout;
use hyperslab::{Column, Datatype, Scalar};

use crate::errors::usage;
use crate::formats::{self, Input};
use crate::show;

pub(crate) use arrow::Batches;
pub(crate) use convert::column;
use csv::Sheet;
pub(crate) use csv::{VALUE_BYTES, separator};
pub(crate) use grid::{Grid, boxes};
pub(crate) use guess::{Guess, Kind, Outlier};
#[cfg(test)]
pub(crate) use npy::read as read_npy;
pub(crate) use npy::{Head as NpyHead, header_bytes as npy_header_bytes};
#[cfg(test)]
pub(crate) use npz::read as read_npz;
pub(crate) use stream::{BatchLimit, CellFile, Stream};
pub(crate) use text::{Lines, Rounding, hex, number, range, scalar};

/// Columns of equal length, or arrays of equal shape.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Named>,
    /// The lengths of the axes and the order of cells, if the file has them.
    pub(crate) shape: Option<Shape>,
    /// Values that belong to no cell: named lists.
    pub(crate) extras: Vec<(String, Column)>,
    /// Metadata of the array, as text.
    pub(crate) metadata: Vec<(String, String)>,
    /// The names of the axes, if the file suggests them.
    pub(crate) axes: Option<Vec<String>>,
}

/// One column.
#[derive(Debug)]
pub(crate) struct Named {
    /// Empty if the file has no name for it.
    pub(crate) name: String,
    pub(crate) values: Values,
}

/// The values of a column, as the file holds them.
#[derive(Debug)]
pub(crate) enum Values {
    /// The Arrow field, and one array per batch.
    Arrow(FieldType, Vec<ArrayRef>),
    /// Numbers, and bytes of a fixed length.
    Plain(Column),
    /// Text of any type: UTF-8 cells, null if they are empty.
    Text(Column, Arc<Lines>, Rounding),
    /// Text that was only scanned. Its cells are read again when they are written.
    Seen(Box<Guess>),
    /// The type, as a column without cells, and the number of cells. They are read when they are written.
    Typed(Column, usize),
    /// An Arrow column that was looked at only.
    Summary(Box<Summary>),
}

/// A column of an Arrow file whose cells are read when they are written.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) field: FieldType,
    pub(crate) rows: usize,
    /// Whether there are null cells.
    pub(crate) nulls: bool,
    /// The least and the greatest coordinate, of a dimension of numbers.
    pub(crate) ends: Option<(Scalar, Scalar)>,
    /// All values of its enumeration in order, if the file states them.
    pub(crate) stated: Option<ArrayRef>,
    /// The values of its dictionaries.
    pub(crate) dictionaries: Vec<ArrayRef>,
}

/// The shape of the cells, and their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) lengths: Vec<u64>,
    pub(crate) layout: Layout,
}

impl Values {
    /// The number of cells.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Arrow(_, arrays) => arrays.iter().map(|a| a.len()).sum(),
            Self::Plain(column) | Self::Text(column, ..) => column.len(),
            Self::Typed(_, cells) => *cells,
            Self::Summary(summary) => summary.rows,
            Self::Seen(guess) => usize::try_from(guess.rows()).unwrap_or(usize::MAX),
        }
    }
}

impl Table {
    /// The number of cells of each column.
    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.len())
    }

    /// Removes and returns a column.
    pub(crate) fn take(&mut self, is: impl Fn(&str) -> bool) -> Option<Named> {
        let at = self.columns.iter().position(|c| is(&c.name))?;
        Some(self.columns.remove(at))
    }

    /// The lines on which the rows of a text file start.
    pub(crate) fn lines(&self) -> Option<Arc<Lines>> {
        self.columns.iter().find_map(|c| match &c.values {
            Values::Text(_, lines, _) => Some(Arc::clone(lines)),
            Values::Arrow(..) | Values::Plain(_) | Values::Seen(_) | Values::Typed(..) | Values::Summary(_) => None,
        })
    }

    /// The names of the columns.
    pub(crate) fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|c| c.name.clone()).collect()
    }

    /// The names of the columns, separated by commas.
    pub(crate) fn names(&self) -> String {
        self.column_names().join(", ")
    }
}

/// A file to read, or standard input for `-`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    name: &'a str,
    /// The file, if it is already open.
    file: Option<&'a File>,
    format: Input,
    separator: Option<u8>,
}

impl<'a> Source<'a> {
    /// # Errors
    /// The name is a URL or has no known extension, or `separator` is given for a format without one.
    pub(crate) fn new(name: &'a str, format: Option<Input>, separator: Option<u8>) -> Result<Self> {
        ensure!(
            !name.contains("://"),
            usage(
                "IN",
                format!("{name} is not a local file; download it first, or pipe it in with -")
            )
        );
        let format = match format {
            Some(format) => format,
            None if name == "-" => {
                return Err(usage(
                    "IN",
                    "standard input has no file extension; give --format, as in --format arrow",
                ));
            }
            None => formats::of_name(name).map_err(|why| usage("IN", why))?,
        };
        let text = matches!(format, Input::Csv | Input::Tsv);
        ensure!(
            text || separator.is_none(),
            usage("--separator", "only CSV and TSV files have a separator")
        );
        Ok(Self {
            name,
            file: None,
            format,
            separator: separator.or(usual_separator(format)),
        })
    }

    /// An open file, which need not have a name in a folder. `name` is for messages.
    pub(crate) fn of_file(name: &'a str, file: &'a File, format: Input) -> Self {
        Self {
            name,
            file: Some(file),
            format,
            separator: usual_separator(format),
        }
    }

    /// Its name for messages.
    pub(crate) fn shown(&self) -> &'a str {
        if self.name == "-" { "standard input" } else { self.name }
    }

    /// The cells of the file, counted but not kept in memory. Input from a pipe is copied to a temporary file, which is
    /// deleted when the program ends.
    pub(crate) fn stream(&self, rounding: Rounding) -> Result<Stream> {
        let file = if let Some(text) = self.text(rounding)? {
            CellFile::Text(text)
        } else if let Some((_, grid)) = self.grid()? {
            CellFile::Grid(grid)
        } else {
            CellFile::Arrow(self.batches()?)
        };
        Stream::counted(file).with_context(|| format!("cannot read {}", self.shown()))
    }

    /// Opens a text file for several passes; `None` for other formats.
    pub(crate) fn text(&self, rounding: Rounding) -> Result<Option<Text>> {
        if !matches!(self.format, Input::Csv | Input::Tsv) {
            return Ok(None);
        }
        let file = self.file()?;
        Ok(Some(Text {
            file,
            separator: self.separator,
            rounding,
        }))
    }

    /// The arrays in the file, looked at only, if it is numpy's: what comes from a pipe is kept as for [`Self::text`].
    pub(crate) fn grid(&self) -> Result<Option<(Table, Grid)>> {
        let zipped = match self.format {
            Input::Npy => false,
            Input::Npz => true,
            Input::Arrow | Input::Parquet | Input::Csv | Input::Tsv => return Ok(None),
        };
        let looked = Grid::look(self.file()?, zipped);
        looked
            .map(Some)
            .with_context(|| format!("cannot read {}", self.shown()))
    }

    /// The file as an Arrow or a Parquet file that is read batch by batch. Tells the user what is left out of it.
    pub(crate) fn batches(&self) -> Result<Batches> {
        let opened = Batches::open(self.file()?, self.format == Input::Parquet).and_then(|batches| {
            batches.warn()?;
            Ok(batches)
        });
        opened.with_context(|| format!("cannot read {}", self.shown()))
    }

    fn file(&self) -> Result<File> {
        let opened = || -> Result<File> {
            let mut file = match self.seekable() {
                Err(e) if e.kind() == io::ErrorKind::NotFound => bail!("there is no such file; check the path"),
                opened => opened?,
            };
            let mut head = Vec::new();
            file.by_ref().take(magic::HEAD_BYTES).read_to_end(&mut head)?;
            magic::check(&head, self.format, self.name)?;
            Ok(file)
        };
        opened().with_context(|| format!("cannot read {}", self.shown()))
    }

    /// The file, or a temporary file with the input from a pipe.
    fn seekable(&self) -> io::Result<File> {
        if let Some(file) = self.file {
            let mut file = file.try_clone()?;
            file.rewind()?;
            return Ok(file);
        }
        if self.name == "-" {
            return kept(io::stdin().lock());
        }
        let file = File::open(self.name)?;
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        kept(file)
    }
}

/// The separator of a format, if it is always the same.
fn usual_separator(format: Input) -> Option<u8> {
    (format == Input::Tsv).then_some(b'\t')
}

/// Copies the input to a file without a name.
fn kept(mut input: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut input, &mut file)?;
    Ok(file)
}

/// A text file that is read several times.
#[derive(Debug)]
pub(crate) struct Text {
    file: File,
    separator: Option<u8>,
    rounding: Rounding,
}

impl Text {
    /// Opens its table at the first row. An import also names columns without a name.
    fn sheet(&self) -> Result<Sheet<'_>> {
        let mut sheet = self.unnamed_sheet()?;
        if self.rounding == Rounding::Accepted {
            sheet.name_columns();
        }
        Ok(sheet)
    }

    fn unnamed_sheet(&self) -> Result<Sheet<'_>> {
        (&self.file).rewind()?;
        Ok(Sheet::open(&self.file, self.separator)?.rounding(self.rounding))
    }

    /// The table with all cells.
    fn table(&self) -> Result<Table> {
        self.sheet()?.whole()
    }

    /// The numbers of rows, and of their bytes in memory.
    fn size(&self) -> Result<(u64, u64)> {
        self.sheet()?.size()
    }

    /// Scans all cells, and returns a table of columns without their cells. `given` are the types of some columns.
    pub(crate) fn look(&self, given: &[(String, Datatype)]) -> Result<Table> {
        let mut sheet = self.unnamed_sheet()?;
        let unnamed = sheet.name_columns();
        let names = sheet.names().to_vec();
        for name in unnamed.iter().filter_map(|i| names.get(*i)) {
            show::warning(format_args!(
                "the header has no name for a column, which is imported as '{name}'; name it in the \
                 file, or choose columns with --attrs"
            ));
        }
        if let Some((unknown, _)) = given.iter().find(|(name, _)| !names.contains(name)) {
            let why = format!("there is no column '{unknown}'; the columns are {}", names.join(", "));
            return Err(usage("--types", why));
        }
        let of = |name: &String| given.iter().find(|(n, _)| n == name).map(|(_, t)| *t);
        let mut guesses: Vec<Guess> = names.iter().map(|name| Guess::new(of(name))).collect();
        while let Some(row) = sheet.row()? {
            for ((guess, value), name) in guesses.iter_mut().zip(row.values()).zip(&names) {
                guess.add(row.line, value).with_context(|| format!("column '{name}'"))?;
            }
        }
        let columns = names.into_iter().zip(guesses).map(|(name, guess)| Named {
            name,
            values: Values::Seen(Box::new(guess)),
        });
        Ok(Table {
            columns: columns.collect(),
            ..Table::default()
        })
    }
}

/// The table in the bytes of an Arrow file.
#[cfg(test)]
pub(crate) fn read_arrow(bytes: Vec<u8>) -> Result<Table> {
    arrow::read(Cursor::new(bytes))
}

#[cfg(test)]
mod tests;
