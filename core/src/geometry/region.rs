//! Intervals of cells along one dimension, and boxes made of them.

/// A closed, non-empty interval of offsets along a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Span {
    /// The first cell.
    pub first: u64,
    /// The last cell, not before the first.
    pub last: u64,
}

impl Span {
    /// The cells from `first` to `last`; `None` if `last` is before `first`.
    pub(crate) fn new(first: u64, last: u64) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// Number of cells. Saturates: a length of 2^64 becomes `u64::MAX`.
    pub(crate) const fn len(self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    /// Whether `cell` is inside.
    pub(crate) const fn contains(self, cell: u64) -> bool {
        self.first <= cell && cell <= self.last
    }

    /// Whether all of `other` is inside.
    pub(crate) const fn covers(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// The cells in both intervals.
    #[must_use]
    pub(crate) fn intersection(self, other: Self) -> Option<Self> {
        Self::new(self.first.max(other.first), self.last.min(other.last))
    }

    /// The smallest interval that contains both.
    #[must_use]
    pub(crate) fn union(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }
}

/// The cells in both boxes; `None` if the boxes are disjoint.
pub(crate) fn intersect(a: &[Span], b: &[Span]) -> Option<Vec<Span>> {
    a.iter().zip(b).map(|(a, b)| a.intersection(*b)).collect()
}

/// Whether all of `inner` is in `outer`.
pub(crate) fn covers(outer: &[Span], inner: &[Span]) -> bool {
    outer.iter().zip(inner).all(|(o, i)| o.covers(*i))
}

/// The smallest box that contains both.
#[must_use]
pub(crate) fn union(a: &[Span], b: &[Span]) -> Vec<Span> {
    a.iter().zip(b).map(|(a, b)| a.union(*b)).collect()
}

/// Subtracts `hole` from the boxes and returns the rest as boxes. Calls `taken` with the intersection of `hole` and
/// each box.
pub(crate) fn without(boxes: Vec<Vec<Span>>, hole: &[Span], mut taken: impl FnMut(Vec<Span>)) -> Vec<Vec<Span>> {
    let mut left = Vec::with_capacity(boxes.len());
    for mut rest in boxes {
        let Some(common) = intersect(&rest, hole) else {
            left.push(rest);
            continue;
        };
        for d in 0..rest.len() {
            let (all, cut) = (rest[d], common[d]);
            let before = cut.first.checked_sub(1).and_then(|last| Span::new(all.first, last));
            let after = cut.last.checked_add(1).and_then(|first| Span::new(first, all.last));
            for side in [before, after].into_iter().flatten() {
                rest[d] = side;
                left.push(rest.clone());
            }
            rest[d] = cut;
        }
        taken(common);
    }
    left
}

/// Number of cells in the box; `None` if it overflows.
pub(crate) fn cells(spans: &[Span]) -> Option<u64> {
    spans
        .iter()
        .try_fold(1_u64, |n, s| n.checked_mul((s.last - s.first).checked_add(1)?))
}

/// The side lengths of the box.
pub(crate) fn shape(spans: &[Span]) -> Vec<u64> {
    spans.iter().map(|s| s.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: u64, last: u64) -> Span {
        Span::new(first, last).unwrap()
    }

    #[test]
    fn boxes_intersect_join_and_count() {
        let (a, b) = ([span(0, 9), span(5, 6)], [span(3, 20), span(6, 8)]);
        assert_eq!(intersect(&a, &b), Some(vec![span(3, 9), span(6, 6)]));
        assert_eq!(union(&a, &b), [span(0, 20), span(5, 8)]);
        assert!(covers(&union(&a, &b), &a) && !covers(&a, &b));
        assert_eq!(intersect(&[span(0, 1)], &[span(2, 3)]), None);
        assert_eq!(cells(&a), Some(20));
        assert_eq!(cells(&[span(0, u64::MAX)]), None);
        assert_eq!(cells(&[span(0, u64::MAX - 1), span(0, 1)]), None);
    }

    #[test]
    fn subtraction_leaves_every_cell_outside_the_hole() {
        let whole = vec![span(0, 4), span(0, 4)];
        for taken in [
            [span(1, 3), span(1, 3)],
            [span(0, 4), span(3, 9)],
            [span(0, 9), span(0, 9)],
            [span(7, 9), span(0, 1)],
        ] {
            let mut inside = Vec::new();
            let left = without(vec![whole.clone()], &taken, |part| inside.push(part));
            for (y, x) in (0..5).flat_map(|y| (0..5).map(move |x| (y, x))) {
                let cell = [span(y, y), span(x, x)];
                let count = |boxes: &[Vec<Span>]| boxes.iter().filter(|b| covers(b, &cell)).count();
                let expect = if covers(&taken, &cell) { (0, 1) } else { (1, 0) };
                assert_eq!((count(&left), count(&inside)), expect, "{y}, {x} without {taken:?}");
            }
        }
    }
}
