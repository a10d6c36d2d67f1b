//! Filters that turn bytes into fewer bytes.
//!
//! They pack the chunk's metadata as well as its data. Header: `parts of metadata u32 | parts of data
//! u32 | per part: plain bytes u32, packed bytes u32`. The packed parts follow each other, metadata
//! first. Strings that are coded together with their offsets ([`strings`]) have headers of their own.

mod bzip2;
mod delta;
pub(super) mod dictionary;
mod double_delta;
mod gzip;
mod lz4;
mod rle;
pub(super) mod rle_strings;
pub(super) mod strings;
mod zstd;

use super::chunk::{Meta, Notes, PartCounts, filled, len32, split, split_mut};
use crate::datatype::Physical;
use crate::error::Malformed;
use crate::format::cursor::{Decoded, Reader, Writer};

/// A way to compress one run of bytes, with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Gzip { level: i32 },
    Zstd { level: i32 },
    Lz4,
    Bzip2 { level: i32 },
    Rle { cell_bytes: usize },
    Delta(Physical),
    DoubleDelta(Physical),
}

impl Codec {
    /// Appends `data`, packed.
    fn pack(self, data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        match self {
            Self::Gzip { level } => gzip::pack(level, data, out),
            Self::Zstd { level } => zstd::pack(level, data, out),
            Self::Lz4 => lz4::pack(data, out),
            Self::Bzip2 { level } => bzip2::pack(level, data, out),
            Self::Rle { cell_bytes } => rle::pack(cell_bytes, data, out),
            Self::Delta(kind) => delta::pack(kind, data, out),
            Self::DoubleDelta(kind) => double_delta::pack(kind, data, out),
        }
    }

    /// Fills `out` from packed `data`.
    fn unpack(self, data: &[u8], out: &mut [u8]) -> Decoded<()> {
        // What an empty input packs to differs from writer to writer, and says nothing.
        if out.is_empty() {
            return Ok(());
        }
        match self {
            Self::Gzip { .. } => gzip::unpack(data, out),
            Self::Zstd { .. } => zstd::unpack(data, out),
            Self::Lz4 => lz4::unpack(data, out),
            Self::Bzip2 { .. } => bzip2::unpack(data, out),
            Self::Rle { cell_bytes } => rle::unpack(cell_bytes, data, out),
            Self::Delta(kind) => delta::unpack(kind, data, out),
            Self::DoubleDelta(kind) => double_delta::unpack(kind, data, out),
        }
    }

    /// The most plain bytes that one packed byte can stand for.
    pub(super) const fn ratio(self) -> u64 {
        match self {
            // 258 bytes in two bits.
            Self::Gzip { .. } => 1032,
            // A block of 128 KiB in four bytes.
            Self::Zstd { .. } => 1 << 15,
            Self::Lz4 => 256,
            // A block of 900 kB of runs of 259, in some 30 bytes.
            Self::Bzip2 { .. } => 1 << 21,
            Self::Rle { .. } => u16::MAX as u64,
            Self::Delta(_) => 1,
            // A value of 8 bytes in a sign and a bit.
            Self::DoubleDelta(_) => 64,
        }
    }

    /// The most bytes that `n` bytes are packed into, by any writer that means well.
    pub(super) const fn most_packed(self, n: u64) -> u64 {
        match self {
            Self::Rle { .. } => n.saturating_mul(3).saturating_add(1024),
            _ => n.saturating_add(n / 8).saturating_add(1024),
        }
    }

    /// Appends the packed notes and `data`.
    ///
    /// # Errors
    /// The codec cannot take this input.
    pub(super) fn encode(self, notes: &mut Notes, data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let parts = notes.take();
        let mut w = Writer::new();
        w.u32(len32(parts.len())?).u32(1);
        for part in parts.iter().map(Vec::as_slice).chain([data]) {
            let start = out.len();
            self.pack(part, out)?;
            w.u32(len32(part.len())?).u32(len32(out.len() - start)?);
        }
        notes.put(w.into_bytes());
        Ok(())
    }

    /// How many bytes of data [`Codec::decode`] gives, as the header at `r` says.
    ///
    /// # Errors
    /// There is no header.
    pub(super) fn plain_bytes(r: &mut Reader<'_>) -> Decoded<u64> {
        let counts = PartCounts::read(r, 8)?;
        let mut total = 0;
        for i in 0..u64::from(counts.metadata) + u64::from(counts.data) {
            let plain = u64::from(r.u32("plain bytes of a part")?);
            r.u32("packed bytes of a part")?;
            if i >= u64::from(counts.metadata) {
                total += plain;
            }
        }
        Ok(total)
    }

    /// Writes the plain data to `out`, and gives the plain metadata, of at most `metadata_bytes_max`.
    ///
    /// # Errors
    /// The parts do not fit, or are damaged.
    pub(super) fn decode(
        self,
        meta: &mut Meta<'_>,
        mut data: &[u8],
        mut out: &mut [u8],
        metadata_bytes_max: u64,
    ) -> Decoded<Meta<'static>> {
        let mut notes = Vec::new();
        meta.read(|r| {
            let counts = PartCounts::read(r, 8)?;
            for _ in 0..counts.metadata {
                let (plain, packed) = part(r, &mut data)?;
                let start = notes.len();
                if start as u64 + plain > metadata_bytes_max {
                    return Err(r.malformed(
                        "packed metadata",
                        format!("unfolds to more than {metadata_bytes_max} bytes"),
                    ));
                }
                notes.resize(start + usize::try_from(plain).unwrap_or(0), 0);
                self.unpack(packed, notes.get_mut(start..).unwrap_or_default())?;
            }
            for _ in 0..counts.data {
                let (plain, packed) = part(r, &mut data)?;
                self.unpack(packed, split_mut(&mut out, plain, "packed part")?)?;
            }
            Ok(())
        })?;
        filled(data, "packed parts")?;
        filled(out, "packed parts")?;
        Ok(Meta::unpacked(notes))
    }
}

/// The plain length and the packed bytes of the next part.
fn part<'a>(r: &mut Reader<'_>, data: &mut &'a [u8]) -> Decoded<(u64, &'a [u8])> {
    let (plain, packed) = (r.u32("plain bytes of a part")?, r.u32("packed bytes of a part")?);
    Ok((u64::from(plain), split(data, u64::from(packed), "packed part")?))
}

/// Room for `most` more bytes at the end of `out`, of which `write` says how many it used.
fn append(
    out: &mut Vec<u8>,
    most: usize,
    write: impl FnOnce(&mut [u8]) -> Result<usize, Malformed>,
) -> Result<(), Malformed> {
    let start = out.len();
    out.resize(start + most, 0);
    let used = write(out.get_mut(start..).unwrap_or_default())?;
    out.truncate(start + used);
    Ok(())
}

/// Complains unless exactly as many bytes were unpacked as there should be.
fn exactly(codec: &str, bytes: usize, expected: usize) -> Decoded<()> {
    if bytes == expected {
        return Ok(());
    }
    Err(Malformed::new(
        codec,
        0,
        format!("unpacks to {bytes} bytes, not {expected}"),
    ))
}
