//! Sorting lists of any type with one copy of the sort, and searching what is sorted.
//!
//! A sort is some ten kilobytes of code for each type of items and each order. So items are put in order
//! by their places: those are sorted, by one function, and then the items are moved to where they belong.
//! That takes up to four times as long as sorting the items, which names, ranges and fragments can bear: they
//! mostly are in order. Lists with an item for each cell or row of cells are sorted as they are.

use std::cmp::Ordering;
use std::ops::Range;

/// Sorts by `compare`; items that are equal keep their order.
pub(crate) fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    if items.is_sorted_by(|a, b| compare(a, b).is_le()) {
        return;
    }
    let mut places: Vec<usize> = (0..items.len()).collect();
    sort_places(&mut places, &|a, b| compare(&items[a], &items[b]));
    arrange(items, places.into_iter());
}

/// Sorts by a number; items that are equal keep their order.
pub(crate) fn sort_by_number<T>(items: &mut [T], number: impl Fn(&T) -> u64) {
    if items.is_sorted_by_key(&number) {
        return;
    }
    let mut numbers: Vec<(u64, usize)> = items.iter().map(number).zip(0..).collect();
    sort_numbers(&mut numbers);
    arrange(items, numbers.into_iter().map(|(_, place)| place));
}

/// Sorts places of a list by the order of what is there; of equal ones the first stays first.
pub(crate) fn sort_places(places: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|&a, &b| compare(a, b));
}

/// The first place in `range` that `is_before` is not true of, where it is true of all places up to one.
/// In growing steps, for that place is likely near.
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

/// Moves the item at each of these places, which are all there are, to the front, one after the other.
fn arrange<T>(items: &mut [T], places: impl Iterator<Item = usize>) {
    let mut from: Vec<usize> = places.collect();
    for start in 0..from.len() {
        // Along a cycle: the item that stood at `start` is handed on until it comes to its own place.
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

    /// Items with a number that many share, and their place in the list.
    fn items() -> Vec<(u64, String)> {
        (0_u64..500).map(|i| (i * 7919 % 41, i.to_string())).collect()
    }

    #[test]
    fn the_first_place_is_found_wherever_it_is() {
        for (start, end) in [(0, 0), (3, 3), (0, 1), (2, 40)] {
            for first in start..=end {
                assert_eq!(first_not(start..end, |i| i < first), first, "{start}..{end}");
            }
        }
    }

    #[test]
    fn items_are_sorted_and_equal_ones_stay_in_order() {
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
