//! Where the bytes of a tile that is to be decoded are.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::stretch::Stretch;
use super::{Decoding, Extent, TileRef};
use crate::cache::{Cache, Reuse};
use crate::column::Column;
use crate::error::{Error, Result};

/// A tile that was decoded before, that is to be decoded from some of the extents that were fetched now
/// or before, of which a part was fetched, or whose file whoever decodes it reads.
#[derive(Debug)]
pub(crate) enum Input {
    Decoded(Arc<Column>),
    Fetched(TileRef, Range<usize>),
    Kept(TileRef, Arc<Vec<Bytes>>),
    Part(Stretch),
    Direct(TileRef),
}

impl Input {
    /// The tile out of the cache; otherwise its extents are added to those to fetch.
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

    /// The tile out of the cache.
    fn cached(tile: &TileRef, cache: &Cache) -> Option<Self> {
        if let Some(column) = cache.get::<Column>(&tile.cache_key()) {
            return Some(Self::Decoded(column));
        }
        let parts = cache.get::<Vec<Bytes>>(&tile.kept_key())?;
        Some(Self::Kept(tile.clone(), parts))
    }

    /// A part of a tile; what is not in the cache is added to the extents to fetch.
    pub(crate) fn part(mut stretch: Stretch, cache: &Cache, extents: &mut Vec<Extent>) -> Self {
        if let Some(cached) = Self::cached(stretch.tile(), cache) {
            return cached;
        }
        stretch.fetch(extents);
        Self::Part(stretch)
    }

    /// Whether its cells can be null.
    pub(crate) fn is_nullable(&self) -> bool {
        match self {
            Self::Decoded(column) => column.validity.is_some(),
            Self::Fetched(tile, _) | Self::Kept(tile, _) | Self::Direct(tile) => tile.field.nullable,
            Self::Part(_) => false,
        }
    }

    /// The bytes of its extents, if they were fetched.
    pub(super) fn parts<'a>(&'a self, fetched: &'a [Bytes]) -> &'a [Bytes] {
        match self {
            Self::Fetched(_, range) => fetched.get(range.clone()).unwrap_or(&[]),
            Self::Kept(_, parts) => parts,
            Self::Decoded(_) | Self::Part(_) | Self::Direct(_) => &[],
        }
    }

    /// The decoded tile, which the cache keeps as it is likely to be used again.
    ///
    /// # Errors
    /// The tile is damaged.
    pub(crate) fn decode(&self, fetched: &[Bytes], d: &Decoding, reuse: Reuse) -> Result<Arc<Column>> {
        let read;
        let (tile, parts) = match self {
            Self::Decoded(column) => return Ok(Arc::clone(column)),
            Self::Fetched(tile, _) | Self::Kept(tile, _) => (tile, self.parts(fetched)),
            Self::Part(_) => return Err(Error::invalid("a tile of which a part was fetched")),
            Self::Direct(tile) => {
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
