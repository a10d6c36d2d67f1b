//! Splits the ranges of a dense query at the borders of space tiles, dimension by dimension.

use crate::geometry::{Grid, Order, Span};

/// Cells along one dimension that are in one tile and in one range of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
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
pub(crate) fn pieces(spans: &[Span], extent: u64) -> Vec<Piece> {
    let (mut out, mut to) = (Vec::new(), 0);
    for span in spans {
        let mut first = span.first;
        loop {
            let (tile, at) = (first / extent, first % extent);
            let len = (extent - at).min((span.last - first).saturating_add(1));
            out.push(Piece { tile, at, len, to });
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

/// The cells `from..from + len` of the ranges.
fn sub_spans(spans: &[Span], mut from: u64, mut len: u64) -> Vec<Span> {
    let mut out = Vec::new();
    for span in spans {
        if len == 0 {
            break;
        }
        let n = span.len();
        if from >= n {
            from -= n;
            continue;
        }
        let first = span.first + from;
        let take = (n - from).min(len);
        out.extend(Span::new(first, first + (take - 1)));
        len -= take;
        from = 0;
    }
    out
}

/// The boxes in which a region is read. The region is split along the slowest dimensions of the result, so each box is
/// a contiguous part of the result.
#[derive(Debug, Clone)]
pub(crate) struct Cuts {
    spans: Vec<Vec<Span>>,
    lengths: Vec<u64>,
    extents: Vec<u64>,
    order: Vec<usize>,
    /// The position in `order` of the dimension that is split into parts of `step`. Slower dimensions are split into
    /// single cells.
    split: usize,
    step: u64,
    next: Option<Vec<u64>>,
}

impl Cuts {
    /// Boxes of at most `cells_max` cells. With `whole_tiles`, a box holds at least a row of tiles.
    pub(crate) fn new(spans: Vec<Vec<Span>>, grid: &Grid, order: Order, cells_max: u64, whole_tiles: bool) -> Self {
        let lengths: Vec<u64> = spans.iter().map(|s| length(s)).collect();
        let order: Vec<usize> = order.slow_to_fast(spans.len()).collect();
        let extents = grid.extents();
        let (mut split, mut inner) = (order.len(), 1_u64);
        while let Some(&d) = split.checked_sub(1).and_then(|s| order.get(s)) {
            let all = inner.saturating_mul(lengths[d]);
            if all > cells_max.max(1) {
                break;
            }
            inner = all;
            split -= 1;
        }
        let (mut split, mut step) = match split.checked_sub(1) {
            Some(s) => (s, (cells_max / inner).max(1)),
            None => (0, u64::MAX),
        };
        if whole_tiles {
            // A row of tiles covers the whole extent of every dimension that is slower than the split dimension too.
            if let Some(s) = (0..=split).find(|&s| order.get(s).is_some_and(|&d| extents[d] > 1 && lengths[d] > 1)) {
                let extent = order.get(s).map_or(1, |&d| extents[d]);
                if s < split || step < extent {
                    (split, step) = (s, extent);
                }
            }
        }
        let next = (!spans.is_empty() && lengths.iter().all(|&n| n > 0)).then(|| vec![0; spans.len()]);
        Self {
            spans,
            lengths,
            extents,
            order,
            split,
            step,
            next,
        }
    }

    /// The length of the part that starts at `from` along the split dimension. It ends at a tile border if one is near
    /// enough.
    fn part(&self, d: usize, from: u64) -> u64 {
        let room = self.lengths[d] - from;
        let step = self.step.min(room);
        if step == room {
            return step;
        }
        let (mut before, last) = (0, from + step - 1);
        for span in &self.spans[d] {
            let n = span.len();
            if last - before < n {
                let coordinate = span.first + (last - before);
                let over = (coordinate % self.extents[d] + 1) % self.extents[d];
                return if over < step && over <= coordinate - span.first {
                    step - over
                } else {
                    step
                };
            }
            before += n;
        }
        step
    }
}

impl Iterator for Cuts {
    /// The ranges of each dimension.
    type Item = Vec<Vec<Span>>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next.take()?;
        let mut part = vec![Vec::new(); at.len()];
        let mut steps = vec![0; at.len()];
        for (place, &d) in self.order.iter().enumerate() {
            steps[d] = match place.cmp(&self.split) {
                std::cmp::Ordering::Less => 1,
                std::cmp::Ordering::Equal => self.part(d, at[d]),
                std::cmp::Ordering::Greater => self.lengths[d],
            };
            part[d] = sub_spans(&self.spans[d], at[d], steps[d]);
        }
        let mut next = at;
        for &d in self.order.iter().rev() {
            next[d] += steps[d];
            if next[d] < self.lengths[d] {
                self.next = Some(next);
                break;
            }
            next[d] = 0;
        }
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;
    use crate::format::domain::Dimension;
    use crate::format::schema::{ArrayType, Schema};

    fn span(first: u64, last: u64) -> Span {
        Span { first, last }
    }

    fn grid(extents: &[i32]) -> Grid {
        let dims = extents
            .iter()
            .map(|&e| Dimension::new("d", Datatype::Int32, 0, 99, e))
            .collect();
        Grid::new(&Schema::new(ArrayType::Dense, dims, vec![])).unwrap()
    }

    #[test]
    fn pieces_end_at_tile_borders_and_keep_the_order_of_ranges() {
        let got = pieces(&[span(8, 21), span(3, 3)], 10);
        let piece = |tile, at, len, to| Piece { tile, at, len, to };
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

    fn cuts(spans: Vec<Vec<Span>>, extents: &[i32], order: Order, max: u64, whole: bool) -> Vec<Vec<Vec<Span>>> {
        Cuts::new(spans, &grid(extents), order, max, whole).collect()
    }

    #[test]
    fn boxes_end_at_tile_borders_if_possible() {
        let all = || vec![vec![span(0, 24)], vec![span(0, 9)]];
        let rows = |max, whole| {
            cuts(all(), &[10, 10], Order::Row, max, whole)
                .into_iter()
                .map(|b| b[0].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(rows(1000, false), [[span(0, 24)]]);
        assert_eq!(rows(150, false), [[span(0, 9)], [span(10, 24)]]);
        assert_eq!(
            rows(40, false),
            [
                [span(0, 3)],
                [span(4, 7)],
                [span(8, 9)],
                [span(10, 13)],
                [span(14, 17)],
                [span(18, 19)],
                [span(20, 23)],
                [span(24, 24)]
            ]
        );
        assert_eq!(rows(40, true), [[span(0, 9)], [span(10, 19)], [span(20, 24)]]);
        let cols = cuts(all(), &[10, 10], Order::Col, 50, false);
        assert_eq!(cols.len(), 5);
        assert_eq!(cols[0], [vec![span(0, 24)], vec![span(0, 1)]]);
    }

    #[test]
    fn every_cell_is_in_one_box_for_any_limit() {
        let spans = vec![
            vec![span(3, 7), span(0, 1), span(20, 33)],
            vec![span(5, 6), span(5, 9)],
            vec![span(0, 3)],
        ];
        let cells = |sides: &[Vec<Span>]| {
            let along = |d: usize| sides[d].iter().flat_map(|s| s.first..=s.last).collect::<Vec<_>>();
            let (x, y, z) = (along(0), along(1), along(2));
            let cells = x
                .iter()
                .flat_map(|x| y.iter().flat_map(|y| z.iter().map(|z| [*x, *y, *z])));
            cells.collect::<Vec<_>>()
        };
        // Cells in several spans are counted once per span.
        let mut all = cells(&spans);
        all.sort_unstable();
        for order in [Order::Row, Order::Col] {
            for max in [1, 2, 5, 17, 60, 100_000] {
                for whole in [false, true] {
                    let boxes = cuts(spans.clone(), &[4, 3, 2], order, max, whole);
                    let mut met: Vec<_> = boxes.iter().flat_map(|b| cells(b)).collect();
                    met.sort_unstable();
                    assert_eq!(met, all, "{order:?} {max}");
                    if !whole {
                        assert!(
                            boxes
                                .iter()
                                .all(|b| b.iter().map(|s| length(s)).product::<u64>() <= max)
                        );
                    }
                }
            }
        }
        assert!(cuts(vec![vec![]], &[4], Order::Row, 9, false).is_empty());
    }
}
