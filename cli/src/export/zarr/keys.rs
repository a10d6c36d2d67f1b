//! Positions along selected coordinates, and the chunks there that may contain written cells. Does no I/O.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use hyperslab::ScalarRange;

/// The most chunks that one fragment touches.
const CHUNKS_MAX: u64 = 1 << 24;

/// Numbers in runs, by position: the first run begins at position 0, and each run follows the one before it.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// The first and the last number of each run, after its position.
    runs: Vec<(u64, i128, i128)>,
    len: u64,
}

impl Runs {
    /// The coordinates of ranges of integers.
    pub(super) fn of(ranges: &[ScalarRange]) -> Self {
        let ends = ranges.iter().filter_map(|r| r.lo.as_i128().zip(r.hi.as_i128()));
        ends.collect()
    }

    /// Positions in all.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// The numbers at `count` positions from `first` on, as runs.
    pub(super) fn part(&self, first: u64, count: u64) -> impl Iterator<Item = (i128, i128)> {
        let end = first.saturating_add(count).min(self.len);
        let skipped = self.runs.partition_point(|(at, ..)| *at <= first).saturating_sub(1);
        let from = self.runs.iter().skip(skipped);
        let inside = from.take_while(move |(at, ..)| *at < end);
        inside.filter_map(move |(at, lo, hi)| {
            let start = lo + i128::from(first.saturating_sub(*at));
            let stop = (*hi).min(lo + i128::from(end - at) - 1);
            (start <= stop).then_some((start, stop))
        })
    }

    /// The number of the first position of each chunk of `chunk` positions that touches the numbers `lo` to `hi`.
    fn chunks(&self, (lo, hi): (i128, i128), chunk: u64) -> Self {
        let touched = self.runs.iter().filter_map(|(at, first, last)| {
            let (lo, hi) = (lo.max(*first), hi.min(*last));
            let index = |number: i128| (i128::from(*at) + number - first) / i128::from(chunk.max(1));
            (lo <= hi).then(|| (index(lo), index(hi)))
        });
        let mut sorted: Vec<(i128, i128)> = Vec::new();
        for (first, last) in touched {
            // Neighbors are most often in one chunk.
            match sorted.last_mut() {
                Some(known) if known.0 <= first && first <= known.1 + 1 => known.1 = known.1.max(last),
                _ => sorted.push((first, last)),
            }
        }
        sorted.sort_unstable();
        sorted.dedup_by(|next, known| {
            let touches = next.0 <= known.1 + 1;
            if touches {
                known.1 = known.1.max(next.1);
            }
            touches
        });
        sorted.into_iter().collect()
    }

    /// Whether a run contains the number. The runs are in order.
    fn contains(&self, number: u64) -> bool {
        let number = i128::from(number);
        let next = self.runs.partition_point(|(_, first, _)| *first <= number);
        let run = next.checked_sub(1).and_then(|i| self.runs.get(i));
        run.is_some_and(|(_, _, last)| number <= *last)
    }

    /// The first and the last number of runs in order.
    fn ends(&self) -> Option<(i128, i128)> {
        Some((self.runs.first()?.1, self.runs.last()?.2))
    }
}

impl FromIterator<(i128, i128)> for Runs {
    fn from_iter<I: IntoIterator<Item = (i128, i128)>>(runs: I) -> Self {
        let mut all = Self::default();
        for (first, last) in runs.into_iter().filter(|(first, last)| first <= last) {
            all.runs.push((all.len, first, last));
            all.len = all
                .len
                .saturating_add(u64::try_from(last - first + 1).unwrap_or(u64::MAX));
        }
        all
    }
}

/// The indices of chunks along each axis.
type Indices = Vec<Arc<Runs>>;

/// The chunks that touch at least one box of cells.
pub(super) struct Touched {
    boxes: Vec<Indices>,
}

impl Touched {
    /// The chunks of `chunk` positions along `axes` that touch the boxes, each the first and last coordinate per axis.
    ///
    /// # Errors
    /// If a box touches too many chunks to write.
    pub(super) fn of(axes: &[Runs], chunk: &[u64], boxes: impl Iterator<Item = Vec<(i128, i128)>>) -> Result<Self> {
        let mut known: BTreeMap<(usize, (i128, i128)), Arc<Runs>> = BTreeMap::new();
        let mut found = Vec::new();
        for ends in boxes {
            let mut all = Indices::new();
            for (i, (axis, ends)) in axes.iter().zip(ends).enumerate() {
                let chunk = chunk.get(i).copied().unwrap_or(1);
                let runs = known.entry((i, ends));
                all.push(Arc::clone(runs.or_insert_with(|| Arc::new(axis.chunks(ends, chunk)))));
            }
            let count = count(&all);
            ensure!(
                count <= CHUNKS_MAX,
                "the export would have {count} chunks or more, and the limit is {CHUNKS_MAX}; export parts of the array with --select"
            );
            let is_new = |known: &Indices| !known.iter().zip(&all).all(|(a, b)| Arc::ptr_eq(a, b));
            if count > 0 && found.iter().all(is_new) {
                found.push(all);
            }
        }
        Ok(Self { boxes: found })
    }

    /// The keys of the chunks, each once.
    pub(super) fn keys(&self) -> impl Iterator<Item = Vec<u64>> {
        self.boxes.iter().enumerate().flat_map(|(i, own)| {
            let earlier: Vec<&Indices> = self.boxes.iter().take(i).filter(|other| meet(other, own)).collect();
            let keys = (0..count(own)).map(|n| key(own, n));
            keys.filter(move |key| !earlier.iter().any(|other| contains(other, key)))
        })
    }
}

fn count(of: &Indices) -> u64 {
    of.iter().fold(1, |n: u64, axis| n.saturating_mul(axis.len()))
}

/// The key at a position in row-major order.
fn key(of: &Indices, mut rest: u64) -> Vec<u64> {
    let index = |axis: &Arc<Runs>| {
        let (at, len) = (rest, axis.len().max(1));
        rest /= len;
        let found = axis.part(at % len, 1).next().map_or(0, |(index, _)| index);
        u64::try_from(found).unwrap_or(0)
    };
    let mut key: Vec<u64> = of.iter().rev().map(index).collect();
    key.reverse();
    key
}

fn contains(of: &Indices, key: &[u64]) -> bool {
    of.iter().zip(key).all(|(axis, index)| axis.contains(*index))
}

/// Whether the bounds of two boxes overlap.
fn meet(a: &Indices, b: &Indices) -> bool {
    let ends = a.iter().zip(b).filter_map(|(a, b)| a.ends().zip(b.ends()));
    ends.into_iter().all(|(a, b)| a.0 <= b.1 && b.0 <= a.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(all: &[(i128, i128)]) -> Runs {
        all.iter().copied().collect()
    }

    #[test]
    fn parts_of_lists_go_on_in_the_next_range() {
        let list = runs(&[(10, 12), (0, 1), (5, 9)]);
        let of = |first, count| list.part(first, count).collect::<Vec<_>>();
        assert_eq!(of(0, 10), [(10, 12), (0, 1), (5, 9)]);
        assert_eq!(of(2, 4), [(12, 12), (0, 1), (5, 5)]);
        assert_eq!(of(3, 1), [(0, 0)]);
        assert_eq!(of(9, 5), [(9, 9)]);
        assert_eq!(of(10, 1), []);
    }

    #[test]
    fn chunks_are_those_that_touch_a_box_each_once() {
        let keys = |axes: &[Runs], boxes: &[[(i128, i128); 2]]| {
            let boxes = boxes.iter().map(|ends| ends.to_vec());
            let touched = Touched::of(axes, &[10, 2], boxes).unwrap();
            touched.keys().collect::<Vec<_>>()
        };
        let far = 1_000_000_000_000;
        let axes = [runs(&[(0, far)]), runs(&[(4, 9)])];
        assert_eq!(keys(&axes, &[]), Vec::<Vec<u64>>::new());
        // Two corners, of which the first is written twice.
        let boxes = [
            [(0, 3), (4, 5)],
            [(5, 12), (5, 6)],
            [(far, far), (9, 9)],
            [(0, 3), (4, 5)],
        ];
        assert_eq!(
            keys(&axes, &boxes),
            [vec![0, 0], vec![0, 1], vec![1, 0], vec![1, 1], vec![100_000_000_000, 2]]
        );
        // A list out of order touches a chunk at both ends.
        let list: Vec<(i128, i128)> = (0..30).rev().map(|n| (n, n)).collect();
        assert_eq!(
            keys(&[runs(&list), runs(&[(0, 0)])], &[[(0, 3), (0, 0)], [(28, 29), (0, 0)]]),
            [vec![2, 0], vec![0, 0]]
        );
        let whole = [(0, far), (4, 9)];
        assert!(Touched::of(&axes, &[10, 2], std::iter::once(whole.to_vec())).is_err());
    }
}
