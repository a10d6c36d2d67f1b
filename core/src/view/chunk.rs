//! The chunks of the Zarr view that are made of cells: tiles as Zarr has them, all of one size. Pure.

use super::encode::Format;
use super::missing::{Missing, mask};
use super::node::{Snapshot, hash};
use super::shard::Sharding;
use super::slice::{FixedLayout, Slice};
use super::tiles::Tiles;
use super::zarr::Member;
use crate::column::Column;
use crate::error::Result;
use crate::format::cursor::Decoded;

/// A chunk of values or of validity.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The cells of the tile that are inside the current domain, or the domain.
    pub(super) slice: Slice,
    /// Whether the chunk tells which cells are there, rather than their values.
    validity: bool,
    /// How it becomes a shard; `None` for the cells alone.
    pub(super) sharding: Option<Sharding>,
    /// Cells along each side.
    shape: Vec<u64>,
    /// Cells before the slice, along each side.
    before: Vec<u64>,
    /// What a cell outside of it holds.
    fill: Vec<u8>,
    /// What a null cell holds; `None` where there are none.
    null: Option<Vec<u8>>,
}

impl Chunk {
    /// The chunk of this key; `None` for coordinates.
    ///
    /// # Errors
    /// As [`Slice::new`].
    pub(super) fn new(snapshot: &Snapshot, member: &Member, key: &[u64]) -> Result<Option<Self>> {
        let (name, validity) = match member {
            Member::Values(name) => (name, false),
            Member::Valid(name) => (name, true),
            Member::Coordinates(_) => return Ok(None),
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

    /// Whether its first cell is that of the slice, so that a tile that has the slice's cells has all the others that
    /// are looked at.
    pub(super) fn starts_with_slice(&self) -> bool {
        self.before.iter().all(|&n| n == 0)
    }

    /// Bytes, where it is made of cells.
    pub(super) fn size(&self) -> u64 {
        let cells = || {
            self.shape
                .iter()
                .fold(self.fill.len() as u64, |n, &c| n.saturating_mul(c))
        };
        self.sharding.as_ref().map_or_else(cells, Sharding::made_bytes)
    }

    /// How its cells lie in it, where they are all there is of it and any of them can be read alone.
    ///
    /// # Errors
    /// As [`Slice::fixed_layout`].
    pub(super) fn layout(&self) -> Result<Option<FixedLayout>> {
        let is_cells = self.sharding.is_none() && !self.validity && self.slice.selection.shape() == self.shape;
        let layout = if is_cells { self.slice.fixed_layout()? } else { None };
        Ok(layout.filter(|l| l.size == self.size()))
    }

    /// The same for the same bytes. `kind` tells those that are made of cells from others.
    pub(super) fn id(&self, kind: &str) -> u64 {
        let part = u8::from(self.validity) + 2 * u8::from(self.sharding.is_some());
        hash(&[kind.as_bytes(), &self.slice.id().to_le_bytes(), &[part]])
    }

    /// The bytes, made of the one column of the slice.
    ///
    /// # Errors
    /// As [`Sharding::made`].
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

/// A box of `shape` cells, row by row, with so many `before` it along each side, in a chunk of `chunk` cells that is
/// else full of `fill`, the bytes of one cell.
fn padded(cells: Vec<u8>, (shape, before): (&[u64], &[u64]), chunk: &[u64], fill: &[u8]) -> Vec<u8> {
    if shape == chunk || fill.is_empty() {
        return cells;
    }
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let total = chunk.iter().fold(1, |n: usize, &c| n.saturating_mul(size(c)));
    let mut out = fill.repeat(total);
    let row = shape.last().map_or(1, |&n| size(n)) * fill.len();
    for (i, from) in cells.chunks_exact(row.max(1)).enumerate() {
        // The row's place in the box, from the last axis but one to the first, gives its place in the chunk.
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
