//! Cuts a dense query at the edges of its grid's tiles.

use std::sync::Arc;

use super::{Piece, add, shares};
use crate::error::Result;
use crate::format::field::Field;
use crate::format::fragment::footer::List;
use crate::geometry::{Grid, Order, Span, TileBox};
use crate::limits::SPLITS_MAX;
use crate::query::dense::DenseQuery;
use crate::query::dense::boxes::DenseOrder;
use crate::query::dense::pieces::{length, pieces};
use crate::query::dense::plan::DenseLayer;
use crate::query::tile::StoredField;

/// Cuts the region of `query` into pieces of about `target_bytes` bytes, at least a tile each. With a condition, pieces
/// whose tiles all have statistics that exclude it are left out. The statistics must be loaded.
///
/// # Errors
/// [`crate::Error::LimitExceeded`] for too many pieces.
pub(crate) fn cut_dense(query: &DenseQuery, target_bytes: u64) -> Result<Vec<Piece>> {
    let weights = Weights::new(query);
    let order = match query.order {
        DenseOrder::Major(order) => order,
        DenseOrder::Global => query.grid.tile_order,
    };
    let (mut out, mut rest) = (Vec::new(), vec![query.spans.clone()]);
    while let Some(node) = rest.pop() {
        let bytes = weights.of(&node);
        if bytes == 0 {
            continue;
        }
        match shares(bytes, target_bytes).and_then(|share| cut(&node, share, &query.grid, order)) {
            Some((before, after)) => rest.extend([after, before]),
            None => add(
                &mut out,
                Piece {
                    region: query.region(&node),
                    fragments: None,
                    bytes,
                },
            )?,
        }
    }
    Ok(out)
}

/// The cells before and after a cut, as ranges of each dimension.
type Halves = (Vec<Vec<Span>>, Vec<Vec<Span>>);

/// Cuts the slowest dimension that has several tiles, so that a `share` of the cells is before the cut.
fn cut(node: &[Vec<Span>], share: (u64, u64), grid: &Grid, order: Order) -> Option<Halves> {
    order.slow_to_fast(node.len()).find_map(|d| {
        let spans = node.get(d)?;
        let at = edge(spans, grid.axes.get(d)?.extent, share)?;
        let with = |part: Vec<Span>| {
            let mut node = node.to_vec();
            node[d] = part;
            node
        };
        let (before, after) = divide(spans, at);
        Some((with(before), with(after)))
    })
}

/// The number of cells before the tile edge that is nearest to this share of the cells. Ranges that start where another
/// one ends, in the same tile, are kept together.
fn edge(spans: &[Span], extent: u64, (share, parts): (u64, u64)) -> Option<u64> {
    let wanted = u128::from(length(spans)) * u128::from(share) / u128::from(parts);
    let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
    let (mut best, mut before, mut tile) = (None::<u64>, 0_u64, None::<u64>);
    let mut offer = |at: u64| {
        if best.is_none_or(|b| at.abs_diff(wanted) < b.abs_diff(wanted)) {
            best = Some(at);
        }
    };
    for span in spans {
        if tile.is_some_and(|tile| tile != span.first / extent) {
            offer(before);
        }
        let near = span.first.saturating_add(wanted.saturating_sub(before)).min(span.last);
        for number in [near / extent, (near / extent).saturating_add(1)] {
            let first = number.saturating_mul(extent);
            if span.first < first && first <= span.last {
                offer(before.saturating_add(first - span.first));
            }
        }
        tile = Some(span.last / extent);
        before = before.saturating_add(span.len());
    }
    best
}

/// Divides ranges after this number of cells.
fn divide(spans: &[Span], at: u64) -> (Vec<Span>, Vec<Span>) {
    let (mut before, mut after, mut left) = (Vec::new(), Vec::new(), at);
    for &span in spans {
        if left == 0 {
            after.push(span);
        } else if span.len() <= left {
            before.push(span);
            left -= span.len();
        } else {
            let first = span.first + left;
            before.push(Span {
                last: first - 1,
                ..span
            });
            after.push(Span { first, ..span });
            left = 0;
        }
    }
    (before, after)
}

/// Estimates the size of boxes.
struct Weights {
    row_bytes: u64,
    extents: Vec<u64>,
    /// The tiles around the region, and whether each may have cells that satisfy the condition. `None` without a
    /// condition, and for too many tiles.
    tiles: Option<(TileBox, Vec<bool>)>,
}

impl Weights {
    fn new(query: &DenseQuery) -> Self {
        let bounds: Option<Vec<Span>> = query
            .spans
            .iter()
            .map(|s| s.iter().copied().reduce(Span::union))
            .collect();
        let tested = query.condition.as_ref().and(bounds);
        let tiles = tested.map(|bounds| query.grid.tiles(&bounds));
        let tiles = tiles.filter(|tiles| tiles.count().is_some_and(|n| n <= SPLITS_MAX as u64));
        Self {
            row_bytes: row_bytes(query),
            extents: query.grid.extents(),
            tiles: tiles.map(|tiles| {
                let numbers = 0..tiles.count().unwrap_or(0);
                let kept = numbers.map(|n| !query.excludes(&tiles.tile(n))).collect();
                (tiles, kept)
            }),
        }
    }

    /// The size of the cells of a box in tiles that are not excluded.
    fn of(&self, node: &[Vec<Span>]) -> u64 {
        let cells = match &self.tiles {
            None => node.iter().map(|spans| length(spans)).fold(1, u64::saturating_mul),
            Some((tiles, kept)) => self.kept_cells(node, tiles, kept),
        };
        cells.saturating_mul(self.row_bytes)
    }

    fn kept_cells(&self, node: &[Vec<Span>], tiles: &TileBox, kept: &[bool]) -> u64 {
        let along = node
            .iter()
            .zip(&self.extents)
            .map(|(spans, extent)| pieces(spans, *extent));
        let along: Vec<Vec<_>> = along.collect();
        let combinations = along
            .iter()
            .fold(1_u64, |n, pieces| n.saturating_mul(pieces.len() as u64));
        let (mut sum, mut tile) = (0_u64, vec![0; along.len()]);
        for mut number in 0..combinations {
            let mut cells = 1_u64;
            for (pieces, tile) in along.iter().zip(&mut tile) {
                let n = pieces.len() as u64;
                let piece = &pieces[(number % n) as usize];
                number /= n;
                *tile = piece.tile;
                cells = cells.saturating_mul(piece.len);
            }
            let number = tiles.index(&tile).and_then(|n| usize::try_from(n).ok());
            if number.is_none_or(|n| kept.get(n) == Some(&true)) {
                sum = sum.saturating_add(cells);
            }
        }
        sum
    }
}

/// Size of a decoded cell in bytes; for variable-length values, the stored size.
fn row_bytes(query: &DenseQuery) -> u64 {
    let dimensions = query.dimensions_wanted().into_iter().map(|(_, field)| field);
    let fixed: u64 = query.attributes.iter().chain(dimensions).map(Field::row_bytes).sum();
    let var = |layer: &DenseLayer, stored: &[Option<Arc<StoredField>>]| {
        let bytes = stored.iter().flatten().map(|field| stored_var_bytes(field));
        bytes.fold(0, u64::saturating_add).div_ceil(layer.fragment.cells.max(1))
    };
    let var = query.layers.iter().zip(&query.stored).map(|(l, s)| var(l, s)).max();
    fixed.saturating_add(var.unwrap_or(0)).max(1)
}

/// The stored size of all variable-length values of a field in a fragment.
pub(super) fn stored_var_bytes(field: &StoredField) -> u64 {
    let sizes = &field.fragment.footer.lists;
    sizes.at(List::VarFileSizes, field.slot()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(spans: &[(u64, u64)]) -> Vec<Span> {
        spans.iter().map(|&(first, last)| Span { first, last }).collect()
    }

    #[test]
    fn ranges_are_cut_at_the_tile_edge_nearest_to_the_share() {
        let at = |list: &[(u64, u64)], share| edge(&spans(list), 10, share);
        assert_eq!(at(&[(0, 99)], (1, 2)), Some(50));
        assert_eq!(at(&[(3, 99)], (1, 3)), Some(27), "before cell 30");
        assert_eq!(at(&[(3, 9)], (1, 2)), None, "a single tile");
        assert_eq!(at(&[(3, 4), (8, 9)], (1, 2)), None, "a single tile");
        assert_eq!(at(&[(3, 4), (18, 19)], (1, 2)), Some(2));
        assert_eq!(at(&[(0, 9), (0, 9)], (1, 2)), None, "the same tile twice");
        assert_eq!(edge(&spans(&[(0, u64::MAX)]), 1 << 63, (1, 2)), Some(1 << 63));
    }

    #[test]
    fn the_parts_of_a_cut_have_the_cells_of_the_whole() {
        let list = spans(&[(5, 14), (3, 3), (0, 20)]);
        for at in 1..length(&list) {
            let (before, after) = divide(&list, at);
            let cells = |list: &[Span]| list.iter().flat_map(|s| s.first..=s.last).collect::<Vec<_>>();
            assert_eq!(cells(&before).len() as u64, at);
            assert_eq!([cells(&before), cells(&after)].concat(), cells(&list));
        }
    }
}
