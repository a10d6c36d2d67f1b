//! The cells of a tile to be packed, and how they are gathered into tile order.

use std::borrow::Cow;

use super::buffer_pool::BufferPool;
use crate::geometry::CopyPlan;

/// The cells of one tile of one field, in storage order.
#[derive(Debug)]
pub(crate) struct TileCells<'a> {
    /// The values of all cells.
    pub(crate) values: Values<'a>,
    /// The start of each variable-length cell, relative to the first, and the end of the last.
    pub(crate) offsets: Option<Cow<'a, [u64]>>,
    /// One byte per cell.
    pub(crate) validity: Option<Cow<'a, [u8]>>,
}

/// The values of a tile.
#[derive(Debug)]
pub(crate) enum Values<'a> {
    /// Contiguous values.
    Whole(Cow<'a, [u8]>),
    /// Runs of values that are gathered only as they are read.
    Runs {
        from: &'a [u8],
        plan: CopyPlan,
        /// Bytes per cell.
        width: usize,
        /// Bytes of all cells, padding included.
        bytes: usize,
    },
}

impl<'a> Values<'a> {
    /// `cells` cells of `width` bytes, gathered by `plan`. Cells outside the plan are zero. Returns `None` if the plan
    /// does not fit `from`.
    pub(crate) fn picked(
        from: &'a [u8],
        plan: CopyPlan,
        width: usize,
        cells: usize,
        spare: &BufferPool,
    ) -> Option<Self> {
        let bytes = cells * width;
        if plan.has_runs() {
            let fits = plan.fits(from, bytes, width);
            return fits.then_some(Self::Runs {
                from,
                plan,
                width,
                bytes,
            });
        }
        let mut to = spare.take(bytes);
        to.resize(bytes, 0);
        if plan.cells() != cells as u64 {
            to.fill(0);
        }
        plan.copy(from, &mut to, width).then_some(Self::Whole(Cow::Owned(to)))
    }

    /// The number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Whole(data) => data.len(),
            Self::Runs { bytes, .. } => *bytes,
        }
    }

    /// All values as one contiguous slice.
    pub(crate) fn whole(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Whole(data) => Cow::Borrowed(data),
            Self::Runs {
                from,
                plan,
                width,
                bytes,
            } => {
                let mut to = vec![0; *bytes];
                plan.pieces(from, *width).fill(&mut to);
                Cow::Owned(to)
            }
        }
    }

    /// All values as one contiguous slice, copied only if they are runs.
    pub(crate) fn into_whole(self) -> Cow<'a, [u8]> {
        match self {
            Self::Whole(data) => data,
            Self::Runs { .. } => Cow::Owned(self.whole().into_owned()),
        }
    }

    /// Calls `f` with chunks of `bytes`, a multiple of the cell size. The last chunk may be shorter.
    pub(crate) fn chunks<E>(&self, bytes: usize, f: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Whole(data) => data.chunks(bytes).try_for_each(f),
            Self::Runs {
                from,
                plan,
                width,
                bytes: all,
            } => {
                let mut f = f;
                let mut pieces = plan.pieces(from, *width);
                let mut chunk = vec![0; bytes.min(*all)];
                (0..*all).step_by(bytes).try_for_each(|at| {
                    let chunk = &mut chunk[..bytes.min(all - at)];
                    pieces.fill(chunk);
                    f(chunk)
                })
            }
        }
    }

    /// Returns the memory to the pool.
    pub(crate) fn recycle(self, spare: &BufferPool) {
        if let Self::Whole(Cow::Owned(data)) = self {
            spare.give(data);
        }
    }
}
