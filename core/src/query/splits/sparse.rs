//! Cuts a sparse query at the edges of its tiles' bounding boxes.

use std::borrow::Cow;
use std::sync::Arc;

use super::dense::stored_var_bytes;
use super::{Piece, Pieces, shares};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::format::fragment::rtree::{Bounds, Level};
use crate::key;
use crate::limits::SPLIT_TILES_MAX;
use crate::query::merge::SparseQuery;
use crate::query::merge::layer::SparseLayer;
use crate::query::{Query, Region};
use crate::scalar::{Scalar, ScalarRange};
use crate::sort::{sort_by, sort_by_number};

/// The most tiles that a cut is chosen by. Of more, a sample is looked at.
const SAMPLE: usize = 512;
/// A cut is worth it if tiles on both sides of it have at most a quarter of the bytes, and each side at most four fifths.
const STRADDLING: (u64, u64) = (1, 4);
const SIDE: (u64, u64) = (4, 5);

/// A coordinate: the sort key of a number, or a string. Only coordinates of one dimension are compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Edge<'a> {
    Number(u64),
    Text(Cow<'a, [u8]>),
}

impl Edge<'_> {
    /// The next greater coordinate.
    fn after(&self) -> Edge<'static> {
        match self {
            Self::Number(key) => Edge::Number(key.saturating_add(1)),
            Self::Text(text) => Edge::Text([text, &[0][..]].concat().into()),
        }
    }

    fn owned(&self) -> Edge<'static> {
        match self {
            Self::Number(key) => Edge::Number(*key),
            Self::Text(text) => Edge::Text(text.to_vec().into()),
        }
    }
}

/// A closed range of coordinates.
type EdgeRange = (Edge<'static>, Edge<'static>);

/// A tile that may hold cells of the query.
#[derive(Debug, Clone, Copy)]
struct Unit {
    layer: u32,
    tile: u32,
    bytes: u64,
}

/// A box, with the tiles that may hold cells of it.
struct Node {
    /// Ascending ranges along each dimension; `None` for the ranges of the query.
    ranges: Vec<Option<Vec<EdgeRange>>>,
    units: Vec<Unit>,
}

/// Cuts the region of `query` into pieces of about `target_bytes` bytes, at least a tile each. The R-trees must be
/// loaded, and the statistics that the condition can be tested with.
///
/// # Errors
/// [`Error::LimitExceeded`] for too many tiles or pieces. The index of a fragment is damaged.
pub(crate) fn cut_sparse(
    array: &Array,
    query: &Query,
    resolved: &SparseQuery,
    target_bytes: u64,
) -> Result<Vec<Piece>> {
    let cutter = Cutter {
        query: resolved,
        cuttable: cuttable(resolved),
        fragments: fragments(array, resolved),
    };
    let (mut out, mut rest) = (Pieces::default(), vec![cutter.root()?]);
    while let Some(node) = rest.pop() {
        let bytes = bytes_of(&node.units);
        if node.units.is_empty() {
            continue;
        }
        let share = shares(bytes, target_bytes);
        match share.and_then(|share| {
            cutter
                .cut(&node, share)
                .or_else(|| cutter.cut_by_fragments(&node, share))
        }) {
            Some((before, after)) => rest.extend([after, before]),
            None => out.add(Piece {
                region: cutter.region(query, &node),
                fragments: Some(cutter.fragments(&node.units)),
                bytes,
            })?,
        }
    }
    Ok(out.list)
}

/// The index of each layer's fragment in the array.
fn fragments(array: &Array, query: &SparseQuery) -> Vec<Option<u32>> {
    let mut own = (0_u32..).zip(array.fragments());
    // Layers are in the order of the fragments.
    let number = |l: &SparseLayer| own.find(|(_, f)| Arc::ptr_eq(f, &l.fragment)).map(|(n, _)| n);
    query.layers.iter().map(number).collect()
}

fn bytes_of(units: &[Unit]) -> u64 {
    units.iter().fold(0, |sum, u| sum.saturating_add(u.bytes))
}

/// The dimensions that may be cut. Lossy filters change coordinates after bounding boxes were made, so such dimensions
/// are not cut.
fn cuttable(query: &SparseQuery) -> Vec<bool> {
    let exact = |schema: &crate::format::schema::Schema, d: usize| {
        let dimension = schema.dimensions.get(d);
        dimension.is_some_and(|dimension| {
            let filters = schema.dimension_filters(dimension);
            filters.keeps(dimension.datatype.physical(), i64::MIN.into(), i64::MAX.into())
        })
    };
    let everywhere = |d| exact(&query.schema, d) && query.layers.iter().all(|l| exact(&l.fragment.schema, d));
    (0..query.schema.dimensions.len()).map(everywhere).collect()
}

struct Cutter<'a> {
    query: &'a SparseQuery,
    cuttable: Vec<bool>,
    /// The index of each layer's fragment.
    fragments: Vec<Option<u32>>,
}

impl Cutter<'_> {
    /// The indices of the fragments of these tiles, ascending.
    fn fragments(&self, units: &[Unit]) -> Vec<u32> {
        let mut layers: Vec<u32> = units.iter().map(|u| u.layer).collect();
        layers.dedup();
        sort_by_number(&mut layers, |l| u64::from(*l));
        layers.dedup();
        let fragment = |l: &u32| self.fragments.get(*l as usize).copied().flatten();
        layers.iter().filter_map(fragment).collect()
    }

    /// The whole query.
    fn root(&self) -> Result<Node> {
        let candidates = self.query.candidates()?;
        if candidates.len() > SPLIT_TILES_MAX {
            return Err(Error::LimitExceeded {
                what: "tiles of a plan of splits (plan one range of the first dimension after the other)".into(),
                found: candidates.len() as u64,
                limit: SPLIT_TILES_MAX as u64,
            });
        }
        let row_bytes: Vec<u64> = (0..self.query.layers.len()).map(|l| self.row_bytes(l)).collect();
        let unit = |(layer, tile): (usize, u64)| {
            let cells = match self.query.layers.get(layer) {
                Some(l) => l.fragment.tile_cells(tile)? as u64,
                None => 0,
            };
            Ok(Unit {
                layer: u32::try_from(layer).unwrap_or(u32::MAX),
                tile: u32::try_from(tile).unwrap_or(u32::MAX),
                bytes: cells.saturating_mul(row_bytes.get(layer).copied().unwrap_or(1)),
            })
        };
        Ok(Node {
            ranges: vec![None; self.cuttable.len()],
            units: candidates
                .iter()
                .map(|c| unit((c.layer, c.tile)))
                .collect::<Result<_>>()?,
        })
    }

    /// Size of a decoded cell of a layer in bytes; for variable-length values, the stored size.
    fn row_bytes(&self, layer: usize) -> u64 {
        let Some(layer) = self.query.layers.get(layer) else {
            return 1;
        };
        let dimensions = self.query.schema.dimensions.iter();
        let coordinates: u64 = dimensions
            .map(|d| d.cell.cell_bytes(d.datatype).unwrap_or(8) as u64)
            .sum();
        let attributes: u64 = self.query.attributes.iter().map(Field::row_bytes).sum();
        let stored = layer.coordinates.iter().chain(layer.attributes.iter().flatten());
        let var = stored.map(|field| stored_var_bytes(field)).fold(0, u64::saturating_add);
        let var = var.div_ceil(layer.fragment.cells.max(1));
        coordinates.saturating_add(attributes).saturating_add(var).max(1)
    }

    /// The bounds of a tile along a dimension; `None` if they are unknown or not numbers.
    fn bounds(&self, unit: Unit, d: usize) -> Option<(Edge<'_>, Edge<'_>)> {
        let leaves: &Level = self
            .query
            .layers
            .get(unit.layer as usize)?
            .fragment
            .index
            .rtree()?
            .leaves()?;
        let i = unit.tile as usize;
        match leaves.dimensions.get(d)? {
            Bounds::Keys { physical, lo, hi } => {
                let known = |key: u64| key::key(&key::scalar(*physical, key));
                Some((Edge::Number(known(*lo.get(i)?)?), Edge::Number(known(*hi.get(i)?)?)))
            }
            Bounds::Strings { lo, hi } => Some((Edge::Text(lo.get(i).into()), Edge::Text(hi.get(i).into()))),
        }
    }

    /// The ranges of a node along a dimension. If neither the query nor a cut limits it, the range of its tiles.
    fn ranges(&self, node: &Node, d: usize) -> Option<Vec<EdgeRange>> {
        if let Some(Some(ranges)) = node.ranges.get(d) {
            return Some(ranges.clone());
        }
        if let Some(spans) = self.query.ranges.numbers(d) {
            return Some(
                spans
                    .iter()
                    .map(|s| (Edge::Number(s.first), Edge::Number(s.last)))
                    .collect(),
            );
        }
        if let Some(texts) = self.query.ranges.strings(d) {
            let text = |t: &Vec<u8>| Edge::Text(Cow::Owned(t.clone()));
            return Some(texts.iter().map(|(lo, hi)| (text(lo), text(hi))).collect());
        }
        let mut around: Option<(Edge<'_>, Edge<'_>)> = None;
        for unit in &node.units {
            let (lo, hi) = self.bounds(*unit, d)?;
            around = Some(match around {
                None => (lo, hi),
                Some((least, greatest)) => (least.min(lo), greatest.max(hi)),
            });
        }
        around.map(|(lo, hi)| vec![(lo.owned(), hi.owned())])
    }

    /// Cuts the box where the sides come nearest to the wanted share, with few tiles on both sides. `None` if no cut is
    /// worth it.
    fn cut(&self, node: &Node, share: (u64, u64)) -> Option<(Node, Node)> {
        let dimensions = (0..self.cuttable.len()).filter(|d| self.cuttable.get(*d) == Some(&true));
        let offers = dimensions.filter_map(|d| self.best_cut(node, d, share));
        let (_, d, at) = offers.reduce(|a, b| if b.0 < a.0 { b } else { a })?;
        let ranges = self.ranges(node, d)?;
        let (before, after) = divide(&ranges, &at);
        let side = |ranges: Vec<EdgeRange>| {
            let meets = |unit: &&Unit| self.bounds(**unit, d).is_none_or(|(lo, hi)| meet(&ranges, &lo, &hi));
            let units = node.units.iter().filter(meets).copied().collect();
            let mut all = node.ranges.clone();
            if let Some(own) = all.get_mut(d) {
                *own = Some(ranges);
            }
            Node { ranges: all, units }
        };
        Some((side(before), side(after)))
    }

    /// The best place to cut along a dimension, after the end of a tile, and how bad it is.
    fn best_cut(&self, node: &Node, d: usize, (share, parts): (u64, u64)) -> Option<(u64, usize, Edge<'static>)> {
        let step = node.units.len().div_ceil(SAMPLE).max(1);
        let sample = node.units.iter().step_by(step);
        let sample: Option<Vec<_>> = sample.map(|u| Some((self.bounds(*u, d)?, u.bytes))).collect();
        let sample = sample?;
        let total = sample.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        let mut ends: Vec<(&Edge<'_>, u64)> = sample.iter().map(|((_, hi), bytes)| (hi, *bytes)).collect();
        sort_by(&mut ends, |a, b| a.0.cmp(b.0));
        let part = |of: u64, (n, d): (u64, u64)| (u128::from(of) * u128::from(n) / u128::from(d)) as u64;
        let (mut ended, mut best) = (0_u64, None::<(u64, &Edge<'_>)>);
        for (i, (at, bytes)) in ends.iter().enumerate() {
            ended = ended.saturating_add(*bytes);
            let is_last = ends.get(i + 1).is_none_or(|next| next.0 != *at);
            // Cuts far from the wanted share cannot be the best.
            if !is_last
                || ended < part(total, (share, parts.saturating_mul(4)))
                || total - ended.min(total) < total / 16
            {
                continue;
            }
            let begun = sample.iter().filter(|((lo, _), _)| lo <= at);
            let before = begun.fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
            let after = total.saturating_sub(ended);
            let straddling = before.saturating_sub(ended);
            if straddling > part(total, STRADDLING) || before.max(after) > part(total, SIDE) {
                continue;
            }
            let badness = part(before, (parts, share)).max(part(after, (parts, parts - share)));
            if best.is_none_or(|(least, _)| badness < least) {
                best = Some((badness, at));
            }
        }
        best.map(|(badness, at)| (badness, d, at.owned()))
    }

    /// Divides a box by fragments, if cells of different fragments do not depend on each other.
    fn cut_by_fragments(&self, node: &Node, (share, parts): (u64, u64)) -> Option<(Node, Node)> {
        if self.query.dedup || !self.query.schema.allows_duplicates || self.query.schema.is_dense() {
            return None;
        }
        let wanted = (u128::from(bytes_of(&node.units)) * u128::from(share) / u128::from(parts)) as u64;
        let (mut sum, mut best) = (0_u64, None::<(u64, usize)>);
        for (i, pair) in node.units.windows(2).enumerate() {
            let [unit, next] = pair else { continue };
            sum = sum.saturating_add(unit.bytes);
            if unit.layer != next.layer && best.is_none_or(|(b, _)| sum.abs_diff(wanted) < b) {
                best = Some((sum.abs_diff(wanted), i + 1));
            }
        }
        let (before, after) = node.units.split_at_checked(best?.1)?;
        let side = |units: &[Unit]| Node {
            ranges: node.ranges.clone(),
            units: units.to_vec(),
        };
        Some((side(before), side(after)))
    }

    /// The coordinates of a box.
    fn region(&self, query: &Query, node: &Node) -> Region {
        let schema = &self.query.schema;
        let ranges = node.ranges.iter().zip(&schema.dimensions).enumerate();
        let along = ranges.map(|(d, (ranges, dimension))| {
            let scalar = |edge: &Edge<'_>| match edge {
                Edge::Number(key) => key::scalar(dimension.datatype.physical(), *key),
                Edge::Text(text) => Scalar::Bytes(text.to_vec()),
            };
            let range = |(lo, hi): &EdgeRange| ScalarRange {
                lo: scalar(lo),
                hi: scalar(hi),
            };
            match ranges {
                Some(ranges) => ranges.iter().map(range).collect(),
                None => query.region.0.get(d).cloned().unwrap_or_default(),
            }
        });
        Region(along.collect())
    }
}

/// Divides ascending ranges after a coordinate.
fn divide(ranges: &[EdgeRange], at: &Edge<'static>) -> (Vec<EdgeRange>, Vec<EdgeRange>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (lo, hi) in ranges {
        if hi <= at {
            before.push((lo.clone(), hi.clone()));
        } else if lo > at {
            after.push((lo.clone(), hi.clone()));
        } else {
            before.push((lo.clone(), at.clone()));
            after.push((at.after(), hi.clone()));
        }
    }
    (before, after)
}

/// Whether `lo..=hi` meets one of these ascending ranges.
fn meet(ranges: &[EdgeRange], lo: &Edge<'_>, hi: &Edge<'_>) -> bool {
    let next = ranges.get(ranges.partition_point(|(_, end)| end < lo));
    next.is_some_and(|(start, _)| start <= hi)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(t: &str) -> Edge<'static> {
        Edge::Text(t.as_bytes().to_vec().into())
    }

    #[test]
    fn the_two_sides_of_a_cut_share_no_coordinate_and_miss_none() {
        let ranges = [(text("b"), text("d")), (text("f"), text("h"))];
        let (before, after) = divide(&ranges, &text("c"));
        assert_eq!(before, [(text("b"), text("c"))]);
        assert_eq!(after, [(text("c\0"), text("d")), (text("f"), text("h"))]);
        assert!(meet(&after, &text("a"), &text("c\0")) && !meet(&after, &text("a"), &text("c")));
        assert!(!meet(&ranges, &text("da"), &text("e")));
        let numbers = [(Edge::Number(3), Edge::Number(9))];
        let (before, after) = divide(&numbers, &Edge::Number(5));
        assert_eq!(
            (before, after),
            (
                vec![(Edge::Number(3), Edge::Number(5))],
                vec![(Edge::Number(6), Edge::Number(9))]
            )
        );
    }
}
