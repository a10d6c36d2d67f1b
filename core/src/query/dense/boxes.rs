//! The boxes in which a region is read, each a contiguous part of the result.

use std::sync::Arc;

use super::DenseQuery;
use super::pieces::length;
use super::plan::Plan;
use crate::error::Result;
use crate::geometry::{Grid, Order, Span, TileBox, region};

/// The order of a dense result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DenseOrder {
    /// Row-major or column-major over the whole region.
    Major(Order),
    /// Tile by tile.
    Global,
}

/// A box of the region: a contiguous part of the result.
#[derive(Debug)]
pub(crate) struct DenseBox {
    pub(crate) plan: Arc<Plan>,
    pub(crate) spans: Vec<Vec<Span>>,
}

/// The boxes of a region, in the order of the result.
#[derive(Debug)]
pub(crate) enum Boxes {
    /// Boxes of a result in row-major or column-major order.
    Cuts(Cuts, Order),
    /// Runs of tiles of a result in global order.
    Tiles {
        /// The tiles that overlap the region.
        tiles: TileBox,
        region: Vec<Span>,
        next: u64,
        cells_max: u64,
    },
}

impl Boxes {
    /// The next box; `None` after the last.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if a box has more cells than fit into memory.
    pub(crate) fn next(&mut self, query: &DenseQuery) -> Result<Option<DenseBox>> {
        self.next_but(query, |_| false)
    }

    /// Like [`Boxes::next`], but in global order skips the tiles for which `is_known` returns true.
    ///
    /// # Errors
    /// As [`Boxes::next`].
    pub(crate) fn next_but(
        &mut self,
        query: &DenseQuery,
        mut is_known: impl FnMut(&[u64]) -> bool,
    ) -> Result<Option<DenseBox>> {
        match self {
            Self::Cuts(cuts, order) => {
                let Some(spans) = cuts.next() else { return Ok(None) };
                let plan = Plan::new(&query.grid, *order, &spans, &query.layers)?;
                Ok(Some(query.planned(plan, spans)))
            }
            Self::Tiles {
                tiles,
                region,
                next,
                cells_max,
            } => {
                let count = tiles.count().unwrap_or(u64::MAX);
                let (mut chosen, mut cells) = (Vec::new(), 0_u64);
                while *next < count {
                    let tile = tiles.tile(*next);
                    if is_known(&tile) {
                        *next += 1;
                        continue;
                    }
                    let part = region::intersect(&query.grid.tile_spans(&tile), region);
                    let here = part.as_deref().and_then(region::cells).unwrap_or(u64::MAX);
                    if !chosen.is_empty() && cells.saturating_add(here) > *cells_max {
                        break;
                    }
                    cells = cells.saturating_add(here);
                    chosen.push(tile);
                    *next += 1;
                }
                if chosen.is_empty() {
                    return Ok(None);
                }
                query.box_of(&chosen).map(Some)
            }
        }
    }
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
