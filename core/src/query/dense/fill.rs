//! Decodes tiles and paints them: run by run, or all tiles of a part together if runs are short.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::copy::{SMALL_CELLS, in_order, run_jobs};
use super::interleave::{self, RunStats};
use super::plan::{Plan, Source};
use super::points::with_sources;
use super::result_buffers::ResultBuffers;
use super::runs::CellRun;
use crate::cache::Cache;
use crate::error::Result;
use crate::format::field::Field;
use crate::geometry::Span;
use crate::query::tile::{Decoding, Extent, Input, PartialTile, StoredField, TileRef};

/// How each layer stores each attribute of the result; `None` if it has none of that name and size.
pub(crate) type StoredFields = Vec<Vec<Option<Arc<StoredField>>>>;

/// A tile of one attribute to paint.
#[derive(Debug)]
pub(crate) struct Work {
    pub(super) tile: usize,
    field: usize,
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

/// Plans the work on some tiles of a plan, and what to fetch for it.
///
/// # Errors
/// The index of a fragment is damaged.
pub(crate) fn work(
    plan: &Plan,
    tiles: Range<usize>,
    fields: &[Field],
    stored: &StoredFields,
    cache: &Cache,
    fetching: Fetching,
) -> Result<(Vec<Work>, Vec<Extent>)> {
    let (mut out, mut extents) = (Vec::new(), Vec::new());
    for tile in tiles {
        let Some(t) = plan.tiles.get(tile) else { continue };
        for (field, wanted) in fields.iter().enumerate() {
            let mut inputs = Vec::with_capacity(t.sources.len());
            for source in &t.sources {
                let Some(own) = stored.get(source.layer).and_then(|l| l.get(field)?.as_ref()) else {
                    inputs.push(None);
                    continue;
                };
                let tile = TileRef::new(own, source.tile)?;
                inputs.push(Some(if fetching == Fetching::Nothing && !wanted.cell.is_var() {
                    Input::Local(tile)
                } else if let Some(partial_tile) = plan.partial_tile(wanted, source, &tile, fetching, cache)? {
                    Input::part(partial_tile, cache, &mut extents)
                } else {
                    Input::new(tile, cache, &mut extents)?
                }));
            }
            out.push(Work { tile, field, inputs });
        }
    }
    Ok((out, extents))
}

/// Whether the chunks fetched for this work are where an unfiltered tile has them. If not, the whole tiles must be
/// fetched.
pub(crate) fn are_chunks(work: &[Work], fetched: &[Bytes], cache: &Cache) -> bool {
    work.iter().flat_map(|w| &w.inputs).flatten().all(|input| match input {
        Input::FieldFile(partial_tile) => partial_tile.keep(fetched, cache),
        _ => true,
    })
}

impl Plan {
    /// The chunks of a source's tile to fetch without the others, if that is worthwhile.
    fn partial_tile(
        &self,
        field: &Field,
        source: &Source,
        tile: &TileRef,
        fetching: Fetching,
        cache: &Cache,
    ) -> Result<Option<PartialTile>> {
        if fetching != Fetching::Chunks || field.cell.is_var() {
            return Ok(None);
        }
        let cell = |of: fn(&Span) -> u64| -> u64 {
            let steps = source.inside.iter().zip(&self.strides);
            steps.fold(0, |n, (s, step)| n.saturating_add(of(s).saturating_mul(*step)))
        };
        PartialTile::of(tile, cell(|s| s.first)..cell(|s| s.last).saturating_add(1), cache)
    }

    /// Whether a source lacks the attribute of this work although an older source may have it.
    fn is_seen_through(&self, work: &[Work]) -> bool {
        let through = |w: &Work| {
            let sources = self.tiles.get(w.tile).map_or(&[][..], |t| &t.sources);
            let mut each = sources.iter().zip(&w.inputs);
            each.any(|(source, input)| !source.whole && input.is_none())
        };
        work.iter().any(through)
    }
}

/// Groups consecutive tiles, from index `first` on, so that each group fetches about `bytes_max` bytes.
///
/// # Errors
/// The index of a fragment is damaged.
pub(crate) fn groups(
    plan: &Plan,
    first: usize,
    fields: &[Field],
    stored: &StoredFields,
    bytes_max: u64,
    (fetching, cache): (Fetching, &Cache),
) -> Result<VecDeque<Range<usize>>> {
    let (mut out, mut start, mut bytes) = (VecDeque::new(), first, 0_u64);
    for (i, t) in plan.tiles.iter().enumerate().skip(first) {
        let mut here = 0_u64;
        for source in &t.sources {
            let own = stored.get(source.layer).into_iter().flatten().zip(fields);
            for (own, field) in own.filter(|(_, f)| fetching != Fetching::Nothing || f.cell.is_var()) {
                let Some(own) = own else { continue };
                let tile = TileRef::new(own, source.tile)?;
                if let Some(partial_tile) = plan.partial_tile(field, source, &tile, fetching, cache)? {
                    here = here.saturating_add(partial_tile.bytes());
                    continue;
                }
                here = tile
                    .extents()?
                    .iter()
                    .fold(here, |n, e| n.saturating_add(e.range.end - e.range.start));
            }
        }
        if i > start && bytes.saturating_add(here) > bytes_max {
            out.push_back(start..i);
            (start, bytes) = (i, 0);
        }
        bytes = bytes.saturating_add(here);
    }
    if start < plan.tiles.len() {
        out.push_back(start..plan.tiles.len());
    }
    Ok(out)
}

/// Paints the tiles. `base` is the position of the plan's first cell in the result. `known` are the runs of a plan
/// without boxes, one per cell, in the order of the result.
///
/// # Errors
/// A tile is damaged.
pub(crate) fn paint(
    mut result_buffers: ResultBuffers,
    base: usize,
    plan: &Plan,
    known: Option<&Vec<CellRun>>,
    work: Vec<Work>,
    fetched: &[Bytes],
    d: &Decoding,
) -> Result<ResultBuffers> {
    let mut by_field: Vec<Vec<Work>> = result_buffers.fields.iter().map(|_| Vec::new()).collect();
    for w in work {
        if let Some(list) = by_field.get_mut(w.field) {
            list.push(w);
        }
    }
    let (mut jobs, mut scattered, mut runs) = (Vec::new(), Vec::new(), None::<Vec<CellRun>>);
    let tiles: Vec<usize> = by_field.first().into_iter().flatten().map(|w| w.tile).collect();
    let is_large = known.is_none() && plan.cells > SMALL_CELLS;
    let run_stats = is_large.then(|| RunStats::of(plan, tiles.iter().copied()));
    for (f, work) in result_buffers.fields.iter_mut().zip(by_field) {
        if f.field.cell.is_var() || run_stats.as_ref().is_some_and(|s| s.prefers_staging(f.width())) {
            scattered.push((f, work));
            continue;
        }
        let own = plan.is_seen_through(&work).then(|| {
            let inputs: HashMap<usize, &[Option<Input>]> = work.iter().map(|w| (w.tile, &w.inputs[..])).collect();
            let has = |tile: usize, source: usize| matches!(inputs.get(&tile), Some(i) if matches!(i.get(source), Some(Some(_))));
            match known {
                Some(known) => with_sources(plan, known, &has),
                None => in_order(plan, &tiles, &has),
            }
        });
        let runs = match (&own, known) {
            (Some(own), _) => own,
            (None, Some(known)) => known,
            (None, None) => &*runs.get_or_insert_with(|| in_order(plan, &tiles, &|_, _| true)),
        };
        jobs.extend(run_jobs(f, base, plan, runs, work));
    }
    d.cpu.try_map_owned(jobs, |job| job.run(fetched, d))?;
    interleave::paint(scattered, base, plan, fetched, d)?;
    Ok(result_buffers)
}
