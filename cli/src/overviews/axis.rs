//! The axes of the array, and the blocks in which it is read.

use hyperslab::schema::Dimension;
use hyperslab::{Scalar, ScalarRange};

/// Cells of the array in a block.
const BLOCK_CELLS: i128 = 1 << 25;

/// The non-empty range of an axis, and its tiles.
pub(super) struct Axis {
    pub(super) lo: i128,
    pub(super) hi: i128,
    /// The start of the first tile.
    first: i128,
    extent: i128,
}

impl Axis {
    /// The axis of a dimension with this non-empty range; `None` if it is not an integer.
    pub(super) fn new(dimension: &Dimension, written: &ScalarRange) -> Option<Self> {
        Some(Self {
            lo: written.lo.as_i128()?,
            hi: written.hi.as_i128()?,
            first: dimension.domain.as_ref()?.lo.as_i128()?,
            extent: dimension.extent.as_ref().and_then(Scalar::as_i128).unwrap_or(1).max(1),
        })
    }

    pub(super) fn len(&self) -> i128 {
        self.hi - self.lo + 1
    }

    /// The first coordinate of a copy, and its length.
    pub(super) fn shrunk(&self, factor: u64) -> (i128, i128) {
        let f = i128::from(factor);
        let first = self.lo.div_euclid(f);
        (first, self.hi.div_euclid(f) - first + 1)
    }

    /// The end of the block that starts at `at`: the end of a tile or of the axis.
    pub(super) fn end(&self, at: i128, block: i128) -> i128 {
        if self.len() <= block {
            return self.hi + 1;
        }
        (at + block - (at - self.first).rem_euclid(block)).min(self.hi + 1)
    }
}

/// The product of these axes' lengths.
pub(super) fn cells(axes: &[Axis]) -> i128 {
    axes.iter().map(Axis::len).fold(1, i128::saturating_mul)
}

/// The length of a block along each axis: whole tiles, and along the first axes only as many as fit.
pub(super) fn block(axes: &[Axis]) -> Vec<i128> {
    let (mut block, mut room, mut rest) = (Vec::with_capacity(axes.len()), BLOCK_CELLS, axes);
    while let Some((axis, later)) = rest.split_first() {
        // Once the first axes are cut to one tile each, the remaining axes may fit completely.
        let fits = match cells(rest) <= room {
            true => axis.len(),
            false => room / cells(later) / axis.extent * axis.extent,
        };
        let taken = fits.max(axis.extent);
        block.push(taken);
        room = (room / taken.min(axis.len())).max(1);
        rest = later;
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(lengths: &[(i128, i128)]) -> Vec<Axis> {
        let axis = |&(length, extent): &(i128, i128)| Axis {
            lo: 3,
            hi: 2 + length,
            first: 2,
            extent,
        };
        lengths.iter().map(axis).collect()
    }

    #[test]
    fn blocks_are_of_whole_tiles_and_bounded() {
        let block = |lengths| block(&axes(lengths));
        assert_eq!(block(&[(100, 10), (50, 10)]), [100, 50]);
        assert_eq!(
            block(&[(1 << 20, 100), (1 << 10, 10)]),
            [(1 << 15) / 100 * 100, 1 << 10]
        );
        assert_eq!(block(&[(1 << 40, 1 << 10), (1 << 40, 3)]), [1 << 10, (1 << 15) / 3 * 3]);
        assert_eq!(
            block(&[(7, 10), (1 << 40, 4), (5, 1)]),
            [10, (1 << 25) / 7 / 5 / 4 * 4, 5]
        );
    }

    #[test]
    fn blocks_end_where_tiles_do() {
        let axis = &axes(&[(100, 10)])[0];
        assert_eq!((axis.end(3, 20), axis.end(22, 20), axis.end(90, 20)), (22, 42, 102));
        assert_eq!(axis.end(102, 20), 103);
        assert_eq!((axis.end(3, 100), axis.shrunk(10)), (103, (0, 11)));
    }
}
