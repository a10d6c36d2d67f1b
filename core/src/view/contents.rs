//! Reads the contents of files.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::chunk::ZarrChunk;
use super::node::{Content, Node, NodeKind};
use super::part_cache::PartCache;
use super::readers::Readers;
use super::shard::Shard;
use super::slice::{FixedLayout, MEASURED_BYTES_MAX, RENDERED_BYTES_MAX, Slice};
use crate::array::Array;
use crate::error::{AtPath, Error, Result};
use crate::query::Batch;
use crate::vfs::VfsExt;

/// Budget of the cache of file parts, in bytes.
const BLOCKS_BYTES: u64 = 128 << 20;

/// A reader that jumps gets only the cells of a read, if the read is this small. Larger ones are those of systems that read
/// ahead, in any order.
const SMALL_BYTES: u64 = 64 << 10;

/// Files larger than this are rendered one at a time.
const LARGE_BYTES: u64 = 32 << 20;

/// Reads files and caches parts of them.
#[derive(Debug)]
pub(super) struct Contents {
    blocks: PartCache,
    /// Where readers of files with blocks are.
    readers: Readers,
    /// Held while a large file is rendered, so that only one of them takes memory.
    large: futures_util::lock::Mutex<()>,
}

impl Default for Contents {
    fn default() -> Self {
        Self {
            blocks: PartCache::new(BLOCKS_BYTES),
            readers: Readers::default(),
            large: futures_util::lock::Mutex::default(),
        }
    }
}

impl Contents {
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
        match &node.content {
            Content::Fixed(slice, layout) => self.read_fixed(node.id, slice, layout, range).await,
            Content::Shard(chunk, shard) => read_shard(chunk.slice.array(), shard, range).await,
            _ => cut(&self.whole(node).await?.unwrap_or_default(), range),
        }
    }

    /// All bytes of a rendered file or text; `None` for other files.
    ///
    /// # Errors
    /// Same as [`Contents::read`].
    pub(super) async fn whole(&self, node: &Node) -> Result<Option<Bytes>> {
        let (bytes, slice) = match &node.content {
            Content::Dir | Content::Link(_) | Content::Fixed(..) | Content::Shard(..) => return Ok(None),
            Content::Text(text) => return Ok(Some(text.clone())),
            Content::ZarrChunk(chunk) => (self.piece((node.id, 0), || read_chunk(chunk)).await?, &chunk.slice),
            Content::Rendered(slice) => (self.rendered(node.id, slice).await?, &**slice),
        };
        if matches!(node.kind, NodeKind::File { size } if size == bytes.len() as u64) {
            Ok(Some(bytes))
        } else {
            Err(changed(slice))
        }
    }

    /// Renders the file of a slice as a whole.
    pub(super) async fn rendered(&self, id: u64, slice: &Slice) -> Result<Bytes> {
        self.piece((id, 0), || self.render(slice)).await
    }

    async fn render(&self, slice: &Slice) -> Result<Bytes> {
        let mut encoder = slice.encoder()?;
        let size = encoder.size();
        let limit = size.map_or(MEASURED_BYTES_MAX, |_| RENDERED_BYTES_MAX);
        let mut alone = None;
        let mut out = encoder.start();
        let mut batches = slice.array().batches(slice.query()?);
        while let Some(batch) = batches.next().await? {
            out.append(&mut encoder.cells(columns(batch))?);
            // Some encoders buffer all cells until the end.
            let found = encoder.kept_bytes().max(out.len() as u64);
            if found > limit {
                return Err(slice.too_large(found, limit));
            }
            if found > LARGE_BYTES {
                if alone.is_none() {
                    alone = Some(self.large.lock().await);
                    let all = usize::try_from(size.unwrap_or(0)).unwrap_or(0);
                    out.reserve_exact(all.saturating_sub(out.len()));
                }
                self.blocks.make_room(found);
            }
        }
        out.append(&mut encoder.finish()?);
        Ok(Bytes::from(out))
    }

    async fn read_fixed(&self, id: u64, slice: &Slice, layout: &FixedLayout, range: Range<u64>) -> Result<Bytes> {
        let header = layout.header.len() as u64;
        let mut out = BytesMut::new();
        let goes_on = self.readers.goes_on(id, &range);
        let jumps = !goes_on && range.end - range.start <= SMALL_BYTES;
        if range.start < header {
            out.extend_from_slice(&cut(
                &Bytes::from(layout.header.clone()),
                range.start..range.end.min(header),
            )?);
        }
        // From here on, offsets count from the end of the header.
        let (mut at, end) = (range.start.max(header) - header, range.end.max(header) - header);
        while at < end {
            let (place, bytes) = if at < layout.blocks_bytes {
                let index = layout.block_at(at);
                let stop = end.min(layout.bytes(index).end);
                if jumps
                    && !self.blocks.has((id, index + 1))
                    && let Some((cells, bytes)) = layout.cells_of(at..stop)
                {
                    out.extend_from_slice(&cut(&read_cells(slice, cells).await?, bytes)?);
                    at = stop;
                    continue;
                }
                let made = || read_cells(slice, layout.block(index));
                (layout.bytes(index), self.piece((id, index + 1), made).await?)
            } else {
                let made = || async { Ok(Bytes::from(slice.encoder()?.trailer(&mut layout.places()))) };
                let place = layout.blocks_bytes..layout.size - header;
                (place, self.piece((id, 0), made).await?)
            };
            if bytes.len() as u64 != place.end - place.start {
                return Err(changed(slice));
            }
            let stop = end.min(place.end);
            let part = cut(&bytes, at - place.start..stop - place.start)?;
            if out.is_empty() && stop == end {
                return Ok(part);
            }
            out.extend_from_slice(&part);
            at = stop;
        }
        Ok(out.freeze())
    }

    /// Returns a part of a file from the cache, or computes it while other readers of that part wait.
    async fn piece<F: Future<Output = Result<Bytes>>>(
        &self,
        key: (u64, u64),
        make: impl FnOnce() -> F,
    ) -> Result<Bytes> {
        let cell = self.blocks.cell(key);
        let mut place = cell.lock().await;
        if let Some(bytes) = &*place {
            return Ok(bytes.clone());
        }
        match make().await {
            Ok(bytes) => {
                *place = Some(bytes.clone());
                self.blocks.made(key, bytes.len() as u64);
                Ok(bytes)
            }
            Err(e) => {
                self.blocks.failed(key);
                Err(e)
            }
        }
    }
}

/// Builds a chunk of a Zarr array from its cells.
async fn read_chunk(chunk: &ZarrChunk) -> Result<Bytes> {
    if chunk.size() > RENDERED_BYTES_MAX {
        return Err(chunk.slice.too_large(chunk.size(), RENDERED_BYTES_MAX));
    }
    let batch = chunk.slice.array().read(&chunk.slice.query()?).await?;
    let column = batch.columns.into_iter().next().map(|(_, c)| c);
    let bytes = column.map_or_else(|| Ok(Vec::new()), |c| chunk.bytes(c));
    Ok(Bytes::from(bytes.at(chunk.slice.array().path())?))
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
        parts.push(columns(slice.array().read(&query).await?));
    }
    Ok(Bytes::from(slice.encoder()?.run(parts)?))
}

fn columns(batch: Batch) -> Vec<crate::column::Column> {
    batch.columns.into_iter().map(|(_, c)| c).collect()
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
