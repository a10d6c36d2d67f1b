//! Cuts cells into tiles: cells in global order, and cells in any order with the permutation that sorts them.

use std::borrow::Cow;
use std::ops::Range;

use super::buffer_pool::BufferPool;
use super::cells::{TileCells, Values};
use super::field::Fields;
use super::pack::{self, PackedTile};
use crate::column::Column;
use crate::cpu::Cpu;
use crate::error::Result;
use crate::format::field::Field;

/// Cells that can be cut into tiles. Each tile of each field can be cut independently.
pub(crate) trait Tiles: Send + Sync {
    /// The number of tiles.
    fn count(&self) -> u64;

    /// The number of cells of a tile, padding included.
    fn cells(&self, tile: u64) -> u64;

    /// Whether the tile is available in its stored form, so that it needs no packing.
    fn is_stored(&self, _tile: u64) -> bool {
        false
    }

    /// The stored form of field `number` of such a tile.
    fn stored(&self, _number: usize, _tile: u64) -> Option<PackedTile> {
        None
    }

    /// The tile's cells of field `number`. If they must be gathered, the memory comes from `spare`.
    fn cut(&self, field: &Field, number: usize, tile: u64, spare: &BufferPool) -> Result<TileCells<'_>>;

    /// The number of cells the tile has room for. The last tile in global order may have fewer cells.
    fn capacity(&self, tile: u64) -> u64;

    /// The cells of the tile that are not padding.
    fn live(&self, tile: u64) -> Vec<Range<usize>>;
}

/// Packs all fields of a range of tiles in parallel. The result is ordered by tile, then by field.
pub(crate) fn pack_range(
    tiles: &dyn Tiles,
    fields: &Fields,
    cpu: Cpu,
    range: Range<u64>,
) -> Result<Vec<Vec<PackedTile>>> {
    let jobs: Vec<(u64, usize)> = range
        .clone()
        .flat_map(|t| (0..fields.list.len()).map(move |f| (t, f)))
        .collect();
    let packed = cpu.try_map(&jobs, |&(tile, number)| {
        if let Some(stored) = tiles.stored(number, tile) {
            return Ok(stored);
        }
        let field = &fields.list[number];
        let cells = tiles.cut(&field.field, number, tile, &fields.spare)?;
        let packed = pack::pack(fields, field, &cells, &tiles.live(tile), tiles.capacity(tile));
        cells.values.recycle(&fields.spare);
        packed
    })?;
    let mut packed = packed.into_iter();
    Ok(range
        .map(|_| packed.by_ref().take(fields.list.len()).collect())
        .collect())
}

/// Cells `range` of a column, without copying the values.
pub(super) fn consecutive<'a>(field: &Field, column: &'a Column, range: Range<usize>) -> TileCells<'a> {
    let validity = column.validity.as_ref().map(|v| Cow::Borrowed(&v[range.clone()]));
    match (&column.offsets, field.cell_bytes()) {
        (Some(offsets), _) => {
            let (start, end) = (offsets[range.start], offsets[range.end]);
            let rebased = match start {
                0 => Cow::Borrowed(&offsets[range.start..=range.end]),
                _ => Cow::Owned(offsets[range.start..=range.end].iter().map(|o| o - start).collect()),
            };
            TileCells {
                values: Values::Whole(Cow::Borrowed(&column.data[start as usize..end as usize])),
                offsets: Some(rebased),
                validity,
            }
        }
        (None, width) => {
            let n = width.unwrap_or(1);
            TileCells {
                values: Values::Whole(Cow::Borrowed(&column.data[range.start * n..range.end * n])),
                offsets: None,
                validity,
            }
        }
    }
}

/// Cells in storage order, cut into tiles of equal size.
#[derive(Debug)]
pub(crate) struct InOrder {
    pub(crate) columns: Vec<Column>,
    /// The number of cells to cut, from the first on.
    pub(crate) cells: usize,
    /// Cells per tile; the last tile may have fewer.
    pub(crate) tile_cells: u64,
}

impl InOrder {
    fn range(&self, tile: u64) -> Range<usize> {
        let start = (tile * self.tile_cells) as usize;
        start..(start as u64).saturating_add(self.tile_cells).min(self.cells as u64) as usize
    }
}

impl Tiles for InOrder {
    fn count(&self) -> u64 {
        (self.cells as u64).div_ceil(self.tile_cells)
    }

    fn cells(&self, tile: u64) -> u64 {
        self.range(tile).len() as u64
    }

    fn cut(&self, field: &Field, number: usize, tile: u64, _: &BufferPool) -> Result<TileCells<'_>> {
        Ok(consecutive(field, &self.columns[number], self.range(tile)))
    }

    fn capacity(&self, _: u64) -> u64 {
        self.tile_cells
    }

    fn live(&self, tile: u64) -> Vec<Range<usize>> {
        std::iter::once(0..self.range(tile).len()).collect()
    }
}

/// Cells in any order, and the permutation that sorts them.
#[derive(Debug)]
pub(crate) struct Permuted {
    pub(crate) columns: Vec<Column>,
    /// The index of the first cell, of the second cell, …
    pub(crate) order: Vec<u32>,
    /// Cells per tile; the last tile may have fewer.
    pub(crate) tile_cells: u64,
}

impl Permuted {
    fn range(&self, tile: u64) -> Range<usize> {
        let start = (tile * self.tile_cells) as usize;
        start
            ..(start as u64)
                .saturating_add(self.tile_cells)
                .min(self.order.len() as u64) as usize
    }
}

impl Tiles for Permuted {
    fn count(&self) -> u64 {
        (self.order.len() as u64).div_ceil(self.tile_cells)
    }

    fn cells(&self, tile: u64) -> u64 {
        self.range(tile).len() as u64
    }

    fn cut(&self, _: &Field, number: usize, tile: u64, _: &BufferPool) -> Result<TileCells<'_>> {
        let cells = self.columns[number].picked(&self.order[self.range(tile)]);
        let offsets = cells.offsets.map(Cow::Owned);
        Ok(TileCells {
            values: Values::Whole(Cow::Owned(cells.data)),
            offsets,
            validity: cells.validity.map(Cow::Owned),
        })
    }

    fn capacity(&self, tile: u64) -> u64 {
        self.cells(tile)
    }

    fn live(&self, tile: u64) -> Vec<Range<usize>> {
        std::iter::once(0..self.range(tile).len()).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};

    pub(in crate::write) fn field(datatype: Datatype, cell: CellCount, nullable: bool) -> Field {
        Field {
            nullable,
            ..Field::new("a", datatype, cell)
        }
    }

    #[test]
    fn offsets_of_a_tile_after_empty_cells_start_at_zero() {
        let columns = vec![Column::from_cells(Datatype::StringAscii, ["", "", "ab", "c"])];
        let tiles = InOrder {
            columns,
            cells: 4,
            tile_cells: 2,
        };
        let field = field(Datatype::StringAscii, CellCount::Var, false);
        assert_eq!(
            tiles
                .cut(&field, 0, 0, &BufferPool::default())
                .unwrap()
                .offsets
                .unwrap()[..],
            [0, 0, 0]
        );
        assert_eq!(
            tiles
                .cut(&field, 0, 1, &BufferPool::default())
                .unwrap()
                .offsets
                .unwrap()[..],
            [0, 2, 3]
        );
    }
}
