//! The formats a slice can be written in.
//!
//! An [`Encoder`] is fed cells batch by batch, so that a slice of any size can be streamed. Where the
//! size of the whole follows from the frame alone ([`Encoder::size`]) it is exact.

#[cfg(feature = "arrow")]
mod arrow;
mod npy;
mod png;
mod record;
mod table;
mod text;
pub(super) mod unpacked;

use std::sync::Arc;

use crate::column::Column;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::escape;
use crate::format::enumeration::Enumeration;

/// A format of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// numpy's own: a header and the values; a structured array where there are several fields.
    Npy,
    /// The values alone, little-endian; records where there are several fields.
    Bin,
    /// Comma-separated text with a header, one line a cell, coordinates first.
    Csv,
    /// The same, separated by tabs.
    Tsv,
    /// A list of objects, one a cell, coordinates first.
    Json,
    /// The same objects, one a line.
    Jsonl,
    /// A picture of one attribute over two dimensions.
    Png,
    /// An Arrow IPC file: a column for each dimension and attribute.
    #[cfg(feature = "arrow")]
    Arrow,
}

impl Format {
    /// Every format.
    pub const ALL: &'static [Self] = &[
        Self::Npy,
        Self::Bin,
        Self::Csv,
        Self::Tsv,
        Self::Json,
        Self::Jsonl,
        Self::Png,
        #[cfg(feature = "arrow")]
        Self::Arrow,
    ];

    /// How names of its files end.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Npy => "npy",
            Self::Bin => "bin",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Png => "png",
            #[cfg(feature = "arrow")]
            Self::Arrow => "arrow",
        }
    }

    /// Its name on the web.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Npy | Self::Bin => "application/octet-stream",
            Self::Csv => "text/csv",
            Self::Tsv => "text/tab-separated-values",
            Self::Json => "application/json",
            Self::Jsonl => "application/jsonl",
            Self::Png => "image/png",
            #[cfg(feature = "arrow")]
            Self::Arrow => "application/vnd.apache.arrow.file",
        }
    }

    /// The format whose names end so.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] lists the endings there are.
    pub fn from_extension(extension: &str) -> Result<Self> {
        let found = Self::ALL.iter().copied().find(|f| f.extension() == extension);
        found.ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|f| format!(".{}", f.extension())).collect();
            Error::invalid(format!(
                "'.{extension}' is no format; the endings are {}",
                known.join(", ")
            ))
        })
    }

    /// Whether each cell is written with its coordinates even if the array is dense.
    pub const fn lists_coordinates(self) -> bool {
        !matches!(self, Self::Npy | Self::Bin | Self::Png)
    }
}

/// One column of what is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name; empty for an attribute without one.
    pub name: String,
    /// The type of its values.
    pub datatype: Datatype,
    /// How many values a cell holds.
    pub cell: CellCount,
    /// Whether cells may be null.
    pub nullable: bool,
    /// What an empty cell holds, in bytes; pictures leave such cells black.
    pub fill: Vec<u8>,
    /// What its integers stand for, if text is to show that.
    pub labels: Option<Arc<Enumeration>>,
}

/// What is to be written: fields, and the lengths of the axes in row-major order (the number of
/// cells alone for sparse results).
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The columns.
    pub fields: Vec<Field>,
    /// The length of each axis.
    pub shape: Vec<u64>,
    /// Whether the array is dense.
    pub dense: bool,
}

impl Frame {
    /// How many cells there are.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if the number does not fit 64 bits.
    pub fn cells(&self) -> Result<u64> {
        let product = self.shape.iter().try_fold(1_u64, |n, &s| n.checked_mul(s));
        product.ok_or_else(|| Error::LimitExceeded {
            what: "cells of the slice (select fewer)".into(),
            found: u64::MAX,
            limit: u64::MAX,
        })
    }
}

/// Turns cells into the bytes of one file, front to back.
#[derive(Debug)]
pub struct Encoder(Kind);

#[derive(Debug)]
enum Kind {
    Record {
        header: Vec<u8>,
        records: record::Records,
        cells: u64,
    },
    Table(table::Table),
    Picture(png::Picture),
    #[cfg(feature = "arrow")]
    Arrow(arrow::Table),
    /// An Arrow file whose length follows from the frame.
    #[cfg(feature = "arrow")]
    Numbers(arrow::FixedStream),
}

/// How a file lies in which any run of cells can be made alone: a header, the runs, a trailer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs<'a> {
    pub(super) header: &'a [u8],
    /// Bytes a cell; in Arrow files runs take a little more.
    pub(super) width: u64,
    /// The most runs that a file can have.
    pub(super) runs_max: u64,
}

impl Encoder {
    /// An encoder of `frame`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the format cannot hold the frame; it says which can.
    pub fn new(format: Format, frame: &Frame) -> Result<Self> {
        let cells = frame.cells()?;
        Ok(Self(match format {
            Format::Npy => {
                let records = record::Records::new(format, &frame.fields)?;
                Kind::Record {
                    header: npy::header(&frame.fields, &frame.shape, false),
                    records,
                    cells,
                }
            }
            Format::Bin => Kind::Record {
                header: Vec::new(),
                records: record::Records::new(format, &frame.fields)?,
                cells,
            },
            Format::Csv => Kind::Table(table::Table::new(table::Style::Separated(b','), frame)),
            Format::Tsv => Kind::Table(table::Table::new(table::Style::Separated(b'\t'), frame)),
            Format::Json => Kind::Table(table::Table::new(table::Style::List, frame)),
            Format::Jsonl => Kind::Table(table::Table::new(table::Style::Lines, frame)),
            Format::Png => Kind::Picture(png::Picture::new(frame)?),
            #[cfg(feature = "arrow")]
            Format::Arrow => match arrow::FixedTable::of(frame)? {
                Some(table) => Kind::Numbers(arrow::FixedStream::new(table, cells)),
                None => Kind::Arrow(arrow::Table::new(frame)),
            },
        }))
    }

    /// The same `.npy` for cells that come in column-major order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for several values a cell, which would have to lie apart.
    pub fn column_major(mut self, frame: &Frame) -> Result<Self> {
        if let Kind::Record { header, .. } = &mut self.0 {
            let several = |f: &Field| {
                !f.nullable && !f.datatype.is_string() && !f.datatype.is_opaque() && f.cell != CellCount::ONE
            };
            if matches!(frame.fields.as_slice(), [f] if several(f)) {
                return Err(Error::invalid(
                    "several values a cell have no column-major order; take row-major",
                ));
            }
            *header = npy::header(&frame.fields, &frame.shape, true);
        }
        Ok(self)
    }

    /// The exact size of the file in bytes, where it does not depend on the values; [`u64::MAX`] if it is more than
    /// that.
    pub fn size(&self) -> Option<u64> {
        match &self.0 {
            Kind::Record { header, records, cells } => {
                Some((header.len() as u64).saturating_add(cells.saturating_mul(records.width())))
            }
            Kind::Table(_) => None,
            #[cfg(feature = "arrow")]
            Kind::Arrow(_) => None,
            #[cfg(feature = "arrow")]
            Kind::Numbers(stream) => Some(stream.size()),
            Kind::Picture(picture) => Some(picture.size()),
        }
    }

    /// Bytes before the first cell and bytes of each cell, for formats in which cell `i` starts at
    /// `header.len() + i * width`.
    pub fn fixed(&self) -> Option<(&[u8], u64)> {
        match &self.0 {
            Kind::Record { header, records, .. } => Some((header, records.width())),
            _ => None,
        }
    }

    /// How the file lies, where any run of its cells can be made alone.
    pub(super) fn runs(&self) -> Option<Runs<'_>> {
        match &self.0 {
            Kind::Record { header, records, .. } => Some(Runs {
                header,
                width: records.width(),
                runs_max: u64::MAX,
            }),
            #[cfg(feature = "arrow")]
            Kind::Numbers(stream) => Some(Runs {
                header: stream.table().header(),
                width: stream.table().width(),
                runs_max: arrow::BATCHES_MAX,
            }),
            _ => None,
        }
    }

    /// Bytes of a run of so many cells.
    pub(super) fn run_bytes(&self, cells: u64) -> u64 {
        match &self.0 {
            Kind::Record { records, .. } => cells.saturating_mul(records.width()),
            #[cfg(feature = "arrow")]
            Kind::Numbers(stream) => stream.table().batch_bytes(cells),
            _ => 0,
        }
    }

    /// A run of cells, whose columns come in several parts.
    ///
    /// # Errors
    /// As [`Encoder::cells`].
    pub(super) fn run(&mut self, parts: Vec<Vec<Column>>) -> Result<Vec<u8>> {
        #[cfg(feature = "arrow")]
        if let Kind::Numbers(stream) = &self.0 {
            let mut parts = parts.into_iter();
            let mut all = parts.next().unwrap_or_default();
            for part in parts {
                all.iter_mut().zip(&part).for_each(|(all, more)| all.append(more));
            }
            return stream.table().batch(&all);
        }
        let mut out = Vec::new();
        for part in parts {
            let mut cells = self.cells(part)?;
            if out.is_empty() {
                out = cells;
            } else {
                out.append(&mut cells);
            }
        }
        Ok(out)
    }

    /// Bytes of what follows the last of so many runs.
    #[cfg_attr(
        not(feature = "arrow"),
        allow(unused_variables, reason = "only Arrow files have a trailer")
    )]
    pub(super) fn trailer_bytes(&self, runs: u64) -> u64 {
        match &self.0 {
            #[cfg(feature = "arrow")]
            Kind::Numbers(stream) => stream.table().trailer_bytes(runs),
            _ => 0,
        }
    }

    /// What follows the last run. `runs` are the places of all in the file, and how many cells each has.
    #[cfg_attr(
        not(feature = "arrow"),
        allow(unused_variables, reason = "only Arrow files have a trailer")
    )]
    pub(super) fn trailer(&self, runs: impl Iterator<Item = (u64, u64)>) -> Vec<u8> {
        match &self.0 {
            #[cfg(feature = "arrow")]
            Kind::Numbers(stream) => stream.table().trailer(runs),
            _ => Vec::new(),
        }
    }

    /// Bytes of the cells that it has been given and keeps until the end.
    pub(super) fn kept_bytes(&self) -> u64 {
        match &self.0 {
            Kind::Picture(picture) => picture.kept_bytes(),
            #[cfg(feature = "arrow")]
            Kind::Arrow(table) => table.kept_bytes(),
            _ => 0,
        }
    }

    /// Bytes that a cell takes at least in text, without its coordinates; 0 in other formats.
    pub(super) fn text_bytes_at_least(&self) -> u64 {
        match &self.0 {
            Kind::Table(table) => table.row_bytes_at_least(),
            _ => 0,
        }
    }

    /// What comes before the first cell.
    pub fn start(&mut self) -> Vec<u8> {
        match &mut self.0 {
            Kind::Record { header, .. } => header.clone(),
            Kind::Table(table) => table.start(),
            Kind::Picture(_) => Vec::new(),
            #[cfg(feature = "arrow")]
            Kind::Arrow(_) => Vec::new(),
            #[cfg(feature = "arrow")]
            Kind::Numbers(stream) => stream.table().header().to_vec(),
        }
    }

    /// The next cells, in row-major order: one column for each field, in the frame's order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the columns are not those of the frame.
    pub fn cells(&mut self, columns: Vec<Column>) -> Result<Vec<u8>> {
        match &mut self.0 {
            Kind::Record { records, .. } => records.pack(columns),
            Kind::Table(table) => table.cells(&columns),
            Kind::Picture(picture) => picture.cells(&columns).map(|()| Vec::new()),
            #[cfg(feature = "arrow")]
            Kind::Arrow(table) => table.cells(columns).map(|()| Vec::new()),
            #[cfg(feature = "arrow")]
            Kind::Numbers(stream) => stream.cells(columns),
        }
    }

    /// What comes after the last cell.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there were fewer or more cells than the frame says and the
    /// format needs to know.
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        match &mut self.0 {
            Kind::Record { .. } => Ok(Vec::new()),
            Kind::Table(table) => Ok(table.finish()),
            Kind::Picture(picture) => picture.finish(),
            #[cfg(feature = "arrow")]
            Kind::Arrow(table) => table.finish(),
            #[cfg(feature = "arrow")]
            Kind::Numbers(stream) => stream.finish(),
        }
    }
}

/// The whole file from all columns at once.
///
/// # Errors
/// As [`Encoder::new`], [`Encoder::cells`] and [`Encoder::finish`].
pub fn encode(format: Format, frame: &Frame, columns: Vec<Column>) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new(format, frame)?;
    let mut out = encoder.start();
    out.append(&mut encoder.cells(columns)?);
    out.append(&mut encoder.finish()?);
    Ok(out)
}

/// Cell `i` as plain text, without quotes; empty for null.
pub(super) fn cell_text(column: &Column, i: usize) -> String {
    match text::cell(column, i, text::Words::Json) {
        text::Cell::Nothing => String::new(),
        text::Cell::Bare(bytes) | text::Cell::Quoted(bytes) => escape::text(&bytes).into_owned(),
    }
}

fn wrong_columns() -> Error {
    Error::invalid(
        "the cells are not those that were announced; if they are of an array, one of its fragments is damaged: `hyperslab verify` says which",
    )
}

#[cfg(test)]
mod tests;
