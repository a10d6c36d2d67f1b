//! Restricts a plan to a part of the destination.

use std::ops::Range;

use super::{CopyPlan, Loop};

impl CopyPlan {
    /// The source from the first to the last copied cell.
    pub(crate) fn source(&self) -> Range<u64> {
        self.from..self.from + reach(&self.loops, self.run, |l| l.from)
    }

    /// The destination from the first to the last copied cell.
    pub(crate) fn target(&self) -> Range<u64> {
        self.to..self.to + reach(&self.loops, self.run, |l| l.to)
    }

    /// The same plan for a source that starts at its cell `first`.
    pub(crate) fn moved(self, first: u64) -> Self {
        Self {
            from: self.from.saturating_sub(first),
            ..self
        }
    }

    /// Plans for the cells that go to these positions. Their destinations are relative to `cells.start`.
    pub(crate) fn within(&self, cells: &Range<u64>) -> Vec<Self> {
        let mut out = Vec::new();
        if self.cells() > 0 {
            self.cut(&self.loops, self.from, self.to, cells, &mut out);
        }
        out
    }

    /// Adds the part of `loops` that is within `cells`, starting at these positions.
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
        // Iterations before `first` start before the part. Iterations from `last` on end after it.
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

/// Number of cells from the first to the last that these loops visit.
fn reach(loops: &[Loop], run: u64, step: fn(&Loop) -> u64) -> u64 {
    loops.iter().fold(run, |n, l| n + (l.count.max(1) - 1) * step(l))
}
