//! Compressed chunks of files, decoded within a limit: a small chunk of a hostile file can claim any size.

pub(crate) mod blosc;
pub(crate) mod blosc2;
mod lz;
mod shuffle;

use std::io::Read;

use anyhow::{Context as _, Result, ensure};

pub(crate) use lz::lzf;
pub(crate) use shuffle::unshuffled;

/// LZ4 makes at most 255 bytes of one.
const LZ4_EXPANSION: usize = 255;

/// Zstandard.
pub(crate) fn zstd(data: &[u8], limit: usize) -> Result<Vec<u8>> {
    let decoder = zstd::stream::read::Decoder::with_buffer(data).context("Zstandard data is damaged")?;
    limited(decoder, limit, "Zstandard")
}

/// A zlib stream.
pub(crate) fn zlib(data: &[u8], limit: usize) -> Result<Vec<u8>> {
    limited(flate2::read::ZlibDecoder::new(data), limit, "zlib")
}

/// A block of LZ4 that decodes to at most `limit` bytes.
pub(crate) fn lz4(data: &[u8], limit: usize) -> Result<Vec<u8>> {
    let most = data.len().saturating_mul(LZ4_EXPANSION).saturating_add(64);
    lz4_flex::block::decompress(data, limit.min(most)).context("LZ4 data is damaged")
}

/// Reads to the end, which must come within `limit` bytes.
pub(crate) fn limited(decoder: impl Read, limit: usize, codec: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let most = (limit as u64).saturating_add(1);
    let read = decoder.take(most).read_to_end(&mut out);
    read.with_context(|| format!("{codec} data is damaged"))?;
    ensure!(
        out.len() <= limit,
        "{codec} data is longer than {limit} bytes, its size in the file"
    );
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_limit_is_an_error() {
        let packed = zstd::stream::encode_all([0_u8; 1000].as_slice(), 0).unwrap();
        assert_eq!(zstd(&packed, 1000).unwrap(), [0; 1000]);
        assert!(zstd(&packed, 999).unwrap_err().to_string().contains("longer than 999"));
        let packed = lz4_flex::block::compress(&[7; 1000]);
        assert_eq!(lz4(&packed, 1000).unwrap(), [7; 1000]);
        assert!(lz4(&packed, 999).is_err());
    }
}
