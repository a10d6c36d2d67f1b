//! Common parts of the two string encodings: the start of the header, integer widths, and access to strings by offset.
//!
//! Strings are encoded together with their offsets, so the offsets are not stored. Header: `0 u32 | 1 u32 | unpacked
//! size u32 | packed size u32 | size of the offsets u32 | two widths u8`. Integers of these widths are big-endian.

use crate::error::Malformed;
use crate::filter::chunk::len32;
use crate::format::cursor::{Decoded, Reader, Writer};

/// The start of the header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    /// Total size of the strings in bytes.
    pub(super) plain_bytes: u32,
    /// Packed size of the strings in bytes.
    pub(super) packed_bytes: u32,
    /// Number of strings.
    pub(super) cells: u32,
    /// Width of run lengths or ids.
    pub(super) width: Width,
    /// Width of string lengths.
    pub(super) length_width: Width,
}

impl Header {
    pub(super) fn read(r: &mut Reader<'_>) -> Decoded<Self> {
        let (metadata, data) = (r.u32("parts of metadata")?, r.u32("parts of data")?);
        if (metadata, data) != (0, 1) {
            return Err(r.malformed(
                "encoded strings",
                format!("{metadata} metadata and {data} data parts, not 0 and 1"),
            ));
        }
        Ok(Self {
            plain_bytes: r.u32("bytes of strings")?,
            packed_bytes: r.u32("bytes of packed strings")?,
            cells: r.u32("bytes of offsets")? / 8,
            width: Width::read(r)?,
            length_width: Width::read(r)?,
        })
    }

    /// The packed strings. They must span all of `data`.
    pub(super) fn packed<'a>(&self, data: &'a [u8]) -> Decoded<&'a [u8]> {
        if data.len() as u64 == u64::from(self.packed_bytes) {
            return Ok(data);
        }
        Err(Malformed::new(
            "encoded strings",
            0,
            format!("{} bytes, but the header says {}", data.len(), self.packed_bytes),
        ))
    }

    /// Compares the strings unpacked into `out` with the header. `before` is the number of bytes and of strings that
    /// `out` had before.
    pub(super) fn check(&self, out: &Strings, before: (usize, usize)) -> Decoded<()> {
        let unpacked = (out.bytes.len() - before.0, out.offsets.len() - before.1);
        if (unpacked.0 as u64, unpacked.1 as u64) == (u64::from(self.plain_bytes), u64::from(self.cells)) {
            return Ok(());
        }
        let why = format!(
            "{} bytes in {} strings, but the header says {} in {}",
            unpacked.0, unpacked.1, self.plain_bytes, self.cells
        );
        Err(Malformed::new("encoded strings", 0, why))
    }

    pub(super) fn write(
        plain: usize,
        packed: usize,
        cells: usize,
        width: Width,
        length_width: Width,
    ) -> Result<Writer, Malformed> {
        let mut w = Writer::new();
        w.u32(0)
            .u32(1)
            .u32(len32(plain)?)
            .u32(len32(packed)?)
            .u32(len32(cells.saturating_mul(8))?);
        w.u8(width.0).u8(length_width.0);
        Ok(w)
    }
}

/// The width of a big-endian integer: 1, 2, 4 or 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Width(u8);

impl Width {
    /// The smallest width that can hold `value`.
    pub(super) const fn of(value: u64) -> Self {
        Self(match value {
            0..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xffff_ffff => 4,
            _ => 8,
        })
    }

    fn read(r: &mut Reader<'_>) -> Decoded<Self> {
        match r.u8("width")? {
            n @ (1 | 2 | 4 | 8) => Ok(Self(n)),
            n => Err(r.malformed("width", format!("{n} is not 1, 2, 4 or 8"))),
        }
    }

    /// The width in bytes.
    pub(super) const fn bytes(self) -> usize {
        self.0 as usize
    }

    /// Reads an integer of this width.
    pub(super) fn get(self, r: &mut Reader<'_>, what: &str) -> Decoded<u64> {
        let bytes = r.take(self.bytes(), what)?;
        Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// Appends an integer, which must fit.
    pub(super) fn put(self, value: u64, out: &mut Vec<u8>) {
        let bytes = value.to_be_bytes();
        out.extend_from_slice(bytes.get(8 - self.bytes()..).unwrap_or(&bytes));
    }
}

/// Unpacked strings: their bytes and offsets.
#[derive(Debug)]
pub(in crate::filter) struct Strings {
    /// The bytes of all strings, concatenated.
    pub(in crate::filter) bytes: Vec<u8>,
    /// Offset of each string.
    pub(in crate::filter) offsets: Vec<u64>,
    bytes_max: usize,
    cells_max: usize,
}

impl Strings {
    /// No strings, with limits on their total bytes and number.
    pub(in crate::filter) const fn new(bytes_max: usize, cells_max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            offsets: Vec::new(),
            bytes_max,
            cells_max,
        }
    }

    /// Appends `text` `times` times.
    pub(in crate::filter) fn push(&mut self, text: &[u8], times: u64) -> Decoded<()> {
        let over = |what: &str, most: usize| {
            Malformed::new("encoded strings", 0, format!("unpack to more than {most} {what}"))
        };
        let times = usize::try_from(times)
            .ok()
            .filter(|n| *n <= self.cells_max - self.offsets.len());
        let times = times.ok_or_else(|| over("strings", self.cells_max))?;
        let more = text
            .len()
            .checked_mul(times)
            .filter(|n| *n <= self.bytes_max - self.bytes.len());
        let more = more.ok_or_else(|| over("bytes", self.bytes_max))?;
        let lacks = |_| Malformed::unsupported("encoded strings", "they do not fit in memory");
        self.offsets.try_reserve(times).map_err(lacks)?;
        self.bytes.try_reserve(more).map_err(lacks)?;
        for _ in 0..times {
            self.offsets.push(self.bytes.len() as u64);
            self.bytes.extend_from_slice(text);
        }
        Ok(())
    }
}

/// The text of each cell. `offsets` holds the start of each cell and the end of the last.
pub(super) fn cells<'a>(data: &'a [u8], offsets: &'a [u64]) -> impl Iterator<Item = &'a [u8]> {
    offsets.windows(2).map(move |cell| match *cell {
        [start, end] => slice(data, start, end),
        _ => &[],
    })
}

fn slice(data: &[u8], start: u64, end: u64) -> &[u8] {
    let range = usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(usize::MAX);
    data.get(range).unwrap_or(&[])
}
