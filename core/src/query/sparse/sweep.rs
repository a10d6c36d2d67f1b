//! The sweep: tiles are loaded in the order of the least key they can hold; whatever comes before the
//! least key of all tiles not yet loaded is final and can go out. So memory holds only tiles that
//! overlap each other, however large the result is.

use std::sync::Arc;

use super::layer::{Candidate, Layer};
use super::merge::{self, Segment};
use super::run::{CellKey, ResultOrder, Run};
use crate::column::Column;
use crate::cpu::Cpu;
use crate::datatype::CellCount;
use crate::error::Result;
use crate::format::fragment::rtree::Bounds;
use crate::geometry::key;

/// Tiles waiting to be loaded, and cells waiting to go out.
#[derive(Debug)]
pub(crate) struct Sweep {
    order: Option<Arc<ResultOrder>>,
    /// Whether only the newest of cells with equal coordinates counts.
    dedup: bool,
    /// In the order they are loaded.
    waiting: Vec<Waiting>,
    next: usize,
    /// The greatest key loaded of each layer, where tiles of a layer follow each other.
    reached: Vec<Option<CellKey>>,
    pub(crate) runs: Vec<Arc<Run>>,
    /// How many cells of each run are final.
    done: Vec<usize>,
    /// Cells of the runs that are final, in order.
    ready: Vec<Segment>,
    /// How many of `ready` have been taken.
    taken: usize,
}

#[derive(Debug)]
struct Waiting {
    candidate: Candidate,
    /// Cells of the tile.
    cells: u64,
    /// No cell of the tile comes before this; `None` where that is not known.
    bound: Option<CellKey>,
}

impl Sweep {
    /// A sweep over these candidates, which are in the order of layers and tiles.
    ///
    /// # Errors
    /// A bounding box is damaged.
    pub(crate) fn new(
        candidates: Vec<Candidate>,
        layers: &[Layer],
        order: Option<Arc<ResultOrder>>,
        dedup: bool,
    ) -> Result<Self> {
        let mut bounds: Vec<Option<CellKey>> = vec![None; candidates.len()];
        if let Some(order) = order.as_ref().filter(|o| o.corners && !candidates.is_empty()) {
            for (bound, key) in bounds.iter_mut().zip(order.keys(&corners(&candidates, layers))?) {
                *bound = Some(key);
            }
            if order.natural {
                // Tiles of a fragment follow each other: none holds a cell before the corner of an earlier one.
                for i in 1..bounds.len() {
                    let same = candidates.get(i - 1).map(|c| c.layer) == candidates.get(i).map(|c| c.layer);
                    let (before, from) = bounds.split_at_mut(i);
                    if let (true, Some(last), Some(this)) = (same, before.last(), from.first_mut())
                        && *last > *this
                    {
                        this.clone_from(last);
                    }
                }
            }
        }
        let cells = |c: &Candidate| {
            layers
                .get(c.layer)
                .and_then(|l| l.fragment.tile_cells(c.tile).ok())
                .unwrap_or(0) as u64
        };
        let waiting = candidates.into_iter().zip(bounds).map(|(c, bound)| Waiting {
            cells: cells(&c),
            candidate: c,
            bound,
        });
        let mut waiting: Vec<Waiting> = waiting.collect();
        match &order {
            Some(order) if order.corners => {
                waiting.sort_by(|a, b| {
                    (&a.bound, a.candidate.layer, a.candidate.tile).cmp(&(
                        &b.bound,
                        b.candidate.layer,
                        b.candidate.tile,
                    ))
                });
            }
            // Without bounds the layers take turns, so that all of them have reached something.
            Some(_) => {
                let mut turns = vec![0_usize; layers.len()];
                let mut turn = |c: &Candidate| turns.get_mut(c.layer).map_or(0, |t| std::mem::replace(t, *t + 1));
                let mut with_turns: Vec<(usize, Waiting)> =
                    waiting.into_iter().map(|w| (turn(&w.candidate), w)).collect();
                with_turns.sort_by_key(|(turn, w)| (*turn, w.candidate.layer));
                waiting = with_turns.into_iter().map(|(_, w)| w).collect();
            }
            None => {}
        }
        let reached = vec![None; layers.len()];
        Ok(Self {
            order,
            dedup,
            waiting,
            next: 0,
            reached,
            runs: Vec::new(),
            done: Vec::new(),
            ready: Vec::new(),
            taken: 0,
        })
    }

    /// Leaves out the tiles, given with their cells, that `is_known` says of need not be loaded. Only before
    /// any was.
    pub(crate) fn leave_out(&mut self, mut is_known: impl FnMut(&Candidate, u64) -> bool) {
        self.waiting.retain(|w| !is_known(&w.candidate, w.cells));
    }

    /// The next candidates to load: as many as `fits` allows, at least one; none after the last.
    pub(crate) fn next_to_load(&mut self, mut fits: impl FnMut(&Candidate) -> bool) -> Vec<Candidate> {
        let mut out = Vec::new();
        while let Some(w) = self.waiting.get(self.next) {
            if !fits(&w.candidate) && !out.is_empty() {
                break;
            }
            out.push(w.candidate.clone());
            self.next += 1;
        }
        out
    }

    /// Takes the runs that were loaded, and finds out which cells are final.
    pub(crate) fn add(&mut self, runs: Vec<Run>, cpu: Cpu) {
        self.drop_finished();
        for run in runs {
            if let Some(order) = self.order.as_ref().filter(|o| o.natural && run.len > 0) {
                let mut last = run.key(run.len - 1).place(order);
                if !order.corners {
                    // Cells of one place on the curve: releases differ in how they order them.
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
        self.ready = merge::merge(&self.runs, &self.done, &ends, self.order.is_some(), self.dedup, cpu);
        self.done = ends;
    }

    /// The least key that a cell not yet loaded may have; `None` where that is not known.
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

    /// Up to `cells_max` final cells; none if more must be loaded first.
    pub(crate) fn take(&mut self, cells_max: u64) -> Vec<Segment> {
        let (mut out, mut cells) = (Vec::new(), 0_u64);
        while let Some(segment) = self.ready.get_mut(self.taken) {
            let room = cells_max.max(1) - cells;
            if u64::from(segment.len) <= room {
                out.push(*segment);
                cells += u64::from(segment.len);
                self.taken += 1;
            } else {
                #[allow(clippy::cast_possible_truncation, reason = "less than a length that is u32")]
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

    /// No more cells than this are still to come.
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

    /// Whether nothing is left to load.
    pub(crate) fn is_loaded(&self) -> bool {
        self.next >= self.waiting.len()
    }

    /// Forgets runs whose cells have all gone out. Only between batches: segments count in `runs`.
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

/// The low corners of the candidates' bounding boxes, a column a dimension.
fn corners(candidates: &[Candidate], layers: &[Layer]) -> Vec<Column> {
    let Some(schema) = layers.first().map(|l| &l.fragment.schema) else {
        return Vec::new();
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
    schema.dimensions.iter().enumerate().map(column).collect()
}
