//! Finds tiles of a sparse read that count exactly as written: every cell is in the region, and none is deleted,
//! outside the window, or replaced by another cell.

use super::SparseQuery;
use super::layer::{Candidate, DeleteMode, SparseLayer};
use crate::query::region::{Ranges, Relation};
use std::borrow::Cow;

use crate::query::Region;
use crate::scalar::ScalarRange;

/// The layers of a query whose tiles may count as written.
#[derive(Debug)]
pub(crate) struct WholeTiles<'a> {
    query: &'a SparseQuery,
    /// The boxes of fragments that may hold other versions of a layer's cells. `None` for layers whose cells must be
    /// tested individually.
    rivals: Vec<Option<Vec<Ranges>>>,
}

impl<'a> WholeTiles<'a> {
    /// Requires that the query's index is loaded.
    pub(crate) fn new(query: &'a SparseQuery) -> Self {
        let plain = |l: &SparseLayer| {
            query.condition.is_none()
                && !l.partly_visible
                && l.delete_times.is_none()
                && l.mask.is_none()
                && l.deletes.iter().all(|d| *d == DeleteMode::None)
                && !(query.dedup && (l.fragment.footer.has_timestamps || query.schema.rounds_coordinates()))
        };
        let of = |(i, layer): (usize, &SparseLayer)| {
            if plain(layer) { rivals(query, i, layer) } else { None }
        };
        Self {
            query,
            rivals: query.layers.iter().enumerate().map(of).collect(),
        }
    }

    /// Whether the tile counts exactly as written.
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

/// The bounding boxes of other fragments in the region that overlap a layer. Empty without deduplication. `None` if a
/// bounding box is unknown.
fn rivals(query: &SparseQuery, i: usize, layer: &SparseLayer) -> Option<Vec<Ranges>> {
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
