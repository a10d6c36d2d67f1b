//! Reads the contents of files.

mod parts;
mod streams;
mod working_memory;

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use self::parts::{PART_BYTES, Parts};
use self::streams::{Stream, Streams};
use self::working_memory::WorkingMemory;
use super::chunk::ZarrChunk;
use super::fixed_layout::FixedLayout;
use super::node::{Content, Node, NodeKind};
use super::readers::Readers;
use super::shard::Shard;
use super::slice::{FILE_BYTES_MAX, Slice};
use crate::array::Array;
use crate::cache::Cache;
use crate::error::{AtPath, Error, Result};
use crate::vfs::VfsExt;

/// Memory for files that are being made, in bytes, unless the user of the view sets it.
pub(super) const MEMORY_BYTES: u64 = 256 << 20;
/// The largest file that is encoded to determine its size, in bytes. `stat` of such a file waits for that.
const MEASURED_BYTES_MAX: u64 = 256 << 20;
/// Memory for encoding a file from start to end, in bytes: a batch of cells and its tiles.
const STREAM_BYTES: u64 = 64 << 20;
/// A reader that jumps gets only the cells of a read, if the read is this small. Larger ones are those of systems that read
/// ahead, in any order.
const SMALL_BYTES: u64 = 64 << 10;

/// Reads files and keeps parts of them in the cache of the store.
#[derive(Debug)]
pub(super) struct Contents {
    parts: Parts,
    streams: Streams,
    /// Where readers of files with blocks are.
    readers: Readers,
    memory: WorkingMemory,
}

/// A range of a file that is made at once. A part of it is wanted.
struct Piece {
    /// The bytes of the piece.
    range: Range<u64>,
    /// The first byte of the part.
    start: u64,
}

impl Piece {
    /// The part of a piece that holds byte `at`.
    fn at(at: u64, range: Range<u64>) -> Self {
        let start = at - (at - range.start) % PART_BYTES;
        Self { range, start }
    }

    /// The bytes of the part.
    fn part(&self) -> Range<u64> {
        self.start..self.range.end.min(self.start + PART_BYTES)
    }
}

impl Contents {
    /// Keeps parts in `cache`, and takes at most `memory_bytes` for files that are being made.
    pub(super) fn new(cache: Arc<Cache>, memory_bytes: u64) -> Self {
        Self {
            parts: Parts::new(cache),
            streams: Streams::default(),
            readers: Readers::default(),
            memory: WorkingMemory::new(memory_bytes),
        }
    }

    /// Reads a byte range of a file, cut off at its end.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a folder; errors of reading the array.
    pub(super) async fn read(&self, node: &Node, range: Range<u64>) -> Result<Bytes> {
        let NodeKind::File { size } = node.kind else {
            return Err(Error::invalid("this is a folder; list it instead"));
        };
        let range = range.start.min(size)..range.end.min(size);
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let slice = match &node.content {
            Content::Dir | Content::Link(_) => return Ok(Bytes::new()),
            Content::Text(text) => return cut(text, range),
            Content::Shard(chunk, shard) => return read_shard(chunk.slice.array(), shard, range).await,
            Content::Fixed(slice, _) | Content::Streamed(slice) => &**slice,
            Content::ZarrChunk(chunk) => &chunk.slice,
        };
        let goes_on = matches!(node.content, Content::Fixed(..)) && self.readers.goes_on(node.id, &range);
        let mut out = BytesMut::new();
        let mut at = range.start;
        while at < range.end {
            let (part, bytes) = match &node.content {
                Content::Fixed(slice, layout) => self.fixed(node.id, slice, layout, at..range.end, goes_on).await?,
                Content::ZarrChunk(chunk) => {
                    let piece = Piece::at(at, 0..size);
                    let bytes = self.piece(node.id, &piece, || self.chunk(chunk)).await?;
                    (piece.part(), bytes)
                }
                _ => {
                    let part = Piece::at(at, 0..size).part();
                    let bytes = self.streamed(node.id, slice, size, part.start).await?;
                    (part, bytes)
                }
            };
            if bytes.len() as u64 != part.end - part.start {
                return Err(changed(slice));
            }
            let end = range.end.min(part.end);
            let found = cut(&bytes, at - part.start..end - part.start)?;
            if out.is_empty() && end == range.end {
                return Ok(found);
            }
            out.extend_from_slice(&found);
            at = end;
        }
        Ok(out.freeze())
    }

    /// The size of a file that is encoded from start to end. It is encoded to find the size if that depends on the values.
    /// The caller is [`Contents::alone`].
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if the file is too large; errors of reading the array.
    pub(super) async fn streamed_size(&self, id: u64, slice: &Slice) -> Result<u64> {
        let encoder = slice.encoder()?;
        let known = encoder.size();
        let limit = match (encoder.is_buffered(), known) {
            (true, _) => self.kept_max(),
            (false, None) => MEASURED_BYTES_MAX,
            (false, Some(_)) => FILE_BYTES_MAX,
        };
        let least = known.unwrap_or_else(|| slice.bytes_at_least(&*encoder));
        if least > limit {
            return Err(slice.too_large(least, limit));
        }
        match known {
            Some(size) => Ok(size),
            None => self.measure(id, slice, limit).await,
        }
    }

    /// Waits until nobody else measures or encodes a file from start to end.
    pub(super) async fn alone(&self, id: u64) -> impl Drop {
        self.parts.alone(id, 0).await
    }

    async fn measure(&self, id: u64, slice: &Slice, limit: u64) -> Result<u64> {
        let _memory = self.memory.take(self.stream_bytes(slice)?).await;
        let (mut stream, mut size) = (Stream::new(slice)?, 0);
        while let Some((at, bytes)) = stream.next(slice, self.kept_max()).await? {
            self.parts.keep(id, at, &bytes);
            size = at + bytes.len() as u64;
            if size > limit {
                return Err(slice.too_large(size, limit));
            }
        }
        Ok(size)
    }

    /// The most bytes that an encoder may keep until the end. The encoded file takes as much again.
    fn kept_max(&self) -> u64 {
        self.memory.bytes_max() / 2
    }

    /// Memory for encoding a file from start to end.
    fn stream_bytes(&self, slice: &Slice) -> Result<u64> {
        let all = slice.encoder()?.is_buffered();
        Ok(if all { self.memory.bytes_max() } else { STREAM_BYTES })
    }

    /// The part at byte `start` of a file that is encoded from start to end.
    async fn streamed(&self, id: u64, slice: &Slice, size: u64, start: u64) -> Result<Bytes> {
        if let Some(part) = self.parts.get(id, start) {
            return Ok(part);
        }
        let _alone = self.parts.alone(id, 0).await;
        if let Some(part) = self.parts.get(id, start) {
            return Ok(part);
        }
        let _memory = self.memory.take(self.stream_bytes(slice)?).await;
        let mut stream = match self.streams.take(id, start) {
            Some(stream) => stream,
            None => Stream::new(slice)?,
        };
        while let Some((at, bytes)) = stream.next(slice, self.kept_max()).await? {
            self.parts.keep(id, at, &bytes);
            let end = at + bytes.len() as u64;
            if end > size {
                break;
            }
            if (at..end).contains(&start) {
                if !self.parts.keeps(PART_BYTES) {
                    stream.keep_last(at, bytes.clone());
                }
                self.streams.keep(id, stream);
                return cut(&bytes, start - at..end.min(start + PART_BYTES) - at);
            }
        }
        Err(changed(slice))
    }

    /// The bytes around the start of `wanted` in a file whose blocks can be encoded separately.
    async fn fixed(
        &self,
        id: u64,
        slice: &Slice,
        layout: &FixedLayout,
        wanted: Range<u64>,
        goes_on: bool,
    ) -> Result<(Range<u64>, Bytes)> {
        let header = layout.header.len() as u64;
        let Some(at) = wanted.start.checked_sub(header) else {
            return Ok((0..header, Bytes::copy_from_slice(&layout.header)));
        };
        // The bytes of blocks count from the end of the header.
        let in_file = |range: Range<u64>| range.start + header..range.end + header;
        let end = wanted.end - header;
        if at >= layout.blocks_bytes {
            let piece = Piece::at(at, layout.blocks_bytes..layout.size - header);
            let trailer = || async { Ok(Bytes::from(slice.encoder()?.trailer(&mut layout.places()))) };
            return Ok((in_file(piece.part()), self.piece(id, &piece, trailer).await?));
        }
        let index = layout.block_at(at);
        let piece = Piece::at(at, layout.bytes(index));
        let part = piece.part();
        if let Some(found) = self.parts.get(id, part.start) {
            return Ok((in_file(part), found));
        }
        // Without a cache, each read would make a block.
        let small = end - at <= SMALL_BYTES && !goes_on || !self.parts.keeps(PART_BYTES);
        let exact = if small {
            at..end.min(piece.range.end)
        } else {
            part.clone()
        };
        // A part in the middle of a block whose neighbours are kept was evicted: the others need not be made again.
        let is_kept = |start: Option<u64>| start.is_some_and(|start| self.parts.get(id, start).is_some());
        let evicted = || is_kept(part.start.checked_sub(PART_BYTES)) && is_kept(Some(part.start + PART_BYTES));
        match layout.cells_of(exact.clone()) {
            Some((cells, bytes)) if small => Ok((in_file(exact), cut(&read_cells(slice, cells).await?, bytes)?)),
            Some((cells, bytes)) if part != piece.range && (!goes_on || evicted()) => {
                let only = Piece::at(part.start, part.clone());
                let made = || async { cut(&self.cells(slice, cells, &part).await?, bytes) };
                Ok((in_file(part.clone()), self.piece(id, &only, made).await?))
            }
            _ => {
                let made = || self.cells(slice, layout.block(index), &piece.range);
                Ok((in_file(part), self.piece(id, &piece, made).await?))
            }
        }
    }

    /// Makes a piece, unless somebody else does meanwhile, keeps all of its parts, and returns the wanted one.
    async fn piece<F: Future<Output = Result<Bytes>>>(
        &self,
        id: u64,
        piece: &Piece,
        make: impl FnOnce() -> F,
    ) -> Result<Bytes> {
        if let Some(part) = self.parts.get(id, piece.start) {
            return Ok(part);
        }
        let _alone = self.parts.alone(id, piece.range.start).await;
        if let Some(part) = self.parts.get(id, piece.start) {
            return Ok(part);
        }
        let bytes = make().await?;
        self.parts.keep(id, piece.range.start, &bytes);
        let part = piece.part();
        let end = (bytes.len() as u64).min(part.end - piece.range.start);
        cut(&bytes, part.start - piece.range.start..end)
    }

    /// Reads cells that take the bytes `place`.
    async fn cells(&self, slice: &Slice, cells: Range<u64>, place: &Range<u64>) -> Result<Bytes> {
        // The columns, and the file made from them.
        let _memory = self.memory.take((place.end - place.start).saturating_mul(2)).await;
        read_cells(slice, cells).await
    }

    /// Builds a chunk of a Zarr array from its cells.
    async fn chunk(&self, chunk: &ZarrChunk) -> Result<Bytes> {
        let limit = self.memory.bytes_max();
        if chunk.size() > limit {
            return Err(chunk.slice.too_large(chunk.size(), limit));
        }
        let _memory = self.memory.take(chunk.size().saturating_mul(2)).await;
        let batch = chunk.slice.array().read(&chunk.slice.query()?).await?;
        let column = batch.into_columns().into_iter().next();
        let bytes = column.map_or_else(|| Ok(Vec::new()), |c| chunk.bytes(c));
        Ok(Bytes::from(bytes.at(chunk.slice.array().path())?))
    }
}

/// Reads a byte range of a shard: stored bytes, then the index.
async fn read_shard(array: &Array, shard: &Shard, range: Range<u64>) -> Result<Bytes> {
    let (file, index) = (shard.of_file(&range), shard.of_index(&range));
    if file.is_empty() {
        return Ok(Bytes::copy_from_slice(index));
    }
    let vfs = &array.context().vfs;
    let read = vfs.read(&shard.extent.path, std::slice::from_ref(&file)).await?;
    let bytes = read.into_iter().next().unwrap_or_default();
    if index.is_empty() {
        return Ok(bytes);
    }
    let mut out = BytesMut::from(&bytes[..]);
    out.extend_from_slice(index);
    Ok(out.freeze())
}

/// Reads a block of cells.
async fn read_cells(slice: &Slice, cells: Range<u64>) -> Result<Bytes> {
    let mut parts = Vec::new();
    for query in slice.queries(cells) {
        parts.push(slice.array().read(&query).await?.into_columns());
    }
    Ok(Bytes::from(slice.encoder()?.run(parts)?))
}

fn cut(bytes: &Bytes, range: Range<u64>) -> Result<Bytes> {
    let at = |v: u64| usize::try_from(v).ok().filter(|v| *v <= bytes.len());
    match (at(range.start), at(range.end)) {
        (Some(a), Some(b)) if a <= b => Ok(bytes.slice(a..b)),
        _ => Err(Error::invalid(format!(
            "bytes {}..{} are outside a file of {} bytes",
            range.start,
            range.end,
            bytes.len()
        ))),
    }
}

/// The error for a fragment that changed, although fragments are immutable.
fn changed(slice: &Slice) -> Error {
    Error::io(
        slice.array().path(),
        "the array's files changed during the read; look up the file again",
    )
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::array::{CreateOptions, OpenOptions};
    use crate::blocking::block_on;
    use crate::column::Column;
    use crate::context::Context;
    use crate::cpu::Cpu;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
    use crate::view::View;
    use crate::write::{Cells, WriteOptions};

    #[test]
    fn reads_wait_for_memory() {
        let context = Context::memory().with_cpu(Cpu::Inline).with_cache_bytes(0);
        let attribute = Attribute::new("a", Datatype::Int32, CellCount::ONE);
        let dimension = Dimension::new("i", Datatype::Int32, 0_i32, 9_i32, 10_i32);
        let schema = Schema::new(ArrayType::Dense, vec![dimension], vec![attribute]);
        let (timestamp_ms, seed, key) = (1, [1; 32], None);
        let created = CreateOptions {
            timestamp_ms,
            seed,
            key,
        };
        block_on(Array::create(&context, "line", &schema, &[], &created)).unwrap();
        let array = block_on(Array::open(&context, "line", &OpenOptions::default())).unwrap();
        let cells = Cells {
            region: None,
            layout: Layout::RowMajor,
            columns: vec![("a".to_owned(), Column::from_values(Datatype::Int32, &[7_i32; 10]))],
        };
        let sync = false;
        block_on(array.write(
            cells,
            &WriteOptions {
                timestamp_ms,
                seed,
                sync,
            },
        ))
        .unwrap();
        let array = block_on(Array::open(&context, "line", &OpenOptions::default())).unwrap();
        let view = View::of_array(&array, "line".to_owned());
        let contents = Contents::new(Arc::clone(&context.cache), 1 << 20);
        for name in ["a@all.csv", "a@all.png", "a@all.arrow"] {
            if cfg!(not(feature = "arrow")) && name.ends_with("arrow") {
                continue;
            }
            let node = block_on(view.lookup(&format!("slices/{name}"))).unwrap().unwrap();
            let all = contents.memory.take(1 << 20).now_or_never().unwrap();
            assert!(
                contents.read(&node, 0..u64::MAX).now_or_never().is_none(),
                "{name} takes no memory"
            );
            drop(all);
            assert!(contents.read(&node, 0..u64::MAX).now_or_never().is_some(), "{name}");
        }
    }
}
