//! The framing of tiles: a tile is a list of chunks, each preceded by its lengths.
//!
//! ```text
//! tile:  number of chunks u64 | chunk ...
//! chunk: unfiltered length u32 | filtered length u32 | metadata length u32 | metadata | filtered bytes
//! ```

use std::ops::Range;

use super::cursor::{Decoded, Reader, Writer};
use crate::error::Malformed;
use crate::limits::CHUNK_BYTES;

/// Size of the three lengths before a chunk.
pub(crate) const CHUNK_HEADER_BYTES: usize = 12;
const CHUNK: usize = CHUNK_BYTES as usize;

/// A stored chunk of a tile.
#[derive(Debug, Clone, Copy)]
pub struct RawChunk<'a> {
    /// Size of the chunk before filtering, in bytes.
    pub plain_bytes: u32,
    /// Metadata written by the filters.
    pub metadata: &'a [u8],
    /// The filtered bytes.
    pub data: &'a [u8],
    /// Offset of `data` in the tile, in bytes.
    pub offset: u64,
}

/// Byte ranges of a chunk in its framed tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPlace {
    /// Size of the chunk before filtering.
    pub plain_bytes: u32,
    /// Offset of its metadata.
    pub start: u64,
    /// Size of its metadata.
    pub metadata_bytes: u32,
    /// Size of its data, which follows the metadata.
    pub data_bytes: u32,
}

impl ChunkPlace {
    /// Offset of the end of its data, where the next chunk starts.
    pub const fn end(&self) -> u64 {
        self.start + self.metadata_bytes as u64 + self.data_bytes as u64
    }

    /// The chunk with metadata and data in `bytes`.
    ///
    /// # Errors
    /// The length of `bytes` does not match.
    pub fn of<'a>(&self, bytes: &'a [u8]) -> Decoded<RawChunk<'a>> {
        let wrong = || Malformed::new("chunk", self.start, "is not as long as its header says");
        let (metadata, data) = bytes
            .split_at_checked(self.metadata_bytes as usize)
            .filter(|(_, data)| data.len() == self.data_bytes as usize)
            .ok_or_else(wrong)?;
        Ok(RawChunk {
            plain_bytes: self.plain_bytes,
            metadata,
            data,
            offset: self.start + u64::from(self.metadata_bytes),
        })
    }
}

/// Locates all chunks of a framed tile of `bytes` bytes. `read` fills a buffer from an offset in the tile.
///
/// # Errors
/// The tile ends early or has bytes after its last chunk, or `read` fails.
pub fn locate<E: From<Malformed>>(
    bytes: u64,
    mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
) -> Result<Vec<ChunkPlace>, E> {
    let mut locator = Locator::new(bytes, &mut read)?;
    let mut places = Vec::new();
    while let Some(place) = locator.advance(&mut read)? {
        places.push(place);
    }
    Ok(places)
}

/// Locates the chunks of a framed tile one by one.
#[derive(Debug)]
pub struct Locator {
    bytes: u64,
    /// Offset of the next chunk's header.
    at: u64,
    left: u64,
}

impl Locator {
    /// Starts at the first chunk of a tile of `bytes` bytes. `read` fills a buffer from an offset in the tile.
    ///
    /// # Errors
    /// The tile is too short for its number of chunks, or `read` fails.
    pub fn new<E: From<Malformed>>(bytes: u64, read: impl FnOnce(u64, &mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        let mut count = [0; 8];
        if bytes < 8 {
            return Err(cut_short(0, bytes).into());
        }
        read(0, &mut count)?;
        let left = u64::from_le_bytes(count);
        if left > (bytes - 8) / CHUNK_HEADER_BYTES as u64 {
            return Err(Malformed::new("tile", 0, format!("too many chunks for {bytes} bytes: {left}")).into());
        }
        Ok(Self { bytes, at: 8, left })
    }

    /// Offset of the end of the next chunk's header, if there is another chunk.
    pub fn header_end(&self) -> Option<u64> {
        (self.left > 0).then_some(self.at + CHUNK_HEADER_BYTES as u64)
    }

    /// The next chunk; `None` after the last one.
    ///
    /// # Errors
    /// The tile ends early or has bytes after its last chunk, or `read` fails.
    pub fn advance<E: From<Malformed>>(
        &mut self,
        read: impl FnOnce(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Option<ChunkPlace>, E> {
        let Some(start) = self.header_end() else {
            if self.at < self.bytes {
                let why = format!("has {} bytes after its last chunk", self.bytes - self.at);
                return Err(Malformed::new("tile", self.at, why).into());
            }
            return Ok(None);
        };
        if start > self.bytes {
            return Err(cut_short(self.at, self.bytes).into());
        }
        let mut header = [0; CHUNK_HEADER_BYTES];
        read(self.at, &mut header)?;
        let [plain_bytes, data_bytes, metadata_bytes] = [0, 4, 8].map(|i| {
            header
                .get(i..)
                .and_then(<[u8]>::first_chunk)
                .map_or(0, |b| u32::from_le_bytes(*b))
        });
        let place = ChunkPlace {
            plain_bytes,
            start,
            metadata_bytes,
            data_bytes,
        };
        if place.end() > self.bytes {
            return Err(cut_short(start, self.bytes).into());
        }
        (self.at, self.left) = (place.end(), self.left - 1);
        Ok(Some(place))
    }
}

fn cut_short(at: u64, bytes: u64) -> Malformed {
    Malformed::new("tile", at, format!("ends after {bytes} bytes, within a chunk"))
}

/// The layout of an unfiltered tile with `plain` bytes of cells of `cell_bytes` each. `None` if a tile of `bytes` bytes
/// cannot have this layout.
pub fn unfiltered(bytes: u64, plain: u64, cell_bytes: usize) -> Option<UnfilteredChunks> {
    let chunk_bytes = fixed_chunk_bytes(cell_bytes) as u64;
    let headers = plain.div_ceil(chunk_bytes).checked_mul(CHUNK_HEADER_BYTES as u64)?;
    (bytes == 8 + headers.checked_add(plain)?).then_some(UnfilteredChunks { plain, chunk_bytes })
}

/// The layout of an unfiltered tile whose chunks have the usual length.
#[derive(Debug, Clone, Copy)]
pub struct UnfilteredChunks {
    plain: u64,
    /// Size of the cells in each chunk except the last, in bytes.
    pub chunk_bytes: u64,
}

impl UnfilteredChunks {
    /// The bytes that the tile must start with: the number of chunks and the header of the first.
    pub fn start(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u64(self.plain.div_ceil(self.chunk_bytes)).put(&self.header(0));
        w.into_bytes()
    }

    /// The header that must precede the cells of a chunk.
    pub fn header(&self, chunk: u64) -> Vec<u8> {
        let behind = self.plain.saturating_sub(chunk.saturating_mul(self.chunk_bytes));
        let n = behind.min(self.chunk_bytes) as u32;
        let mut w = Writer::new();
        w.u32(n).u32(n).u32(0);
        w.into_bytes()
    }

    /// Offset in the tile of byte `at` of the cells.
    pub const fn place(&self, at: u64) -> u64 {
        8 + (at / self.chunk_bytes + 1) * CHUNK_HEADER_BYTES as u64 + at
    }

    /// Byte range of these chunks in the tile, including their headers.
    pub fn stored(&self, chunks: &Range<u64>) -> Range<u64> {
        let start = |chunk: u64| 8 + chunk * (CHUNK_HEADER_BYTES as u64 + self.chunk_bytes);
        let end = self.place(self.plain.saturating_sub(1)) + 1;
        start(chunks.start)..start(chunks.end).min(end)
    }
}

/// Decodes the chunks of a framed tile.
///
/// # Errors
/// The tile ends early or has bytes after its last chunk.
pub fn chunks(framed: &[u8]) -> Decoded<Vec<RawChunk<'_>>> {
    let mut r = Reader::new(framed);
    let n = r.u64("number of chunks")?;
    let n = r.count(n, CHUNK_HEADER_BYTES, "chunks")?;
    let mut chunks = Vec::with_capacity(n);
    for _ in 0..n {
        let plain_bytes = r.u32("plain length of a chunk")?;
        let data_bytes = r.u32("filtered length of a chunk")?;
        let metadata_bytes = r.u32("metadata length of a chunk")?;
        let metadata = r.take_u64(u64::from(metadata_bytes), "metadata of a chunk")?;
        let offset = r.offset();
        let data = r.take_u64(u64::from(data_bytes), "filtered bytes of a chunk")?;
        chunks.push(RawChunk {
            plain_bytes,
            metadata,
            data,
            offset,
        });
    }
    r.finish("tile")?;
    Ok(chunks)
}

/// Writes a framed tile chunk by chunk.
#[derive(Debug)]
pub struct TileWriter {
    bytes: Vec<u8>,
    chunks: u64,
}

impl TileWriter {
    /// An empty tile with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::over(Vec::with_capacity(capacity.saturating_add(8)))
    }

    /// An empty tile that reuses the memory of `bytes`. Their contents are discarded.
    pub(crate) fn over(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        bytes.extend_from_slice(&0_u64.to_le_bytes());
        Self { bytes, chunks: 0 }
    }

    /// Appends a chunk with `plain_bytes` before filtering.
    ///
    /// # Errors
    /// A length does not fit in 32 bits.
    pub fn push(&mut self, plain_bytes: usize, metadata: &[Vec<u8>], data: &[u8]) -> Result<(), Malformed> {
        let lengths = [plain_bytes, data.len(), metadata.iter().map(Vec::len).sum()];
        for length in lengths {
            let length = u32::try_from(length)
                .map_err(|_| Malformed::unsupported("chunk", "longer than 4 GiB, the limit of the format"))?;
            self.bytes.extend_from_slice(&length.to_le_bytes());
        }
        for part in metadata {
            self.bytes.extend_from_slice(part);
        }
        self.bytes.extend_from_slice(data);
        self.chunks += 1;
        Ok(())
    }

    /// Returns the framed tile.
    pub fn finish(mut self) -> Vec<u8> {
        if let Some(count) = self.bytes.first_chunk_mut() {
            *count = self.chunks.to_le_bytes();
        }
        self.bytes
    }
}

/// Chunk size for fixed-size cells, in bytes: 64 KiB rounded down to whole cells, at least one cell.
pub fn fixed_chunk_bytes(cell_bytes: usize) -> usize {
    let cell = cell_bytes.max(1);
    (CHUNK - CHUNK % cell).max(cell)
}

/// Offsets where the chunks of a tile of variable-length cells end. `offsets` holds the start of each cell and the end
/// of the last. Cells are never split. A chunk takes cells up to 64 KiB. It takes the next cell too if it is at most
/// half full or stays within 96 KiB. A cell of more than 64 KiB that starts a chunk has it to itself.
pub fn var_chunk_ends(offsets: &[u64]) -> Vec<u64> {
    let half = CHUNK_BYTES / 2;
    let mut ends = Vec::new();
    let mut filled = 0;
    for cell in offsets.windows(2) {
        let &[start, end] = cell else { continue };
        let length = end.saturating_sub(start);
        let with = filled + length;
        if with <= CHUNK_BYTES {
            filled = with;
        } else if filled <= half || with <= CHUNK_BYTES + half {
            ends.push(end);
            filled = 0;
        } else {
            ends.push(start);
            filled = length;
            if length > CHUNK_BYTES {
                ends.push(end);
                filled = 0;
            }
        }
    }
    if filled > 0 {
        ends.extend(offsets.last());
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_hold_whole_cells() {
        for (cell, expect) in [(1, 65536), (8, 65536), (12, 65532), (40_000, 40_000), (70_000, 70_000)] {
            assert_eq!(fixed_chunk_bytes(cell), expect, "cell of {cell}");
        }
    }

    /// Checks the chunk lengths for these cell lengths.
    #[track_caller]
    fn check(cells: &[u64], expect: &[u64]) {
        let mut offsets = vec![0];
        offsets.extend(cells.iter().scan(0, |at, n| {
            *at += n;
            Some(*at)
        }));
        let mut start = 0;
        let chunks: Vec<_> = var_chunk_ends(&offsets)
            .into_iter()
            .map(|end| end - std::mem::replace(&mut start, end))
            .collect();
        assert_eq!(chunks, expect);
    }

    #[test]
    fn a_tile_in_reused_memory_starts_empty() {
        let written = |mut tile: TileWriter| {
            tile.push(3, &[], b"abc").unwrap();
            tile.finish()
        };
        assert_eq!(
            written(TileWriter::over(vec![7; 40])),
            written(TileWriter::with_capacity(0))
        );
    }

    #[test]
    fn variable_cells_are_not_split() {
        check(&[], &[]);
        check(&[0, 0], &[]);
        check(&[10, 20], &[30]);
        check(&[65536, 1], &[65537]);
        check(&[20_000; 8], &[80_000, 80_000]);
        check(&[60_000, 40_000, 5], &[60_000, 40_005]);
        check(&[60_000, 70_000, 5], &[60_000, 70_000, 5]);
        check(&[30_000, 200_000, 5], &[230_000, 5]);
        check(&[200_000], &[200_000]);
    }

    #[test]
    fn located_chunks_match_the_decoded_ones() {
        let mut w = TileWriter::with_capacity(0);
        w.push(3, &[vec![9]], b"abc").unwrap();
        w.push(5, &[], b"de").unwrap();
        let tile = w.finish();
        let read = |tile: &[u8]| {
            let read = |at: u64, out: &mut [u8]| {
                out.copy_from_slice(&tile[at as usize..][..out.len()]);
                Ok::<_, Malformed>(())
            };
            locate(tile.len() as u64, read)
        };
        let places = read(&tile).unwrap();
        for (place, chunk) in places.iter().zip(chunks(&tile).unwrap()) {
            let found = place.of(&tile[place.start as usize..place.end() as usize]).unwrap();
            assert_eq!(
                (found.data, found.metadata, found.offset),
                (chunk.data, chunk.metadata, chunk.offset)
            );
        }
        assert_eq!(places.len(), 2);
        for n in 0..tile.len() {
            assert!(read(&tile[..n]).is_err(), "cut to {n} bytes");
        }
        assert!(read(&[&tile[..], b"x"].concat()).is_err());
    }

    #[test]
    fn the_layout_of_an_unfiltered_tile_locates_its_cells() {
        let data: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
        let mut w = TileWriter::with_capacity(0);
        for chunk in data.chunks(fixed_chunk_bytes(4)) {
            w.push(chunk.len(), &[], chunk).unwrap();
        }
        let tile = w.finish();
        let layout = unfiltered(tile.len() as u64, 200_000, 4).unwrap();
        for at in [0, 1, 65_535, 65_536, 131_072, 199_999] {
            assert_eq!(tile[layout.place(at) as usize], data[at as usize]);
        }
        assert!(tile.starts_with(&layout.start()));
        assert!(unfiltered(tile.len() as u64 + 1, 200_000, 4).is_none());
    }

    #[test]
    fn lengths_are_checked_against_the_bytes_left() {
        let mut w = TileWriter::with_capacity(0);
        w.push(3, &[vec![9]], b"abc").unwrap();
        let tile = w.finish();
        assert_eq!(chunks(&tile).unwrap()[0].data, b"abc");
        for n in 0..tile.len() {
            assert!(chunks(&tile[..n]).is_err(), "cut to {n} bytes");
        }
        let many = u64::MAX.to_le_bytes();
        assert!(chunks(&many).is_err());
        assert!(chunks(&[0; 9]).unwrap_err().to_string().contains("too many"));
    }
}
