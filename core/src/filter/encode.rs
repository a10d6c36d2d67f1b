//! Encodes tiles chunk by chunk.

use super::chunk::ChunkHeaders;
use super::compress::{dictionary, rle_strings};
use super::decode::Scratch;
use super::plan::{ReadyPipeline, StringCoding, string_coding};
use super::{Nonces, TileFormat};
use crate::error::Malformed;
use crate::format::pipeline::{Filter, Pipeline};
use crate::format::tile::{TileWriter, fixed_chunk_bytes, var_chunk_ends};

/// Encodes these fixed-size cells as a framed tile.
///
/// # Errors
/// A filter does not support these values.
pub fn encode_tile(data: &[u8], p: &Pipeline, f: &TileFormat<'_>, nonces: &Nonces) -> Result<Vec<u8>, Malformed> {
    let mut tile = TileEncoder::new(p, f, nonces, data.len(), Vec::with_capacity)?;
    data.chunks(tile.chunk_bytes()).try_for_each(|chunk| tile.push(chunk))?;
    Ok(tile.finish())
}

/// Filters and frames a tile chunk by chunk.
pub(crate) struct TileEncoder<'a> {
    plan: ReadyPipeline<'a>,
    chunk_bytes: usize,
    nonces: &'a Nonces,
    tile: TileWriter,
    scratch: Scratch,
}

impl<'a> TileEncoder<'a> {
    /// An encoder for a tile of `bytes` bytes. `memory` returns an empty buffer with the requested capacity.
    ///
    /// # Errors
    /// A filter does not support its input type.
    pub(crate) fn new(
        p: &Pipeline,
        f: &TileFormat<'a>,
        nonces: &'a Nonces,
        bytes: usize,
        memory: impl FnOnce(usize) -> Vec<u8>,
    ) -> Result<Self, Malformed> {
        let plan = ReadyPipeline::new(p, f)?;
        let cell_bytes = f.cell.cell_bytes(f.datatype).unwrap_or(f.datatype.size());
        let chunk_bytes = if is_one_chunk(p, f) {
            bytes.max(1)
        } else {
            fixed_chunk_bytes(cell_bytes)
        };
        Ok(Self {
            chunk_bytes,
            nonces,
            tile: TileWriter::over(memory(room(&plan, bytes))),
            scratch: Scratch::default(),
            plan,
        })
    }

    /// Size of each chunk except the last in bytes, for fixed-size cells.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Encodes and appends the next chunk.
    ///
    /// # Errors
    /// A filter does not support these values.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<(), Malformed> {
        self.push_noted(chunk.len(), chunk, ChunkHeaders::default())
    }

    /// Encodes and appends a chunk of `plain_bytes` that is already encoded to `data` and `headers`.
    fn push_noted(&mut self, plain_bytes: usize, data: &[u8], headers: ChunkHeaders) -> Result<(), Malformed> {
        let (headers, filtered) = apply_steps(&self.plan, data, headers, self.nonces, &mut self.scratch)?;
        self.tile.push(plain_bytes, &headers.0, filtered)
    }

    /// Returns the framed tile.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.tile.finish()
    }
}

/// Encodes these variable-length cells as a framed tile. `offsets` holds the start of each cell in bytes, and the end
/// of the last cell.
///
/// # Errors
/// A filter does not support these values.
pub fn encode_var_tile(
    data: &[u8],
    offsets: &[u64],
    p: &Pipeline,
    f: &TileFormat<'_>,
    nonces: &Nonces,
) -> Result<Vec<u8>, Malformed> {
    if !offsets.is_sorted()
        || offsets.first().is_some_and(|o| *o != 0)
        || offsets.last().copied().unwrap_or(0) != data.len() as u64
    {
        return Err(Malformed::unsupported(
            "offsets",
            format!("they must be sorted from 0 to {}, the size of the data", data.len()),
        ));
    }
    let mut tile = TileEncoder::new(p, f, nonces, data.len(), Vec::with_capacity)?;
    if let Some(coding) = tile.plan.strings {
        if offsets.len() < 2 {
            return Ok(tile.finish());
        }
        let (mut headers, mut packed) = (ChunkHeaders::default(), Vec::new());
        match coding {
            StringCoding::Rle => rle_strings::encode(&mut headers, data, offsets, &mut packed)?,
            StringCoding::Dictionary => dictionary::encode(&mut headers, data, offsets, &mut packed)?,
        }
        tile.push_noted(data.len(), &packed, headers)?;
        return Ok(tile.finish());
    }
    let ends = if data.is_empty() {
        vec![0; usize::from(offsets.len() > 1 && has_chunk_of_nothing(p, f))]
    } else if is_one_chunk(p, f) {
        offsets.last().copied().into_iter().collect()
    } else {
        var_chunk_ends(offsets)
    };
    let (mut rest, mut start) = (data, 0);
    for end in ends {
        let n = usize::try_from(end - start).unwrap_or(usize::MAX);
        let (chunk, later) = rest.split_at_checked(n).unwrap_or_default();
        tile.push(chunk)?;
        (rest, start) = (later, end);
    }
    Ok(tile.finish())
}

/// Whether a tile of empty cells has an empty chunk, like in libtiledb, or no chunks. libtiledb cannot decode empty
/// chunks with some filters, such as gzip, but can read a tile without chunks.
fn has_chunk_of_nothing(p: &Pipeline, f: &TileFormat<'_>) -> bool {
    let takes_nothing = |filter: &Filter| {
        matches!(
            filter,
            Filter::None
                | Filter::Zstd { .. }
                | Filter::Lz4 { .. }
                | Filter::Rle { .. }
                | Filter::Bzip2 { .. }
                | Filter::Xor
                | Filter::Byteshuffle
                | Filter::Bitshuffle
                | Filter::Md5
                | Filter::Sha256
        )
    };
    f.version.has_chunk_of_nothing() && p.filters.iter().all(takes_nothing)
}

/// Capacity for a filtered tile in bytes. Without filters, the size plus chunk headers; otherwise half the size,
/// because filters that save less are rarely used.
fn room(plan: &ReadyPipeline<'_>, bytes: usize) -> usize {
    if plan.steps.is_empty() {
        bytes.saturating_add(bytes / 1024).saturating_add(8)
    } else {
        bytes / 2 + 8
    }
}

/// Whether tiles have a single chunk.
fn is_one_chunk(p: &Pipeline, f: &TileFormat<'_>) -> bool {
    p.max_chunk_bytes.0 == 0
        || p.filters.iter().any(|filter| matches!(filter, Filter::Webp { .. }))
        || string_coding(p, f).is_some()
}

/// Applies all steps to `data`. Returns the metadata and the result, which is `data` itself or in `scratch`.
fn apply_steps<'a>(
    plan: &ReadyPipeline<'_>,
    data: &'a [u8],
    mut headers: ChunkHeaders,
    nonces: &Nonces,
    scratch: &'a mut Scratch,
) -> Result<(ChunkHeaders, &'a [u8]), Malformed> {
    let Scratch { done, next } = scratch;
    let mut in_scratch = false;
    for step in &plan.steps {
        let from = if in_scratch { done.as_slice() } else { data };
        next.clear();
        step.apply(nonces, &mut headers, from, next)?;
        if step.moves() {
            std::mem::swap(done, next);
            in_scratch = true;
        }
    }
    Ok((headers, if in_scratch { done } else { data }))
}
