//! The compression libraries alone. They keep their memory between chunks.

use std::io::{Read as _, Write as _};

use anyhow::{Result, anyhow, ensure};
use hyperslab::schema::Filter;
use libdeflater::{CompressionLvl, Compressor, Decompressor};

/// The compression library of a filter.
pub(super) enum Bare {
    Zlib(Compressor, Decompressor),
    Zstd(zstd::bulk::Compressor<'static>, zstd::bulk::Decompressor<'static>),
    Lz4,
    Bzip2(u32),
    /// For filters without a library: copies the bytes.
    Copy,
}

impl Bare {
    pub(super) fn of(filter: &Filter) -> Result<Self> {
        Ok(match filter {
            Filter::Gzip { level } => {
                let level = CompressionLvl::new(*level).map_err(|_| anyhow!("gzip has no level {level}"))?;
                Self::Zlib(Compressor::new(level), Decompressor::new())
            }
            Filter::Zstd { level } => {
                Self::Zstd(zstd::bulk::Compressor::new(*level)?, zstd::bulk::Decompressor::new()?)
            }
            Filter::Lz4 { .. } => Self::Lz4,
            Filter::Bzip2 { level } => Self::Bzip2(level.unsigned_abs()),
            _ => Self::Copy,
        })
    }

    pub(super) fn encode(&mut self, chunk: &[u8]) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Zlib(to, _) => {
                let mut out = vec![0; to.zlib_compress_bound(chunk.len())];
                let packed = to.zlib_compress(chunk, &mut out)?;
                out.truncate(packed);
                out
            }
            Self::Zstd(to, _) => to.compress(chunk)?,
            Self::Lz4 => lz4::block::compress(chunk, None, false)?,
            Self::Bzip2(level) => {
                let mut to = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(*level));
                to.write_all(chunk)?;
                to.finish()?
            }
            Self::Copy => chunk.to_vec(),
        })
    }

    /// Decodes the chunk into `out`, which has its exact length.
    pub(super) fn decode(&mut self, packed: &[u8], out: &mut [u8]) -> Result<()> {
        match self {
            Self::Zlib(_, from) => ensure!(
                from.zlib_decompress(packed, out)? == out.len(),
                "zlib gives another length"
            ),
            Self::Zstd(_, from) => ensure!(
                from.decompress_to_buffer(packed, out)? == out.len(),
                "zstd gives another length"
            ),
            Self::Lz4 => {
                let bytes = i32::try_from(out.len())?;
                lz4::block::decompress_to_buffer(packed, Some(bytes), out)?;
            }
            Self::Bzip2(_) => bzip2::read::BzDecoder::new(packed).read_exact(out)?,
            Self::Copy => out.copy_from_slice(packed),
        }
        Ok(())
    }
}
