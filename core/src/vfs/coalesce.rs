//! Fewer, larger reads: merges ranges that are close together. Pure.

use std::ops::Range;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::sort::sort_by_number;

/// Bytes between two ranges that are cheaper to read through than to ask for separately.
pub const GAP_BYTES: u64 = 32 << 10;
/// The largest range that merging makes.
pub const MERGED_BYTES_MAX: u64 = 4 << 20;

/// What to fetch, and where in it each wanted range lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coalesced {
    /// Ranges to fetch, in order of their starts.
    pub fetches: Vec<Range<u64>>,
    /// For each wanted range: the fetch that holds it, and where in that fetch.
    parts: Vec<(usize, Range<usize>)>,
}

/// Merges `ranges`, given in any order, that are at most `gap` bytes apart, as long as the result
/// stays within `merged_max` bytes.
///
/// # Errors
/// `InvalidArgument` for a range that ends before it starts or does not fit into memory.
pub fn coalesce(ranges: &[Range<u64>], gap: u64, merged_max: u64) -> Result<Coalesced> {
    let mut by_start: Vec<usize> = (0..ranges.len()).collect();
    sort_by_number(&mut by_start, |&i| ranges.get(i).map_or(0, |r| r.start));

    let mut fetches: Vec<Range<u64>> = Vec::new();
    let mut parts = vec![(0, 0..0); ranges.len()];
    for i in by_start {
        let (Some(range), Some(part)) = (ranges.get(i), parts.get_mut(i)) else {
            continue;
        };
        if range.end < range.start {
            return Err(Error::invalid(format!(
                "bytes {}..{} end before they start",
                range.start, range.end
            )));
        }
        let fetch = match fetches.last_mut() {
            Some(last)
                if range.start <= last.end.saturating_add(gap)
                    && (range.end <= last.end || range.end - last.start <= merged_max) =>
            {
                last.end = last.end.max(range.end);
                last
            }
            _ => {
                fetches.push(range.clone());
                let Some(last) = fetches.last_mut() else { continue };
                last
            }
        };
        let at = |byte: u64| {
            usize::try_from(byte - fetch.start).map_err(|_| Error::invalid("a range larger than this machine's memory"))
        };
        let place = at(range.start)?..at(range.end)?;
        *part = (fetches.len() - 1, place);
    }
    Ok(Coalesced { fetches, parts })
}

impl Coalesced {
    /// The wanted ranges, in the order they were given, out of the fetched ones. Nothing is copied.
    ///
    /// # Errors
    /// `Io` at `path` if a fetch brought fewer bytes than asked for.
    pub fn split(&self, path: &str, fetched: &[Bytes]) -> Result<Vec<Bytes>> {
        let part = |(fetch, place): &(usize, Range<usize>)| {
            if place.is_empty() {
                return Ok(Bytes::new());
            }
            match fetched.get(*fetch) {
                Some(bytes) if place.end <= bytes.len() => Ok(bytes.slice(place.clone())),
                _ => Err(Error::io(path, "the store returned fewer bytes than asked for")),
            }
        };
        self.parts.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ranges: &[Range<u64>], gap: u64, max: u64, expect: &[Range<u64>]) {
        let plan = coalesce(ranges, gap, max).unwrap();
        assert_eq!(plan.fetches, expect);
        let file: Vec<u8> = (0..200).collect();
        let cut = |r: &Range<u64>| Bytes::copy_from_slice(&file[r.start as usize..r.end as usize]);
        let fetched: Vec<Bytes> = plan.fetches.iter().map(cut).collect();
        let wanted: Vec<Bytes> = ranges.iter().map(cut).collect();
        assert_eq!(plan.split("f", &fetched).unwrap(), wanted);
    }

    #[test]
    fn merges_neighbours_and_small_gaps() {
        check(&[0..10, 10..20, 25..30, 40..50], 5, 100, &[0..30, 40..50]);
    }

    #[test]
    fn keeps_the_order_of_the_request() {
        check(&[40..50, 0..10, 5..7], 0, 100, &[0..10, 40..50]);
    }

    #[test]
    fn stops_at_the_largest_merge() {
        check(&[0..10, 10..20, 20..30], 0, 20, &[0..20, 20..30]);
    }

    #[test]
    fn overlaps_and_nothing() {
        check(&[0..100, 10..20, 50..120, 7..7], 0, 100, &[0..100, 50..120]);
        check(&[], 0, 100, &[]);
    }

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "the point of the test")]
    fn rejects_what_cannot_be() {
        assert!(coalesce(&[5..3], 0, 100).is_err());
    }

    #[test]
    fn short_answers_are_errors() {
        let plan = coalesce(&[0..10], 0, 100).unwrap();
        assert!(plan.split("f", &[Bytes::from_static(b"short")]).is_err());
    }
}
