//! Sorting of lists with a single copy of the sort function, and searching in sorted lists.
//!
//! A sort takes about ten kilobytes of code for each item type and order. To avoid this, one function sorts the indices
//! of the items, and the items are then moved into place. This takes up to four times as long as sorting the items
//! directly. That is acceptable for names, ranges and fragments, which are mostly in order. Lists with an item for each
//! cell or row of cells are sorted directly.

use std::cmp::Ordering;
use std::ops::Range;

/// Sorts by `compare`. The sort is stable.
pub(crate) fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    if items.is_sorted_by(|a, b| compare(a, b).is_le()) {
        return;
    }
    let mut places: Vec<usize> = (0..items.len()).collect();
    sort_places(&mut places, &|a, b| compare(&items[a], &items[b]));
    arrange(items, places.into_iter());
}

/// Sorts by a number. The sort is stable.
pub(crate) fn sort_by_number<T>(items: &mut [T], number: impl Fn(&T) -> u64) {
    if items.is_sorted_by_key(&number) {
        return;
    }
    let mut numbers: Vec<(u64, usize)> = items.iter().map(number).zip(0..).collect();
    sort_numbers(&mut numbers);
    arrange(items, numbers.into_iter().map(|(_, place)| place));
}

/// Sorts indices by comparing the items that they refer to. The sort is stable.
pub(crate) fn sort_places(places: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|&a, &b| compare(a, b));
}

/// The first index in `range` for which `is_before` is false. It must be true for all lower indices and false for all
/// higher ones. Searches in growing steps, because the index is likely near the start.
pub(crate) fn first_not(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut lo, mut hi, mut step) = (range.start, range.end, 1);
    while lo + step <= hi {
        if !is_before(lo + step - 1) {
            hi = lo + step - 1;
            break;
        }
        lo += step;
        step *= 2;
    }
    while lo < hi {
        let middle = lo + (hi - lo) / 2;
        if is_before(middle) {
            lo = middle + 1
        } else {
            hi = middle
        }
    }
    lo
}

fn sort_numbers(numbers: &mut [(u64, usize)]) {
    numbers.sort_by_key(|n| n.0);
}

/// Reorders the items. `places` lists the old index of each item in the new order.
fn arrange<T>(items: &mut [T], places: impl Iterator<Item = usize>) {
    let mut from: Vec<usize> = places.collect();
    for start in 0..from.len() {
        // Follow a cycle: the item at `start` is swapped along until it reaches its place.
        let mut at = start;
        while from[at] != start {
            let next = std::mem::replace(&mut from[at], at);
            items.swap(at, next);
            at = next;
        }
        from[at] = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items with a number that many share, and their index in the list.
    fn items() -> Vec<(u64, String)> {
        (0_u64..500).map(|i| (i * 7919 % 41, i.to_string())).collect()
    }

    #[test]
    fn first_not_finds_every_index() {
        for (start, end) in [(0, 0), (3, 3), (0, 1), (2, 40)] {
            for first in start..=end {
                assert_eq!(first_not(start..end, |i| i < first), first, "{start}..{end}");
            }
        }
    }

    #[test]
    fn sorts_are_stable() {
        let mut expected = items();
        expected.sort_by_key(|i| i.0);
        let mut sorted = items();
        sort_by(&mut sorted, |a, b| a.0.cmp(&b.0));
        assert_eq!(sorted, expected);
        let mut sorted = items();
        sort_by_number(&mut sorted, |i| i.0);
        assert_eq!(sorted, expected);
    }
}
