//! Copies a box of cells between two buffers, each in row-major or column-major order.
//!
//! A plan consists of nested loops, each with a step in either buffer. Adjacent loops without a gap in either buffer
//! are merged, so a box as wide as both buffers is a single run.

mod cut;

use super::order::Order;
use crate::sort::sort_by_number;

/// The shape and cell order of a dense buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Number of cells along each dimension.
    pub shape: Vec<u64>,
    /// Order of the cells.
    pub order: Order,
}

impl Frame {
    /// Number of cells in the buffer; `None` if it overflows.
    #[cfg(test)]
    pub(crate) fn cells(&self) -> Option<u64> {
        self.shape.iter().try_fold(1_u64, |n, &side| n.checked_mul(side))
    }

    /// The position of a cell in the buffer.
    pub(crate) fn position(&self, at: &[u64]) -> u64 {
        self.order
            .strides(&self.shape)
            .iter()
            .zip(at)
            .map(|(s, a)| s.saturating_mul(*a))
            .fold(0, u64::saturating_add)
    }
}

/// Cells that are contiguous in both buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyRun {
    /// Position of the first cell in the source.
    pub from: u64,
    /// Position of the first cell in the destination.
    pub to: u64,
    /// Number of cells.
    pub cells: u64,
}

/// A plan for copying a box from one buffer to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopyPlan {
    from: u64,
    to: u64,
    /// Number of cells in the innermost loop, which are contiguous in both buffers.
    run: u64,
    /// Outer loops, the slowest in the destination first.
    loops: Vec<Loop>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Loop {
    count: u64,
    from: u64,
    to: u64,
}

impl CopyPlan {
    /// Copies a box of `shape` cells from `from_at` in `from` to `to_at` in `to`.
    ///
    /// The box must be inside both buffers. Positions are in cells.
    pub(crate) fn new(from: &Frame, from_at: &[u64], to: &Frame, to_at: &[u64], shape: &[u64]) -> Self {
        let (source, target) = (from.order.strides(&from.shape), to.order.strides(&to.shape));
        let loops = to.order.slow_to_fast(shape.len()).map(|d| Loop {
            count: shape[d],
            from: source[d],
            to: target[d],
        });
        Self::of_loops(from.position(from_at), to.position(to_at), loops)
    }

    /// Copies the cells that these loops visit, starting at position `from` of the source and `to` of the destination.
    /// Each loop is a count, a step in the source and a step in the destination.
    pub(crate) fn stepping(from: u64, to: u64, loops: impl IntoIterator<Item = (u64, u64, u64)>) -> Self {
        let loops = loops.into_iter().map(|(count, from, to)| Loop { count, from, to });
        let mut loops: Vec<Loop> = loops.collect();
        sort_by_number(&mut loops, |l| u64::MAX - l.to);
        Self::of_loops(from, to, loops)
    }

    /// `loops` are sorted by their steps in the destination, the slowest first.
    fn of_loops(from: u64, to: u64, loops: impl IntoIterator<Item = Loop>) -> Self {
        let (mut joined, mut empty): (Vec<Loop>, bool) = (Vec::new(), false);
        for inner in loops {
            empty |= inner.count == 0;
            if inner.count == 1 {
                continue;
            }
            match joined.last_mut() {
                Some(outer)
                    if outer.from == inner.from.saturating_mul(inner.count)
                        && outer.to == inner.to.saturating_mul(inner.count) =>
                {
                    *outer = Loop {
                        count: outer.count * inner.count,
                        ..inner
                    };
                }
                _ => joined.push(inner),
            }
        }
        let run = match joined.last() {
            Some(&Loop { count, from: 1, to: 1 }) => {
                joined.pop();
                count
            }
            _ => 1,
        };
        Self {
            from,
            to,
            run: if empty { 0 } else { run },
            loops: joined,
        }
    }

    /// Number of cells to copy.
    pub(crate) fn cells(&self) -> u64 {
        self.loops.iter().fold(self.run, |n, l| n.saturating_mul(l.count))
    }

    /// Number of runs.
    pub(crate) fn run_count(&self) -> u64 {
        self.loops.iter().fold(1, |n, l| n.saturating_mul(l.count))
    }

    /// The only run of the plan, if there is exactly one.
    pub(crate) fn single(&self) -> Option<CopyRun> {
        self.loops.is_empty().then_some(CopyRun {
            from: self.from,
            to: self.to,
            cells: self.run,
        })
    }

    /// The runs, in the order of the destination.
    pub(crate) fn runs(&self) -> Runs<'_> {
        Runs {
            plan: self,
            at: vec![0; self.loops.len()],
            from: self.from,
            to: self.to,
            done: self.run == 0 || self.loops.iter().any(|l| l.count == 0),
        }
    }

    /// Whether runs are longer than one cell.
    pub(crate) fn has_runs(&self) -> bool {
        self.run > 1
    }

    /// Whether the plan stays within `from` and a destination of `to` bytes, for cells of `width` bytes.
    pub(crate) fn fits(&self, from: &[u8], to: usize, width: usize) -> bool {
        if self.cells() == 0 {
            return true;
        }
        let end = |start: u64, step: fn(&Loop) -> u64| {
            let last = self
                .loops
                .iter()
                .try_fold(start, |e, l| e.checked_add((l.count - 1).checked_mul(step(l))?))?;
            usize::try_from(last.checked_add(self.run)?).ok()?.checked_mul(width)
        };
        end(self.from, |l| l.from).is_some_and(|end| end <= from.len())
            && end(self.to, |l| l.to).is_some_and(|end| end <= to)
    }

    /// Produces the destination piece by piece from cells of `width` bytes in `from`, which the plan must fit.
    pub(crate) fn pieces<'a>(&'a self, from: &'a [u8], width: usize) -> Pieces<'a> {
        let mut runs = self.runs();
        Pieces {
            run: runs.next(),
            runs,
            at: 0,
            from,
            width,
        }
    }

    /// Copies cells of `width` bytes. Returns `false`, without copying, if the plan does not fit the buffers.
    #[must_use]
    pub(crate) fn copy(&self, from: &[u8], to: &mut [u8], width: usize) -> bool {
        if !self.fits(from, to.len(), width) {
            return false;
        }
        if self.cells() == 0 {
            return true;
        }
        match (self.run, width) {
            (1, 1) => self.copy_cells::<1>(from, to),
            (1, 2) => self.copy_cells::<2>(from, to),
            (1, 4) => self.copy_cells::<4>(from, to),
            (1, 8) => self.copy_cells::<8>(from, to),
            (1, 16) => self.copy_cells::<16>(from, to),
            _ => self.copy_runs(from, to, width),
        }
        true
    }

    fn copy_runs(&self, from: &[u8], to: &mut [u8], width: usize) {
        match self.run as usize * width {
            8 => self.copy_bytes::<8>(from, to, width),
            16 => self.copy_bytes::<16>(from, to, width),
            32 => self.copy_bytes::<32>(from, to, width),
            64 => self.copy_bytes::<64>(from, to, width),
            128 => self.copy_bytes::<128>(from, to, width),
            bytes => self.each_run(width, |f, t| to[t..t + bytes].copy_from_slice(&from[f..f + bytes])),
        }
    }

    /// Copies runs of `N` bytes without a call per run.
    fn copy_bytes<const N: usize>(&self, from: &[u8], to: &mut [u8], width: usize) {
        self.each_run(width, |f, t| {
            if let (Some(source), Some(target)) = (from[f..].first_chunk::<N>(), to[t..].first_chunk_mut::<N>()) {
                *target = *source;
            }
        });
    }

    /// Calls `body` with the byte positions of each run in the source and in the destination.
    fn each_run(&self, width: usize, mut body: impl FnMut(usize, usize)) {
        let (fast, outer) = match self.loops.split_last() {
            Some((fast, outer)) => (*fast, outer),
            None => (
                Loop {
                    count: 1,
                    from: 0,
                    to: 0,
                },
                &[][..],
            ),
        };
        let outer = Self {
            loops: outer.to_vec(),
            ..*self
        };
        for start in outer.runs() {
            let (mut f, mut t) = (start.from as usize * width, start.to as usize * width);
            for _ in 0..fast.count {
                body(f, t);
                f += fast.from as usize * width;
                t += fast.to as usize * width;
            }
        }
    }

    /// Copies single cells of `N` bytes: a transposition, or every n-th cell. The two loops with the smallest steps in
    /// either buffer are walked in square blocks, so that both buffers stay in the processor's cache.
    fn copy_cells<const N: usize>(&self, from: &[u8], to: &mut [u8]) {
        const BLOCK: u64 = 32;
        let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
        let Some(fast) = self.loops.last().copied() else {
            to[self.to as usize] = from[self.from as usize];
            return;
        };
        let outer = &self.loops[..self.loops.len() - 1];
        let narrow = (0..outer.len()).min_by_key(|&i| outer[i].from);
        let second = narrow.map_or(
            Loop {
                count: 1,
                from: 0,
                to: 0,
            },
            |i| outer[i],
        );
        let rest: Vec<Loop> = outer
            .iter()
            .enumerate()
            .filter(|(i, _)| Some(*i) != narrow)
            .map(|(_, l)| *l)
            .collect();
        let rest = Self {
            from: self.from,
            to: self.to,
            run: 1,
            loops: rest,
        };
        for base in rest.runs() {
            for a in (0..second.count).step_by(BLOCK as usize) {
                for b in (0..fast.count).step_by(BLOCK as usize) {
                    for i in a..(a + BLOCK).min(second.count) {
                        let (mut f, mut t) = (
                            (base.from + i * second.from + b * fast.from) as usize,
                            (base.to + i * second.to + b * fast.to) as usize,
                        );
                        for _ in b..(b + BLOCK).min(fast.count) {
                            to[t] = from[f];
                            f += fast.from as usize;
                            t += fast.to as usize;
                        }
                    }
                }
            }
        }
    }
}

/// The runs of a plan.
#[derive(Debug)]
pub(crate) struct Runs<'a> {
    plan: &'a CopyPlan,
    at: Vec<u64>,
    from: u64,
    to: u64,
    done: bool,
}

impl Iterator for Runs<'_> {
    type Item = CopyRun;

    fn next(&mut self) -> Option<CopyRun> {
        if self.done {
            return None;
        }
        let run = CopyRun {
            from: self.from,
            to: self.to,
            cells: self.plan.run,
        };
        self.done = true;
        for (l, at) in self.plan.loops.iter().zip(&mut self.at).rev() {
            *at += 1;
            if *at < l.count {
                self.from += l.from;
                self.to += l.to;
                self.done = false;
                break;
            }
            *at = 0;
            self.from -= (l.count - 1) * l.from;
            self.to -= (l.count - 1) * l.to;
        }
        Some(run)
    }
}

/// Produces the destination of a plan, from its first cell on.
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    runs: Runs<'a>,
    /// The rest of the next run.
    run: Option<CopyRun>,
    /// Number of cells produced so far.
    at: u64,
    from: &'a [u8],
    width: usize,
}

impl Pieces<'_> {
    /// Fills `out` with the next cells. Cells outside the plan are zero.
    pub(crate) fn fill(&mut self, mut out: &mut [u8]) {
        while !out.is_empty() {
            let room = (out.len() / self.width) as u64;
            let gap = self.run.map_or(room, |run| (run.to - self.at).min(room));
            let (zero, rest) = out.split_at_mut(gap as usize * self.width);
            zero.fill(0);
            self.at += gap;
            out = rest;
            let Some(run) = self.run.as_mut().filter(|_| gap < room) else {
                continue;
            };
            let cells = run.cells.min(room - gap);
            let (start, bytes) = (run.from as usize * self.width, cells as usize * self.width);
            let (cut, rest) = out.split_at_mut(bytes);
            cut.copy_from_slice(&self.from[start..start + bytes]);
            out = rest;
            self.at += cells;
            (run.from, run.to, run.cells) = (run.from + cells, run.to + cells, run.cells - cells);
            if run.cells == 0 {
                self.run = self.runs.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(shape: &[u64], order: Order) -> Frame {
        Frame {
            shape: shape.to_vec(),
            order,
        }
    }

    #[test]
    fn rows_as_wide_as_both_buffers_are_one_run() {
        let f = frame(&[4, 5], Order::Row);
        let plan = CopyPlan::new(&f, &[1, 0], &f, &[0, 0], &[2, 5]);
        assert_eq!(
            plan.single(),
            Some(CopyRun {
                from: 5,
                to: 0,
                cells: 10
            })
        );
        let plan = CopyPlan::new(&f, &[1, 1], &f, &[0, 0], &[2, 4]);
        assert_eq!(
            plan.runs().collect::<Vec<_>>(),
            [
                CopyRun {
                    from: 6,
                    to: 0,
                    cells: 4
                },
                CopyRun {
                    from: 11,
                    to: 5,
                    cells: 4
                }
            ]
        );
    }

    #[test]
    fn plans_that_do_not_fit_copy_nothing() {
        let f = frame(&[4], Order::Row);
        let mut to = [9; 4];
        assert!(!CopyPlan::new(&f, &[0], &f, &[0], &[4]).copy(&[1; 3], &mut to, 1));
        assert_eq!(to, [9; 4]);
        assert!(CopyPlan::new(&f, &[0], &f, &[0], &[0]).copy(&[], &mut [], 1));
    }

    fn order() -> impl Strategy<Value = Order> {
        prop_oneof![Just(Order::Row), Just(Order::Col)]
    }

    proptest! {
        #[test]
        fn exactly_the_cells_of_the_box_are_copied(
            dims in prop::collection::vec((1_u64..6, 0_u64..3, 0_u64..3, 0_u64..3, 0_u64..3), 1..4),
            a in order(), b in order(), width in prop_oneof![Just(1_usize), Just(2), Just(3), Just(4), Just(8), Just(16)],
            piece in 1_usize..9,
        ) {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let (fa, ta): (Vec<u64>, Vec<u64>) = (dims.iter().map(|d| d.1).collect(), dims.iter().map(|d| d.2).collect());
            let from = frame(&dims.iter().map(|d| d.0 + d.1 + d.3).collect::<Vec<_>>(), a);
            let to = frame(&dims.iter().map(|d| d.0 + d.2 + d.4).collect::<Vec<_>>(), b);
            let source: Vec<u8> = (0..from.cells().unwrap() as usize * width).map(|i| (i % 251) as u8 + 1).collect();
            let mut target = vec![0_u8; to.cells().unwrap() as usize * width];
            let mut naive = target.clone();
            let plan = CopyPlan::new(&from, &fa, &to, &ta, &shape);
            prop_assert!(plan.copy(&source, &mut target, width));
            let all = Frame { shape: shape.clone(), order: Order::Row };
            let strides = Order::Row.strides(&shape);
            for i in 0..all.cells().unwrap() {
                let at: Vec<u64> = shape.iter().zip(&strides).map(|(n, s)| i / s % n).collect();
                let add = |x: &[u64]| at.iter().zip(x).map(|(a, b)| a + b).collect::<Vec<_>>();
                let (f, t) = (from.position(&add(&fa)) as usize * width, to.position(&add(&ta)) as usize * width);
                naive[t..t + width].copy_from_slice(&source[f..f + width]);
            }
            prop_assert_eq!(&target, &naive);
            prop_assert_eq!(plan.cells(), all.cells().unwrap());
            let mut by_runs = vec![0_u8; target.len()];
            for r in plan.runs() {
                let (f, t, n) = (r.from as usize * width, r.to as usize * width, r.cells as usize * width);
                by_runs[t..t + n].copy_from_slice(&source[f..f + n]);
            }
            prop_assert_eq!(&by_runs, &naive);
            prop_assert_eq!(plan.run_count(), plan.runs().count() as u64);
            let mut by_parts = vec![0_u8; target.len()];
            let touched = plan.source();
            let moved = plan.clone().moved(touched.start);
            for (i, part) in by_parts.chunks_mut(piece * width).enumerate() {
                let cells = (i * piece) as u64..((i + 1) * piece) as u64;
                for plan in moved.within(&cells) {
                    let source = &source[touched.start as usize * width..touched.end as usize * width];
                    prop_assert!(plan.copy(source, part, width));
                }
            }
            prop_assert_eq!(&by_parts, &naive);
            let mut pieces = plan.pieces(&source, width);
            let mut by_pieces = vec![9; target.len()];
            by_pieces.chunks_mut(piece * width).for_each(|p| pieces.fill(p));
            prop_assert_eq!(by_pieces, naive);
        }
    }
}
