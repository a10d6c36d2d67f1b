//! Fetches some chunks of an unfiltered tile without the others. The positions of the chunks are computed; the chunk
//! count that the tile states is not read.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::fetched::FetchedExtents;
use super::{Extent, LocatedTile, TileRef};
use crate::cache::{Cache, CacheKey, Reuse};
use crate::error::Result;
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
    /// Position of the tile in its file.
    start: u64,
    /// The chunks with their headers.
    pub(super) extent: Extent,
    /// The bytes of the extent, if they are cached.
    pub(super) cached: Option<Arc<Bytes>>,
}

impl PartialTile {
    /// The chunks that hold these cells of an unencrypted tile. Returns `None` if the whole tile should be fetched
    /// instead, in particular if other chunks of it were fetched before.
    ///
    /// # Errors
    /// The fragment's index is damaged.
    pub(crate) fn of(tile: &LocatedTile, cells: Range<u64>, cache: &Cache) -> Result<Option<Self>> {
        let (tile, whole) = (&tile.tile, tile.extents.first());
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
        let Some(whole) = whole else { return Ok(None) };
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
        let start = whole.range.start;
        let extent = Extent {
            range: start + stored.start..start + stored.end,
            path: Arc::clone(&whole.path),
        };
        let cached = cache.get::<Bytes>(&partial_key(&extent));
        let cached = cached.filter(|bytes| bytes.len() as u64 >= wanted);
        if cached.is_none() && cache.get::<()>(&visited_key(tile)).is_some() {
            return Ok(None);
        }
        Ok(Some(Self {
            tile: tile.clone(),
            layout,
            chunks,
            start,
            extent,
            cached,
        }))
    }

    /// Whether the fetched bytes have the headers of an unfiltered tile's chunks. If so, they are cached.
    pub(super) fn keep(&self, bytes: &Bytes, cache: &Cache) -> bool {
        let wanted = self.extent.range.end - self.extent.range.start;
        let is_there = |chunk: u64| {
            let at = self.start + self.layout.stored(&(chunk..chunk + 1)).start - self.extent.range.start;
            let behind = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
            behind.is_some_and(|b| b.starts_with(&self.layout.header(chunk)))
        };
        let found = bytes.len() as u64 == wanted && self.chunks.clone().all(is_there);
        if found {
            let (key, kept) = (partial_key(&self.extent), Arc::new(bytes.clone()));
            cache.insert(key, kept, wanted, Reuse::Likely);
            cache.insert(visited_key(&self.tile), Arc::new(()), 1, Reuse::Likely);
        }
        found
    }

    /// Adds the chunks to the fetched bytes, and the start of the tile. The start was not fetched, but follows from the
    /// size of an unfiltered tile, which the headers of the chunks confirmed.
    pub(super) fn add_to(&self, all: &mut FetchedExtents, bytes: &Bytes) {
        let parts = vec![
            (self.start, self.layout.start().into()),
            (self.extent.range.start, bytes.clone()),
        ];
        all.add_parts(&self.extent.path, self.start, parts);
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
