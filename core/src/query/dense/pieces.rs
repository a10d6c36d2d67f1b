//! Splits the ranges of a dense query at the borders of space tiles, dimension by dimension.

use crate::geometry::Span;

/// Cells along one dimension that are in one tile and in one range of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TilePiece {
    /// The tile's coordinate.
    pub(crate) tile: u64,
    /// The first cell, relative to the tile's first.
    pub(crate) at: u64,
    /// Number of cells.
    pub(crate) len: u64,
    /// The position of the first cell along this dimension of the result.
    pub(crate) to: u64,
}

/// The pieces of these ranges, in the order of the result.
pub(crate) fn pieces(spans: &[Span], extent: u64) -> Vec<TilePiece> {
    let (mut out, mut to) = (Vec::new(), 0);
    for span in spans {
        let mut first = span.first;
        loop {
            let (tile, at) = (first / extent, first % extent);
            let len = (extent - at).min((span.last - first).saturating_add(1));
            out.push(TilePiece { tile, at, len, to });
            to = to.saturating_add(len);
            if span.last - first < len {
                break;
            }
            first += len;
        }
    }
    out
}

/// Number of cells along a dimension. Saturates.
pub(crate) fn length(spans: &[Span]) -> u64 {
    spans.iter().fold(0, |n, s| n.saturating_add(s.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: u64, last: u64) -> Span {
        Span { first, last }
    }

    #[test]
    fn pieces_end_at_tile_borders_and_keep_the_order_of_ranges() {
        let got = pieces(&[span(8, 21), span(3, 3)], 10);
        let piece = |tile, at, len, to| TilePiece { tile, at, len, to };
        assert_eq!(
            got,
            [
                piece(0, 8, 2, 0),
                piece(1, 0, 10, 2),
                piece(2, 0, 2, 12),
                piece(0, 3, 1, 14)
            ]
        );
        assert_eq!(pieces(&[span(u64::MAX - 1, u64::MAX)], 1).len(), 2);
        assert_eq!(pieces(&[span(0, u64::MAX)], 1 << 63).len(), 2);
    }
}
