//! Locates the compressed cells of a tile in its file, for callers that decompress them elsewhere.

use std::ops::Range;

use super::chunk_reader::Failure;
use super::{Extent, TileFiles, TileRef};
use crate::error::Result;
use crate::filter::Packing;
use crate::format::tile::{ChunkPlace, locate};
use crate::vfs::ReadAt;

/// The most metadata that a chunk with one filter has, in bytes.
const METADATA_BYTES_MAX: u32 = 64;

/// How a tile is divided into chunks of equal size, and how those are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) packing: Packing,
    /// Number of chunks.
    pub(crate) chunks: u64,
    /// Size of each chunk in bytes, before compression.
    pub(crate) chunk_bytes: u64,
}

/// A stored tile of fixed-size cells that matches a [`Cut`].
#[derive(Debug)]
pub(crate) struct StoredTile {
    pub(crate) extent: Extent,
    /// The byte range of each chunk's compressed cells, relative to the start of the tile.
    pub(crate) chunks: Vec<Range<u64>>,
}

impl TileRef {
    /// Locates the stored tile and checks every chunk's header. Returns `None` if the tile does not match `cut`, or is
    /// damaged; decoding it reports the damage. The tile must not be encrypted.
    ///
    /// # Errors
    /// The fragment's index is damaged, or the store fails.
    pub(crate) fn stored(&self, files: &dyn TileFiles, cut: &Cut) -> Result<Option<StoredTile>> {
        let (field, own) = (&*self.field, &*self.field.fragment.schema);
        let width = field.cell.cell_bytes(field.datatype);
        let plain = width.and_then(|width| (self.cells as u64).checked_mul(width as u64));
        let packing = field.pipeline(own, own).and_then(Packing::of);
        let alike = plain == cut.chunks.checked_mul(cut.chunk_bytes) && packing == Some(cut.packing);
        let Some(extent) = self.extents()?.into_iter().next().filter(|_| alike && !field.nullable) else {
            return Ok(None);
        };
        let found = chunks(&*files.open(&extent)?, &extent, cut);
        match found {
            Ok(chunks) => Ok(chunks.map(|chunks| StoredTile { extent, chunks })),
            Err(Failure::Store(e)) => Err(e),
            Err(Failure::Malformed(_)) => Ok(None),
        }
    }
}

/// Locates the compressed cells of a tile's chunks, if all chunks match.
fn chunks(file: &dyn ReadAt, extent: &Extent, cut: &Cut) -> Result<Option<Vec<Range<u64>>>, Failure> {
    let bytes = extent.range.end - extent.range.start;
    let read = |at: u64, out: &mut [u8]| file.read_at(out, extent.range.start + at).map_err(Failure::Store);
    // If the number of chunks differs, the other headers are not read.
    let mut count = [0; 8];
    if bytes < count.len() as u64 {
        return Ok(None);
    }
    read(0, &mut count)?;
    if u64::from_le_bytes(count) != cut.chunks {
        return Ok(None);
    }
    let mut head = Vec::new();
    let mut packed = |place: &ChunkPlace| {
        let magic = (place.data_bytes as usize).min(Packing::MAGIC_BYTES);
        if u64::from(place.plain_bytes) != cut.chunk_bytes || place.metadata_bytes > METADATA_BYTES_MAX {
            return Ok(None);
        }
        head.resize(place.metadata_bytes as usize + magic, 0);
        read(place.start, &mut head)?;
        let data = place.end() - u64::from(place.data_bytes)..place.end();
        Ok(cut.packing.is_alone(place, &head).then_some(data))
    };
    locate(bytes, read)?.iter().map(&mut packed).collect()
}
