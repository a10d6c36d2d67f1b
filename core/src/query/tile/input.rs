//! The tiles to decode, and what must be fetched before. This module does no I/O: [`TileFiles`] provides the bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::fetched::FetchedExtents;
use super::partial_tile::PartialTile;
use super::{Decoding, Extent, LocatedTile};
use crate::cache::{Cache, Reuse};
use crate::column::Column;
use crate::error::Result;
use crate::vfs::ReadAt;

/// Opens the files of stored tiles, on a local disk or in memory.
pub(crate) trait TileFiles: Send + Sync {
    /// Opens the file of an extent, which has all bytes of the extent.
    ///
    /// # Errors
    /// The file is shorter, cannot be opened, or was not fetched.
    fn open<'a>(&'a self, extent: &'a Extent) -> Result<Box<dyn ReadAt + 'a>>;
}

/// A tile to decode.
#[derive(Debug)]
pub(crate) enum Input {
    /// The decoded tile, from the cache.
    Decoded(Arc<Column>),
    Stored(LocatedTile),
}

impl Input {
    /// Takes the decoded tile from the cache. Otherwise adds its bytes to `list`: those of `chunks` if given, which are
    /// all that are needed.
    pub(crate) fn new(tile: LocatedTile, chunks: Option<PartialTile>, cache: &Cache, list: &mut FetchList) -> Self {
        if let Some(column) = cache.get::<Column>(&tile.tile.cache_key()) {
            return Self::Decoded(column);
        }
        match chunks {
            _ if list.add_cached(&tile, cache) => {}
            Some(chunks) => list.add_chunks(chunks),
            None => list.add(&tile),
        }
        Self::Stored(tile)
    }

    /// Whether the cells can be null.
    pub(crate) fn is_nullable(&self) -> bool {
        match self {
            Self::Decoded(column) => column.validity.is_some(),
            Self::Stored(tile) => tile.tile.field.nullable,
        }
    }

    /// Decodes the tile and caches it with priority `reuse`.
    ///
    /// # Errors
    /// The tile is damaged or cannot be read.
    pub(crate) fn decode(&self, d: &Decoding, reuse: Reuse) -> Result<Arc<Column>> {
        let tile = match self {
            Self::Decoded(column) => return Ok(Arc::clone(column)),
            Self::Stored(tile) => tile,
        };
        // Another buffer of the tile may have been needed before.
        if let Some(column) = d.cache.get::<Column>(&tile.tile.cache_key()) {
            return Ok(column);
        }
        let column = Arc::new(tile.decode(&*d.files, d.key.as_ref(), &d.latest)?);
        let (key, bytes) = (tile.tile.cache_key(), tile.tile.decoded_bytes());
        d.cache.insert(key, Arc::clone(&column), bytes, reuse);
        Ok(column)
    }
}

/// The bytes to fetch before some tiles are decoded.
#[derive(Debug, Default)]
pub(crate) struct FetchList {
    /// The extents to fetch.
    pub(crate) extents: Vec<Extent>,
    /// The extents, by index, that are only some chunks of a tile.
    chunks: BTreeMap<usize, PartialTile>,
    /// Bytes from the cache.
    cached: FetchedExtents,
    bytes: u64,
}

impl FetchList {
    /// Adds all bytes of a tile.
    pub(crate) fn add(&mut self, tile: &LocatedTile) {
        for extent in &tile.extents {
            self.add_extent(extent.clone());
        }
    }

    /// Takes the stored bytes of a tile from the cache, if they are there.
    fn add_cached(&mut self, tile: &LocatedTile, cache: &Cache) -> bool {
        let Some(parts) = cache.get::<Vec<Bytes>>(&tile.tile.stored_key()) else {
            return false;
        };
        for (extent, bytes) in tile.extents.iter().zip(parts.iter()) {
            self.cached.add(extent, bytes.clone());
        }
        true
    }

    fn add_chunks(&mut self, chunks: PartialTile) {
        if let Some(bytes) = &chunks.cached {
            chunks.add_to(&mut self.cached, bytes);
            return;
        }
        self.add_extent(chunks.extent.clone());
        self.chunks.insert(self.extents.len() - 1, chunks);
    }

    fn add_extent(&mut self, extent: Extent) {
        self.bytes = self.bytes.saturating_add(extent.range.end - extent.range.start);
        self.extents.push(extent);
    }

    /// Number of bytes to fetch.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the chunks that were fetched are where an unfiltered tile has them. If so, they are cached. If not,
    /// whole tiles must be fetched. `fetched` holds the extents in order.
    pub(crate) fn are_chunks(&self, fetched: &[Bytes], cache: &Cache) -> bool {
        let mut each = self.chunks.iter();
        each.all(|(i, chunks)| fetched.get(*i).is_some_and(|bytes| chunks.keep(bytes, cache)))
    }

    /// The bytes of the tiles. `fetched` holds the extents in order.
    pub(crate) fn into_fetched(self, fetched: Vec<Bytes>) -> FetchedExtents {
        let mut all = self.cached;
        for (i, (extent, bytes)) in self.extents.iter().zip(fetched).enumerate() {
            match self.chunks.get(&i) {
                Some(chunks) => chunks.add_to(&mut all, &bytes),
                None => all.add(extent, bytes),
            }
        }
        all
    }
}
