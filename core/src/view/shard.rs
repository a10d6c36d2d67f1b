//! Tiles as Zarr shards. A tile's chunks are the inner chunks, followed by an index of their byte ranges. Does no I/O.
//!
//! ```text
//! shard: stored bytes of the tile | index
//! index: for each inner chunk: offset u64, length u64 | CRC-32C of these u32
//! ```
//!
//! If a single fragment contains all cells of a tile, its stored bytes are served without decoding or copying. Readers
//! skip the bytes between the chunks, as the specification of `sharding_indexed` allows. Any other tile is built from
//! its cells. Its chunks are then streams of uncompressed blocks, framed as in a file, so the cells do not affect the
//! size of the shard.
//!
//! The schema and the store decide whether chunks are shards; the data does not. Readers cache the codec of an array,
//! so a write must not change it.
//!
//! A shard is one tile, not several, because a reader may combine an index from before a write with bytes from after
//! it. Uncompressed chunks of a tile stay at the same offsets. With compression, a stale offset leads to the same chunk
//! or to bytes that do not decompress. In a shard of several tiles it could lead to a chunk of another tile.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Value, json};

use super::encode::unpacked;
use crate::array::Array;
use crate::filter::Packing;
use crate::format::cursor::Decoded;
use crate::format::schema::{Attribute, Schema};
use crate::format::tile::{CHUNK_HEADER_BYTES, TileWriter, fixed_chunk_bytes};
use crate::geometry::{Grid, Order};
use crate::limits::TILE_BYTES_MAX;
use crate::query::tile::{Cut, Extent, StoredTile};
use crate::vfs::local_reads;

/// The largest number of chunks in a tile, because all their headers are read to determine the size: 4 GiB of cells.
const CHUNKS_MAX: u64 = 1 << 16;

/// The shard layout of an attribute's tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sharding {
    pub(super) cut: Cut,
    /// Cells of an inner chunk along each dimension.
    pub(super) inner: Vec<u64>,
}

impl Sharding {
    /// The shard layout of an attribute's tiles, or the reason why they cannot be shards.
    pub(super) fn of(array: &Array, attribute: &Attribute) -> Result<Self, &'static str> {
        if local_reads(&*array.context().vfs).is_none() {
            return Err("the store is not a local disk");
        }
        if array.key().is_some() {
            return Err("the array is encrypted");
        }
        Self::of_schema(array.schema(), attribute)
    }

    fn of_schema(schema: &Schema, attribute: &Attribute) -> Result<Self, &'static str> {
        let width = attribute.cell.cell_bytes(attribute.datatype);
        let (Some(width), Ok(grid)) = (width, Grid::new(schema)) else {
            return Err("its cells have variable length");
        };
        if attribute.nullable {
            return Err("it is nullable");
        }
        let packing = Packing::of(&attribute.filters).ok_or("its filter pipeline is not empty or zstd")?;
        let extents = grid.extents();
        if grid.cell_order != Order::Row && extents.iter().filter(|&&n| n > 1).count() > 1 {
            return Err("its cell order is column-major");
        }
        let tile_bytes = grid.tile_cells().and_then(|n| n.checked_mul(width as u64));
        let tile_bytes = tile_bytes.filter(|n| (1..=TILE_BYTES_MAX).contains(n));
        let tile_bytes = tile_bytes.ok_or("its tiles are too large")?;
        let chunk_bytes = (fixed_chunk_bytes(width) as u64).min(tile_bytes);
        let chunks = tile_bytes / chunk_bytes;
        let inner = inner(&extents, chunk_bytes / width as u64);
        let inner = inner.ok_or("the chunks of its tiles are not boxes of equal size")?;
        if chunks > CHUNKS_MAX {
            return Err("its tiles have too many chunks");
        }
        let cut = Cut {
            packing,
            chunks,
            chunk_bytes,
        };
        Ok(Self { cut, inner })
    }

    /// The sharding codec for the metadata of a Zarr array. `bytes` is the codec of the cells. Cells of several values
    /// have an additional axis of length `values`.
    pub(super) fn codec(&self, bytes: &Value, values: u64) -> Value {
        let mut shape = self.inner.clone();
        shape.extend((values > 1).then_some(values));
        // The specification requires a level, although readers do not need it.
        let packed = match self.cut.packing {
            Packing::Plain => None,
            Packing::Zstd => Some(json!({ "name": "zstd", "configuration": { "level": 3, "checksum": false } })),
        };
        let codecs: Vec<Value> = std::iter::once(bytes.clone()).chain(packed).collect();
        json!({
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": shape,
                "codecs": codecs,
                "index_codecs": [
                    { "name": "bytes", "configuration": { "endian": "little" } },
                    { "name": "crc32c" },
                ],
                "index_location": "end",
            },
        })
    }

    /// A description of the codec for the README.
    pub(super) const fn codec_name(&self) -> &'static str {
        match self.cut.packing {
            Packing::Plain => "as shards",
            Packing::Zstd => "as shards compressed with zstd",
        }
    }

    /// Size of a shard built from cells, in bytes.
    pub(super) fn made_bytes(&self) -> u64 {
        let n = self.cut.chunk_bytes;
        let packed = match self.cut.packing {
            Packing::Plain => n,
            Packing::Zstd => unpacked::zstd_bytes(n),
        };
        let metadata = self.cut.packing.metadata(0, 0).len() as u64;
        tile_bytes(self.cut.chunks, metadata + packed) + index_bytes(self.cut.chunks)
    }

    /// Builds a shard from all cells of a tile. It is framed like a stored tile, so uncompressed chunks have the same
    /// offsets in both.
    ///
    /// # Errors
    /// A chunk exceeds the largest length of the format.
    pub(super) fn made(&self, cells: &[u8]) -> Decoded<Vec<u8>> {
        let mut tile = TileWriter::with_capacity(usize::try_from(self.made_bytes()).unwrap_or(0));
        let mut places: Vec<Range<u64>> = Vec::new();
        for chunk in cells.chunks(usize::try_from(self.cut.chunk_bytes).unwrap_or(usize::MAX)) {
            let packed = match self.cut.packing {
                Packing::Plain => Cow::Borrowed(chunk),
                Packing::Zstd => Cow::Owned(unpacked::zstd(chunk)),
            };
            let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let metadata = self.cut.packing.metadata(length(chunk), length(&packed));
            let start =
                places.last().map_or(tile_bytes(0, 0), |p| p.end) + CHUNK_HEADER_BYTES as u64 + metadata.len() as u64;
            places.push(start..start + packed.len() as u64);
            tile.push(chunk.len(), &[metadata], &packed)?;
        }
        let mut out = tile.finish();
        out.append(&mut index(&places));
        Ok(out)
    }
}

/// A shard made of a stored tile.
#[derive(Debug)]
pub(super) struct Shard {
    /// The tile's byte range in its file.
    pub(super) extent: Extent,
    pub(super) index: Vec<u8>,
}

impl Shard {
    pub(super) fn new(tile: StoredTile) -> Self {
        Self {
            index: index(&tile.chunks),
            extent: tile.extent,
        }
    }

    /// Size in bytes.
    pub(super) const fn size(&self) -> u64 {
        self.tile_bytes() + self.index.len() as u64
    }

    /// Bytes of the tile, before the index.
    pub(super) const fn tile_bytes(&self) -> u64 {
        self.extent.range.end - self.extent.range.start
    }

    /// The byte range of the file for a range of the shard. It is empty if the range is inside the index.
    pub(super) fn of_file(&self, range: &Range<u64>) -> Range<u64> {
        let at = |v: u64| self.extent.range.start + v.min(self.tile_bytes());
        at(range.start)..at(range.end)
    }

    /// The part of the index inside a byte range of the shard.
    pub(super) fn of_index(&self, range: &Range<u64>) -> &[u8] {
        let at = |v: u64| usize::try_from(v.saturating_sub(self.tile_bytes())).unwrap_or(usize::MAX);
        self.index.get(at(range.start)..at(range.end)).unwrap_or(&[])
    }
}

/// The shape of the boxes formed by runs of `cells` cells of a row-major tile; `None` if the runs are not boxes.
fn inner(extents: &[u64], cells: u64) -> Option<Vec<u64>> {
    let (mut shape, mut rest) = (vec![1; extents.len()], cells);
    for (side, &extent) in shape.iter_mut().zip(extents).rev() {
        if rest.is_multiple_of(extent) {
            (*side, rest) = (extent, rest / extent);
        } else if extent.is_multiple_of(rest) {
            (*side, rest) = (rest, 1);
        } else {
            return None;
        }
    }
    (rest == 1).then_some(shape)
}

/// Bytes of a tile of `chunks` chunks, each of `stored` bytes including its filter metadata.
const fn tile_bytes(chunks: u64, stored: u64) -> u64 {
    8 + chunks * (CHUNK_HEADER_BYTES as u64 + stored)
}

/// Bytes of the index of `chunks` chunks.
const fn index_bytes(chunks: u64) -> u64 {
    16 * chunks + 4
}

/// Encodes the index of chunks at these byte ranges.
fn index(chunks: &[Range<u64>]) -> Vec<u8> {
    let numbers = chunks.iter().flat_map(|c| [c.start, c.end - c.start]);
    let mut out: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
    out.extend(crc32c(&out).to_le_bytes());
    out
}

/// CRC-32C (Castagnoli), reflected.
fn crc32c(bytes: &[u8]) -> u32 {
    let one = |crc: u32, byte: &u8| {
        let slot = usize::from((crc ^ u32::from(*byte)).to_le_bytes()[0]);
        crc >> 8 ^ CRC_TABLE[slot]
    };
    !bytes.iter().fold(u32::MAX, one)
}

/// The CRC of each byte value.
static CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (mut crc, mut bit) = (i as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests;
