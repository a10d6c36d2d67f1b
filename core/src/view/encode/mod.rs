//! File formats of slices.
//!
//! An [`Encoder`] takes cells in batches, so it can stream a slice of any size. [`Encoder::size`] is the exact size of
//! the file if the frame alone determines it.

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

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// numpy's format: a header and the values. Several fields become a structured array.
    Npy,
    /// Little-endian values without a header. Several fields become records.
    Bin,
    /// Comma-separated text with a header and one line per cell, coordinates first.
    Csv,
    /// Like CSV, but separated by tabs.
    Tsv,
    /// A list of objects, one per cell, coordinates first.
    Json,
    /// The same objects, one per line.
    Jsonl,
    /// An image of one attribute over two dimensions.
    Png,
    /// An Arrow IPC file with one column per dimension and attribute.
    #[cfg(feature = "arrow")]
    Arrow,
}

impl Format {
    /// All formats.
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

    /// The file extension, without a dot.
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

    /// The media type (MIME type).
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

    /// The format with this file extension.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an unknown extension; the message lists the known ones.
    pub fn from_extension(extension: &str) -> Result<Self> {
        let found = Self::ALL.iter().copied().find(|f| f.extension() == extension);
        found.ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|f| format!(".{}", f.extension())).collect();
            Error::invalid(format!(
                "'.{extension}' is not a known format; use one of {}",
                known.join(", ")
            ))
        })
    }

    /// Whether each cell includes its coordinates even if the array is dense.
    pub const fn lists_coordinates(self) -> bool {
        !matches!(self, Self::Npy | Self::Bin | Self::Png)
    }
}

/// A column of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The field's name; empty for an unnamed attribute.
    pub name: String,
    /// The datatype of the values.
    pub datatype: Datatype,
    /// The number of values per cell.
    pub cell: CellCount,
    /// Whether cells may be null.
    pub nullable: bool,
    /// The fill value of a cell, in bytes. Images show such cells in black.
    pub fill: Vec<u8>,
    /// The enumeration of the field's integers, if text formats show its values.
    pub labels: Option<Arc<Enumeration>>,
}

/// The fields and the shape of a file. The shape is in row-major order; a sparse result has one axis, the number of
/// cells.
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
    /// The number of cells.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if the number does not fit in 64 bits.
    pub fn cells(&self) -> Result<u64> {
        let product = self.shape.iter().try_fold(1_u64, |n, &s| n.checked_mul(s));
        product.ok_or_else(|| Error::LimitExceeded {
            what: "cells of the slice (select fewer)".into(),
            found: u64::MAX,
            limit: u64::MAX,
        })
    }
}

/// Encodes cells as one file, sequentially.
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
    /// An Arrow file whose length the frame determines.
    #[cfg(feature = "arrow")]
    Numbers(arrow::FixedStream),
}

/// The layout of a file in which any run of cells can be encoded separately: a header, runs, a trailer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs<'a> {
    pub(super) header: &'a [u8],
    /// Bytes per cell. Runs of Arrow files take slightly more.
    pub(super) width: u64,
    /// The largest number of runs in a file.
    pub(super) runs_max: u64,
}

impl Encoder {
    /// An encoder for `frame`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the format cannot hold the frame. The message suggests another format.
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

    /// Changes a `.npy` encoder to cells in column-major order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for several values per cell, because column-major order would separate them.
    pub fn column_major(mut self, frame: &Frame) -> Result<Self> {
        if let Kind::Record { header, .. } = &mut self.0 {
            let several = |f: &Field| {
                !f.nullable && !f.datatype.is_string() && !f.datatype.is_opaque() && f.cell != CellCount::ONE
            };
            if matches!(frame.fields.as_slice(), [f] if several(f)) {
                return Err(Error::invalid(
                    "cells of several values cannot be written in column-major order; use row-major",
                ));
            }
            *header = npy::header(&frame.fields, &frame.shape, true);
        }
        Ok(self)
    }

    /// The exact size of the file in bytes; `None` if it depends on the values. Saturates.
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

    /// The header and the bytes per cell of formats in which cell `i` starts at `header.len() + i * width`.
    pub fn fixed(&self) -> Option<(&[u8], u64)> {
        match &self.0 {
            Kind::Record { header, records, .. } => Some((header, records.width())),
            _ => None,
        }
    }

    /// The layout of the file if any run of its cells can be encoded separately.
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

    /// Bytes of a run of `cells` cells.
    pub(super) fn run_bytes(&self, cells: u64) -> u64 {
        match &self.0 {
            Kind::Record { records, .. } => cells.saturating_mul(records.width()),
            #[cfg(feature = "arrow")]
            Kind::Numbers(stream) => stream.table().batch_bytes(cells),
            _ => 0,
        }
    }

    /// Encodes a run of cells, whose columns come in several parts.
    ///
    /// # Errors
    /// Same as [`Encoder::cells`].
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

    /// Bytes after the last of `runs` runs.
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

    /// Encodes the end of the file. `runs` are the offset in the file and the number of cells of each run.
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

    /// Bytes of the cells buffered until the end.
    pub(super) fn kept_bytes(&self) -> u64 {
        match &self.0 {
            Kind::Picture(picture) => picture.kept_bytes(),
            #[cfg(feature = "arrow")]
            Kind::Arrow(table) => table.kept_bytes(),
            _ => 0,
        }
    }

    /// The smallest size of a cell in text formats, in bytes, without coordinates; 0 in other formats.
    pub(super) fn text_bytes_at_least(&self) -> u64 {
        match &self.0 {
            Kind::Table(table) => table.row_bytes_at_least(),
            _ => 0,
        }
    }

    /// Encodes everything before the first cell.
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

    /// Encodes the next cells in row-major order: one column per field, in the frame's order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the columns do not match the frame.
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

    /// Encodes everything after the last cell.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the format depends on the number of cells and it differs from the frame's.
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

/// Encodes a whole file from its columns.
///
/// # Errors
/// Same as [`Encoder::new`], [`Encoder::cells`] and [`Encoder::finish`].
pub fn encode(format: Format, frame: &Frame, columns: Vec<Column>) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new(format, frame)?;
    let mut out = encoder.start();
    out.append(&mut encoder.cells(columns)?);
    out.append(&mut encoder.finish()?);
    Ok(out)
}

/// Formats cell `i` as text without quotes; empty for null.
pub(super) fn cell_text(column: &Column, i: usize) -> String {
    match text::cell(column, i, text::Words::Json) {
        text::Cell::Nothing => String::new(),
        text::Cell::Bare(bytes) | text::Cell::Quoted(bytes) => escape::text(&bytes).into_owned(),
    }
}

fn wrong_columns() -> Error {
    Error::invalid(
        "the cells do not match the announced fields and shape; if they come from an array, check it with `hyperslab verify`",
    )
}

#[cfg(test)]
mod tests;
