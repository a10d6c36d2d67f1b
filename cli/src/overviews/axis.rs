//! The axes of the array, by how much overviews shrink them, and the blocks in which the array is read.

use hyperslab::schema::Dimension;
use hyperslab::{Scalar, ScalarRange};

/// Cells of the array in a block.
const BLOCK_CELLS: i128 = 1 << 25;

/// The range of an axis that overviews cover.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub(super) lo: i128,
    pub(super) hi: i128,
    /// Blocks end at multiples of this length, where cells of every copy end too.
    unit: i128,
}

impl Axis {
    /// The axis of a dimension with data in `range`; `None` if it is not an integer. `factors` has a factor for each
    /// overview.
    pub(super) fn new(dimension: &Dimension, range: &ScalarRange, factors: &[u64]) -> Option<Self> {
        let extent = dimension.extent.as_ref().and_then(Scalar::as_i128).unwrap_or(1).max(1);
        let step = factors
            .iter()
            .fold(1, |all, f| multiple(all, i128::from(*f)).unwrap_or(i128::MAX >> 1));
        // Blocks of whole tiles are read fastest, unless the tiles do not fit the factors.
        let both = multiple(step, extent).filter(|both| *both <= 16 * step.max(extent));
        Some(Self {
            lo: range.lo.as_i128()?,
            hi: range.hi.as_i128()?,
            unit: both.unwrap_or_else(|| step.saturating_mul((extent + step - 1) / step)),
        })
    }

    pub(super) fn len(&self) -> i128 {
        self.hi - self.lo + 1
    }

    /// The first coordinate of an overview, and its length.
    pub(super) fn shrunk(&self, factor: u64) -> (i128, i128) {
        let f = i128::from(factor);
        let first = self.lo.div_euclid(f);
        (first, self.hi.div_euclid(f) - first + 1)
    }

    /// The end of the block that starts at `at`, if blocks have this length.
    pub(super) fn end(&self, at: i128, block: i128) -> i128 {
        if self.len() <= block {
            return self.hi + 1;
        }
        (at + block - at.rem_euclid(block)).min(self.hi + 1)
    }
}

/// The least common multiple.
fn multiple(a: i128, b: i128) -> Option<i128> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).checked_mul(b)
}

/// The product of these axes' lengths.
pub(super) fn cells(axes: &[Axis]) -> i128 {
    axes.iter().map(Axis::len).fold(1, i128::saturating_mul)
}

/// The length of a block along each axis: whole units, and along the first axes only as many as fit.
pub(super) fn block(axes: &[Axis]) -> Vec<i128> {
    let (mut block, mut room, mut rest) = (Vec::with_capacity(axes.len()), BLOCK_CELLS, axes);
    while let Some((axis, later)) = rest.split_first() {
        // Once the first axes are cut to one unit each, the remaining axes may fit completely.
        let fits = match cells(rest) <= room {
            true => axis.len(),
            false => room / cells(later).max(1) / axis.unit * axis.unit,
        };
        let taken = fits.max(axis.unit);
        block.push(taken);
        room = (room / taken.min(axis.len()).max(1)).max(1);
        rest = later;
    }
    block
}

#[cfg(test)]
mod tests {
    use hyperslab::Datatype;

    use super::*;

    fn axes(lengths: &[(i64, i64)]) -> Vec<Axis> {
        let axis = |&(length, extent): &(i64, i64)| {
            let dimension = Dimension::new("x", Datatype::Int64, 0_i64, length + 20, extent);
            Axis::new(&dimension, &ScalarRange::new(3_i64, 2 + length), &[2, 4]).unwrap()
        };
        lengths.iter().map(axis).collect()
    }

    #[test]
    fn blocks_are_of_whole_units_and_bounded() {
        let block = |lengths| block(&axes(lengths));
        assert_eq!(block(&[(100, 10), (50, 10)]), [100, 50]);
        assert_eq!(
            block(&[(1 << 20, 100), (1 << 10, 10)]),
            [(1 << 15) / 100 * 100, 1 << 10]
        );
        // An extent of 3 and factors of 2 and 4: units of 12.
        assert_eq!(
            block(&[(1 << 40, 1 << 10), (1 << 40, 3)]),
            [1 << 10, (1 << 15) / 12 * 12]
        );
        // Units of 1000 × 4 cells would be many tiles of 1001, so a unit is at least a tile.
        assert_eq!(axes(&[(1 << 40, 1001)])[0].unit, 4004);
    }

    #[test]
    fn blocks_end_where_cells_of_all_copies_do() {
        let axis = &axes(&[(100, 10)])[0];
        assert_eq!((axis.end(3, 20), axis.end(20, 20), axis.end(100, 20)), (20, 40, 103));
        assert_eq!((axis.end(3, 100), axis.shrunk(10)), (103, (0, 11)));
    }
}
