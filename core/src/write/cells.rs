//! The cells of a tile that is to be packed: where they lie, and how they are brought in order.

use std::borrow::Cow;
use std::cell::Cell;

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
    pub(crate) fn picked(from: &'a [u8], plan: CopyPlan, width: usize, cells: usize) -> Option<Self> {
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
        let mut to = buffer(bytes);
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
                let mut chunk = buffer(bytes.min(*all));
                let done = (0..*all).step_by(bytes).try_for_each(|at| {
                    let chunk = &mut chunk[..bytes.min(all - at)];
                    pieces.fill(chunk);
                    f(chunk)
                });
                recycle(chunk);
                done
            }
        }
    }

    /// Keeps the memory for the next tile.
    pub(crate) fn recycle(self) {
        if let Self::Whole(Cow::Owned(data)) = self {
            recycle(data);
        }
    }
}

/// Buffers that a thread keeps from tile to tile are no larger.
const KEPT_BYTES_MAX: usize = 32 << 20;

thread_local! {
    /// Memory that is touched for the first time costs more than what is copied to it.
    static KEPT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A buffer of this many bytes, each of which holds anything.
fn buffer(bytes: usize) -> Vec<u8> {
    let mut buffer = KEPT.take();
    buffer.resize(bytes, 0);
    buffer
}

fn recycle(buffer: Vec<u8>) {
    if buffer.capacity() <= KEPT_BYTES_MAX {
        KEPT.set(buffer);
    }
}
