//! Determines which cells of which fragments make up a result, as runs that are contiguous both in a tile and in the
//! result. Every cell of the result is in exactly one run, so runs can be written in parallel. This module does no I/O.

use crate::geometry::{CopyPlan, Span, region};
use crate::query::dense::plan::{BoxPlan, Has, Plan, TilePlan};

/// Cells that are contiguous in a tile and in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellRun {
    /// Index of the tile in the plan.
    pub(crate) tile: usize,
    /// Index of the source among the tile's sources; `None` for cells that no fragment has.
    pub(crate) source: Option<usize>,
    /// First cell in the tile.
    pub(crate) from: u64,
    /// First cell in the result.
    pub(crate) to: u64,
    /// Number of cells.
    pub(crate) cells: u64,
}

/// Sorts runs in the order of the result.
pub(crate) fn sort(runs: &mut [CellRun]) {
    runs.sort_unstable_by_key(|r| r.to);
}

/// The runs of some tiles of a plan, unsorted, for an attribute that some sources have.
pub(crate) fn runs(plan: &Plan, tiles: impl Iterator<Item = usize>, has: Has<'_>) -> Vec<CellRun> {
    let mut out = Vec::new();
    for tile in tiles {
        for patch in patches(plan, tile, &|source| has(tile, source)) {
            out.extend(patch.copy.runs().map(|run| CellRun {
                tile,
                source: patch.source,
                from: run.from,
                to: run.to,
                cells: run.cells,
            }));
        }
    }
    out
}

/// The cells of a tile that come from one source, or from none, and how to copy them to the result.
#[derive(Debug)]
pub(super) struct Patch {
    /// As in [`CellRun`].
    pub(super) source: Option<usize>,
    pub(super) copy: CopyPlan,
}

/// The patches of a tile, for an attribute that some of its sources have.
pub(super) fn patches(plan: &Plan, tile: usize, has: &dyn Fn(usize) -> bool) -> Vec<Patch> {
    let mut out = Vec::new();
    let Some(t) = plan.tiles.get(tile) else { return out };
    for b in &t.boxes {
        for (source, part) in parts(t, b.cells(), has) {
            let copy = copy_of(plan, b, &part);
            out.push(Patch { source, copy });
        }
    }
    out
}

/// How to copy `part` of a box of a tile to the result.
pub(super) fn copy_of(plan: &Plan, b: &BoxPlan, part: &[Span]) -> CopyPlan {
    let (mut from, mut to) = (0, b.base);
    for (d, span) in part.iter().enumerate() {
        from += span.first * plan.strides[d];
        to += (span.first - b.at[d]) * b.steps[d];
    }
    let loops = part
        .iter()
        .enumerate()
        .map(|(d, span)| (span.len(), plan.strides[d], b.steps[d]));
    CopyPlan::stepping(from, to, loops)
}

/// Splits the box into parts, each with the newest source that has it.
fn parts(t: &TilePlan, all: Vec<Span>, has: &dyn Fn(usize) -> bool) -> Vec<(Option<usize>, Vec<Span>)> {
    let (mut out, mut open) = (Vec::new(), vec![all]);
    for (i, source) in t.sources.iter().enumerate().rev().filter(|(i, _)| has(*i)) {
        open = region::without(open, &source.inside, |found| out.push((Some(i), found)));
    }
    out.extend(open.into_iter().map(|part| (None, part)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;
    use crate::format::domain::Dimension;
    use crate::format::schema::{ArrayType, Schema};
    use crate::geometry::{Grid, Order};
    use crate::query::dense::plan::TileSource;

    fn span(first: u64, last: u64) -> Span {
        Span { first, last }
    }

    fn grid() -> Grid {
        let dim = |n| Dimension::new(n, Datatype::Int32, 0, 99, 10);
        Grid::new(&Schema::new(ArrayType::Dense, vec![dim("y"), dim("x")], vec![])).unwrap()
    }

    /// Writes the layers one after the other, cell by cell, and compares the result with the plan's runs.
    #[test]
    fn every_cell_comes_from_the_newest_source_that_has_it() {
        let spans = [vec![span(5, 24), span(7, 7)], vec![span(8, 31), span(2, 4)]];
        let boxes = [
            [span(0, 9), span(0, 9)],
            [span(3, 6), span(2, 8)],
            [span(5, 5), span(0, 4)],
            [span(6, 9), span(8, 9)],
        ];
        for count in 0..=boxes.len() {
            for order in [Order::Row, Order::Col] {
                let mut plan = Plan::new(&grid(), order, &spans, &[]).unwrap();
                for t in &mut plan.tiles {
                    let source = |(layer, inside): (usize, &[Span; 2])| TileSource {
                        layer,
                        tile: 0,
                        inside: inside.to_vec(),
                        whole: true,
                    };
                    t.sources = boxes.iter().take(count).enumerate().map(source).collect();
                }
                let mut found = vec![None; plan.cells];
                for r in runs(&plan, 0..plan.tiles.len(), &|_, _| true) {
                    for i in 0..r.cells {
                        let cell = &mut found[(r.to + i) as usize];
                        assert_eq!(*cell, None, "twice");
                        *cell = Some((r.tile, r.source, r.from + i));
                    }
                }
                let coordinate = |spans: &[Span], mut i: u64| {
                    for s in spans {
                        if i < s.len() {
                            return s.first + i;
                        }
                        i -= s.len();
                    }
                    unreachable!()
                };
                let steps = order.strides(&plan.shape);
                for (i, cell) in found.into_iter().enumerate() {
                    let (tile, source, from) = cell.unwrap();
                    let at: Vec<u64> = (0..2)
                        .map(|d| coordinate(&spans[d], i as u64 / steps[d] % plan.shape[d]))
                        .collect();
                    assert_eq!(plan.tiles[tile].tile, [at[0] / 10, at[1] / 10]);
                    assert_eq!(from, at[0] % 10 * 10 + at[1] % 10);
                    let newest = boxes[..count]
                        .iter()
                        .rposition(|b| b[0].contains(at[0] % 10) && b[1].contains(at[1] % 10));
                    assert_eq!(source, newest);
                }
            }
        }
    }

    #[test]
    fn whole_rows_and_whole_tiles_are_one_run() {
        let lengths = |spans: [Vec<Span>; 2]| {
            let plan = Plan::new(&grid(), Order::Row, &spans, &[]).unwrap();
            let runs = runs(&plan, 0..plan.tiles.len(), &|_, _| true);
            runs.iter().map(|r| r.cells).collect::<Vec<_>>()
        };
        assert_eq!(lengths([vec![span(10, 19)], vec![span(20, 29)]]), [100]);
        assert_eq!(lengths([vec![span(8, 19)], vec![span(20, 29)]]), [20, 100]);
        assert_eq!(lengths([vec![span(8, 9)], vec![span(21, 29)]]), [9, 9]);
    }
}
