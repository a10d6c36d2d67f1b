//! Which tiles of a sparse read count just as they were written: every cell is in the region, and none is
//! deleted, too young, or replaced by another.

use super::SparseQuery;
use super::layer::{Candidate, DeleteMode, Layer};
use super::region::{Ranges, Relation};
use std::borrow::Cow;

use crate::query::Region;
use crate::scalar::ScalarRange;

/// The layers of a query whose tiles may count as they are.
#[derive(Debug)]
pub(crate) struct WholeTiles<'a> {
    query: &'a SparseQuery,
    /// The boxes of the fragments that may hold other versions of a layer's cells; `None` for layers
    /// whose cells must be looked at one by one.
    rivals: Vec<Option<Vec<Ranges>>>,
}

impl<'a> WholeTiles<'a> {
    /// Of a query whose index is loaded.
    pub(crate) fn new(query: &'a SparseQuery) -> Self {
        let plain = |l: &Layer| {
            query.condition.is_none()
                && !l.partly_visible
                && l.delete_times.is_none()
                && l.hiding.is_none()
                && l.deletes.iter().all(|d| *d == DeleteMode::None)
                && !(query.dedup && l.fragment.footer.has_timestamps)
        };
        let of = |(i, layer): (usize, &Layer)| {
            if plain(layer) { rivals(query, i, layer) } else { None }
        };
        Self {
            query,
            rivals: query.layers.iter().enumerate().map(of).collect(),
        }
    }

    /// Whether this is such a tile.
    pub(crate) fn contains(&self, candidate: &Candidate) -> bool {
        let (Some(layer), Some(Some(rivals))) =
            (self.query.layers.get(candidate.layer), self.rivals.get(candidate.layer))
        else {
            return false;
        };
        let leaves = layer.fragment.index.rtree().and_then(|t| t.leaves());
        let (Some(leaves), Ok(tile)) = (leaves, usize::try_from(candidate.tile)) else {
            return false;
        };
        let apart = |r: &Ranges| r.relation(leaves, tile) == Relation::Outside;
        candidate.inside && !candidate.hidden && rivals.iter().all(apart)
    }
}

/// The boxes of the other fragments of the region that overlap a layer, where only one of cells with equal
/// coordinates counts.
fn rivals(query: &SparseQuery, i: usize, layer: &Layer) -> Option<Vec<Ranges>> {
    if !query.dedup {
        return Some(Vec::new());
    }
    let ranges =
        |domain: Cow<'_, [ScalarRange]>| Ranges::new(&Region::from_box(domain.into_owned()), &query.schema).ok();
    let own = ranges(layer.fragment.bounding_box()?)?;
    let mut out = Vec::new();
    for other in query.layers.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, l)| l) {
        let domain = other.fragment.bounding_box()?;
        let outside = |r: &Ranges| r.relation_to(&domain) == Relation::Outside;
        if !outside(&query.ranges) && !outside(&own) {
            out.push(ranges(domain)?);
        }
    }
    Some(out)
}
