//! Sweeps over the tiles of sparse fragments, in the order of the least key that each tile can hold. Cells before the
//! least key of all unloaded tiles are final and can be returned. Memory therefore holds only overlapping tiles,
//! regardless of the size of the result.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
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
    /// Whether the tiles have bounds and are in load order.
    is_planned: bool,
    /// The tiles to load, by layer.
    queues: Vec<Queue>,
    pub(crate) runs: Vec<Arc<SortedTile>>,
    /// Number of final cells of each run.
    done: Vec<usize>,
    /// Final cells of the runs, in order.
    ready: Vec<Segment>,
    /// Number of segments already taken from `ready`.
    taken: usize,
}

/// The tiles of a layer that are still to be loaded.
#[derive(Debug, Default)]
struct Queue {
    tiles: VecDeque<Waiting>,
    /// The greatest loaded key, if the tiles of the layer are in order.
    reached: Option<CellKey>,
}

#[derive(Debug)]
struct Waiting {
    candidate: Candidate,
    /// Number of cells in the tile.
    cells: u64,
    /// Size of the loaded tile in memory.
    bytes: u64,
    /// A lower bound on the keys of the tile's cells; `None` if it is unknown.
    bound: Option<CellKey>,
}

impl Queue {
    /// The least key that the cells of tile `i` and of the later tiles can have; `None` in it if it is unknown.
    fn least(&self, i: usize) -> Option<Option<&CellKey>> {
        let tile = self.tiles.get(i)?;
        Some(tile.bound.as_ref().max(self.reached.as_ref()))
    }
}

impl MergeStream {
    /// Starts a merge over these candidates, which are ordered by tile. `bytes` estimates the size of a loaded tile
    /// with this number of cells.
    ///
    /// # Errors
    /// Those of `bytes`.
    pub(crate) fn new(
        candidates: Vec<Candidate>,
        layers: &[SparseLayer],
        order: Option<Arc<ResultOrder>>,
        dedup: bool,
        bytes: impl Fn(&Candidate, u64) -> Result<u64>,
    ) -> Result<Self> {
        let mut queues: Vec<Queue> = layers.iter().map(|_| Queue::default()).collect();
        for candidate in candidates {
            let (Some(layer), Some(queue)) = (layers.get(candidate.layer), queues.get_mut(candidate.layer)) else {
                continue;
            };
            let cells = layer.fragment.tile_cells(candidate.tile).unwrap_or(0) as u64;
            queue.tiles.push_back(Waiting {
                bytes: bytes(&candidate, cells)?,
                cells,
                candidate,
                bound: None,
            });
        }
        Ok(Self {
            is_planned: order.is_none(),
            order,
            dedup,
            queues,
            runs: Vec::new(),
            done: Vec::new(),
            ready: Vec::new(),
            taken: 0,
        })
    }

    fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.queues.iter().flat_map(|q| &q.tiles)
    }

    /// Sorts the tiles of each layer into load order. Tiles that are loaded all at once need no order.
    fn plan(&mut self, layers: &[SparseLayer]) -> Result<()> {
        self.is_planned = true;
        let Some(order) = self.order.as_ref().filter(|o| o.corners) else {
            return Ok(());
        };
        let candidates: Vec<&Candidate> = self.waiting().map(|w| &w.candidate).collect();
        let mut bounds = order.keys(&corners(&candidates, layers)?)?.into_iter();
        for queue in &mut self.queues {
            queue
                .tiles
                .iter_mut()
                .zip(&mut bounds)
                .for_each(|(w, key)| w.bound = Some(key));
            let tiles = queue.tiles.make_contiguous();
            if !order.natural {
                sort_by(tiles, |a, b| {
                    (&a.bound, a.candidate.tile).cmp(&(&b.bound, b.candidate.tile))
                });
                continue;
            }
            // Tiles of a fragment are in order: none holds a cell before the corner of an earlier tile.
            for i in 1..tiles.len() {
                if let Some([before, this]) = tiles.get_mut(i - 1..=i)
                    && before.bound > this.bound
                {
                    this.bound.clone_from(&before.bound);
                }
            }
        }
        Ok(())
    }

    /// Removes the tiles for which `is_known` returns true; it receives the number of cells too. Must be called before
    /// any tile is loaded.
    pub(crate) fn leave_out(&mut self, mut is_known: impl FnMut(&Candidate, u64) -> bool) {
        for queue in &mut self.queues {
            queue.tiles.retain(|w| !is_known(&w.candidate, w.cells));
        }
    }

    /// The next candidates to load: at least one, and as many as fit into `bytes_max`. Empty after the last candidate.
    ///
    /// # Errors
    /// A bounding box is damaged.
    pub(crate) fn next_to_load(&mut self, layers: &[SparseLayer], bytes_max: u64) -> Result<Vec<Candidate>> {
        if !self.is_planned && self.bytes_left() > bytes_max {
            self.plan(layers)?;
        }
        // Without bounds the layers take turns, so that each has a greatest loaded key.
        let take_turns = self.order.as_ref().is_some_and(|o| !o.corners);
        let entry = |i: usize, tile: usize| {
            let queue = self.queues.get(i)?;
            Some(Reverse((
                if take_turns { tile } else { 0 },
                queue.least(tile)?,
                i,
                tile,
            )))
        };
        let mut heads: BinaryHeap<_> = (0..self.queues.len()).filter_map(|i| entry(i, 0)).collect();
        let mut counts = vec![0; self.queues.len()];
        let (mut out, mut room) = (Vec::new(), bytes_max);
        while let Some(Reverse((_, _, i, tile))) = heads.pop() {
            let Some(w) = self.queues.get(i).and_then(|q| q.tiles.get(tile)) else {
                continue;
            };
            if w.bytes > room && !out.is_empty() {
                break;
            }
            room = room.saturating_sub(w.bytes);
            out.push(w.candidate.clone());
            counts[i] = tile + 1;
            heads.extend(entry(i, tile + 1));
        }
        drop(heads);
        for (queue, count) in self.queues.iter_mut().zip(counts) {
            queue.tiles.drain(..count);
        }
        Ok(out)
    }

    /// Adds loaded runs and determines which cells are final.
    pub(crate) fn add(&mut self, runs: Vec<SortedTile>, cpu: Cpu) {
        for run in runs {
            if let Some(order) = self.order.as_ref().filter(|o| o.natural && run.len > 0) {
                let mut last = run.key(run.len - 1).place(order);
                if order.hilbert {
                    // Releases order the cells at one place of the curve differently.
                    last.keep_first();
                }
                if let Some(queue) = self
                    .queues
                    .get_mut(run.layer)
                    .filter(|q| q.reached.as_ref() < Some(&last))
                {
                    queue.reached = Some(last);
                }
            }
            if run.len > 0 {
                self.runs.push(Arc::new(run));
                self.done.push(0);
            }
        }
        let ends = match (&self.order, self.is_loaded()) {
            (None, _) | (Some(_), true) => self.runs.iter().map(|r| r.len).collect::<Vec<_>>(),
            (Some(_), false) => match self.frontier() {
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
        self.queues.iter().filter_map(|q| q.least(0)).min().flatten().cloned()
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

    /// The size in memory of the tiles that are not loaded yet.
    pub(crate) fn bytes_left(&self) -> u64 {
        self.waiting().map(|w| w.bytes).fold(0, u64::saturating_add)
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
        self.waiting().map(|w| w.cells).fold(ready + held, u64::saturating_add)
    }

    /// Whether all tiles are loaded.
    pub(crate) fn is_loaded(&self) -> bool {
        self.queues.iter().all(|q| q.tiles.is_empty())
    }

    /// Drops runs whose cells have all been returned, and returns the size of the others in memory. Call it only between
    /// batches, because segments index `runs`.
    pub(crate) fn drop_finished(&mut self) -> u64 {
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
        self.runs.iter().map(|r| r.bytes()).fold(0, u64::saturating_add)
    }
}

/// The low corners of the candidates' bounding boxes as the filters store them, one column per dimension.
fn corners(candidates: &[&Candidate], layers: &[SparseLayer]) -> Result<Vec<Column>> {
    let Some(schema) = layers.first().map(|l| &l.fragment.schema) else {
        return Ok(Vec::new());
    };
    let column = |(d, dim): (usize, &crate::format::schema::Dimension)| {
        let bounds = candidates.iter().map(|c| {
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
