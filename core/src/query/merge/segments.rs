//! Merges sorted runs into one sequence of cells. Of cells with equal coordinates, it can keep only the newest.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::sorted_tile::SortedTile;
use crate::cpu::Cpu;
use crate::geometry::number;
use crate::sort::{first_not, sort_places};

/// Consecutive cells of a run that are also consecutive in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The index of the run.
    pub(crate) run: u32,
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// Merges the cells `starts..ends` of each run. Without `ordered`, the runs are concatenated. With `dedup`, only the
/// newest of cells with equal coordinates is kept. Deleted cells are removed last.
pub(crate) fn merge(
    runs: &[Arc<SortedTile>],
    starts: &[usize],
    ends: &[usize],
    ordered: bool,
    dedup: bool,
    cpu: Cpu,
) -> Vec<Segment> {
    let merge = Merge {
        runs,
        starts,
        ends,
        dedup,
        cpu,
    };
    let mut parts: Vec<usize> = (0..runs.len()).filter(|&i| starts[i] < ends[i]).collect();
    let mut out = Segments::default();
    if ordered {
        sort_places(&mut parts, &|i, j| merge.compare(merge.first(i), merge.first(j)));
    }
    if !ordered || merge.are_apart(&parts) {
        parts
            .iter()
            .for_each(|&i| merge.partial_tile(i, starts[i], ends[i], &mut out));
    } else {
        merge.overlapping(&parts, &mut out);
    }
    clean(runs, out.0)
}

/// The cells `starts..ends` of each run, which are sorted by the run's keys.
// Runs and cells are `u32`: a tile has fewer than 2^32 cells, and there are fewer runs than that.
struct Merge<'a> {
    runs: &'a [Arc<SortedTile>],
    starts: &'a [usize],
    ends: &'a [usize],
    /// Whether to keep only the newest of cells with equal coordinates.
    dedup: bool,
    cpu: Cpu,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    run: u32,
    cell: u32,
}

impl Cell {
    const fn new(run: usize, cell: usize) -> Self {
        Self {
            run: run as u32,
            cell: cell as u32,
        }
    }
}

#[derive(Default)]
struct Segments(Vec<Segment>);

impl Segments {
    fn push(&mut self, c: Cell) {
        match self.0.last_mut() {
            Some(s) if s.run == c.run && s.start + s.len == c.cell => s.len += 1,
            _ => self.0.push(Segment {
                run: c.run,
                start: c.cell,
                len: 1,
            }),
        }
    }
}

/// Sorted cells, each with whether it equals the previous one.
type InOrder<'a> = dyn Iterator<Item = (Cell, bool)> + 'a;

impl Merge<'_> {
    fn compare(&self, a: Cell, b: Cell) -> Ordering {
        self.runs[a.run as usize].compare(a.cell as usize, &self.runs[b.run as usize], b.cell as usize)
    }

    /// The rank of a run among cells with equal coordinates: fragment first, then tile.
    fn place(&self, run: usize) -> (usize, u64) {
        (self.runs[run].layer, self.runs[run].tile)
    }

    fn cells(&self, run: usize) -> usize {
        self.ends[run] - self.starts[run]
    }

    fn first(&self, run: usize) -> Cell {
        Cell::new(run, self.starts[run])
    }

    fn last(&self, run: usize) -> Cell {
        Cell::new(run, self.ends[run] - 1)
    }

    /// Whether these runs, sorted by their first cells, do not overlap.
    fn are_apart(&self, parts: &[usize]) -> bool {
        parts.windows(2).all(|w| {
            let order = self.compare(self.last(w[0]), self.first(w[1]));
            order.is_lt() || (order.is_eq() && !self.dedup && self.place(w[0]) < self.place(w[1]))
        })
    }

    /// Appends consecutive cells of one run. No other run may have cells between them.
    fn partial_tile(&self, run: usize, start: usize, end: usize, out: &mut Segments) {
        if self.dedup && !self.runs[run].distinct {
            let cells = (start..end).map(|c| Cell::new(run, c));
            let same = |c: Cell| c.cell as usize > start && self.compare(Cell { cell: c.cell - 1, ..c }, c).is_eq();
            self.newest(&mut cells.map(|c| (c, same(c))), out);
        } else if start < end {
            out.0.push(Segment {
                run: run as u32,
                start: start as u32,
                len: (end - start) as u32,
            });
        }
    }

    /// Appends the cells of overlapping runs.
    fn overlapping(&self, parts: &[usize], out: &mut Segments) {
        match self.chain(parts) {
            Some((chain, others)) => self.sorted(&others, &mut |cells| self.weave(&chain, cells, out)),
            None => self.sorted(parts, &mut |cells| {
                if self.dedup {
                    self.newest(cells, out);
                } else {
                    cells.for_each(|c| out.push(c.0));
                }
            }),
        }
    }

    /// Separates the runs of the fragment with the most cells, in order, from all other runs. Returns `None` if that
    /// fragment has less than half of all cells, or if its runs overlap each other.
    fn chain(&self, parts: &[usize]) -> Option<(Vec<usize>, Vec<usize>)> {
        let mut cells: BTreeMap<usize, usize> = BTreeMap::new();
        for &i in parts {
            *cells.entry(self.runs[i].layer).or_default() += self.cells(i);
        }
        let all: usize = cells.values().sum();
        let (layer, most) = cells.into_iter().max_by_key(|c| c.1)?;
        let (chain, others): (Vec<usize>, Vec<usize>) = parts.iter().partition(|&&i| self.runs[i].layer == layer);
        (most >= all - most && !others.is_empty() && self.are_apart(&chain)).then_some((chain, others))
    }

    /// Merges the runs of a chain with other cells. Most cells of a chain stay consecutive.
    fn weave(&self, chain: &[usize], others: &mut InOrder<'_>, out: &mut Segments) {
        let mut others = others.peekable();
        let mut chain = chain.iter().map(|&i| (i, self.starts[i]));
        let mut front = chain.next();
        while let Some((cell, _)) = others.next() {
            // Append what comes before the cell: whole runs, then part of one.
            while let Some((i, at)) = front {
                let end = self.cells_before(i, at, cell);
                self.partial_tile(i, at, end, out);
                if end < self.ends[i] {
                    front = Some((i, end));
                    break;
                }
                front = chain.next();
            }
            let mut best = cell;
            if self.dedup {
                while let Some((same, _)) = others.next_if(|o| o.1) {
                    best = self.newer(best, same);
                }
                // Runs of a chain share no coordinates.
                if let Some((i, at)) = &mut front {
                    while *at < self.ends[*i] && self.compare(Cell::new(*i, *at), cell).is_eq() {
                        best = self.newer(best, Cell::new(*i, *at));
                        *at += 1;
                    }
                }
            }
            out.push(best);
        }
        while let Some((i, at)) = front {
            self.partial_tile(i, at, self.ends[i], out);
            front = chain.next();
        }
    }

    /// The first cell of a run, from `at` on, that does not come before `cell` of another fragment.
    fn cells_before(&self, run: usize, at: usize, cell: Cell) -> usize {
        let is_before = |i: usize| match self.compare(Cell::new(run, i), cell) {
            Ordering::Less => true,
            Ordering::Equal => !self.dedup && self.runs[run].layer < self.runs[cell.run as usize].layer,
            Ordering::Greater => false,
        };
        first_not(at..self.ends[run], is_before)
    }

    /// Sorts the cells of these runs and passes them to `take`. Packs the keys into one number if they fit.
    fn sorted(&self, parts: &[usize], take: &mut dyn FnMut(&mut InOrder<'_>)) {
        let mut parts = parts.to_vec();
        sort_places(&mut parts, &|i, j| self.place(i).cmp(&self.place(j)));
        match Packing::new(self, &parts) {
            Some(packing) if packing.bits <= 64 => {
                let mut cells = packing.cells(self, &parts, |key| key as u64);
                self.cpu.sort_by_key(&mut cells, |c| c.0);
                take(&mut with_equality(&cells, |a, b| a.0 == b.0).map(|(c, same)| (c.1, same)));
            }
            Some(packing) => {
                let mut cells = packing.cells(self, &parts, |key| key);
                self.cpu.sort_by_key(&mut cells, |c| c.0);
                take(&mut with_equality(&cells, |a, b| a.0 == b.0).map(|(c, same)| (c.1, same)));
            }
            None => {
                let cells_of = |&i: &usize| (self.starts[i]..self.ends[i]).map(move |c| Cell::new(i, c));
                let mut cells: Vec<Cell> = parts.iter().flat_map(cells_of).collect();
                cells.sort_by(|a, b| self.compare(*a, *b));
                take(&mut with_equality(&cells, |a, b| self.compare(*a, *b).is_eq()));
            }
        }
    }

    /// Appends the newest of each group of equal cells.
    fn newest(&self, cells: &mut InOrder<'_>, out: &mut Segments) {
        let mut best: Option<Cell> = None;
        for (cell, same) in cells {
            best = Some(match best {
                Some(old) if same => self.newer(old, cell),
                Some(old) => {
                    out.push(old);
                    cell
                }
                None => cell,
            });
        }
        best.into_iter().for_each(|c| out.push(c));
    }

    /// The newer of two cells with equal coordinates. If their times are equal, the later fragment wins; within a
    /// fragment, the first cell wins.
    fn newer(&self, a: Cell, b: Cell) -> Cell {
        let age = |c: Cell| {
            let run = &self.runs[c.run as usize];
            let place = Reverse((run.tile, run.cell(c.cell as usize)));
            (run.time(c.cell as usize), run.layer, place)
        };
        if age(b) > age(a) { b } else { a }
    }
}

/// Items, each with whether it equals the previous one.
fn with_equality<T: Copy>(items: &[T], equal: impl Fn(&T, &T) -> bool) -> impl Iterator<Item = (T, bool)> {
    let same = move |i: usize| i > 0 && equal(&items[i - 1], &items[i]);
    items.iter().enumerate().map(move |(i, item)| (*item, same(i)))
}

/// Removes deleted cells.
fn clean(runs: &[Arc<SortedTile>], segments: Vec<Segment>) -> Vec<Segment> {
    if runs.iter().all(|r| !r.has_deleted()) {
        return segments;
    }
    let mut out = Segments::default();
    for s in segments {
        for cell in s.start..s.start + s.len {
            if !runs[s.run as usize].is_deleted(cell as usize) {
                out.push(Cell { run: s.run, cell });
            }
        }
    }
    out.0
}

/// How to pack the keys of some runs into one number: each key minus its least value, concatenated.
struct Packing {
    /// The least value and the number of bits of each key, most significant first.
    terms: Vec<(u64, u32)>,
    bits: u32,
}

impl Packing {
    fn new(merge: &Merge<'_>, parts: &[usize]) -> Option<Self> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for &i in parts {
            let numbers = merge.runs[i].numbers()?;
            ranges.resize(numbers.len(), (u64::MAX, 0));
            for (range, keys) in ranges.iter_mut().zip(numbers) {
                for &k in keys.get(merge.starts[i]..merge.ends[i]).unwrap_or(&[0]) {
                    *range = (range.0.min(k), range.1.max(k));
                }
            }
        }
        let terms: Vec<(u64, u32)> = ranges
            .iter()
            .map(|(lo, hi)| (*lo, 64 - hi.wrapping_sub(*lo).leading_zeros()))
            .collect();
        let bits = terms.iter().map(|t| t.1).sum();
        (bits <= 128).then_some(Self { terms, bits })
    }

    fn cells<K>(&self, merge: &Merge<'_>, parts: &[usize], key: impl Fn(u128) -> K) -> Vec<(K, Cell)> {
        let mut out = Vec::with_capacity(parts.iter().map(|&i| merge.cells(i)).sum());
        for &i in parts {
            let numbers = merge.runs[i].numbers().unwrap_or_default();
            for c in merge.starts[i]..merge.ends[i] {
                let mut packed = 0_u128;
                for (keys, (lo, bits)) in numbers.iter().zip(&self.terms) {
                    let part = number(keys, c).wrapping_sub(*lo);
                    packed = if *bits == 0 {
                        packed
                    } else {
                        (packed << bits) | u128::from(part)
                    };
                }
                out.push((key(packed), Cell::new(i, c)));
            }
        }
        out
    }
}
