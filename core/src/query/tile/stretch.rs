//! Chunks of an unfiltered tile that are fetched without the others: where each of them lies needs no
//! look at the tile.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{Extent, Piece, TileRef};
use crate::cache::{Cache, CacheKey};
use crate::error::{Error, Result};
use crate::filter::ChunkDecoder;
use crate::format::tile::{UnfilteredChunks, unfiltered};

/// Of a tile of which more than one byte in so many is wanted, all is fetched: neighbours may be asked for next.
const PART: u64 = 2;

/// Chunks of a tile of fixed-size cells without nulls that follow each other.
#[derive(Debug)]
pub(crate) struct Stretch {
    tile: TileRef,
    layout: UnfilteredChunks,
    chunks: Range<u64>,
    /// Where they lie in the tile.
    stored: Range<u64>,
    extent: Extent,
    held: Held,
}

/// Where the bytes of the chunks are.
#[derive(Debug)]
enum Held {
    Nowhere,
    /// Number of the extent that was fetched.
    Fetched(usize),
    Kept(Arc<Bytes>),
}

impl Stretch {
    /// The chunks that hold these cells of a tile that is not encrypted; `None` where the whole tile is to
    /// be fetched.
    ///
    /// # Errors
    /// The fragment's index is damaged.
    pub(crate) fn of(tile: &TileRef, cells: Range<u64>) -> Result<Option<Self>> {
        let (field, format) = (&*tile.field, tile.format(None));
        let own = &*field.fragment.schema;
        let (Some(pipeline), Some(cell_bytes), false) = (
            field.pipeline(own, own),
            field.cell.cell_bytes(field.datatype),
            field.nullable,
        ) else {
            return Ok(None);
        };
        let Some(whole) = tile.extents()?.into_iter().next() else {
            return Ok(None);
        };
        let (bytes, width) = (whole.range.end - whole.range.start, cell_bytes as u64);
        let layout = unfiltered(bytes, tile.expected(cell_bytes, &whole.path)?, cell_bytes);
        // A pipeline that does not exist is told by what decodes whole tiles.
        let plain = ChunkDecoder::new(pipeline, &format).is_ok_and(|d| d.is_plain());
        let Some(layout) = layout.filter(|_| plain && cells.start < cells.end) else {
            return Ok(None);
        };
        let (first, end) = (cells.start * width, cells.end * width);
        let chunks = first / layout.chunk_bytes..end.div_ceil(layout.chunk_bytes);
        let stored = layout.stored(&chunks);
        if (stored.end - stored.start).saturating_mul(PART) > bytes {
            return Ok(None);
        }
        Ok(Some(Self {
            tile: tile.clone(),
            layout,
            chunks,
            extent: Extent {
                range: whole.range.start + stored.start..whole.range.start + stored.end,
                path: whole.path,
            },
            stored,
            held: Held::Nowhere,
        }))
    }

    pub(crate) fn tile(&self) -> &TileRef {
        &self.tile
    }

    /// Bytes to fetch.
    pub(crate) fn bytes(&self) -> u64 {
        self.stored.end - self.stored.start
    }

    /// Finds the bytes in the cache, or adds them to those to fetch.
    pub(super) fn find(&mut self, cache: &Cache, extents: &mut Vec<Extent>) {
        self.held = match cache.get::<Bytes>(&self.cache_key()) {
            Some(bytes) if bytes.len() as u64 >= self.bytes() => Held::Kept(bytes),
            _ => {
                extents.push(self.extent.clone());
                Held::Fetched(extents.len() - 1)
            }
        };
    }

    /// Whether the chunks that were fetched are where an unfiltered tile has them; then they go into the cache.
    pub(crate) fn keep(&self, fetched: &[Bytes], cache: &Cache) -> bool {
        let Held::Fetched(number) = self.held else { return true };
        let Some(bytes) = fetched.get(number) else { return false };
        let is_there = |chunk: u64| {
            let at = self.layout.stored(&(chunk..chunk + 1)).start - self.stored.start;
            let behind = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
            behind.is_some_and(|b| b.starts_with(&self.layout.header(chunk)))
        };
        let found = bytes.len() as u64 == self.bytes() && self.chunks.clone().all(is_there);
        if found {
            cache.insert(self.cache_key(), Arc::new(bytes.clone()), self.bytes());
        }
        found
    }

    /// Copies these pieces, which are in order.
    ///
    /// # Errors
    /// Not all of them are among the chunks.
    pub(super) fn copy(&self, fetched: &[Bytes], pieces: &mut [Piece<'_>]) -> Result<()> {
        let bytes = match &self.held {
            Held::Nowhere => &[][..],
            Held::Fetched(number) => fetched.get(*number).map_or(&[][..], |b| b),
            Held::Kept(bytes) => bytes,
        };
        let stored = |at: u64, n: usize| {
            let start = self.layout.place(at).checked_sub(self.stored.start)?;
            bytes.get(usize::try_from(start).ok()?..)?.get(..n)
        };
        for piece in pieces {
            let (mut at, mut rest) = (piece.at, &mut *piece.out);
            while !rest.is_empty() {
                let here = self.layout.chunk_bytes - at % self.layout.chunk_bytes;
                let n = rest.len().min(usize::try_from(here).unwrap_or(usize::MAX));
                let (out, later) = rest.split_at_mut(n);
                let found = stored(at, n).ok_or_else(|| Error::invalid("cells that were not fetched"))?;
                out.copy_from_slice(found);
                (at, rest) = (at + n as u64, later);
            }
        }
        Ok(())
    }

    fn cache_key(&self) -> CacheKey {
        CacheKey {
            path: Arc::clone(&self.extent.path),
            part: self.extent.range.start,
            kind: "chunks as stored",
        }
    }
}
