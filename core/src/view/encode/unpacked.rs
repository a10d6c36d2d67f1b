//! Streams of stored (uncompressed) blocks, which decompressors can read. The length of such a stream is known before
//! its contents.

/// The largest stored block of a deflate stream, in bytes.
const ZLIB_BLOCK: usize = 65535;
/// The largest raw block of a Zstandard frame, in bytes.
const ZSTD_BLOCK: usize = 128 << 10;
/// The magic number of a Zstandard frame, and a descriptor: a single segment, with its length in the next 4 bytes.
const ZSTD_START: [u8; 5] = [0x28, 0xb5, 0x2f, 0xfd, 0xa0];

/// A zlib stream of stored blocks. `raw` must not be empty.
pub(in crate::view) fn zlib(raw: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let blocks = raw.len().div_ceil(ZLIB_BLOCK);
    for (i, block) in raw.chunks(ZLIB_BLOCK).enumerate() {
        out.push(u8::from(i + 1 == blocks));
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend(libdeflater::adler32(raw).to_be_bytes());
    out
}

/// The length of [`zlib`] for `raw` bytes.
pub(in crate::view) const fn zlib_bytes(raw: u64) -> u64 {
    2 + raw + 5 * raw.div_ceil(ZLIB_BLOCK as u64) + 4
}

/// A Zstandard frame of raw blocks. `raw` must not be empty and must be smaller than 4 GiB.
pub(in crate::view) fn zstd(raw: &[u8]) -> Vec<u8> {
    let mut out = ZSTD_START.to_vec();
    out.extend(u32::try_from(raw.len()).unwrap_or(u32::MAX).to_le_bytes());
    let blocks = raw.len().div_ceil(ZSTD_BLOCK);
    for (i, block) in raw.chunks(ZSTD_BLOCK).enumerate() {
        // Bit 0 marks the last block, bits 1 and 2 are zero for a raw block, the others are its length.
        let header = u32::try_from(block.len()).unwrap_or(u32::MAX) << 3 | u32::from(i + 1 == blocks);
        out.extend(header.to_le_bytes().iter().take(3));
        out.extend_from_slice(block);
    }
    out
}

/// The length of [`zstd`] for `raw` bytes.
pub(in crate::view) const fn zstd_bytes(raw: u64) -> u64 {
    ZSTD_START.len() as u64 + 4 + raw + 3 * raw.div_ceil(ZSTD_BLOCK as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::filter::{TileFormat, decode_tile};
    use crate::format::pipeline::{Filter, Pipeline};
    use crate::format::tile::TileWriter;

    /// Decompresses a stream with our own filters.
    fn unpacked(filter: Filter, stream: &[u8], bytes: usize) -> Vec<u8> {
        let header: Vec<u8> = [0, 1, bytes, stream.len()]
            .iter()
            .flat_map(|n| u32::try_from(*n).unwrap().to_le_bytes())
            .collect();
        let mut tile = TileWriter::with_capacity(0);
        tile.push(bytes, &[header], stream).unwrap();
        let format = TileFormat::new(Datatype::Uint8, CellCount::ONE);
        decode_tile(&tile.finish(), &Pipeline::new(vec![filter]), &format, bytes as u64).unwrap()
    }

    #[test]
    fn streams_decompress_and_have_the_predicted_length() {
        let raw: Vec<u8> = (0..300_000_u32)
            .map(|i| i.to_le_bytes()[0] ^ i.to_le_bytes()[1])
            .collect();
        for n in [
            1, 2, 255, 256, 65_535, 65_536, 65_537, 131_070, 131_072, 131_073, 262_144, 300_000,
        ] {
            let raw = &raw[..n];
            assert_eq!(zlib(raw).len() as u64, zlib_bytes(n as u64), "{n}");
            assert_eq!(zstd(raw).len() as u64, zstd_bytes(n as u64), "{n}");
            assert!(unpacked(Filter::Gzip { level: 1 }, &zlib(raw), n) == raw, "zlib of {n}");
            assert!(unpacked(Filter::Zstd { level: 1 }, &zstd(raw), n) == raw, "zstd of {n}");
        }
    }
}
