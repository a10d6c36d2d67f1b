//! Lists the byte ranges to fetch for the tiles of a plan, group by group. Each tile is located once.

use std::ops::Range;
use std::sync::Arc;

use super::plan::{Plan, TileSource};
use crate::cache::Cache;
use crate::error::Result;
use crate::format::field::Field;
use crate::geometry::Span;
use crate::query::tile::{FetchList, Input, PartialTile, StoredField, TileRef};

/// How each layer stores each attribute of the result; `None` if it has none of that name and size.
pub(crate) type StoredFields = Vec<Vec<Option<Arc<StoredField>>>>;

/// A tile of one attribute to assemble.
#[derive(Debug)]
pub(crate) struct TileJob {
    /// Index of the tile in the plan.
    pub(super) tile: usize,
    /// Index of the attribute.
    pub(super) field: usize,
    /// One input for each source of the tile; `None` if the fragment lacks the attribute.
    pub(super) inputs: Vec<Option<Input>>,
}

/// The bytes to fetch before decoding tiles of fixed-size cells. Other tiles are always fetched whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fetching {
    /// Nothing: tiles are read from the file during decoding.
    Nothing,
    /// For unfiltered tiles, only the chunks with wanted cells, if these are few.
    Chunks,
    Tiles,
}

/// Consecutive tiles of a plan that are fetched together.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) jobs: Vec<TileJob>,
    pub(crate) list: FetchList,
    /// Index of the tile after the last.
    pub(crate) end: usize,
}

/// Says what to fetch for the attributes of a query.
pub(crate) struct Fetcher<'a> {
    pub(crate) fields: &'a [Field],
    pub(crate) stored: &'a StoredFields,
    pub(crate) fetching: Fetching,
    pub(crate) cache: &'a Cache,
}

impl Fetcher<'_> {
    /// The tiles of a plan from index `first` on, up to the one with which at least `bytes_max` bytes are fetched.
    /// `None` after the last tile.
    ///
    /// # Errors
    /// The index of a fragment is damaged.
    pub(crate) fn group(&self, plan: &Plan, first: usize, bytes_max: u64) -> Result<Option<Group>> {
        let mut group = Group {
            jobs: Vec::new(),
            list: FetchList::default(),
            end: first,
        };
        while let Some(tile) = plan.tiles.get(group.end).filter(|_| group.list.bytes() < bytes_max) {
            for field in 0..self.fields.len() {
                let input = |source| self.input(plan, source, field, &mut group.list);
                let inputs = tile.sources.iter().map(input).collect::<Result<_>>()?;
                let tile = group.end;
                group.jobs.push(TileJob { tile, field, inputs });
            }
            group.end += 1;
        }
        Ok((group.end > first).then_some(group))
    }

    /// The source's tile of an attribute; `None` if the fragment lacks the attribute.
    fn input(&self, plan: &Plan, source: &TileSource, field: usize, list: &mut FetchList) -> Result<Option<Input>> {
        let stored = self.stored.get(source.layer).and_then(|l| l.get(field)?.as_ref());
        let Some(stored) = stored else { return Ok(None) };
        let tile = TileRef::new(stored, source.tile)?.located()?;
        let chunks = match self.fetching {
            Fetching::Nothing if !stored.cell.is_var() => return Ok(Some(Input::Stored(tile))),
            Fetching::Chunks if !stored.cell.is_var() => PartialTile::of(&tile, reach(plan, source), self.cache)?,
            _ => None,
        };
        Ok(Some(Input::new(tile, chunks, self.cache, list)))
    }
}

/// The cells of a source's tile from the first wanted one to the last.
fn reach(plan: &Plan, source: &TileSource) -> Range<u64> {
    let cell = |of: fn(&Span) -> u64| {
        let steps = source.inside.iter().zip(&plan.strides);
        steps.fold(0, |n: u64, (s, step)| n.saturating_add(of(s).saturating_mul(*step)))
    };
    cell(|s| s.first)..cell(|s| s.last).saturating_add(1)
}
