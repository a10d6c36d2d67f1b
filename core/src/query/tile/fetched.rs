//! Stored bytes of tiles in memory, read like open files.

use std::collections::HashMap;
use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::Extent;
use crate::error::{Error, Result};
use crate::vfs::ReadAt;

/// Bytes of a file, and their position.
type Part = (u64, Bytes);

/// Extents that were fetched, or parts of them.
#[derive(Debug, Default)]
pub(crate) struct FetchedExtents(HashMap<(Arc<str>, u64), Vec<Part>>);

impl FetchedExtents {
    /// Adds the bytes of an extent.
    pub(super) fn add(&mut self, extent: &Extent, bytes: Bytes) {
        let start = extent.range.start;
        self.add_parts(&extent.path, start, vec![(start, bytes)]);
    }

    /// Adds parts of the extent that starts at `start`.
    pub(super) fn add_parts(&mut self, path: &Arc<str>, start: u64, parts: Vec<Part>) {
        self.0.insert((Arc::clone(path), start), parts);
    }

    /// The bytes of an extent; `None` if they were not fetched.
    pub(crate) fn open<'a>(&'a self, extent: &'a Extent) -> Option<Box<dyn ReadAt + 'a>> {
        let parts = self.0.get(&(Arc::clone(&extent.path), extent.range.start))?;
        let path = &extent.path;
        Some(Box::new(FetchedExtent { path, parts }))
    }
}

struct FetchedExtent<'a> {
    path: &'a str,
    parts: &'a [Part],
}

impl FetchedExtent<'_> {
    fn slice(&self, range: &Range<u64>) -> Option<(&Bytes, Range<usize>)> {
        self.parts.iter().find_map(|(start, bytes)| {
            let from = usize::try_from(range.start.checked_sub(*start)?).ok()?;
            let end = usize::try_from(range.end.checked_sub(*start)?).ok()?;
            (from <= end && end <= bytes.len()).then_some((bytes, from..end))
        })
    }
}

impl ReadAt for FetchedExtent<'_> {
    fn size(&self) -> u64 {
        let ends = self.parts.iter().map(|(start, bytes)| start + bytes.len() as u64);
        ends.max().unwrap_or(0)
    }

    fn read_at(&self, out: &mut [u8], at: u64) -> Result<()> {
        let range = at..at.saturating_add(out.len() as u64);
        let (bytes, part) = self.slice(&range).ok_or_else(|| not_fetched(self.path, &range))?;
        out.copy_from_slice(&bytes[part]);
        Ok(())
    }

    fn read_parts_at(&self, parts: &mut [IoSliceMut<'_>], at: u64) -> Result<()> {
        let mut at = at;
        for part in parts {
            self.read_at(part, at)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    fn reads_parts_at_once(&self) -> bool {
        false
    }

    fn held(&self, range: Range<u64>) -> Option<Bytes> {
        self.slice(&range).map(|(bytes, part)| bytes.slice(part))
    }
}

/// The error for bytes that the reader forgot to fetch.
pub(crate) fn not_fetched(path: &str, range: &Range<u64>) -> Error {
    Error::invalid(format!("{path}: bytes {}..{} were not fetched", range.start, range.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fetched_bytes_can_be_read() {
        let extent = Extent {
            path: "f".into(),
            range: 10..30,
        };
        let mut all = FetchedExtents::default();
        let parts = vec![(10, Bytes::from_static(b"head")), (20, Bytes::from_static(b"chunk"))];
        all.add_parts(&extent.path, 10, parts);
        let file = all.open(&extent).unwrap();
        let mut out = [0; 3];
        file.read_at(&mut out, 21).unwrap();
        assert_eq!(&out, b"hun");
        assert_eq!(file.held(10..14).as_deref(), Some(&b"head"[..]));
        assert_eq!(file.held(12..22), None);
        assert_eq!(file.size(), 25);
        let error = file.read_at(&mut out, 23).unwrap_err().to_string();
        assert!(error.contains("f: bytes 23..26 were not fetched"), "{error}");
        let other = Extent {
            range: 11..30,
            ..extent.clone()
        };
        assert!(all.open(&other).is_none());
    }
}
