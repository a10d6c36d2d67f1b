//! Splits a region into boxes that fragments cover and the cells that nobody wrote, so that aggregates need not visit
//! the latter one by one.
//!
//! ```text
//! ┌──────────────────────────┐
//! │ ■■■         unwritten    │   Two boxes instead of one around both. Boxes that are mostly covered stay whole.
//! │ ■■■                ■■    │
//! └──────────────────────────┘
//! ```

use super::{region_of, spans};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::geometry::{Grid, Span, region};
use crate::query::Region;

/// A box with fewer cells than this is not split.
const SMALL_CELLS: f64 = 1e6;
/// The most boxes.
const BOXES_MAX: usize = 4096;
/// The most edges along a dimension at which a cut is tried.
const EDGES_MAX: usize = 64;
/// The most comparisons of boxes while splitting.
const WORK_MAX: usize = 1 << 27;
/// The most cells to visit beyond those that fragments cover. This many take about a minute.
const UNWRITTEN_MAX: f64 = 6e10;

/// A box of cells.
type CellBox = Vec<Span>;

/// The regions of a query that hold its written cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    /// Disjoint regions with every written cell of the query, and maybe others.
    pub(crate) regions: Vec<Region>,
    /// Number of the query's cells outside of the regions. Nobody wrote them.
    pub(crate) unwritten: u64,
}

impl Written {
    /// Splits the region of a query of a dense array. With `whole`, it stays one region.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the region does not fit the schema, or would take too long because it is too large.
    pub(crate) fn of(array: &Array, query: &Region, whole: bool) -> Result<Self> {
        let schema = array.schema();
        let grid = Grid::new(schema)?;
        let all = spans(query, schema, &grid)?;
        let bounds: Option<CellBox> = all.iter().map(|s| s.iter().copied().reduce(Span::union)).collect();
        let bounds = bounds.unwrap_or_default();
        let mut covered = Vec::new();
        for fragment in array.fragments() {
            // Statistics answer for whole tiles only.
            let tiles = fragment.spans(&grid)?.map(|cells| grid.rounded_out(&cells));
            covered.extend(tiles.and_then(|tiles| region::intersect(&tiles, &bounds)));
        }
        let parts_of = |boxes: &[CellBox]| boxes.iter().map(|cells| within(&all, cells)).collect::<Vec<_>>();
        let known = parts_of(&covered);
        let parts = parts_of(&match whole {
            true => vec![bounds],
            false => separate(covered),
        });
        let total = |parts: &[Vec<CellBox>]| parts.iter().map(|part| cells(part)).sum::<f64>();
        let excess = total(&parts) - total(&known);
        if excess > UNWRITTEN_MAX {
            return Err(Error::invalid(format!(
                "the region has about {excess:.1e} cells that were never written and would be visited one by one; select \
                 the written part of the array, or leave tests of dimensions out of the condition"
            )));
        }
        let visited = parts.iter().try_fold(0_u128, |n, part| n.checked_add(count(part)?));
        // All cells are counted, so their number must fit in 64 bits too.
        let cells = count(&all).and_then(|all| u64::try_from(all).ok());
        let unwritten = cells.and_then(|cells| cells.checked_sub(u64::try_from(visited?).ok()?));
        let too_many = || Error::invalid("the region has more cells than can be counted; select fewer");
        let has_cells = |part: &&Vec<CellBox>| part.iter().all(|spans| !spans.is_empty());
        Ok(Self {
            regions: parts
                .iter()
                .filter(has_cells)
                .map(|part| region_of(&grid, part))
                .collect(),
            unwritten: unwritten.ok_or_else(too_many)?,
        })
    }
}

/// The parts of each dimension's ranges that are in a box.
fn within(all: &[Vec<Span>], cells: &[Span]) -> Vec<Vec<Span>> {
    let along = |(spans, side): (&Vec<Span>, &Span)| spans.iter().filter_map(|s| s.intersection(*side)).collect();
    all.iter().zip(cells).map(along).collect()
}

/// Number of cells that ranges along each dimension select; `None` if it overflows.
fn count(all: &[Vec<Span>]) -> Option<u128> {
    let lengths = all.iter().map(|spans| spans.iter().map(|s| u128::from(s.len())).sum());
    lengths.into_iter().try_fold(1, u128::checked_mul)
}

/// About the same.
fn cells(all: &[Vec<Span>]) -> f64 {
    all.iter()
        .map(|spans| spans.iter().map(|s| s.len() as f64).sum::<f64>())
        .product()
}

/// Disjoint boxes around all of these.
fn separate(boxes: Vec<CellBox>) -> Vec<CellBox> {
    let (mut done, mut todo, mut work) = (Vec::new(), vec![boxes], WORK_MAX);
    while let Some(boxes) = todo.pop() {
        let Some(bounds) = bounds(&boxes) else { continue };
        let is_full = volume(&bounds) <= SMALL_CELLS.max(2.0 * boxes.iter().map(volume).sum::<f64>());
        let is_last = is_full || done.len() + todo.len() + 1 >= BOXES_MAX;
        match if is_last { None } else { cut(&bounds, &boxes, &mut work) } {
            Some((before, after)) => todo.extend([after, before]),
            None => done.push(bounds),
        }
    }
    done
}

/// Cuts boxes in two where that leaves out most, at an edge of one of them.
fn cut(bounds: &[Span], boxes: &[CellBox], work: &mut usize) -> Option<(Vec<CellBox>, Vec<CellBox>)> {
    let mut best = (volume(bounds), None);
    for (d, side) in bounds.iter().enumerate() {
        let starts = boxes.iter().filter_map(|b| Some(b.get(d)?.first));
        let ends = boxes.iter().filter_map(|b| b.get(d)?.last.checked_add(1));
        let mut edges: Vec<u64> = starts
            .chain(ends)
            .filter(|e| side.first < *e && *e <= side.last)
            .collect();
        edges.sort_unstable();
        edges.dedup();
        for at in edges.iter().step_by(edges.len().div_ceil(EDGES_MAX).max(1)) {
            *work = work.checked_sub(boxes.len())?;
            let size = |part: fn(Span, u64) -> Option<Span>| {
                let parts = boxes.iter().filter_map(|b| clipped(b, d, *at, part));
                parts.reduce(|a, b| region::union(&a, &b)).as_ref().map_or(0.0, volume)
            };
            let left = size(before) + size(after);
            if left < best.0 {
                best = (left, Some((d, *at)));
            }
        }
    }
    let (d, at) = best.1?;
    let part = |part: fn(Span, u64) -> Option<Span>| boxes.iter().filter_map(|b| clipped(b, d, at, part)).collect();
    Some((part(before), part(after)))
}

/// The part of an interval before a cell.
fn before(span: Span, at: u64) -> Option<Span> {
    Span::new(span.first, span.last.min(at.checked_sub(1)?))
}

/// The part of an interval from a cell on.
fn after(span: Span, at: u64) -> Option<Span> {
    Span::new(span.first.max(at), span.last)
}

/// A box with a part of its side along dimension `d`.
fn clipped(cells: &[Span], d: usize, at: u64, part: fn(Span, u64) -> Option<Span>) -> Option<CellBox> {
    let mut cells = cells.to_vec();
    let side = cells.get_mut(d)?;
    *side = part(*side, at)?;
    Some(cells)
}

fn bounds(boxes: &[CellBox]) -> Option<CellBox> {
    boxes.iter().cloned().reduce(|a, b| region::union(&a, &b))
}

/// About how many cells a box has.
fn volume(cells: impl AsRef<[Span]>) -> f64 {
    cells.as_ref().iter().map(|span| span.len() as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(x: u64, y: u64, side: u64) -> CellBox {
        [x, y].map(|at| Span::new(at, at + side - 1).unwrap()).to_vec()
    }

    #[test]
    fn boxes_far_apart_are_split_and_near_ones_stay_together() {
        let far = [square(0, 0, 1000), square(9_000_000, 5, 10), square(7, 8_000_000, 2000)];
        let mut found = separate(far.to_vec());
        found.sort();
        let mut sorted = far.to_vec();
        sorted.sort();
        assert_eq!(found, sorted);
        let near = vec![square(0, 0, 4000), square(4000, 0, 4000), square(0, 4000, 4000)];
        assert_eq!(separate(near), [square(0, 0, 8000)]);
        let small = vec![square(0, 0, 1), square(900, 900, 1)];
        assert_eq!(separate(small), [square(0, 0, 901)]);
        assert!(separate(Vec::new()).is_empty());
    }

    #[test]
    fn a_row_and_a_column_are_not_the_box_around_them() {
        let long = |first, last| Span::new(first, last).unwrap();
        let (row, column) = (
            vec![long(5, 5), long(0, 10_000_000)],
            vec![long(0, 10_000_000), long(7, 7)],
        );
        let found = separate(vec![row.clone(), column.clone()]);
        assert!(found.iter().map(volume).sum::<f64>() < 6e7, "{found:?}");
        for at in [0, 5, 7, 10_000_000] {
            for cell in [[5, at], [at, 7]] {
                let has = |b: &&CellBox| b.iter().zip(cell).all(|(span, at)| span.contains(at));
                assert_eq!(found.iter().filter(has).count(), 1, "{cell:?}");
            }
        }
    }

    #[test]
    fn many_boxes_take_bounded_work() {
        let boxes = (0..20_000).map(|i| square(i * 7_919 % 10_007 * 1000, i * 104_729 % 9_973 * 1000, 10));
        let boxes: Vec<CellBox> = boxes.collect();
        let found = separate(boxes.clone());
        assert!((1000..=BOXES_MAX).contains(&found.len()), "{}", found.len());
        for cells in &boxes {
            let parts = found.iter().filter_map(|outer| region::intersect(outer, cells));
            assert_eq!(parts.map(volume).sum::<f64>(), 100.0, "{cells:?}");
        }
    }
}
