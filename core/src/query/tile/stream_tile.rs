//! Reads whole tiles of fixed-size cells in blocks of a few megabytes.

use std::ops::Range;

use super::Decoding;
use super::chunk_reader::{ChunkJob, OutputPiece, Stored, believable, jobs, sized, wrong_total};
use super::vectored_read::SHARE_BYTES;
use crate::error::{AtPath, Malformed, Result};
use crate::filter::ChunkDecoder;
use crate::format::tile::{CHUNK_HEADER_BYTES, ChunkPlace, Locator};
use crate::vfs::ReadAt;

/// Bytes of a tile to read before they are decoded.
const BLOCK_BYTES: u64 = 4 << 20;

/// Reads a whole tile block by block into one buffer and decodes the chunks of each block. The file is read
/// sequentially, and the bytes are still in the processor's cache when they are decoded, however large the tile is.
pub(super) fn read(
    stored: &Stored<'_>,
    file: &dyn ReadAt,
    decoder: &ChunkDecoder<'_>,
    pieces: &mut [OutputPiece<'_>],
    d: &Decoding,
    block: &mut Vec<u8>,
) -> Result<()> {
    let (path, bytes, start) = (stored.path(), stored.bytes(), stored.extent.range.start);
    let mut pieces = Pieces {
        next: pieces.iter_mut().map(|p| (p.at, &mut *p.out)).peekable(),
        cut: Vec::new(),
    };
    let (mut locator, mut waiting, mut at, mut plain) = (None::<Locator>, None::<ChunkPlace>, 0, 0);
    loop {
        // A chunk that is longer than a block gets a block of its own.
        let end = waiting.map_or(0, |p| p.end()).max(bytes.min(at + BLOCK_BYTES));
        *block = sized(std::mem::take(block), end - at)?;
        let shares = (start + at..).step_by(SHARE_BYTES).zip(block.chunks_mut(SHARE_BYTES));
        d.cpu
            .try_map_owned(shares.collect(), |(at, share)| file.read_at(share, at))?;
        let held = |from: u64, n: usize| block.get((from - at) as usize..).and_then(|rest| rest.get(..n));
        let read = |from: u64, out: &mut [u8]| {
            let found = held(from, out.len());
            out.copy_from_slice(found.ok_or_else(|| Malformed::new("tile", from, "is truncated"))?);
            Ok::<_, Malformed>(())
        };
        let mut tile = match locator.take() {
            Some(tile) => tile,
            None => Locator::new(bytes, read).at(path)?,
        };
        let (mut places, first) = (Vec::from_iter(waiting.take()), plain);
        plain += places.iter().map(|p| u64::from(p.plain_bytes)).sum::<u64>();
        let mut is_last = false;
        while end == bytes || tile.header_end().is_none_or(|header| header <= end) {
            let Some(place) = tile.advance(read).at(path)? else {
                is_last = true;
                break;
            };
            believable(&place).at(path)?;
            if place.end() > end {
                waiting = Some(place);
                break;
            }
            plain += u64::from(place.plain_bytes);
            places.push(place);
        }
        if plain > stored.plain || (is_last && plain < stored.plain) {
            return Err(wrong_total(plain, stored.plain)).at(path);
        }
        let mut here = pieces.within(first..plain);
        d.cpu
            .try_map_owned(jobs(&places, &mut here).at(path)?, |job: ChunkJob<'_>| {
                let (from, n) = (job.place.start, (job.place.end() - job.place.start) as usize);
                job.run(stored, decoder, d, false, |decode| decode(held(from, n).unwrap_or(&[])))
            })?;
        if is_last {
            return Ok(());
        }
        at = waiting.map_or_else(
            || tile.header_end().map_or(end, |h| h - CHUNK_HEADER_BYTES as u64),
            |p| p.start,
        );
        locator = Some(tile);
    }
}

/// Pieces to fill, in the order of the tile.
struct Pieces<'a, I: Iterator<Item = (u64, &'a mut [u8])>> {
    next: std::iter::Peekable<I>,
    /// The rest of pieces that were split.
    cut: Vec<(u64, &'a mut [u8])>,
}

impl<'a, I: Iterator<Item = (u64, &'a mut [u8])>> Pieces<'a, I> {
    /// The pieces within this part of the tile, relative to its start. Each part must follow the previous one.
    fn within(&mut self, part: Range<u64>) -> Vec<OutputPiece<'a>> {
        let mut found = std::mem::take(&mut self.cut);
        while let Some(piece) = self.next.next_if(|p| p.0 < part.end) {
            found.push(piece);
        }
        let mut out = Vec::with_capacity(found.len());
        for (at, bytes) in found {
            let n = usize::try_from(part.end - at).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at_mut(n);
            out.push(OutputPiece {
                at: at - part.start,
                out: now,
            });
            if !later.is_empty() {
                self.cut.push((part.end, later));
            }
        }
        out
    }
}
