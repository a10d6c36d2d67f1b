//! Compression filters.
//!
//! They compress the metadata of the chunk as well as its data. Header: `metadata parts u32 | data parts u32 | per
//! part: unpacked size u32, packed size u32`. The packed parts follow each other, metadata first. Strings that are
//! encoded together with their offsets (see [`strings`]) have their own header.

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

use super::chunk::{ChunkHeaders, ChunkMetadata, PartCounts, filled, len32, split, split_mut};
use crate::datatype::Physical;
use crate::error::Malformed;
use crate::format::cursor::{Decoded, Reader, Writer};

/// A compressor with its options.
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
    /// Appends `data`, compressed.
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

    /// Decompresses `data` into `out`.
    fn unpack(self, data: &[u8], out: &mut [u8]) -> Decoded<()> {
        // Writers differ in what they store for an empty input, and it does not matter.
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

    /// The largest compression ratio: unpacked bytes per packed byte.
    pub(super) const fn ratio(self) -> u64 {
        match self {
            // 258 bytes in two bits.
            Self::Gzip { .. } => 1032,
            // A block of 128 KiB in four bytes.
            Self::Zstd { .. } => 1 << 15,
            Self::Lz4 => 256,
            // A block of 900 kB of runs of 259, in about 30 bytes.
            Self::Bzip2 { .. } => 1 << 21,
            Self::Rle { .. } => u16::MAX as u64,
            Self::Delta(_) => 1,
            // A value of 8 bytes in a sign bit and a magnitude bit.
            Self::DoubleDelta(_) => 64,
        }
    }

    /// The largest packed size of `n` bytes by any reasonable writer.
    pub(super) const fn most_packed(self, n: u64) -> u64 {
        match self {
            Self::Rle { .. } => n.saturating_mul(3).saturating_add(1024),
            Self::Gzip { .. }
            | Self::Zstd { .. }
            | Self::Lz4
            | Self::Bzip2 { .. }
            | Self::Delta(_)
            | Self::DoubleDelta(_) => n.saturating_add(n / 8).saturating_add(1024),
        }
    }

    /// Appends the compressed metadata and `data`.
    ///
    /// # Errors
    /// The codec cannot encode this input.
    pub(super) fn encode(self, headers: &mut ChunkHeaders, data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let parts = headers.take();
        let mut w = Writer::new();
        w.u32(len32(parts.len())?).u32(1);
        for part in parts.iter().map(Vec::as_slice).chain([data]) {
            let start = out.len();
            self.pack(part, out)?;
            w.u32(len32(part.len())?).u32(len32(out.len() - start)?);
        }
        headers.put(w.into_bytes());
        Ok(())
    }

    /// The size of the data that [`Codec::decode`] will produce, according to the header at `r`.
    ///
    /// # Errors
    /// The header is damaged.
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

    /// Decompresses the data into `out` and returns the decompressed metadata, which may have up to
    /// `metadata_bytes_max` bytes.
    ///
    /// # Errors
    /// The parts are damaged or have the wrong size.
    pub(super) fn decode(
        self,
        meta: &mut ChunkMetadata<'_>,
        mut data: &[u8],
        mut out: &mut [u8],
        metadata_bytes_max: u64,
    ) -> Decoded<ChunkMetadata<'static>> {
        let mut headers = Vec::new();
        meta.read(|r| {
            let counts = PartCounts::read(r, 8)?;
            for _ in 0..counts.metadata {
                let (plain, packed) = part(r, &mut data)?;
                let start = headers.len();
                if start as u64 + plain > metadata_bytes_max {
                    return Err(r.malformed(
                        "packed metadata",
                        format!("unpacks to more than {metadata_bytes_max} bytes"),
                    ));
                }
                headers.resize(start + usize::try_from(plain).unwrap_or(0), 0);
                self.unpack(packed, headers.get_mut(start..).unwrap_or_default())?;
            }
            for _ in 0..counts.data {
                let (plain, packed) = part(r, &mut data)?;
                self.unpack(packed, split_mut(&mut out, plain, "packed part")?)?;
            }
            Ok(())
        })?;
        filled(data, "packed parts")?;
        filled(out, "packed parts")?;
        Ok(ChunkMetadata::unpacked(headers))
    }
}

/// The unpacked size and the packed bytes of the next part.
fn part<'a>(r: &mut Reader<'_>, data: &mut &'a [u8]) -> Decoded<(u64, &'a [u8])> {
    let (plain, packed) = (r.u32("plain bytes of a part")?, r.u32("packed bytes of a part")?);
    Ok((u64::from(plain), split(data, u64::from(packed), "packed part")?))
}

/// Appends up to `most` bytes to `out`. `write` fills a buffer of that size and returns how much it used.
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

/// Checks that the unpacked size is as expected.
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
