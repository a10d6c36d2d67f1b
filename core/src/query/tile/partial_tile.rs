//! Fetches some chunks of an unfiltered tile without the others. The positions of the chunks are computed; the chunk
//! count that the tile states is not read.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{Extent, Piece, TileRef};
use crate::cache::{Cache, CacheKey, Reuse};
use crate::error::{Error, Result};
use crate::filter::ChunkDecoder;
use crate::format::tile::{UnfilteredChunks, unfiltered};

/// The whole tile is fetched if more than one byte in this many is wanted, because neighbours may be needed next.
const PART: u64 = 2;
/// The least number of bytes to save by fetching chunks. Saving less does not justify separate requests.
const SAVED_BYTES_MIN: u64 = 128 << 10;

/// Consecutive chunks of a tile of fixed-size cells without nulls.
#[derive(Debug)]
pub(crate) struct PartialTile {
    tile: TileRef,
    layout: UnfilteredChunks,
    chunks: Range<u64>,
    /// The byte range of the chunks within the tile.
    stored: Range<u64>,
    extent: Extent,
    held: Held,
}

/// The state of the chunks' bytes.
#[derive(Debug)]
enum Held {
    /// To be fetched, as the extent with this index once it is known.
    Fetched(Option<usize>),
    Kept(Arc<Bytes>),
}

impl PartialTile {
    /// The chunks that hold these cells of an unencrypted tile. Returns `None` if the whole tile should be fetched
    /// instead, in particular if other chunks of it were fetched before.
    ///
    /// # Errors
    /// The fragment's index is damaged.
    pub(crate) fn of(tile: &TileRef, cells: Range<u64>, cache: &Cache) -> Result<Option<Self>> {
        // A fragment's tiles may be smaller than the array's.
        if cells.start >= cells.end || cells.end > tile.cells as u64 {
            return Ok(None);
        }
        let (field, format) = (&*tile.field, tile.field.format(None));
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
        // An unsupported pipeline is reported by the decoder of whole tiles.
        let plain = ChunkDecoder::new(pipeline, &format).is_ok_and(|d| d.is_plain());
        let Some(layout) = layout.filter(|_| plain) else {
            return Ok(None);
        };
        let (first, end) = (cells.start * width, cells.end * width);
        let chunks = first / layout.chunk_bytes..end.div_ceil(layout.chunk_bytes);
        let stored = layout.stored(&chunks);
        let wanted = stored.end - stored.start;
        if wanted.saturating_mul(PART) > bytes || bytes - wanted < SAVED_BYTES_MIN {
            return Ok(None);
        }
        let extent = Extent {
            range: whole.range.start + stored.start..whole.range.start + stored.end,
            path: whole.path,
        };
        let held = match cache.get::<Bytes>(&partial_key(&extent)) {
            Some(bytes) if bytes.len() as u64 >= wanted => Held::Kept(bytes),
            _ if cache.get::<()>(&visited_key(tile)).is_some() => return Ok(None),
            _ => Held::Fetched(None),
        };
        Ok(Some(Self {
            tile: tile.clone(),
            layout,
            chunks,
            stored,
            extent,
            held,
        }))
    }

    pub(crate) fn tile(&self) -> &TileRef {
        &self.tile
    }

    /// Number of bytes to fetch.
    pub(crate) fn bytes(&self) -> u64 {
        match self.held {
            Held::Fetched(_) => self.stored.end - self.stored.start,
            Held::Kept(_) => 0,
        }
    }

    /// Adds the chunks to the extents to fetch, unless they are cached.
    pub(super) fn fetch(&mut self, extents: &mut Vec<Extent>) {
        if let Held::Fetched(number) = &mut self.held {
            *number = Some(extents.len());
            extents.push(self.extent.clone());
        }
    }

    /// Whether the fetched chunks have the headers of an unfiltered tile. If so, they are cached.
    pub(crate) fn keep(&self, fetched: &[Bytes], cache: &Cache) -> bool {
        let Held::Fetched(number) = self.held else { return true };
        let Some(bytes) = number.and_then(|n| fetched.get(n)) else {
            return false;
        };
        let is_there = |chunk: u64| {
            let at = self.layout.stored(&(chunk..chunk + 1)).start - self.stored.start;
            let behind = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
            behind.is_some_and(|b| b.starts_with(&self.layout.header(chunk)))
        };
        let found = bytes.len() as u64 == self.bytes() && self.chunks.clone().all(is_there);
        if found {
            cache.insert(
                partial_key(&self.extent),
                Arc::new(bytes.clone()),
                self.bytes(),
                Reuse::Likely,
            );
            cache.insert(visited_key(&self.tile), Arc::new(()), 1, Reuse::Likely);
        }
        found
    }

    /// Copies these pieces.
    ///
    /// # Errors
    /// Some pieces are not within the chunks.
    pub(super) fn copy(&self, fetched: &[Bytes], pieces: &mut [Piece<'_>]) -> Result<()> {
        let bytes = match &self.held {
            Held::Fetched(number) => number.and_then(|n| fetched.get(n)).map_or(&[][..], |b| b),
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
                let found = stored(at, n).ok_or_else(|| Error::invalid("the cells were not fetched"))?;
                out.copy_from_slice(found);
                (at, rest) = (at + n as u64, later);
            }
        }
        Ok(())
    }
}

/// The cache key of stored chunks.
fn partial_key(extent: &Extent) -> CacheKey {
    CacheKey {
        path: Arc::clone(&extent.path),
        part: extent.range.start,
        kind: "chunks as stored",
    }
}

/// The cache key of the note that chunks of a tile were fetched.
fn visited_key(tile: &TileRef) -> CacheKey {
    CacheKey {
        kind: "tile of which chunks were fetched",
        ..tile.cache_key()
    }
}
