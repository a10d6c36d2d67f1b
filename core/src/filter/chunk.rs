//! The data that one filter passes to the next for each chunk: metadata and bytes.

use std::borrow::Cow;

use crate::error::Malformed;
use crate::format::cursor::{Decoded, Reader};

/// The metadata of a chunk during decoding, either stored or unpacked by a compressor. Each filter reads its header
/// from the front and leaves the rest for the filters applied before it.
#[derive(Debug)]
pub(super) struct ChunkMetadata<'a> {
    bytes: Cow<'a, [u8]>,
    at: usize,
}

impl<'a> ChunkMetadata<'a> {
    /// Metadata as stored in the file.
    pub(super) const fn stored(bytes: &'a [u8]) -> Self {
        Self {
            bytes: Cow::Borrowed(bytes),
            at: 0,
        }
    }

    /// Metadata that was compressed together with the chunk's data.
    pub(super) const fn unpacked(bytes: Vec<u8>) -> Self {
        Self {
            bytes: Cow::Owned(bytes),
            at: 0,
        }
    }

    /// The metadata that is left.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// Reads a header with `read`, which may consume any part of the remaining metadata.
    ///
    /// # Errors
    /// Errors of `read`.
    pub(super) fn read<T>(&mut self, read: impl FnOnce(&mut Reader<'_>) -> Decoded<T>) -> Decoded<T> {
        let mut r = Reader::new(self.rest());
        let value = read(&mut r)?;
        self.at += self.rest().len() - r.remaining();
        Ok(value)
    }
}

/// The metadata of a chunk during encoding: the headers written so far, newest first.
#[derive(Debug, Default)]
pub(super) struct ChunkHeaders(pub(super) Vec<Vec<u8>>);

impl ChunkHeaders {
    /// Adds a header before the others.
    pub(super) fn put(&mut self, header: Vec<u8>) {
        self.0.insert(0, header);
    }

    /// Takes all headers, leaving none.
    pub(super) fn take(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.0)
    }
}

/// A length as stored in headers.
///
/// # Errors
/// The length does not fit in 32 bits.
pub(super) fn len32(length: usize) -> Result<u32, Malformed> {
    u32::try_from(length).map_err(|_| Malformed::unsupported("chunk", "longer than 4 GiB, the limit of the format"))
}

/// The two part counts at the start of a header.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartCounts {
    /// Number of metadata parts, which come first.
    pub(super) metadata: u32,
    /// Number of data parts.
    pub(super) data: u32,
}

impl PartCounts {
    /// Reads both counts.
    ///
    /// # Errors
    /// Too few bytes are left for the counts and for `part_bytes` per part.
    pub(super) fn read(r: &mut Reader<'_>, part_bytes: usize) -> Decoded<Self> {
        let counts = Self {
            metadata: r.u32("parts of metadata")?,
            data: r.u32("parts of data")?,
        };
        r.count(u64::from(counts.metadata) + u64::from(counts.data), part_bytes, "parts")?;
        Ok(counts)
    }
}

/// Splits the first `n` bytes off `rest`.
///
/// # Errors
/// `rest` is shorter than `n`.
pub(super) fn split<'a>(rest: &mut &'a [u8], n: u64, what: &str) -> Decoded<&'a [u8]> {
    let cut = usize::try_from(n).ok().and_then(|n| rest.split_at_checked(n));
    let (first, later) =
        cut.ok_or_else(|| Malformed::new(what, 0, format!("needs {n} bytes, {} are left", rest.len())))?;
    *rest = later;
    Ok(first)
}

/// Same as [`split`], for an output buffer.
///
/// # Errors
/// `rest` is shorter than `n`.
pub(super) fn split_mut<'a>(rest: &mut &'a mut [u8], n: u64, what: &str) -> Decoded<&'a mut [u8]> {
    let room = rest.len();
    let cut = usize::try_from(n)
        .ok()
        .and_then(|n| std::mem::take(rest).split_at_mut_checked(n));
    let (first, later) =
        cut.ok_or_else(|| Malformed::new(what, 0, format!("has {n} bytes, but only {room} are expected")))?;
    *rest = later;
    Ok(first)
}

/// Checks that a filter filled its whole output.
///
/// # Errors
/// Bytes are left.
pub(super) fn filled(rest: &[u8], what: &str) -> Decoded<()> {
    if rest.is_empty() {
        return Ok(());
    }
    Err(Malformed::new(
        what,
        0,
        format!("is {} bytes shorter than its chunk", rest.len()),
    ))
}

/// Checks that the input of a filter is a whole number of values of `width` bytes, for filters that cannot store a
/// remainder.
///
/// # Errors
/// `bytes` is not a multiple of `width`.
pub(super) fn whole(bytes: usize, width: usize, what: &str) -> Decoded<()> {
    if bytes.is_multiple_of(width) {
        return Ok(());
    }
    let why = format!(
        "{bytes} bytes are not a whole number of {width}-byte values; in a new array, put this filter before others"
    );
    Err(Malformed::unsupported(what, why))
}
