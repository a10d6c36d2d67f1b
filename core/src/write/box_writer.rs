//! Writes a box of a dense array in parts, each in row-major order.

use std::sync::Arc;

use super::boxes::DenseBox;
use super::commit::Draft;
use super::writer::dense_box;
use super::{SealedFragment, WriteOptions, check};
use crate::array::Array;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::geometry::region::{self, Span};
use crate::geometry::{Frame, Grid, Order, TileBox};
use crate::scalar::ScalarRange;

/// Writes one fragment of a dense array from parts of a box.
///
/// Each part is a box of whole tiles, or ends where the whole box ends. The parts come in the order of the tiles, so
/// that memory holds one part at a time. The fragment becomes visible when [`BoxWriter::finish`] returns.
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
/// # use hyperslab::*;
/// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
/// # let context = Context::memory();
/// # let y = Dimension::new("y", Datatype::Int32, 0, 99, 2);
/// # let x = Dimension::new("x", Datatype::Int32, 0, 99, 2);
/// # let schema = Schema::new(ArrayType::Dense, vec![y, x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
/// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
/// # Array::create(&context, "grid", &schema, &[], &options).await?;
/// # let array = Array::open(&context, "grid", &OpenOptions::default()).await?;
/// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
/// # let options = WriteOptions { timestamp_ms: 2, seed: [2; 32], sync: false };
/// // Three rows of three cells, in tiles of 2 × 2: first two rows, then the last one.
/// let whole = vec![ScalarRange::new(0, 2), ScalarRange::new(0, 2)];
/// let mut writer = array.box_writer(whole, &options).await?;
/// writer.push(&[ScalarRange::new(0, 1), ScalarRange::new(0, 2)], column(&[0, 1, 2, 3, 4, 5])).await?;
/// writer.push(&[ScalarRange::new(2, 2), ScalarRange::new(0, 2)], column(&[6, 7, 8])).await?;
/// writer.finish().await?;
/// assert_eq!(array.at(Window::ALL).await?.fragments().len(), 1);
/// # Ok(()) }) }
/// ```
pub struct BoxWriter {
    draft: Draft,
    grid: Grid,
    region: Vec<ScalarRange>,
    spans: Vec<Span>,
    tiles: TileBox,
    /// The number of tiles that were written.
    written: u64,
}

impl BoxWriter {
    /// Adds the next part, in row-major order: every attribute exactly once, by name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the part is not the next one, if it cuts a tile, if the columns do not match the
    /// schema or the part, or if an index is beyond its enumeration; [`Error::Io`].
    pub async fn push(&mut self, part: &[ScalarRange], columns: Vec<(String, Column)>) -> Result<()> {
        self.draft.array().check_indexes(&columns).await?;
        let (columns, count) = self.draft.fields().arrange(columns)?;
        check::ordered(self.draft.schema(), &columns, None)?;
        let spans = self.grid.spans(part)?;
        let shape = region::shape(&spans);
        if region::cells(&spans) != Some(count as u64) {
            return Err(Error::invalid(format!(
                "the part has sides of {shape:?} cells, but the columns have {count} cells"
            )));
        }
        self.check_whole_tiles(&spans)?;
        let tiles = self.grid.tiles(&spans);
        let number = self.check_next(&tiles)?;
        let frame = Frame {
            shape,
            order: Order::Row,
        };
        let cells = DenseBox::new(self.grid.clone(), spans, frame, columns)?;
        self.draft.add(Arc::new(cells)).await?;
        self.written += number;
        Ok(())
    }

    /// Commits the fragment and returns its name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if parts are missing; [`Error::Io`]. The files written so far are removed if the
    /// store permits it.
    pub async fn finish(self) -> Result<String> {
        self.seal().await?.0.commit().await
    }

    /// Completes the fragment, which stays invisible until [`commit_together`](crate::commit_together) commits it.
    ///
    /// ```
    /// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Schema};
    /// # use hyperslab::*;
    /// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
    /// # let context = Context::memory();
    /// # let x = Dimension::new("x", Datatype::Int32, 0, 9, 2);
    /// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
    /// # let options = WriteOptions { timestamp_ms: 2, seed: [2; 32], sync: false };
    /// # for path in ["heat", "time"] {
    /// #     let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
    /// #     Array::create(&context, path, &schema, &[], &options).await?;
    /// # }
    /// let mut fragments = Vec::new();
    /// for path in ["heat", "time"] {
    ///     let array = Array::open(&context, path, &OpenOptions::default()).await?;
    ///     let part = vec![ScalarRange::new(0, 1)];
    ///     let mut writer = array.box_writer(part.clone(), &options).await?;
    ///     writer.push(&part, vec![("a".to_owned(), Column::from_values(Datatype::Int32, &[7, 8]))]).await?;
    ///     fragments.push(writer.seal().await?);
    /// }
    /// // Both arrays grow, or neither.
    /// assert_eq!(commit_together(fragments).await?.len(), 2);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if parts are missing; [`Error::Io`]. The files written so far are removed if the
    /// store permits it.
    pub async fn seal(self) -> Result<SealedFragment> {
        let (array, name) = (self.draft.array().clone(), self.draft.name.clone());
        let sealed = match self.tiles.count() {
            Some(count) if count == self.written => self.draft.seal(Some(self.region), Vec::new()).await,
            _ => Err(Error::invalid(format!(
                "the box is not complete: {} of its tiles were written; push all parts before finishing",
                self.written
            ))),
        };
        match sealed {
            Ok(sealed) => Ok(SealedFragment(sealed)),
            Err(error) => {
                Draft::discard(&array, &name).await;
                Err(error)
            }
        }
    }

    /// Abandons the fragment and removes its files if the store permits it.
    pub async fn abandon(self) {
        self.draft.abandon().await;
    }

    fn check_whole_tiles(&self, part: &[Span]) -> Result<()> {
        let axes = self.grid.axes.iter().zip(part).zip(&self.spans);
        for ((axis, part), whole) in axes {
            let starts = part.first == whole.first || part.first.is_multiple_of(axis.extent);
            let ends = part.last == whole.last || (part.last + 1).is_multiple_of(axis.extent);
            if !(starts && ends && whole.covers(*part)) {
                return Err(Error::invalid(format!(
                    "the part cuts tiles of '{}', whose extent is {}; cut the box between tiles",
                    axis.name, axis.extent
                )));
            }
        }
        Ok(())
    }

    /// Checks that the part's tiles are the next ones, and returns their number.
    fn check_next(&self, part: &TileBox) -> Result<u64> {
        let wrong = || Error::invalid("the parts of the box are not in the order of its tiles");
        let count = part.count().ok_or_else(wrong)?;
        for i in 0..count {
            let next = self.tiles.index(&part.tile(i)).ok_or_else(wrong)?;
            if next != self.written + i {
                return Err(wrong());
            }
        }
        Ok(count)
    }
}

impl Array {
    /// Starts a fragment that holds a box of a dense array, whose cells come in parts.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the array is sparse or the box is outside its domain; [`Error::Io`].
    pub async fn box_writer(&self, region: Vec<ScalarRange>, options: &WriteOptions) -> Result<BoxWriter> {
        if !self.schema().is_dense() {
            return Err(Error::invalid("the array is sparse: write its cells with `write`"));
        }
        let (grid, spans, region) = dense_box(self.schema(), Some(region))?;
        let draft = self.draft(self.schema().array_type, options).await?;
        Ok(BoxWriter {
            draft,
            tiles: grid.tiles(&spans),
            grid,
            region,
            spans,
            written: 0,
        })
    }
}
