//! Single cells of a dense array, in any order. This module does no I/O.

use super::assemble::runs::{CellRun, sort};
use super::plan::{DenseLayer, Has, Plan, TilePlan};
use crate::error::Result;
use crate::geometry::{Grid, Span, TileBox};

/// The wanted cells, by tile.
#[derive(Debug)]
pub(crate) struct Points {
    /// Every tile of the domain, which gives tiles their numbers.
    tiles: TileBox,
    /// Number of cells between neighbours in a tile, along each dimension.
    strides: Vec<u64>,
    extents: Vec<u64>,
    /// Sorted by tile number, then by cell in the tile.
    points: Vec<Point>,
}

/// A cell and its position in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    tile: u64,
    cell: u64,
    to: usize,
}

impl Points {
    /// The cells at these offsets, one list per dimension. All must be inside the domain.
    pub(crate) fn new(grid: &Grid, offsets: &[Vec<u64>]) -> Self {
        let tiles = grid.tiles(&grid.domain());
        let extents = grid.extents();
        let counts: Vec<u64> = tiles.spans.iter().map(|s| s.len()).collect();
        let (tile_steps, strides) = (tiles.order.strides(&counts), grid.cell_order.strides(&extents));
        let point = |to: usize| {
            let mut point = Point { tile: 0, cell: 0, to };
            for (d, list) in offsets.iter().enumerate() {
                let at = list[to];
                point.tile = point
                    .tile
                    .saturating_add((at / extents[d]).saturating_mul(tile_steps[d]));
                point.cell += at % extents[d] * strides[d];
            }
            point
        };
        let mut points: Vec<Point> = (0..offsets.first().map_or(0, Vec::len)).map(point).collect();
        points.sort_unstable();
        Self {
            tiles,
            strides,
            extents,
            points,
        }
    }

    /// The plan of the cells, with one run per cell.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub(crate) fn plan(&self, grid: &Grid, layers: &[DenseLayer]) -> Result<(Plan, Vec<CellRun>)> {
        let (mut tiles, mut runs) = (Vec::new(), Vec::with_capacity(self.points.len()));
        for group in self.points.chunk_by(|a, b| a.tile == b.tile) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else {
                continue;
            };
            runs.extend(group.iter().map(|point| CellRun {
                tile: tiles.len(),
                source: None,
                from: point.cell,
                to: point.to as u64,
                cells: 1,
            }));
            let tile = self.tiles.tile(first.tile);
            let cells = first.cell..=last.cell;
            tiles.push(TilePlan::of_points(grid, tile, cells, group.len() as u64, layers));
        }
        sort(&mut runs);
        let plan = Plan::of_points(grid, self.points.len(), tiles)?;
        let runs = with_sources(&plan, &runs, &|_, _| true);
        Ok((plan, runs))
    }

    /// Calls `found` with each position of the cell at these offsets in the result.
    pub(crate) fn places(&self, at: &[u64], mut found: impl FnMut(usize)) {
        let tile: Vec<u64> = at.iter().zip(&self.extents).map(|(a, e)| a / e).collect();
        let Some(tile) = self.tiles.index(&tile) else { return };
        let cell = at
            .iter()
            .zip(&self.extents)
            .zip(&self.strides)
            .map(|((a, e), s)| a % e * s)
            .sum();
        let start = self.points.partition_point(|p| (p.tile, p.cell) < (tile, cell));
        let same = self
            .points
            .iter()
            .skip(start)
            .take_while(|p| (p.tile, p.cell) == (tile, cell));
        same.for_each(|p| found(p.to));
    }

    /// The box around all cells.
    pub(crate) fn bounds(offsets: &[Vec<u64>]) -> Option<Vec<Span>> {
        let span = |list: &Vec<u64>| Span::new(*list.iter().min()?, *list.iter().max()?);
        offsets.iter().map(span).collect()
    }
}

/// Runs of single cells, each from the newest source that has the attribute.
pub(super) fn with_sources(plan: &Plan, runs: &[CellRun], has: Has<'_>) -> Vec<CellRun> {
    let from_newest = |run: &CellRun| CellRun {
        source: plan.newest(run.tile, run.from, has),
        ..*run
    };
    runs.iter().map(from_newest).collect()
}
