//! Merges byte ranges that are close together into fewer, larger reads. Does no I/O.

use std::ops::Range;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::sort::sort_by_number;

/// The gap, in bytes, that is cheaper to read than to split into two requests.
pub const GAP_BYTES: u64 = 32 << 10;
/// The largest merged range, in bytes.
pub const MERGED_BYTES_MAX: u64 = 4 << 20;

/// The byte ranges to fetch, and the position of each requested range in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coalesced {
    /// Ranges to fetch, sorted by start.
    pub fetches: Vec<Range<u64>>,
    /// For each requested range: the index of its fetch, and the bytes in that fetch.
    parts: Vec<(usize, Range<usize>)>,
}

/// Merges `ranges`, in any order, that are at most `gap` bytes apart. A merged range has at most `merged_max` bytes.
///
/// # Errors
/// `InvalidArgument` if a range ends before it starts or does not fit in memory.
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
            usize::try_from(byte - fetch.start)
                .map_err(|_| Error::invalid("a byte range is larger than the address space"))
        };
        let place = at(range.start)?..at(range.end)?;
        *part = (fetches.len() - 1, place);
    }
    Ok(Coalesced { fetches, parts })
}

impl Coalesced {
    /// Slices the requested ranges, in their original order, out of the fetched ones. Copies nothing.
    ///
    /// # Errors
    /// `Io` at `path` if a fetch returned too few bytes.
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
