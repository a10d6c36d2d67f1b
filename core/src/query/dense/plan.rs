//! Determines which tiles of which fragments make up a box of a dense array, and where to copy their cells.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::pieces::{TilePiece, length, pieces};
use crate::array::Fragment;
use crate::error::{Error, Result};
use crate::geometry::{CopyPlan, Grid, Order, Span, TileBox, region};

/// A dense fragment and the cells that it holds.
#[derive(Debug, Clone)]
pub(crate) struct DenseLayer {
    pub(crate) fragment: Arc<Fragment>,
    pub(crate) spans: Vec<Span>,
    pub(crate) tiles: TileBox,
    /// Whether the fragment has every attribute of the query that older layers have. If not, an attribute was dropped
    /// and added again in between, and the values of older layers show through. As in libtiledb, an older layer does
    /// not show through in a tile if this layer covers all cells that it has there.
    pub(crate) whole: bool,
}

impl DenseLayer {
    /// The layer of a dense fragment; `None` if it is empty.
    pub(crate) fn new(fragment: &Arc<Fragment>, grid: &Grid) -> Result<Option<Self>> {
        let layer = |spans: Vec<Span>| Self {
            fragment: Arc::clone(fragment),
            tiles: grid.tiles(&spans),
            spans,
            whole: true,
        };
        Ok(fragment.spans(grid)?.map(layer))
    }
}

/// A box of the result: a contiguous part of its cells.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Number of cells along each dimension. A plan of some tiles has the shape of the whole region.
    pub(crate) shape: Vec<u64>,
    pub(crate) cells: usize,
    pub(crate) tiles: Vec<TilePlan>,
    /// Number of cells between neighbours in a tile, along each dimension.
    pub(crate) strides: Vec<u64>,
    pub(crate) extents: Vec<u64>,
}

/// A space tile that overlaps the box.
#[derive(Debug)]
pub(crate) struct TilePlan {
    /// The tile's coordinates.
    pub(crate) tile: Vec<u64>,
    /// The destinations of its cells. There are several boxes if the query has several ranges in one tile.
    pub(crate) boxes: Vec<BoxPlan>,
    /// The fragment tiles with its cells, oldest first.
    pub(crate) sources: Vec<TileSource>,
    /// Whether no cell satisfies the condition. Such tiles are not read.
    pub(crate) excluded: bool,
    /// Whether the last source alone has every cell, of each attribute that any source has.
    pub(crate) covered: bool,
    /// Number of its cells in the box.
    pub(crate) cells: u64,
}

/// A box of a tile and the position of its cells in the result.
#[derive(Debug)]
pub(crate) struct BoxPlan {
    /// The first cell along each dimension, relative to the tile.
    pub(crate) at: Vec<u64>,
    /// Number of cells along each dimension.
    pub(crate) len: Vec<u64>,
    /// The position of its first cell in the result.
    pub(crate) base: u64,
    /// Number of result cells between neighbours, along each dimension.
    pub(crate) steps: Vec<u64>,
}

/// A tile of one fragment, and the cells to read from it.
#[derive(Debug, Clone)]
pub(crate) struct TileSource {
    /// Index of the layer.
    pub(crate) layer: usize,
    /// The tile's number in the fragment.
    pub(crate) tile: u64,
    /// The wanted cells that the fragment holds, relative to the tile.
    pub(crate) inside: Vec<Span>,
    /// As in its [`DenseLayer`].
    pub(crate) whole: bool,
}

/// Whether a source of a tile, both given by index, has the attribute in question.
pub(crate) type Has<'a> = &'a dyn Fn(usize, usize) -> bool;

impl Plan {
    /// The plan of a box in row-major or column-major order.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if a box has more cells than fit into memory.
    pub(crate) fn new(grid: &Grid, order: Order, spans: &[Vec<Span>], layers: &[DenseLayer]) -> Result<Self> {
        let dims: Vec<Vec<TilePiece>> = spans
            .iter()
            .zip(&grid.axes)
            .map(|(s, axis)| pieces(s, axis.extent))
            .collect();
        let shape: Vec<u64> = spans.iter().map(|s| length(s)).collect();
        let n = dims.len();
        let steps = order.strides(&shape);
        let grouped: Vec<Vec<(u64, Vec<TilePiece>)>> = dims.iter().map(|p| by_tile(p)).collect();
        let bounds: Option<Vec<Span>> = spans.iter().map(|s| s.iter().copied().reduce(Span::union)).collect();
        let near = near(layers, &bounds.unwrap_or_default());

        let mut tiles = Vec::new();
        let mut choice = vec![0_usize; n];
        'tiles: loop {
            let parts: Vec<&(u64, Vec<TilePiece>)> = (0..n).map(|d| &grouped[d][choice[d]]).collect();
            let tile: Vec<u64> = parts.iter().map(|p| p.0).collect();
            let boxes = products(&parts.iter().map(|p| p.1.len()).collect::<Vec<_>>());
            let boxes: Vec<BoxPlan> = boxes
                .map(|pick| {
                    let chosen: Vec<TilePiece> = (0..n).map(|d| parts[d].1[pick[d]]).collect();
                    BoxPlan::new(&chosen, &steps)
                })
                .collect();
            tiles.push(TilePlan::new(grid, tile, boxes, &near));
            for d in order.fast_to_slow(n) {
                choice[d] += 1;
                if choice[d] < grouped[d].len() {
                    continue 'tiles;
                }
                choice[d] = 0;
            }
            break;
        }
        Self::of(grid, shape, tiles)
    }

    /// The plan of some tiles of a region, one after the other, each in cell order.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub(crate) fn tile_by_tile(
        grid: &Grid,
        region: &[Span],
        tiles: &[Vec<u64>],
        layers: &[DenseLayer],
    ) -> Result<Self> {
        let n = region.len();
        let (mut out, mut base) = (Vec::new(), 0);
        let parts = tiles
            .iter()
            .filter_map(|tile| Some((tile, region::intersect(&grid.tile_spans(tile), region)?)));
        let parts: Vec<(&Vec<u64>, Vec<Span>)> = parts.collect();
        let bounds = parts.iter().map(|p| p.1.clone()).reduce(|a, b| region::union(&a, &b));
        let near = near(layers, &bounds.unwrap_or_default());
        for (tile, cells) in parts {
            let at = (0..n).map(|d| cells[d].first - tile[d] * grid.axes[d].extent).collect();
            let len = region::shape(&cells);
            let steps = grid.cell_order.strides(&len);
            let next = base + len.iter().product::<u64>();
            let one = BoxPlan { at, len, base, steps };
            out.push(TilePlan::new(grid, tile.clone(), vec![one], &near));
            base = next;
        }
        Self::of(grid, region::shape(region), out)
    }

    /// The plan of single cells.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub(crate) fn of_points(grid: &Grid, cells: usize, tiles: Vec<TilePlan>) -> Result<Self> {
        Self::of(grid, vec![cells as u64], tiles)
    }

    fn of(grid: &Grid, shape: Vec<u64>, tiles: Vec<TilePlan>) -> Result<Self> {
        let cells = tiles.iter().fold(0_u64, |n, t| n.saturating_add(t.cells));
        let too_many = || Error::LimitExceeded {
            what: "cells of a result (select fewer)".into(),
            found: cells,
            limit: isize::MAX as u64,
        };
        let cells = usize::try_from(cells)
            .ok()
            .filter(|&n| n < isize::MAX as usize)
            .ok_or_else(too_many)?;
        let extents = grid.extents();
        Ok(Self {
            shape,
            cells,
            tiles,
            strides: grid.cell_order.strides(&extents),
            extents,
        })
    }
}

impl Plan {
    /// Number of cells in a whole tile.
    pub(crate) fn tile_cells(&self) -> u64 {
        self.extents.iter().fold(1, |n, e| n.saturating_mul(*e))
    }

    /// Excludes the tiles for which `fails` says that no cell satisfies the condition.
    pub(crate) fn exclude(&mut self, fails: impl Fn(&[u64]) -> bool) {
        for tile in self.tiles.iter_mut().filter(|t| fails(&t.tile)) {
            tile.sources.clear();
            (tile.excluded, tile.covered) = (true, false);
        }
    }

    /// Clears the cells of excluded tiles in a mask of cells that satisfy the condition. The values put in their place
    /// might satisfy it.
    pub(crate) fn unmask(&self, mask: &mut [u8]) {
        for b in self.tiles.iter().filter(|t| t.excluded).flat_map(|t| &t.boxes) {
            let along = b.len.iter().zip(&b.steps).map(|(&n, &step)| (n, step, step));
            for run in CopyPlan::stepping(b.base, b.base, along).runs() {
                let cells = run.to as usize..(run.to + run.cells) as usize;
                mask.get_mut(cells).unwrap_or_default().fill(0);
            }
        }
    }

    /// The newest source of a tile's cell among those that have the attribute.
    pub(crate) fn newest(&self, tile: usize, cell: u64, has: Has<'_>) -> Option<usize> {
        let along = |d: usize| cell / self.strides[d] % self.extents[d];
        let holds = |s: &TileSource| s.inside.iter().enumerate().all(|(d, span)| span.contains(along(d)));
        let sources = self.tiles.get(tile)?.sources.iter().enumerate();
        sources.rev().find(|(i, s)| has(tile, *i) && holds(s)).map(|(i, _)| i)
    }
}

impl TilePlan {
    /// The plan of some single cells of a tile. `ends` are the first and the last of them, relative to the tile.
    pub(crate) fn of_points(
        grid: &Grid,
        tile: Vec<u64>,
        ends: RangeInclusive<u64>,
        cells: u64,
        layers: &[DenseLayer],
    ) -> Self {
        let origin = grid.tile_spans(&tile);
        let wanted = grid.around(&origin, ends);
        let (sources, covered) = sources(&tile, &origin, &wanted, &near(layers, &wanted));
        Self {
            tile,
            boxes: Vec::new(),
            sources,
            excluded: false,
            covered,
            cells,
        }
    }

    fn new(grid: &Grid, tile: Vec<u64>, boxes: Vec<BoxPlan>, layers: &[Near<'_>]) -> Self {
        let origin = grid.tile_spans(&tile);
        let local = boxes.iter().map(BoxPlan::cells).reduce(|a, b| region::union(&a, &b));
        let in_array = |(s, o): (Span, &Span)| Span {
            first: o.first + s.first,
            last: o.first + s.last,
        };
        let wanted: Vec<Span> = local.into_iter().flatten().zip(&origin).map(in_array).collect();
        let cells = boxes
            .iter()
            .map(|b| b.len.iter().fold(1_u64, |n, &l| n.saturating_mul(l)))
            .fold(0, u64::saturating_add);
        let (sources, covered) = sources(&tile, &origin, &wanted, layers);
        Self {
            tile,
            boxes,
            sources,
            excluded: false,
            covered,
            cells,
        }
    }
}

/// A layer and its index.
type Near<'a> = (usize, &'a DenseLayer);

/// The layers that have cells in a box, in order. If there are many fragments, most are elsewhere.
fn near<'a>(layers: &'a [DenseLayer], bounds: &[Span]) -> Vec<Near<'a>> {
    let meets = |l: &Near<'_>| region::intersect(&l.1.spans, bounds).is_some();
    layers.iter().enumerate().filter(meets).collect()
}

/// The fragments that have some of the `wanted` cells of a tile with the cells `origin`, oldest first. Fragments that a
/// newer one hides for every attribute are omitted. Also returns whether the newest fragment has all wanted cells.
fn sources(tile: &[u64], origin: &[Span], wanted: &[Span], layers: &[Near<'_>]) -> (Vec<TileSource>, bool) {
    let (mut sources, mut covered) = (Vec::new(), false);
    // Cells that newer layers have: `taken` of the wanted cells, and `lacking` of the whole tile.
    let (mut taken, mut lacking): (Vec<Vec<Span>>, Vec<Vec<Span>>) = (Vec::new(), Vec::new());
    for &(i, layer) in layers.iter().rev() {
        let Some(inside) = region::intersect(&layer.spans, wanted) else {
            continue;
        };
        let Some(of_tile) = region::intersect(&layer.spans, origin) else {
            continue;
        };
        let hides = |newer: &[Vec<Span>], cells: &[Span]| newer.iter().any(|n| region::covers(n, cells));
        if hides(&taken, &inside) || hides(&lacking, &of_tile) {
            continue;
        }
        let Some(number) = layer.tiles.index(tile) else {
            continue;
        };
        let local = inside.iter().zip(origin).map(|(s, o)| Span {
            first: s.first - o.first,
            last: s.last - o.first,
        });
        sources.push(TileSource {
            layer: i,
            tile: number,
            inside: local.collect(),
            whole: layer.whole,
        });
        if !layer.whole {
            lacking.push(of_tile);
            continue;
        }
        let all = inside == wanted;
        covered |= all && sources.len() == 1;
        taken.push(inside);
        if all {
            break;
        }
    }
    sources.reverse();
    (sources, covered)
}

impl BoxPlan {
    /// Builds the box of these pieces. `steps` belongs to the result.
    fn new(pieces: &[TilePiece], steps: &[u64]) -> Self {
        Self {
            at: pieces.iter().map(|p| p.at).collect(),
            len: pieces.iter().map(|p| p.len).collect(),
            base: pieces.iter().zip(steps).map(|(p, s)| p.to * s).sum(),
            steps: steps.to_vec(),
        }
    }

    /// The cells of the box, relative to the tile.
    pub(crate) fn cells(&self) -> Vec<Span> {
        let span = |(&at, &len): (&u64, &u64)| Span {
            first: at,
            last: at + (len - 1),
        };
        self.at.iter().zip(&self.len).map(span).collect()
    }
}

/// Groups pieces by tile, in order of first occurrence.
fn by_tile(pieces: &[TilePiece]) -> Vec<(u64, Vec<TilePiece>)> {
    let mut out: Vec<(u64, Vec<TilePiece>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for &piece in pieces {
        let place = *places.entry(piece.tile).or_insert_with(|| {
            out.push((piece.tile, Vec::new()));
            out.len() - 1
        });
        if let Some((_, group)) = out.get_mut(place) {
            group.push(piece);
        }
    }
    out
}

/// Every combination of one index below each count.
fn products(counts: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let counts = counts.to_vec();
    let mut next = counts.iter().all(|&c| c > 0).then(|| vec![0; counts.len()]);
    std::iter::from_fn(move || {
        let now = next.take()?;
        let mut following = now.clone();
        for (at, &count) in following.iter_mut().zip(&counts).rev() {
            *at += 1;
            if *at < count {
                next = Some(following);
                break;
            }
            *at = 0;
        }
        Some(now)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;
    use crate::format::domain::Dimension;
    use crate::format::schema::{ArrayType, Schema};

    fn grid() -> Grid {
        let dim = |n| Dimension::new(n, Datatype::Int32, 0, 99, 10);
        Grid::new(&Schema::new(ArrayType::Dense, vec![dim("y"), dim("x")], vec![])).unwrap()
    }

    fn span(first: u64, last: u64) -> Span {
        Span { first, last }
    }

    /// Every cell of the result is in exactly one box.
    #[track_caller]
    fn check_boxes(plan: &Plan) {
        let mut seen = vec![0; plan.cells];
        for b in plan.tiles.iter().flat_map(|t| &t.boxes) {
            for cell in CopyPlan::stepping(0, b.base, b.len.iter().zip(&b.steps).map(|(&n, &step)| (n, 0, step))).runs()
            {
                seen[cell.to as usize] += 1;
            }
        }
        assert!(seen.iter().all(|&n| n == 1), "{seen:?}");
    }

    #[test]
    fn boxes_of_all_tiles_make_up_the_result() {
        for order in [Order::Row, Order::Col] {
            for spans in [
                vec![vec![span(5, 24)], vec![span(0, 9)]],
                vec![vec![span(5, 24), span(7, 7)], vec![span(8, 31), span(2, 4)]],
                vec![vec![span(3, 3)], vec![span(4, 4)]],
            ] {
                check_boxes(&Plan::new(&grid(), order, &spans, &[]).unwrap());
            }
        }
        let region = [span(5, 24), span(8, 11)];
        let tiles: Vec<Vec<u64>> = (0..=2).flat_map(|y| (0..=1).map(move |x| vec![y, x])).collect();
        check_boxes(&Plan::tile_by_tile(&grid(), &region, &tiles, &[]).unwrap());
    }
}
