//! The sources of a tile's bytes.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::partial_tile::PartialTile;
use super::{Decoding, Extent, TileRef};
use crate::cache::{Cache, Reuse};
use crate::column::Column;
use crate::error::{Error, Result};

/// The source of a tile's bytes.
#[derive(Debug)]
pub(crate) enum Input {
    /// The decoded tile, from the cache.
    Decoded(Arc<Column>),
    /// Extents that are fetched for this read, by index.
    Fetched(TileRef, Range<usize>),
    /// The stored bytes, from the cache.
    Kept(TileRef, Arc<Vec<Bytes>>),
    /// Some chunks of the tile.
    FieldFile(PartialTile),
    /// The file, which is read during decoding.
    Local(TileRef),
}

impl Input {
    /// Takes the tile from the cache; otherwise adds its extents to those to fetch.
    ///
    /// # Errors
    /// The fragment's index is damaged.
    pub(crate) fn new(tile: TileRef, cache: &Cache, extents: &mut Vec<Extent>) -> Result<Self> {
        if let Some(cached) = Self::cached(&tile, cache) {
            return Ok(cached);
        }
        let start = extents.len();
        extents.extend(tile.extents()?);
        Ok(Self::Fetched(tile, start..extents.len()))
    }

    /// Takes the tile from the cache, decoded or as stored.
    fn cached(tile: &TileRef, cache: &Cache) -> Option<Self> {
        if let Some(column) = cache.get::<Column>(&tile.cache_key()) {
            return Some(Self::Decoded(column));
        }
        let parts = cache.get::<Vec<Bytes>>(&tile.kept_key())?;
        Some(Self::Kept(tile.clone(), parts))
    }

    /// A part of a tile. Chunks that are not in the cache are added to the extents to fetch.
    pub(crate) fn part(mut partial_tile: PartialTile, cache: &Cache, extents: &mut Vec<Extent>) -> Self {
        if let Some(cached) = Self::cached(partial_tile.tile(), cache) {
            return cached;
        }
        partial_tile.fetch(extents);
        Self::FieldFile(partial_tile)
    }

    /// Whether the cells can be null.
    pub(crate) fn is_nullable(&self) -> bool {
        match self {
            Self::Decoded(column) => column.validity.is_some(),
            Self::Fetched(tile, _) | Self::Kept(tile, _) | Self::Local(tile) => tile.field.nullable,
            Self::FieldFile(_) => false,
        }
    }

    /// The bytes of the tile's extents, if they were fetched.
    pub(super) fn parts<'a>(&'a self, fetched: &'a [Bytes]) -> &'a [Bytes] {
        match self {
            Self::Fetched(_, range) => fetched.get(range.clone()).unwrap_or(&[]),
            Self::Kept(_, parts) => parts,
            Self::Decoded(_) | Self::FieldFile(_) | Self::Local(_) => &[],
        }
    }

    /// Decodes the tile and caches it with priority `reuse`.
    ///
    /// # Errors
    /// The tile is damaged.
    pub(crate) fn decode(&self, fetched: &[Bytes], d: &Decoding, reuse: Reuse) -> Result<Arc<Column>> {
        let read;
        let (tile, parts) = match self {
            Self::Decoded(column) => return Ok(Arc::clone(column)),
            Self::Fetched(tile, _) | Self::Kept(tile, _) => (tile, self.parts(fetched)),
            Self::FieldFile(_) => return Err(Error::invalid("only part of the tile was fetched")),
            Self::Local(tile) => {
                read = tile.read(d)?;
                (tile, &read[..])
            }
        };
        let column = Arc::new(tile.decode(parts, d.key.as_ref(), &d.latest)?);
        d.cache
            .insert(tile.cache_key(), Arc::clone(&column), tile.decoded_bytes(), reuse);
        Ok(column)
    }
}
