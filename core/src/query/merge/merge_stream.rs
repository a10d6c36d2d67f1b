//! Sweeps over the tiles of a sparse read, in the order of the least key that each tile can hold. Cells before the
//! least key of all unloaded tiles are final and can be returned. Memory therefore holds only overlapping tiles,
//! regardless of the size of the result.

use std::sync::Arc;

use super::layer::{Candidate, SparseLayer};
use super::order::{CellKey, ResultOrder};
use super::rounding::as_stored;
use super::segments::{self, Segment};
use super::sorted_tile::SortedTile;
use crate::column::Column;
use crate::cpu::Cpu;
use crate::datatype::CellCount;
use crate::error::Result;
use crate::format::fragment::rtree::Bounds;
use crate::key;
use crate::query::tile::TILE_BYTES;
use crate::sort::sort_by;

/// The tiles to load and the cells to return.
#[derive(Debug)]
pub(crate) struct MergeStream {
    order: Option<Arc<ResultOrder>>,
    /// Whether to keep only the newest of cells with equal coordinates.
    dedup: bool,
    /// Whether `waiting` has bounds and is in load order.
    is_planned: bool,
    waiting: Vec<Waiting>,
    next: usize,
    /// The greatest loaded key of each layer, if the tiles of a layer are in order.
    reached: Vec<Option<CellKey>>,
    pub(crate) runs: Vec<Arc<SortedTile>>,
    /// Number of final cells of each run.
    done: Vec<usize>,
    /// Final cells of the runs, in order.
    ready: Vec<Segment>,
    /// Number of segments already taken from `ready`.
    taken: usize,
}

#[derive(Debug)]
struct Waiting {
    candidate: Candidate,
    /// Number of cells in the tile.
    cells: u64,
    /// A lower bound on the keys of the tile's cells; `None` if it is unknown.
    bound: Option<CellKey>,
}

impl MergeStream {
    /// Starts a merge over these candidates, which are ordered by layer and tile.
    pub(crate) fn new(
        candidates: Vec<Candidate>,
        layers: &[SparseLayer],
        order: Option<Arc<ResultOrder>>,
        dedup: bool,
    ) -> Self {
        let cells = |c: &Candidate| {
            layers
                .get(c.layer)
                .and_then(|l| l.fragment.tile_cells(c.tile).ok())
                .unwrap_or(0) as u64
        };
        let waiting = candidates.into_iter().map(|c| Waiting {
            cells: cells(&c),
            candidate: c,
            bound: None,
        });
        Self {
            is_planned: order.is_none(),
            order,
            dedup,
            waiting: waiting.collect(),
            next: 0,
            reached: vec![None; layers.len()],
            runs: Vec::new(),
            done: Vec::new(),
            ready: Vec::new(),
            taken: 0,
        }
    }

    /// Sorts the tiles into load order. Tiles that are loaded all at once need no order.
    fn plan(&mut self, layers: &[SparseLayer]) -> Result<()> {
        self.is_planned = true;
        let Some(order) = self.order.as_ref().filter(|_| !self.waiting.is_empty()) else {
            return Ok(());
        };
        if !order.corners {
            // Without bounds the layers take turns, so that each has a greatest loaded key.
            let mut turns = vec![0_usize; layers.len()];
            let mut turn = |c: &Candidate| turns.get_mut(c.layer).map_or(0, |t| std::mem::replace(t, *t + 1));
            let waiting = std::mem::take(&mut self.waiting);
            let mut with_turns: Vec<(usize, Waiting)> = waiting.into_iter().map(|w| (turn(&w.candidate), w)).collect();
            sort_by(&mut with_turns, |(a, v), (b, w)| {
                (a, v.candidate.layer).cmp(&(b, w.candidate.layer))
            });
            self.waiting = with_turns.into_iter().map(|(_, w)| w).collect();
            return Ok(());
        }
        let bounds = order.keys(&corners(&self.waiting, layers)?)?;
        for (w, key) in self.waiting.iter_mut().zip(bounds) {
            w.bound = Some(key);
        }
        if order.natural {
            // Tiles of a fragment are in order: none holds a cell before the corner of an earlier tile.
            for i in 1..self.waiting.len() {
                let (before, from) = self.waiting.split_at_mut(i);
                if let (Some(last), Some(this)) = (before.last(), from.first_mut())
                    && last.candidate.layer == this.candidate.layer
                    && last.bound > this.bound
                {
                    this.bound.clone_from(&last.bound);
                }
            }
        }
        sort_by(&mut self.waiting, |a, b| {
            (&a.bound, a.candidate.layer, a.candidate.tile).cmp(&(&b.bound, b.candidate.layer, b.candidate.tile))
        });
        Ok(())
    }

    /// Removes the tiles for which `is_known` returns true; it receives the number of cells too. Must be called before
    /// any tile is loaded.
    pub(crate) fn leave_out(&mut self, mut is_known: impl FnMut(&Candidate, u64) -> bool) {
        self.waiting.retain(|w| !is_known(&w.candidate, w.cells));
    }

    /// The next candidates to load: at least one, and as many as fit into `bytes_max` at `cell_bytes` per cell. Empty
    /// after the last candidate.
    ///
    /// # Errors
    /// A bounding box is damaged.
    pub(crate) fn next_to_load(
        &mut self,
        layers: &[SparseLayer],
        bytes_max: u64,
        cell_bytes: u64,
    ) -> Result<Vec<Candidate>> {
        let bytes = |w: &Waiting| cell_bytes.saturating_mul(w.cells).saturating_add(TILE_BYTES);
        if !self.is_planned && self.waiting.iter().map(bytes).fold(0, u64::saturating_add) > bytes_max {
            self.plan(layers)?;
        }
        let (mut out, mut room) = (Vec::new(), bytes_max);
        while let Some(w) = self.waiting.get(self.next) {
            let fits = bytes(w) <= room;
            room = room.saturating_sub(bytes(w));
            if !fits && !out.is_empty() {
                break;
            }
            out.push(w.candidate.clone());
            self.next += 1;
        }
        Ok(out)
    }

    /// Adds loaded runs and determines which cells are final.
    pub(crate) fn add(&mut self, runs: Vec<SortedTile>, cpu: Cpu) {
        self.drop_finished();
        for run in runs {
            if let Some(order) = self.order.as_ref().filter(|o| o.natural && run.len > 0) {
                let mut last = run.key(run.len - 1).place(order);
                if !order.corners {
                    // Releases order the cells at one place of the curve differently.
                    last.keep_first();
                }
                if let Some(reached) = self.reached.get_mut(run.layer).filter(|r| r.as_ref() < Some(&last)) {
                    *reached = Some(last);
                }
            }
            if run.len > 0 {
                self.runs.push(Arc::new(run));
                self.done.push(0);
            }
        }
        let ends = match (&self.order, self.next < self.waiting.len()) {
            (None, _) | (Some(_), false) => self.runs.iter().map(|r| r.len).collect::<Vec<_>>(),
            (Some(_), true) => match self.frontier() {
                Some(frontier) => self
                    .runs
                    .iter()
                    .zip(&self.done)
                    .map(|(r, &start)| r.cells_before(start, &frontier))
                    .collect(),
                None => return,
            },
        };
        self.ready = segments::merge(&self.runs, &self.done, &ends, self.order.is_some(), self.dedup, cpu);
        self.done = ends;
    }

    /// The least key that an unloaded cell can have; `None` if it is unknown.
    fn frontier(&self) -> Option<CellKey> {
        let mut least: Vec<Option<Option<&CellKey>>> = vec![None; self.reached.len()];
        let mut open = 0;
        for w in self.waiting.get(self.next..).unwrap_or(&[]) {
            let Some(slot) = least.get_mut(w.candidate.layer) else {
                continue;
            };
            if slot.is_none() {
                let reached = self.reached.get(w.candidate.layer).and_then(Option::as_ref);
                *slot = Some(w.bound.as_ref().max(reached));
                open += 1;
            }
            if open == self.reached.len() {
                break;
            }
        }
        least.into_iter().flatten().min().flatten().cloned()
    }

    /// Takes final cells of up to `bytes_max` bytes, counting `cell_bytes` per cell and the overhead of their tiles.
    /// Takes at least one cell, or none if more tiles must be loaded first.
    pub(crate) fn take(&mut self, bytes_max: u64, cell_bytes: u64) -> Vec<Segment> {
        let (mut out, mut left) = (Vec::new(), bytes_max);
        let mut is_met = vec![false; self.runs.len()];
        while let Some(segment) = self.ready.get_mut(self.taken) {
            let is_new = is_met
                .get_mut(segment.run as usize)
                .is_some_and(|met| !std::mem::replace(met, true));
            // The first tile is held in any case.
            let tile_bytes = if is_new && !out.is_empty() { TILE_BYTES } else { 0 };
            left = left.saturating_sub(tile_bytes);
            let room = (left / cell_bytes).max(u64::from(out.is_empty()));
            if u64::from(segment.len) <= room {
                out.push(*segment);
                left = left.saturating_sub(u64::from(segment.len) * cell_bytes);
                self.taken += 1;
            } else {
                // `room` is less than `segment.len`, which is a `u32`.
                let part = room as u32;
                if part > 0 {
                    out.push(Segment { len: part, ..*segment });
                    segment.start += part;
                    segment.len -= part;
                }
                break;
            }
        }
        out
    }

    /// An upper bound on the number of cells still to be returned.
    pub(crate) fn cells_left(&self) -> u64 {
        let ready: u64 = self.ready.iter().skip(self.taken).map(|s| u64::from(s.len)).sum();
        let held: u64 = self
            .runs
            .iter()
            .zip(&self.done)
            .map(|(r, done)| (r.len - done) as u64)
            .sum();
        let waiting = self.waiting.iter().skip(self.next).map(|w| w.cells);
        waiting.fold(ready + held, u64::saturating_add)
    }

    /// Whether all tiles are loaded.
    pub(crate) fn is_loaded(&self) -> bool {
        self.next >= self.waiting.len()
    }

    /// Drops runs whose cells have all been returned. Call it only between batches, because segments index `runs`.
    fn drop_finished(&mut self) {
        self.ready.clear();
        self.taken = 0;
        let open: Vec<bool> = self
            .runs
            .iter()
            .zip(&self.done)
            .map(|(r, &done)| done < r.len)
            .collect();
        let mut keep = open.iter();
        self.runs.retain(|_| keep.next() == Some(&true));
        let mut keep = open.iter();
        self.done.retain(|_| keep.next() == Some(&true));
    }
}

/// The low corners of the candidates' bounding boxes as the filters store them, one column per dimension.
fn corners(waiting: &[Waiting], layers: &[SparseLayer]) -> Result<Vec<Column>> {
    let Some(schema) = layers.first().map(|l| &l.fragment.schema) else {
        return Ok(Vec::new());
    };
    let column = |(d, dim): (usize, &crate::format::schema::Dimension)| {
        let bounds = waiting.iter().map(|w| &w.candidate).map(|c| {
            let leaves = layers.get(c.layer).and_then(|l| l.fragment.index.rtree()?.leaves());
            (
                leaves.and_then(|l| l.dimensions.get(d)),
                usize::try_from(c.tile).unwrap_or(usize::MAX),
            )
        });
        if dim.cell.is_var() {
            let low = |(b, i): (Option<&Bounds>, usize)| match b {
                Some(Bounds::Strings { lo, .. }) => lo.get(i).to_vec(),
                _ => Vec::new(),
            };
            return Column::from_cells(dim.datatype, bounds.map(low));
        }
        let low = |(b, i): (Option<&Bounds>, usize)| match b {
            Some(Bounds::Keys { lo, .. }) => lo.get(i).copied().unwrap_or(0),
            _ => 0,
        };
        let data = bounds
            .flat_map(|b| key::scalar(dim.datatype.physical(), low(b)).to_le_bytes())
            .collect();
        Column {
            datatype: dim.datatype,
            cell: CellCount::ONE,
            data,
            offsets: None,
            validity: None,
        }
    };
    let stored = |(d, dim)| as_stored(column((d, dim)), schema.dimension_filters(dim));
    schema.dimensions.iter().enumerate().map(stored).collect()
}
