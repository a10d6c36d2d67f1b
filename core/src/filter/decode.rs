//! Decodes tiles chunk by chunk.

use std::cell::Cell;

use super::TileFormat;
use super::chunk::ChunkMetadata;
use super::compress::strings::Strings;
use super::compress::{dictionary, rle_strings};
use super::plan::{ReadyPipeline, Step, StringCoding, string_coding};
use crate::error::Malformed;
use crate::format::cursor::Decoded;
use crate::format::pipeline::Pipeline;
use crate::format::tile::{RawChunk, chunks};
use crate::limits::TILE_BYTES_MAX;

/// Decodes a tile of fixed-size cells, whose unfiltered size must be `expected_bytes`.
///
/// # Errors
/// The tile is damaged, has another size, is encrypted with another key, or uses an unknown filter. Also if strings are
/// encoded together with their offsets; use [`decode_var_tile`] for those.
pub fn decode_tile(framed: &[u8], p: &Pipeline, f: &TileFormat<'_>, expected_bytes: u64) -> Decoded<Vec<u8>> {
    let plan = ReadyPipeline::new(p, f)?;
    let chunks = tile_chunks(framed, &plan, expected_bytes)?;
    let mut out = reserve(expected_bytes)?;
    let mut scratch = Scratch::default();
    for chunk in &chunks {
        if plan.steps.is_empty() {
            out.extend_from_slice(chunk.data);
            continue;
        }
        let last = Last::prepare(&plan, chunk, &mut scratch)?;
        // Grown chunk by chunk, so that a tile with a false size fails before it costs memory.
        let start = out.len();
        out.resize(start + usize::try_from(chunk.plain_bytes).unwrap_or(0), 0);
        last.finish(&plan, out.get_mut(start..).unwrap_or_default())?;
    }
    Ok(out)
}

/// Decodes the tile of offsets of `cells` variable-length cells. The vector has capacity for one more offset.
///
/// # Errors
/// Same as [`decode_tile`].
pub fn decode_offsets_tile(framed: &[u8], p: &Pipeline, f: &TileFormat<'_>, cells: u64) -> Decoded<Vec<u64>> {
    let plan = ReadyPipeline::new(p, f)?;
    let bytes = cells.saturating_add(1).saturating_mul(8);
    let chunks = tile_chunks(framed, &plan, cells.saturating_mul(8))?;
    reserve(bytes)?;
    // Zeroed memory from the allocator, which costs nothing until it is written.
    let mut out = vec![0; bounded(bytes, "offsets")? / 8];
    out.pop();
    let mut rest: &mut [u8] = bytemuck::cast_slice_mut(&mut out);
    let mut scratch = Scratch::default();
    for chunk in &chunks {
        let (here, later) = rest.split_at_mut(rest.len().min(chunk.plain_bytes as usize));
        rest = later;
        Last::prepare(&plan, chunk, &mut scratch)?.finish(&plan, here)?;
    }
    Ok(out)
}

/// A decoder for single chunks of tiles of fixed-size cells.
#[derive(Debug)]
pub struct ChunkDecoder<'a>(ReadyPipeline<'a>);

impl<'a> ChunkDecoder<'a> {
    /// The decoder for tiles with the pipeline `p`.
    ///
    /// # Errors
    /// A filter is unknown or does not support its input type, or strings are encoded together with their offsets.
    pub fn new(p: &Pipeline, f: &TileFormat<'a>) -> Decoded<Self> {
        let plan = ReadyPipeline::new(p, f)?;
        not_strings(&plan)?;
        Ok(Self(plan))
    }

    /// Whether chunks are stored without filters.
    pub fn is_plain(&self) -> bool {
        self.0.steps.is_empty()
    }

    /// Decodes a chunk into `out`, which must have exactly its size.
    ///
    /// # Errors
    /// The chunk is damaged or has another size. The contents of `out` are then unspecified.
    pub fn decode(&self, chunk: &RawChunk<'_>, out: &mut [u8]) -> Decoded<()> {
        if u64::from(chunk.plain_bytes) != out.len() as u64 {
            let why = format!("{} bytes, not {}", chunk.plain_bytes, out.len());
            return Err(Malformed::new("chunk", chunk.offset, why));
        }
        // Taken rather than borrowed, so that nested decoding on this thread uses other buffers.
        let mut scratch = SCRATCH.take();
        let done = Last::prepare(&self.0, chunk, &mut scratch).and_then(|last| last.finish(&self.0, out));
        if scratch.done.capacity().max(scratch.next.capacity()) <= SCRATCH_BYTES_MAX {
            SCRATCH.set(scratch);
        }
        done
    }
}

/// Decodes a tile of variable-length cells. If its strings are encoded together with their offsets (see
/// [`codes_strings`]), also returns the offset of each of the `cells`.
///
/// # Errors
/// Same as [`decode_tile`].
pub fn decode_var_tile(
    framed: &[u8],
    p: &Pipeline,
    f: &TileFormat<'_>,
    expected_bytes: u64,
    cells: u64,
) -> Decoded<(Vec<u8>, Option<Vec<u64>>)> {
    let Some(coding) = string_coding(p, f) else {
        return Ok((decode_tile(framed, p, f, expected_bytes)?, None));
    };
    let plan = ReadyPipeline::new(p, f)?;
    let chunks = chunks(framed)?;
    check_total(&chunks, expected_bytes)?;
    let cells_max = bounded(cells.saturating_mul(8), "offsets")? / 8;
    let mut strings = Strings::new(bounded(expected_bytes, "tile")?, cells_max);
    let mut scratch = Scratch::default();
    for chunk in chunks.iter().filter(|c| !c.metadata.is_empty()) {
        // Besides their bytes, packed strings have two integers each: run and length, or id and length.
        let packed_max = u64::from(chunk.plain_bytes)
            .saturating_add(cells.saturating_mul(16))
            .saturating_add(1024);
        let mut decode = || {
            let (mut meta, packed) = undo_steps(&plan.steps, &plan, chunk, packed_max, &mut scratch)?;
            meta.read(|r| match coding {
                StringCoding::Rle => rle_strings::decode(r, packed, &mut strings),
                StringCoding::Dictionary => dictionary::decode(r, packed, &mut strings),
            })
        };
        decode().map_err(|e| e.shifted(chunk.offset))?;
    }
    if expected_bytes == 0 && strings.offsets.is_empty() {
        // libtiledb stores nothing for a tile of empty strings, and cannot read it back.
        strings.push(b"", cells)?;
    }
    if (strings.bytes.len() as u64, strings.offsets.len() as u64) != (expected_bytes, cells) {
        let why = format!(
            "{} bytes in {} strings, not {expected_bytes} in {cells}",
            strings.bytes.len(),
            strings.offsets.len()
        );
        return Err(Malformed::new("tile of encoded strings", 0, why));
    }
    Ok((strings.bytes, Some(strings.offsets)))
}

/// Whether the pipeline encodes strings together with their offsets, so that the tile of offsets is empty.
pub fn codes_strings(p: &Pipeline, f: &TileFormat<'_>) -> bool {
    string_coding(p, f).is_some()
}

/// The largest buffers that a thread keeps between tiles, in bytes.
const SCRATCH_BYTES_MAX: usize = 1 << 20;

thread_local! {
    static SCRATCH: Cell<Scratch> = const { Cell::new(Scratch { done: Vec::new(), next: Vec::new() }) };
}

/// Two buffers that filters write to alternately, reused between chunks.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) done: Vec<u8>,
    pub(super) next: Vec<u8>,
}

fn bounded(bytes: u64, what: &str) -> Decoded<usize> {
    let fits = usize::try_from(bytes).ok().filter(|_| bytes <= TILE_BYTES_MAX);
    fits.ok_or_else(|| {
        Malformed::unsupported(
            what,
            format!("{bytes} bytes exceed the limit of {TILE_BYTES_MAX}, or the available memory"),
        )
    })
}

/// An empty vector with capacity for `bytes`.
fn reserve(bytes: u64) -> Decoded<Vec<u8>> {
    let mut out = Vec::new();
    out.try_reserve_exact(bounded(bytes, "tile")?)
        .map_err(|_| Malformed::unsupported("tile", format!("{bytes} bytes do not fit in memory")))?;
    Ok(out)
}

/// The chunks of a tile, which must have `expected` unfiltered bytes in total.
fn tile_chunks<'a>(framed: &'a [u8], plan: &ReadyPipeline<'_>, expected: u64) -> Decoded<Vec<RawChunk<'a>>> {
    not_strings(plan)?;
    let chunks = chunks(framed)?;
    check_total(&chunks, expected)?;
    if let Some(chunk) = chunks
        .iter()
        .find(|c| plan.steps.is_empty() && u64::from(c.plain_bytes) != c.data.len() as u64)
    {
        let why = format!("{} bytes, but its header says {}", chunk.data.len(), chunk.plain_bytes);
        return Err(Malformed::new("chunk", chunk.offset, why));
    }
    // Checked before allocating, because callers trust the sizes.
    chunks.iter().try_for_each(|chunk| check_most(plan, chunk))?;
    Ok(chunks)
}

/// Checks that the filtered data can decode to as many bytes as the chunk's header says.
fn check_most(plan: &ReadyPipeline<'_>, chunk: &RawChunk<'_>) -> Decoded<()> {
    let stored = chunk.data.len() as u64;
    let most = plan.steps.iter().rev().fold(stored, |n, step| step.most_plain(n));
    if u64::from(chunk.plain_bytes) <= most {
        return Ok(());
    }
    let why = format!("{stored} filtered bytes cannot decode to {} bytes", chunk.plain_bytes);
    Err(Malformed::new("chunk", chunk.offset, why))
}

fn not_strings(plan: &ReadyPipeline<'_>) -> Decoded<()> {
    match plan.strings {
        None => Ok(()),
        Some(_) => Err(Malformed::unsupported(
            "tile",
            "its strings are encoded together with their offsets",
        )),
    }
}

fn check_total(chunks: &[RawChunk<'_>], expected: u64) -> Decoded<()> {
    let total: u64 = chunks.iter().map(|c| u64::from(c.plain_bytes)).sum();
    if total == expected {
        return Ok(());
    }
    Err(Malformed::new(
        "tile",
        0,
        format!("its chunks have {total} bytes, but its cells need {expected}"),
    ))
}

/// A chunk with all steps undone except the first one that changes bytes. Undoing that one writes directly to the
/// output.
struct Last<'a> {
    plain_bytes: u64,
    offset: u64,
    meta: ChunkMetadata<'a>,
    data: &'a [u8],
}

impl<'a> Last<'a> {
    fn prepare<'s: 'a>(plan: &ReadyPipeline<'_>, chunk: &RawChunk<'a>, scratch: &'s mut Scratch) -> Decoded<Self> {
        let (plain_bytes, offset) = (u64::from(chunk.plain_bytes), chunk.offset);
        let (mut meta, mut data) = (ChunkMetadata::stored(chunk.metadata), chunk.data);
        // Writers differ in what they store for empty chunks, and it does not matter.
        if plain_bytes > 0 {
            let first = plan.steps.iter().position(Step::moves).unwrap_or(plan.steps.len());
            let later = plan.steps.get(first + 1..).unwrap_or_default();
            (meta, data) = undo_steps(later, plan, chunk, plain_bytes, scratch).map_err(|e| e.shifted(offset))?;
            let most = plan
                .steps
                .get(first)
                .map_or(data.len() as u64, |step| step.most_plain(data.len() as u64));
            if plain_bytes > most {
                return Err(Malformed::new(
                    "chunk",
                    offset,
                    format!("{} filtered bytes cannot decode to {plain_bytes} bytes", data.len()),
                ));
            }
        }
        Ok(Self {
            plain_bytes,
            offset,
            meta,
            data,
        })
    }

    fn finish(mut self, plan: &ReadyPipeline<'_>, out: &mut [u8]) -> Decoded<()> {
        if out.is_empty() {
            return Ok(());
        }
        self.undo(plan, out).map_err(|e| e.shifted(self.offset))
    }

    fn undo(&mut self, plan: &ReadyPipeline<'_>, out: &mut [u8]) -> Decoded<()> {
        let Some(first) = plan.steps.iter().position(Step::moves) else {
            verify(&plan.steps, &mut self.meta, self.data)?;
            return copy(self.data, out);
        };
        let (before, rest) = plan.steps.split_at(first);
        if let Some(step) = rest.first() {
            step.undo(
                &mut self.meta,
                self.data,
                out,
                plan.most_filtered(first, self.plain_bytes),
            )?;
        }
        verify(before, &mut self.meta, out)
    }
}

fn copy(data: &[u8], out: &mut [u8]) -> Decoded<()> {
    if data.len() != out.len() {
        return Err(Malformed::new(
            "chunk",
            0,
            format!("{} bytes, not {}", data.len(), out.len()),
        ));
    }
    out.copy_from_slice(data);
    Ok(())
}

fn verify(steps: &[Step<'_>], meta: &mut ChunkMetadata<'_>, data: &[u8]) -> Decoded<()> {
    steps.iter().rev().try_for_each(|step| step.verify(meta, data))
}

/// Undoes `steps`, which must be the last steps of the plan, for a chunk with `plain` unfiltered bytes. Returns the
/// remaining metadata, and the data, which is in the chunk or in `scratch`.
fn undo_steps<'c, 's: 'c>(
    steps: &[Step<'_>],
    plan: &ReadyPipeline<'_>,
    chunk: &RawChunk<'c>,
    plain: u64,
    scratch: &'s mut Scratch,
) -> Decoded<(ChunkMetadata<'c>, &'c [u8])> {
    let Scratch { done, next } = scratch;
    let mut meta = ChunkMetadata::stored(chunk.metadata);
    let mut in_scratch = false;
    let before = plan.steps.len() - steps.len();
    for (i, step) in steps.iter().enumerate().rev() {
        let data = if in_scratch { done.as_slice() } else { chunk.data };
        if !step.moves() {
            step.verify(&mut meta, data)?;
            continue;
        }
        let bytes = step.plain_bytes(&meta, data)?;
        let most = plan
            .most_filtered(before + i, plain)
            .min(step.most_plain(data.len() as u64));
        if bytes > most {
            return Err(Malformed::new(
                "chunk",
                0,
                format!("a filter produces {bytes} bytes, but at most {most} are possible"),
            ));
        }
        let bytes = bounded(bytes, "chunk")?;
        next.try_reserve(bytes.saturating_sub(next.len()))
            .map_err(|_| Malformed::unsupported("chunk", format!("{bytes} bytes do not fit in memory")))?;
        next.resize(bytes, 0);
        step.undo(&mut meta, data, next, most)?;
        std::mem::swap(done, next);
        in_scratch = true;
    }
    Ok((meta, if in_scratch { done } else { chunk.data }))
}
