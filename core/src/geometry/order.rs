//! Row-major and column-major order.

use std::cmp::Ordering;

use crate::error::{Error, Result};
use crate::format::schema::Layout;

/// Row-major or column-major order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Order {
    /// The last dimension varies fastest.
    Row,
    /// The first dimension varies fastest.
    Col,
}

impl Order {
    /// The order of a row-major or column-major layout.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for any other layout.
    pub(crate) fn of(layout: Layout) -> Result<Self> {
        match layout {
            Layout::RowMajor => Ok(Self::Row),
            Layout::ColMajor => Ok(Self::Col),
            other => Err(Error::invalid(format!(
                "{other:?} is neither row-major nor column-major"
            ))),
        }
    }

    /// Indices of `n` dimensions, slowest first.
    pub(crate) fn slow_to_fast(self, n: usize) -> impl DoubleEndedIterator<Item = usize> {
        (0..n).map(move |i| if self == Self::Row { i } else { n - 1 - i })
    }

    /// Indices of `n` dimensions, fastest first.
    pub(crate) fn fast_to_slow(self, n: usize) -> impl DoubleEndedIterator<Item = usize> {
        self.slow_to_fast(n).rev()
    }

    /// Compares two positions.
    pub(crate) fn compare(self, a: &[u64], b: &[u64]) -> Ordering {
        let along = |d: usize| a.get(d).cmp(&b.get(d));
        self.slow_to_fast(a.len())
            .map(along)
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Number of cells between neighbours along each dimension. Saturates.
    pub(crate) fn strides(self, shape: &[u64]) -> Vec<u64> {
        let mut strides = vec![1; shape.len()];
        let mut step = 1_u64;
        for d in self.fast_to_slow(shape.len()) {
            strides[d] = step;
            step = step.saturating_mul(shape[d]);
        }
        strides
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_follow_the_order() {
        assert_eq!(Order::Row.strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(Order::Col.strides(&[2, 3, 4]), [1, 2, 6]);
    }
}
