//! File formats of slices.
//!
//! [`Format`] is the table of the formats. Each has an encoder, which takes cells in batches, so it can stream a slice of
//! any size. [`Encode::size`] is the exact size of the file if the frame alone determines it.

#[cfg(feature = "arrow")]
mod arrow;
mod colors;
mod converted;
mod formats;
mod npy;
mod png;
mod record;
mod table;
mod text;
pub(super) mod unpacked;

use std::fmt::Debug;

use crate::column::Column;
use crate::error::{Error, Result};
use crate::escape;
use crate::format::field::Field;
pub use colors::{Color, Colors};
pub(super) use converted::{Change, Conversion, Converted};
pub use formats::Format;

/// The fields and the shape of a file. The shape is in row-major order; a sparse result has one axis, the number of
/// cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The columns. Text formats show the values of enumerations that are loaded.
    pub fields: Vec<Field>,
    /// The length of each axis.
    pub shape: Vec<u64>,
    /// Whether the array is dense.
    pub dense: bool,
    /// Whether the cells come in column-major order.
    pub column_major: bool,
    /// The colors of an image.
    pub colors: Colors,
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

/// The layout of a file in which any run of cells can be encoded separately: a header, runs, a trailer.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    /// The bytes before the first run.
    pub header: &'a [u8],
    /// Bytes per cell. Runs of Arrow files take slightly more.
    pub width: u64,
    /// Whether a run is the bytes of its cells one after another, and nothing else.
    pub is_cells: bool,
    /// The largest number of runs in a file.
    pub runs_max: u64,
}

/// Encodes cells as one file, sequentially. Call [`Encode::start`], then [`Encode::cells`] for each batch, then
/// [`Encode::finish`], and concatenate the results.
///
/// A format should know its size before the cells. Otherwise the mount encodes the file as a whole to find its size.
pub trait Encode: Debug + Send {
    /// The exact size of the file in bytes; `None` if it depends on the values. Saturates.
    fn size(&self) -> Option<u64>;

    /// Encodes everything before the first cell.
    fn start(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Encodes the next cells in row-major order: one column per field, in the frame's order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the columns do not match the frame.
    fn cells(&mut self, columns: Vec<Column>) -> Result<Vec<u8>>;

    /// Encodes everything after the last cell.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the format depends on the number of cells and it differs from the frame's.
    fn finish(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Whether the file takes no more cells.
    fn is_full(&self) -> bool {
        false
    }

    /// Whether the cells are kept until the end, so that the file takes memory.
    fn is_buffered(&self) -> bool {
        false
    }

    /// Bytes of the cells kept until the end.
    fn kept_bytes(&self) -> u64 {
        0
    }

    /// The smallest size of a cell in text formats, in bytes, without coordinates; 0 in other formats.
    fn text_bytes_at_least(&self) -> u64 {
        0
    }

    /// The layout of the file if any run of its cells can be encoded separately.
    fn runs(&self) -> Option<Runs<'_>> {
        None
    }

    /// Bytes of a run of `cells` cells.
    fn run_bytes(&self, cells: u64) -> u64 {
        self.runs().map_or(0, |r| cells.saturating_mul(r.width))
    }

    /// Encodes a run of cells, whose columns come in several parts.
    ///
    /// # Errors
    /// Same as [`Encode::cells`].
    fn run(&mut self, parts: Vec<Vec<Column>>) -> Result<Vec<u8>> {
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
    fn trailer_bytes(&self, _runs: u64) -> u64 {
        0
    }

    /// Encodes the end of the file. `runs` are the offset in the file and the number of cells of each run.
    fn trailer(&self, _runs: &mut dyn Iterator<Item = (u64, u64)>) -> Vec<u8> {
        Vec::new()
    }
}

/// Encodes a whole file from its columns.
///
/// # Errors
/// Same as [`Format::encoder`], [`Encode::cells`] and [`Encode::finish`].
pub fn encode(format: Format, frame: &Frame, columns: Vec<Column>) -> Result<Vec<u8>> {
    let mut encoder = format.encoder(frame)?;
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
