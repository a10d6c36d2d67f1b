//! Cuts a dense query at the edges of its grid's tiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Piece, Pieces, shares};
use crate::error::Result;
use crate::format::field::Field;
use crate::format::fragment::footer::List;
use crate::geometry::{Grid, Order, Span, TileBox};
use crate::limits::{SPLIT_TESTS_MAX, SPLITS_MAX};
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
    let (mut out, mut rest) = (Pieces::default(), vec![query.spans.clone()]);
    while let Some(node) = rest.pop() {
        let bytes = weights.of(&node);
        if bytes == 0 {
            continue;
        }
        match shares(bytes, target_bytes).and_then(|share| cut(&node, share, &query.grid, order)) {
            Some((before, after)) => rest.extend([after, before]),
            None => out.add(Piece {
                region: query.region(&node),
                fragments: None,
                bytes,
            })?,
        }
    }
    Ok(out.list)
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
    /// condition, and for too many tiles or fragments.
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
        let layers = query.layers.len() as u64;
        let few = |n: u64| n <= SPLITS_MAX as u64 && n.saturating_mul(layers) <= SPLIT_TESTS_MAX;
        let tiles = tiles.filter(|tiles| tiles.count().is_some_and(few));
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
            Some((tiles, kept)) => kept_cells(node, &self.extents, tiles, kept),
        };
        cells.saturating_mul(self.row_bytes)
    }
}

/// The number of cells of a box in the tiles to keep. Each tile is looked at once, however many ranges it has cells of.
fn kept_cells(node: &[Vec<Span>], extents: &[u64], tiles: &TileBox, kept: &[bool]) -> u64 {
    let along: Vec<Vec<(u64, u64)>> = node.iter().zip(extents).map(|(s, e)| by_tile(s, *e)).collect();
    let lengths = along.iter().map(|tiles| tiles.len() as u64);
    let combinations = lengths.fold(1, u64::saturating_mul);
    let (mut sum, mut tile) = (0_u64, vec![0; along.len()]);
    for mut number in 0..combinations {
        let mut cells = 1_u64;
        for (list, tile) in along.iter().zip(&mut tile) {
            let n = list.len() as u64;
            let len;
            (*tile, len) = list[(number % n) as usize];
            number /= n;
            cells = cells.saturating_mul(len);
        }
        let number = tiles.index(&tile).and_then(|n| usize::try_from(n).ok());
        if number.is_none_or(|n| kept.get(n) == Some(&true)) {
            sum = sum.saturating_add(cells);
        }
    }
    sum
}

/// The tiles that ranges have cells of, with the number of cells in each.
fn by_tile(spans: &[Span], extent: u64) -> Vec<(u64, u64)> {
    let mut cells = BTreeMap::<u64, u64>::new();
    for piece in pieces(spans, extent) {
        let sum = cells.entry(piece.tile).or_default();
        *sum = sum.saturating_add(piece.len);
    }
    cells.into_iter().collect()
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
    fn ranges_in_a_tile_are_counted_together() {
        assert_eq!(
            by_tile(&spans(&[(8, 21), (3, 3), (0, 1)]), 10),
            [(0, 5), (1, 10), (2, 2)]
        );
        // As pieces they would make 10^18 combinations.
        let many = vec![Span { first: 3, last: 4 }; 1_000_000];
        let node = [many.clone(), many.clone(), many];
        let tiles = TileBox {
            spans: vec![Span { first: 0, last: 1 }; 3],
            order: Order::Row,
        };
        let kept = |n| kept_cells(&node, &[10; 3], &tiles, &[n; 8]);
        assert_eq!((kept(true), kept(false)), (8_000_000_000_000_000_000, 0));
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
