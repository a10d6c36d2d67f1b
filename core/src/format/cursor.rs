//! A bounds-checked reader and a writer of binary structures. All integers are little-endian.

use crate::datatype::{CellCount, Datatype, Physical};
use crate::error::Malformed;
use crate::scalar::{Scalar, ScalarRange};

/// Result of decoding.
pub type Decoded<T> = Result<T, Malformed>;

/// Reads a structure from front to back. Every error names what was being read, and the offset.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

macro_rules! read_number {
    ($($name:ident: $T:ty),*) => {$(
        #[doc = concat!("The next `", stringify!($T), "`.")]
        ///
        /// # Errors
        /// Too few bytes are left.
        pub fn $name(&mut self, what: &str) -> Decoded<$T> {
            Ok(<$T>::from_le_bytes(self.array(what)?))
        }
    )*};
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Offset of the next byte.
    pub const fn offset(&self) -> u64 {
        self.at as u64
    }

    /// Number of bytes left.
    pub const fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Whether no bytes are left.
    pub const fn is_done(&self) -> bool {
        self.remaining() == 0
    }

    /// An error about `what` at the current offset.
    pub fn malformed(&self, what: &str, why: impl Into<String>) -> Malformed {
        Malformed::new(what, self.offset(), why)
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// Too few bytes are left.
    pub fn take(&mut self, n: usize, what: &str) -> Decoded<&'a [u8]> {
        let end = self.at.checked_add(n).filter(|&end| end <= self.bytes.len());
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += n;
                Ok(bytes)
            }
            None => Err(self.malformed(what, format!("needs {n} bytes, {} are left", self.remaining()))),
        }
    }

    /// The next `n` bytes, for an `n` that was read from a file.
    ///
    /// # Errors
    /// Too few bytes are left.
    pub fn take_u64(&mut self, n: u64, what: &str) -> Decoded<&'a [u8]> {
        match usize::try_from(n) {
            Ok(n) => self.take(n, what),
            Err(_) => Err(self.malformed(what, format!("needs {n} bytes, {} are left", self.remaining()))),
        }
    }

    /// All remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        self.at = self.bytes.len();
        rest
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// Too few bytes are left.
    pub fn array<const N: usize>(&mut self, what: &str) -> Decoded<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N, what)?);
        Ok(out)
    }

    read_number!(u8: u8, u16: u16, u32: u32, u64: u64, i32: i32, i64: i64, f32: f32, f64: f64);

    /// The next byte as a flag; it must be 0 or 1.
    ///
    /// # Errors
    /// Too few bytes are left, or the byte is neither 0 nor 1.
    pub fn bool(&mut self, what: &str) -> Decoded<bool> {
        let at = self.offset();
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Malformed::new(what, at, format!("{other} is neither 0 nor 1"))),
        }
    }

    /// Bytes preceded by their `u32` length.
    ///
    /// # Errors
    /// Too few bytes are left.
    pub fn bytes32(&mut self, what: &str) -> Decoded<&'a [u8]> {
        let n = self.u32(what)?;
        self.take_u64(u64::from(n), what)
    }

    /// Bytes preceded by their `u64` length.
    ///
    /// # Errors
    /// Too few bytes are left.
    pub fn bytes64(&mut self, what: &str) -> Decoded<&'a [u8]> {
        let n = self.u64(what)?;
        self.take_u64(n, what)
    }

    /// A UTF-8 string preceded by its `u32` length.
    ///
    /// # Errors
    /// Too few bytes are left, or they are not UTF-8.
    pub fn string32(&mut self, what: &str) -> Decoded<&'a str> {
        let at = self.offset();
        utf8(self.bytes32(what)?, what, at)
    }

    /// A UTF-8 string preceded by its `u64` length.
    ///
    /// # Errors
    /// Too few bytes are left, or they are not UTF-8.
    pub fn string64(&mut self, what: &str) -> Decoded<&'a str> {
        let at = self.offset();
        utf8(self.bytes64(what)?, what, at)
    }

    /// A datatype, stored as its number.
    ///
    /// # Errors
    /// Too few bytes are left, or no datatype has this number.
    pub fn datatype(&mut self, what: &str) -> Decoded<Datatype> {
        let at = self.offset();
        let id = self.u8(what)?;
        Datatype::from_id(id).map_err(|_| Malformed::new(what, at, format!("{id} is not a datatype number")))
    }

    /// The number of values per cell, stored as a `u32`.
    ///
    /// # Errors
    /// Too few bytes are left, or the number is 0.
    pub fn cell_count(&mut self, what: &str) -> Decoded<CellCount> {
        let at = self.offset();
        match self.u32(what)? {
            0 => Err(Malformed::new(what, at, "a cell cannot hold 0 values")),
            CellCount::VAR_ON_DISK => Ok(CellCount::Var),
            n => Ok(CellCount::Fixed(n)),
        }
    }

    /// One number.
    ///
    /// # Errors
    /// Too few bytes are left.
    pub fn scalar(&mut self, physical: Physical, what: &str) -> Decoded<Scalar> {
        let bytes = self.take(physical.size(), what)?;
        Scalar::from_le_bytes(physical, bytes).ok_or_else(|| self.malformed(what, "not a number"))
    }

    /// A closed range of numbers (`lo`, `hi`) or of strings: total size `u64`, size of `lo` `u64`, `lo`, `hi`.
    ///
    /// # Errors
    /// Too few bytes are left, or `lo` is longer than both together.
    pub fn range(&mut self, physical: Physical, var: bool, what: &str) -> Decoded<ScalarRange> {
        if !var {
            return Ok(ScalarRange {
                lo: self.scalar(physical, what)?,
                hi: self.scalar(physical, what)?,
            });
        }
        let (lo, hi) = self.string_range(what)?;
        Ok(ScalarRange {
            lo: Scalar::Bytes(lo.to_vec()),
            hi: Scalar::Bytes(hi.to_vec()),
        })
    }

    /// A closed range of strings, stored as in [`Reader::range`].
    ///
    /// # Errors
    /// Too few bytes are left, or `lo` is longer than both together.
    pub fn string_range(&mut self, what: &str) -> Decoded<(&'a [u8], &'a [u8])> {
        let at = self.offset();
        let total = self.u64(what)?;
        let start = self.u64(what)?;
        let both = self.take_u64(total, what)?;
        let split = usize::try_from(start)
            .ok()
            .and_then(|start| both.split_at_checked(start));
        split.ok_or_else(|| Malformed::new(what, at, format!("the lower bound has {start} of {total} bytes")))
    }

    /// A list preceded by its `u32` length. Each item has at least `item_bytes` bytes.
    ///
    /// # Errors
    /// Too few bytes are left for that many items, or an item is malformed.
    pub fn list32<T>(
        &mut self,
        item_bytes: usize,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Decoded<T>,
    ) -> Decoded<Vec<T>> {
        let n = u64::from(self.u32(what)?);
        let n = self.count(n, item_bytes, what)?;
        (0..n).map(|_| item(self)).collect()
    }

    /// Checks that `n` items of at least `item_bytes` each fit in the bytes left, so that it is safe to allocate a list
    /// for them.
    ///
    /// # Errors
    /// Too few bytes are left for that many items.
    pub fn count(&mut self, n: u64, item_bytes: usize, what: &str) -> Decoded<usize> {
        let room = self.remaining() / item_bytes.max(1);
        usize::try_from(n).ok().filter(|&n| n <= room).ok_or_else(|| {
            self.malformed(
                what,
                format!("{n} items cannot fit in the {} bytes left", self.remaining()),
            )
        })
    }

    /// The next `n` values of type `u64`, for an `n` that was read from a file.
    ///
    /// # Errors
    /// Too few bytes are left.
    pub fn u64s(&mut self, n: u64, what: &str) -> Decoded<impl Iterator<Item = u64> + use<'a>> {
        let n = self.count(n, 8, what)?;
        let numbers = self.take(n * 8, what)?.as_chunks::<8>().0;
        Ok(numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)))
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    /// Bytes are left.
    pub fn finish(&self, what: &str) -> Decoded<()> {
        if self.is_done() {
            return Ok(());
        }
        Err(self.malformed(what, format!("{} bytes too many", self.remaining())))
    }
}

fn utf8<'a>(bytes: &'a [u8], what: &str, at: u64) -> Decoded<&'a str> {
    std::str::from_utf8(bytes).map_err(|e| Malformed::new(what, at, format!("not UTF-8: {e}")))
}

/// Writes a structure from front to back.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

macro_rules! write_number {
    ($($name:ident: $T:ty),*) => {$(
        #[doc = concat!("Appends a `", stringify!($T), "`.")]
        pub fn $name(&mut self, value: $T) -> &mut Self {
            self.bytes.extend_from_slice(&value.to_le_bytes());
            self
        }
    )*};
}

impl Writer {
    /// An empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of bytes written.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    write_number!(u8: u8, u16: u16, u32: u32, u64: u64, i32: i32, i64: i64, f32: f32, f64: f64);

    /// Appends 0 or 1.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.u8(u8::from(value))
    }

    /// Appends the number of values per cell.
    pub fn cell_count(&mut self, cell: CellCount) -> &mut Self {
        self.u32(match cell {
            CellCount::Fixed(n) => n,
            CellCount::Var => CellCount::VAR_ON_DISK,
        })
    }

    /// Appends a closed range in the format of [`Reader::range`].
    pub fn range(&mut self, range: &ScalarRange) -> &mut Self {
        match (&range.lo, &range.hi) {
            (Scalar::Bytes(lo), Scalar::Bytes(hi)) => self.string_range(lo, hi),
            (lo, hi) => self.put(&lo.to_le_bytes()).put(&hi.to_le_bytes()),
        }
    }

    /// Appends a closed range of strings.
    pub fn string_range(&mut self, lo: &[u8], hi: &[u8]) -> &mut Self {
        self.u64((lo.len() + hi.len()) as u64)
            .u64(lo.len() as u64)
            .put(lo)
            .put(hi)
    }

    /// Appends bytes without a length.
    pub fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends the length as a `u32`, then the bytes. The format cannot express more than 4 GiB; no caller exceeds
    /// that.
    pub fn bytes32(&mut self, bytes: &[u8]) -> &mut Self {
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX)).put(bytes)
    }

    /// Appends the length of a list that follows.
    pub fn count32(&mut self, n: usize) -> &mut Self {
        self.u32(u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// Appends the length as a `u64`, then the bytes.
    pub fn bytes64(&mut self, bytes: &[u8]) -> &mut Self {
        self.u64(bytes.len() as u64).put(bytes)
    }

    /// Appends `u64` values without a count.
    pub fn u64s(&mut self, values: &[u64]) -> &mut Self {
        self.put(bytemuck::cast_slice(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_item_and_its_offset() {
        let mut r = Reader::new(&[1, 0, 0]);
        assert_eq!(r.u8("flag").unwrap(), 1);
        let e = r.u32("length").unwrap_err();
        assert_eq!(e.to_string(), "length at byte 1: needs 4 bytes, 2 are left");
    }

    #[test]
    fn counts_are_checked_against_the_bytes_left() {
        let mut r = Reader::new(&[0; 16]);
        assert!(r.count(u64::MAX, 8, "offsets").is_err());
        assert_eq!(r.count(2, 8, "offsets").unwrap(), 2);
    }
}
