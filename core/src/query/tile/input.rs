//! Where the bytes of a tile that is to be decoded are.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{Decoding, Extent, TileRef};
use crate::cache::Cache;
use crate::column::Column;
use crate::error::Result;

/// A tile that was decoded before, that is to be decoded from some of the extents that were fetched now
/// or before, or whose file whoever decodes it reads.
#[derive(Debug)]
pub(crate) enum Input {
    Decoded(Arc<Column>),
    Fetched(TileRef, Range<usize>),
    Kept(TileRef, Arc<Vec<Bytes>>),
    Direct(TileRef),
}

impl Input {
    /// The tile out of the cache; otherwise its extents are added to those to fetch.
    ///
    /// # Errors
    /// The fragment's index is damaged.
    pub(crate) fn new(tile: TileRef, cache: &Cache, extents: &mut Vec<Extent>) -> Result<Self> {
        if let Some(column) = cache.get::<Column>(&tile.cache_key()) {
            return Ok(Self::Decoded(column));
        }
        if let Some(parts) = cache.get::<Vec<Bytes>>(&tile.kept_key()) {
            return Ok(Self::Kept(tile, parts));
        }
        let start = extents.len();
        extents.extend(tile.extents()?);
        Ok(Self::Fetched(tile, start..extents.len()))
    }

    /// Whether its cells can be null.
    pub(crate) fn is_nullable(&self) -> bool {
        match self {
            Self::Decoded(column) => column.validity.is_some(),
            Self::Fetched(tile, _) | Self::Kept(tile, _) | Self::Direct(tile) => tile.field.nullable,
        }
    }

    /// The bytes of its extents, if they were fetched.
    pub(super) fn parts<'a>(&'a self, fetched: &'a [Bytes]) -> &'a [Bytes] {
        match self {
            Self::Fetched(_, range) => fetched.get(range.clone()).unwrap_or(&[]),
            Self::Kept(_, parts) => parts,
            Self::Decoded(_) | Self::Direct(_) => &[],
        }
    }

    /// The decoded tile; it goes into the cache if `keep`.
    ///
    /// # Errors
    /// The tile is damaged.
    pub(crate) fn decode(&self, fetched: &[Bytes], d: &Decoding, keep: bool) -> Result<Arc<Column>> {
        let read;
        let (tile, parts) = match self {
            Self::Decoded(column) => return Ok(Arc::clone(column)),
            Self::Fetched(tile, _) | Self::Kept(tile, _) => (tile, self.parts(fetched)),
            Self::Direct(tile) => {
                read = tile.read(d)?;
                (tile, &read[..])
            }
        };
        let column = Arc::new(tile.decode(parts, d.key.as_ref(), &d.latest)?);
        if keep {
            d.cache
                .insert(tile.cache_key(), Arc::clone(&column), tile.decoded_bytes());
        }
        Ok(column)
    }
}
