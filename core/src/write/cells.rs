//! The cells of a tile that is to be packed: where they lie, and how they are brought in order.

use std::borrow::Cow;

use super::spare::Spare;
use crate::geometry::CopyPlan;

/// The cells of one tile of one field, in the order they are stored.
#[derive(Debug)]
pub(crate) struct TileCells<'a> {
    /// Values, one cell after another.
    pub(crate) values: Values<'a>,
    /// Starts of variable-length cells and the end of the last, from 0.
    pub(crate) offsets: Option<Cow<'a, [u64]>>,
    /// One byte a cell.
    pub(crate) validity: Option<Cow<'a, [u8]>>,
}

/// The values of a tile.
#[derive(Debug)]
pub(crate) enum Values<'a> {
    /// Side by side.
    Whole(Cow<'a, [u8]>),
    /// In runs that lie apart: they are brought together only as far as they are looked at.
    Runs {
        from: &'a [u8],
        plan: CopyPlan,
        /// Bytes of a cell.
        width: usize,
        /// Bytes of all cells, padding included.
        bytes: usize,
    },
}

impl<'a> Values<'a> {
    /// `cells` cells of `width` bytes, those that the plan leaves out being zero; `None` if it does not fit.
    pub(crate) fn picked(from: &'a [u8], plan: CopyPlan, width: usize, cells: usize, spare: &Spare) -> Option<Self> {
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

    /// How many bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Whole(data) => data.len(),
            Self::Runs { bytes, .. } => *bytes,
        }
    }

    /// All of them side by side.
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

    /// All of them side by side, copied only where they lie apart.
    pub(crate) fn into_whole(self) -> Cow<'a, [u8]> {
        match self {
            Self::Whole(data) => data,
            Self::Runs { .. } => Cow::Owned(self.whole().into_owned()),
        }
    }

    /// Calls `f` with `bytes` at a time, which are whole cells; the last time with what is left.
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

    /// Keeps the memory for the next tile.
    pub(crate) fn recycle(self, spare: &Spare) {
        if let Self::Whole(Cow::Owned(data)) = self {
            spare.give(data);
        }
    }
}
