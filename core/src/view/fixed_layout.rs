//! The layout of a file whose blocks of cells can be encoded separately. Does no I/O.

use std::ops::Range;

/// The layout of a file whose blocks of cells can be encoded separately: a header, the blocks, a trailer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FixedLayout {
    pub(super) header: Vec<u8>,
    /// Cells per block. The first block is shorter by `block_shift` cells.
    pub(super) block_cells: u64,
    pub(super) block_shift: u64,
    pub(super) cells: u64,
    /// Bytes per cell, if a block is the bytes of its cells one after another.
    pub(super) cell_bytes: Option<u64>,
    /// Bytes of the first block, of each block between the first and the last, and of all blocks.
    pub(super) first_bytes: u64,
    pub(super) block_bytes: u64,
    pub(super) blocks_bytes: u64,
    /// Size of the file in bytes.
    pub(super) size: u64,
}

impl FixedLayout {
    /// The number of blocks.
    pub(super) const fn blocks(&self) -> u64 {
        match self.cells {
            0 => 0,
            cells => (cells - 1 + self.block_shift) / self.block_cells + 1,
        }
    }

    /// The block that contains a byte, counted from the end of the header.
    pub(super) fn block_at(&self, byte: u64) -> u64 {
        match byte.checked_sub(self.first_bytes) {
            None => 0,
            Some(after) => 1 + after / self.block_bytes.max(1),
        }
    }

    /// The cells that hold these bytes, counted from the end of the header, and the place of the bytes in them. `None` if a
    /// block has more than the bytes of its cells.
    pub(super) fn cells_of(&self, bytes: Range<u64>) -> Option<(Range<u64>, Range<u64>)> {
        let width = self.cell_bytes?;
        let cells = bytes.start / width..bytes.end.div_ceil(width);
        let start = bytes.start - cells.start * width;
        Some((cells, start..start + (bytes.end - bytes.start)))
    }

    /// The start of a block, in bytes from the end of the header.
    pub(super) const fn start(&self, index: u64) -> u64 {
        match index.checked_sub(1) {
            None => 0,
            Some(before) => self.first_bytes.saturating_add(before.saturating_mul(self.block_bytes)),
        }
    }

    /// The byte range of a block, from the end of the header.
    pub(super) fn bytes(&self, index: u64) -> Range<u64> {
        self.start(index)..self.start(index.saturating_add(1)).min(self.blocks_bytes)
    }

    /// The cells of a block.
    pub(super) fn block(&self, index: u64) -> Range<u64> {
        let at = |i: u64| {
            i.saturating_mul(self.block_cells)
                .saturating_sub(self.block_shift)
                .min(self.cells)
        };
        at(index)..at(index.saturating_add(1))
    }

    /// The offset in the file and the number of cells of each block.
    pub(super) fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        let place = |i| {
            let cells = self.block(i);
            (self.header.len() as u64 + self.start(i), cells.end - cells.start)
        };
        (0..self.blocks()).map(place)
    }
}
