//! Reads files of cells to tables, which are then converted to the types of an array.

mod arrow;
mod bounds;
mod convert;
mod csv;
mod customs;
mod encoding;
mod geojson;
mod grid;
mod guess;
mod json;
mod magic;
mod npy;
mod npz;
mod packed;
mod parquet;
mod sheet;
mod stream;
mod text;
mod text_file;
mod zones;

use std::fs::File;
#[cfg(test)]
use std::io::Cursor;
use std::io::{self, Read, Seek as _};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use arrow_array::ArrayRef;
use hyperslab::arrow::FieldType;
use hyperslab::schema::Layout;
use hyperslab::{Column, Scalar};
use hyperslab_formats::InputFile;

use crate::args::TextOptions;
use crate::download::plain;
use crate::errors::usage;
use crate::formats::{self, Input};

pub(crate) use arrow::Batches;
pub(crate) use convert::column;
pub(crate) use csv::separator;
pub(crate) use customs::{Customs, DateOrder, Decimal, decimal};
pub(crate) use geojson::{AXES as GEOJSON_AXES, metadata as geojson_metadata};
pub(crate) use grid::{Grid, boxes};
pub(crate) use guess::{Guess, Kind, Outlier};
#[cfg(test)]
pub(crate) use npy::read as read_npy;
pub(crate) use npy::{Head as NpyHead, header_bytes as npy_header_bytes};
#[cfg(test)]
pub(crate) use npz::read as read_npz;
use sheet::Sheet;
pub(crate) use sheet::VALUE_BYTES;
pub(crate) use stream::{BatchLimit, CellFile, Stream};
pub(crate) use text::{Lines, Rounding, TextRules, hex, number, range, scalar};
pub(crate) use text_file::Text;

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
    Text(Column, Arc<Lines>, TextRules),
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
    path: &'a Path,
    /// The file, if it is already open.
    file: Option<&'a File>,
    format: Input,
    separator: Option<u8>,
    customs: Customs,
}

impl<'a> Source<'a> {
    /// # Errors
    /// The name has no known extension, or an option about text is given for another format.
    pub(crate) fn new(input: &'a InputFile, format: Option<Input>, options: &TextOptions) -> Result<Self> {
        let name = input.name.as_str();
        let format = match format {
            Some(format) => format,
            None if name == "-" => {
                return Err(usage(
                    "IN",
                    "standard input has no file extension; give --format, as in --format arrow",
                ));
            }
            None => formats::of_name(plain(name)).map_err(|why| usage("IN", why))?,
        };
        let separated = matches!(format, Input::Csv | Input::Tsv);
        ensure!(
            separated || options.separator.is_none(),
            usage("--separator", "only CSV and TSV files have a separator")
        );
        ensure!(
            separated || options.decimal.is_none(),
            usage("--decimal", "only CSV and TSV files have decimal commas")
        );
        ensure!(
            format.is_text() || options.date_order.is_none(),
            usage("--date-order", "only text files have dates with slashes")
        );
        Ok(Self {
            name,
            path: &input.path,
            file: None,
            format,
            separator: options.separator.or(usual_separator(format)),
            customs: Customs {
                decimal: options.decimal,
                dates: options.date_order,
            },
        })
    }

    /// An open file, which need not have a name in a folder. `name` is for messages.
    pub(crate) fn of_file(name: &'a str, file: &'a File, format: Input) -> Self {
        Self {
            name,
            path: Path::new(name),
            file: Some(file),
            format,
            separator: usual_separator(format),
            customs: Customs::default(),
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
        if !self.format.is_text() {
            return Ok(None);
        }
        let rules = TextRules {
            rounding,
            customs: self.customs,
        };
        let opened = Text::open(self.file()?, self.format, self.separator, rules);
        opened
            .map(Some)
            .with_context(|| format!("cannot read {}", self.shown()))
    }

    /// The arrays in the file, looked at only, if it is numpy's: what comes from a pipe is kept as for [`Self::text`].
    pub(crate) fn grid(&self) -> Result<Option<(Table, Grid)>> {
        let zipped = match self.format {
            Input::Npy => false,
            Input::Npz => true,
            _ => return Ok(None),
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
        let file = File::open(self.path)?;
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

/// The table in the bytes of an Arrow file.
#[cfg(test)]
pub(crate) fn read_arrow(bytes: Vec<u8>) -> Result<Table> {
    arrow::read(Cursor::new(bytes))
}

#[cfg(test)]
mod tests;
