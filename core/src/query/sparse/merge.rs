//! Merges sorted runs into one sequence of cells, newest of equal coordinates first or only.

use std::sync::Arc;

use super::run::Run;
use crate::cpu::Cpu;
use crate::geometry::number;
use crate::sort::sort_places;

/// Cells of a run that follow each other, in the run and in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Number of the run.
    pub(crate) run: u32,
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// The cells `starts..ends` of each run, merged. Without `ordered` runs simply
/// follow each other. With `dedup` only the newest of equal coordinates is kept; cells that were
/// deleted are left out after that.
// Tiles have fewer than 2^32 cells, and there are fewer runs than that.
pub(crate) fn merge(
    runs: &[Arc<Run>],
    starts: &[usize],
    ends: &[usize],
    ordered: bool,
    dedup: bool,
    cpu: Cpu,
) -> Vec<Segment> {
    let whole = |i: usize| Segment {
        run: i as u32,
        start: starts[i] as u32,
        len: (ends[i] - starts[i]) as u32,
    };
    let mut parts: Vec<usize> = (0..runs.len()).filter(|&i| starts[i] < ends[i]).collect();
    let last = |i: usize| ends[i] - 1;
    if ordered {
        sort_places(&mut parts, &|i, j| runs[i].compare(starts[i], &runs[j], starts[j]));
        // Where several cells may share coordinates they come in the order of their fragments and tiles.
        let place = |i: usize| (runs[i].layer, runs[i].tile);
        let apart = parts.windows(2).all(|w| {
            let order = runs[w[0]].compare(last(w[0]), &runs[w[1]], starts[w[1]]);
            order.is_lt() || (order.is_eq() && !dedup && place(w[0]) < place(w[1]))
        });
        if !apart {
            sort_places(&mut parts, &|i, j| place(i).cmp(&place(j)));
            return clean(runs, sort(runs, starts, ends, &parts, dedup, cpu));
        }
    }
    let versions = |i: &usize| dedup && runs[*i].has_times();
    let mut out = Segments::default();
    for i in parts {
        if versions(&i) {
            let cells = (starts[i]..ends[i]).map(|c| Cell {
                run: i as u32,
                cell: c as u32,
            });
            newest(
                runs,
                cells,
                |a, b| runs[i].compare(a.cell as usize, &runs[i], b.cell as usize).is_eq(),
                &mut out,
            );
        } else {
            out.0.push(whole(i));
        }
    }
    clean(runs, out.0)
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    run: u32,
    cell: u32,
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

/// Sorts the cells of runs that overlap. Keys are packed into one number where they fit.
fn sort(runs: &[Arc<Run>], starts: &[usize], ends: &[usize], parts: &[usize], dedup: bool, cpu: Cpu) -> Vec<Segment> {
    let mut out = Segments::default();
    let mut emit = |cells: &mut dyn Iterator<Item = Cell>, equal: &dyn Fn(Cell, Cell) -> bool| {
        if dedup {
            newest(runs, cells, equal, &mut out);
        } else {
            cells.for_each(|c| out.push(c));
        }
    };
    let compare =
        |a: Cell, b: Cell| runs[a.run as usize].compare(a.cell as usize, &runs[b.run as usize], b.cell as usize);
    match Packing::new(runs, starts, ends, parts) {
        Some(packing) if packing.bits <= 64 => {
            let mut cells = packing.cells(runs, starts, ends, parts, |key| key as u64);
            cpu.sort_by_key(&mut cells, |c| c.0);
            emit(&mut cells.iter().map(|c| c.1), &|a, b| compare(a, b).is_eq());
        }
        Some(packing) => {
            let mut cells = packing.cells(runs, starts, ends, parts, |key| key);
            cpu.sort_by_key(&mut cells, |c| c.0);
            emit(&mut cells.iter().map(|c| c.1), &|a, b| compare(a, b).is_eq());
        }
        None => {
            let cells_of = |&i: &usize| {
                (starts[i]..ends[i]).map(move |c| Cell {
                    run: i as u32,
                    cell: c as u32,
                })
            };
            let mut cells: Vec<Cell> = parts.iter().flat_map(cells_of).collect();
            cells.sort_by(|a, b| compare(*a, *b));
            emit(&mut cells.iter().copied(), &|a, b| compare(a, b).is_eq());
        }
    }
    out.0
}

/// Puts the newest of each group of equal cells into `out`.
fn newest(
    runs: &[Arc<Run>],
    cells: impl Iterator<Item = Cell>,
    equal: impl Fn(Cell, Cell) -> bool,
    out: &mut Segments,
) {
    let age = |c: Cell| {
        let run = &runs[c.run as usize];
        // Of equal times the later fragment wins; in one fragment, what comes first.
        (
            run.time(c.cell as usize),
            run.layer,
            std::cmp::Reverse((run.tile, run.cell(c.cell as usize))),
        )
    };
    let mut best: Option<Cell> = None;
    for cell in cells {
        best = Some(match best {
            None => cell,
            Some(old) if equal(old, cell) => {
                if age(cell) > age(old) {
                    cell
                } else {
                    old
                }
            }
            Some(old) => {
                out.push(old);
                cell
            }
        });
    }
    best.into_iter().for_each(|c| out.push(c));
}

/// Leaves out cells that were deleted.
fn clean(runs: &[Arc<Run>], segments: Vec<Segment>) -> Vec<Segment> {
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

/// How the keys of some runs fit into one number: each less its least value, side by side.
struct Packing {
    /// For each key, most important first: least value and bits.
    terms: Vec<(u64, u32)>,
    bits: u32,
}

impl Packing {
    fn new(runs: &[Arc<Run>], starts: &[usize], ends: &[usize], parts: &[usize]) -> Option<Self> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for &i in parts {
            let numbers = runs[i].numbers()?;
            ranges.resize(numbers.len(), (u64::MAX, 0));
            for (range, keys) in ranges.iter_mut().zip(numbers) {
                for &k in keys.get(starts[i]..ends[i]).unwrap_or(&[0]) {
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

    fn cells<K>(
        &self,
        runs: &[Arc<Run>],
        starts: &[usize],
        ends: &[usize],
        parts: &[usize],
        key: impl Fn(u128) -> K,
    ) -> Vec<(K, Cell)> {
        let total = parts.iter().map(|&i| ends[i] - starts[i]).sum();
        let mut out = Vec::with_capacity(total);
        for &i in parts {
            let numbers = runs[i].numbers().unwrap_or_default();
            for c in starts[i]..ends[i] {
                let mut packed = 0_u128;
                for (keys, (lo, bits)) in numbers.iter().zip(&self.terms) {
                    let part = number(keys, c).wrapping_sub(*lo);
                    packed = if *bits == 0 {
                        packed
                    } else {
                        (packed << bits) | u128::from(part)
                    };
                }
                out.push((
                    key(packed),
                    Cell {
                        run: i as u32,
                        cell: c as u32,
                    },
                ));
            }
        }
        out
    }
}
