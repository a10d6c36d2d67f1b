//! Parts of a plan: the cells that go to one part of the destination.

use std::ops::Range;

use super::{CopyPlan, Loop};

impl CopyPlan {
    /// From the first to the last cell that is taken, in the source.
    pub(crate) fn source(&self) -> Range<u64> {
        self.from..self.from + reach(&self.loops, self.run, |l| l.from)
    }

    /// From the first to the last cell that is put, in the destination.
    pub(crate) fn target(&self) -> Range<u64> {
        self.to..self.to + reach(&self.loops, self.run, |l| l.to)
    }

    /// The same plan for a source that begins at its cell `first`.
    pub(crate) fn moved(self, first: u64) -> Self {
        Self {
            from: self.from.saturating_sub(first),
            ..self
        }
    }

    /// Plans for the cells that go to these places, which are counted from `cells.start` in them.
    pub(crate) fn within(&self, cells: &Range<u64>) -> Vec<Self> {
        let mut out = Vec::new();
        if self.cells() > 0 {
            self.cut(&self.loops, self.from, self.to, cells, &mut out);
        }
        out
    }

    /// What the cells that the `loops` come to from here on have in `cells`.
    fn cut(&self, loops: &[Loop], from: u64, to: u64, cells: &Range<u64>, out: &mut Vec<Self>) {
        let end = to + reach(loops, self.run, |l| l.to);
        if end <= cells.start || cells.end <= to {
            return;
        }
        let part = |from, to: u64, run, loops: &[Loop]| Self {
            from,
            to: to - cells.start,
            run,
            loops: loops.to_vec(),
        };
        if cells.start <= to && end <= cells.end {
            out.push(part(from, to, self.run, loops));
            return;
        }
        let Some((slowest, rest)) = loops.split_first() else {
            let (first, last) = (to.max(cells.start), end.min(cells.end));
            out.push(part(from + (first - to), first, last - first, &[]));
            return;
        };
        // Turns of the loop before `first` start before the part, those from `last` on end behind it.
        let inner = reach(rest, self.run, |l| l.to);
        let turns = |places: u64| places.checked_div(slowest.to).unwrap_or(0).min(slowest.count);
        let first = turns(cells.start.saturating_sub(to).next_multiple_of(slowest.to.max(1)));
        let last = (cells.end - to)
            .checked_sub(inner)
            .map_or(0, |room| turns(room + slowest.to));
        let place = |turn: u64| (from + turn * slowest.from, to + turn * slowest.to);
        let before = turns((cells.start.saturating_sub(to)).saturating_sub(inner.saturating_sub(1)));
        for (from, to) in (before..first).map(place) {
            self.cut(rest, from, to, cells, out);
        }
        if first < last {
            let (from, to) = place(first);
            let count = last - first;
            let own = [Loop { count, ..*slowest }];
            out.push(part(from, to, self.run, &[&own[..], rest].concat()));
        }
        for (from, to) in (first.max(last)..slowest.count)
            .map(place)
            .take_while(|p| p.1 < cells.end)
        {
            self.cut(rest, from, to, cells, out);
        }
    }
}

/// Cells from the first to the last that these loops come to.
fn reach(loops: &[Loop], run: u64, step: fn(&Loop) -> u64) -> u64 {
    loops.iter().fold(run, |n, l| n + (l.count.max(1) - 1) * step(l))
}
