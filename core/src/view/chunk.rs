//! Chunks of the Zarr view that are built from cells. A chunk is a tile, and all chunks have the same size.
//! Does no I/O.

use super::encode::Format;
use super::fixed_layout::FixedLayout;
use super::hash::hash;
use super::members::Member;
use super::missing::{Missing, mask};
use super::shard::Sharding;
use super::slice::Slice;
use super::snapshot::Snapshot;
use super::tiles::Tiles;
use crate::column::Column;
use crate::error::Result;
use crate::format::cursor::Decoded;

/// A chunk of values or of validity.
#[derive(Debug)]
pub(super) struct ZarrChunk {
    /// The cells of the tile inside the current domain, or inside the domain if there is no current domain.
    pub(super) slice: Slice,
    /// Whether the chunk holds the validity of cells instead of their values.
    validity: bool,
    /// The shard layout; `None` if the chunk is cells only.
    pub(super) sharding: Option<Sharding>,
    /// Cells along each dimension.
    shape: Vec<u64>,
    /// Cells between the start of the chunk and the start of the slice, along each dimension.
    before: Vec<u64>,
    /// The value of a cell outside the slice.
    fill: Vec<u8>,
    /// The value of a null cell; `None` if no cell can be null.
    null: Option<Vec<u8>>,
}

impl ZarrChunk {
    /// The chunk with this key; `None` for coordinates and the grid mapping.
    ///
    /// # Errors
    /// Same as [`Slice::new`].
    pub(super) fn new(snapshot: &Snapshot, member: &Member, key: &[u64]) -> Result<Option<Self>> {
        let (name, validity) = match member {
            Member::Values(name) => (name, false),
            Member::Valid(name) => (name, true),
            Member::Coordinates(_) | Member::GridMapping => return Ok(None),
        };
        let schema = snapshot.array.schema();
        let tile = key.get(..schema.dimensions.len()).unwrap_or(key);
        let tiles = Tiles::of(&snapshot.array)?;
        let slice = Slice::new(snapshot, tiles.selection(name, tile), Format::Bin)?;
        let values = schema.attribute(name).map(|(_, a)| a).filter(|_| !validity);
        let missing = values.map(Missing::of);
        Ok(Some(Self {
            slice,
            validity,
            sharding: values.and_then(|a| Sharding::of(&snapshot.array, a).ok()),
            shape: tiles.grid().extents(),
            before: tiles.before(tile),
            fill: missing.as_ref().map_or_else(|| vec![0], |m| m.unwritten.clone()),
            null: missing.and_then(|m| m.null),
        }))
    }

    /// Whether the slice starts at the first cell of the chunk. Then a stored tile with the cells of the slice has all
    /// cells of the chunk that readers look at.
    pub(super) fn starts_with_slice(&self) -> bool {
        self.before.iter().all(|&n| n == 0)
    }

    /// Size of a chunk built from cells, in bytes.
    pub(super) fn size(&self) -> u64 {
        let cells = || {
            self.shape
                .iter()
                .fold(self.fill.len() as u64, |n, &c| n.saturating_mul(c))
        };
        self.sharding.as_ref().map_or_else(cells, Sharding::made_bytes)
    }

    /// The layout of the chunk if it consists of the slice's cells only and any of them can be read separately.
    ///
    /// # Errors
    /// Same as [`Slice::fixed_layout`].
    pub(super) fn layout(&self) -> Result<Option<FixedLayout>> {
        let is_cells = self.sharding.is_none() && !self.validity && self.slice.selection.shape() == self.shape;
        let layout = if is_cells { self.slice.fixed_layout()? } else { None };
        Ok(layout.filter(|l| l.size == self.size()))
    }

    /// An id of the chunk's bytes. `kind` distinguishes chunks built from cells from others.
    pub(super) fn id(&self, kind: &str) -> u64 {
        let part = u8::from(self.validity) + 2 * u8::from(self.sharding.is_some());
        hash(&[kind.as_bytes(), &self.slice.id().to_le_bytes(), &[part]])
    }

    /// Builds the chunk from the slice's only column.
    ///
    /// # Errors
    /// Same as [`Sharding::made`].
    pub(super) fn bytes(&self, column: Column) -> Decoded<Vec<u8>> {
        let cells = column.len();
        let mut data = column.data;
        if self.validity {
            data = column.validity.unwrap_or_else(|| vec![1; cells]);
        } else if let Some(null) = &self.null {
            mask(&mut data, column.validity.as_deref(), null);
        }
        let cells = padded(
            data,
            (&self.slice.selection.shape(), &self.before),
            &self.shape,
            &self.fill,
        );
        match &self.sharding {
            Some(sharding) => sharding.made(&cells),
            None => Ok(cells),
        }
    }
}

/// Copies a row-major box of `shape` cells into a chunk of `chunk` cells, at offset `before`. The other cells are
/// `fill`, the bytes of one cell.
fn padded(cells: Vec<u8>, (shape, before): (&[u64], &[u64]), chunk: &[u64], fill: &[u8]) -> Vec<u8> {
    if shape == chunk || fill.is_empty() {
        return cells;
    }
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let total = chunk.iter().fold(1, |n: usize, &c| n.saturating_mul(size(c)));
    let mut out = fill.repeat(total);
    let row = shape.last().map_or(1, |&n| size(n)) * fill.len();
    for (i, from) in cells.chunks_exact(row.max(1)).enumerate() {
        // Convert the row's index in the box to its index in the chunk, starting at the last axis but one.
        let (mut rest, mut stride) = (i, chunk.last().map_or(1, |&n| size(n)));
        let mut at = before.last().map_or(0, |&n| size(n));
        for ((&n, &skip), &c) in shape.iter().zip(before).zip(chunk).rev().skip(1) {
            at += (rest % size(n).max(1) + size(skip)) * stride;
            rest /= size(n).max(1);
            stride = stride.saturating_mul(size(c));
        }
        if let Some(to) = out.get_mut(at * fill.len()..at * fill.len() + row) {
            to.copy_from_slice(from);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_padded() {
        assert_eq!(
            padded(vec![1, 2, 3, 4], (&[2, 2], &[0; 2]), &[3, 3], &[9]),
            [1, 2, 9, 3, 4, 9, 9, 9, 9]
        );
        assert_eq!(
            padded(vec![1, 2], (&[1, 1, 2], &[0; 3]), &[2, 1, 3], &[0]),
            [1, 2, 0, 0, 0, 0]
        );
        assert_eq!(
            padded(vec![1, 2, 3, 4], (&[2], &[0; 1]), &[3], &[7, 8]),
            [1, 2, 3, 4, 7, 8]
        );
        assert_eq!(
            padded(vec![1, 2], (&[2, 1], &[1, 1]), &[3, 2], &[0]),
            [0, 0, 0, 1, 0, 2]
        );
        assert_eq!(
            padded((1..=8).collect(), (&[2, 2, 2], &[0; 3]), &[2, 3, 2], &[0]),
            [1, 2, 3, 4, 0, 0, 5, 6, 7, 8, 0, 0]
        );
    }
}
