//! The chunks of an array, and boxes of cells from them.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::vfs::join;
use hyperslab::{Column, Datatype};

use super::codec::{self, CHUNK_BYTES_MAX, Chunk};
use super::meta::{Meta, Shards};
use super::store::Store;
use super::types::Kind;

/// The bytes of an entry of a shard's index: an offset and a length.
const ENTRY_BYTES: u64 = 16;
/// What the codecs of a shard's index may add to it.
const INDEX_EXTRA: u64 = 64;
/// The entry of a chunk that is missing.
const MISSING: u64 = u64::MAX;
/// The most shards whose index is kept.
const SHARDS_MAX: usize = 64;

/// An array to read.
pub(super) struct Reader {
    store: Store,
    path: String,
    pub(super) meta: Meta,
    /// Chunks that were decoded last, by position.
    cache: HashMap<Vec<u64>, Option<Arc<Chunk>>>,
    /// The positions of the cached chunks, oldest first.
    order: VecDeque<Vec<u64>>,
    /// Bytes of the cached chunks.
    held: usize,
    /// The indexes of shards, by file.
    shards: HashMap<String, Option<Arc<Vec<[u64; 2]>>>>,
    memory_bytes: usize,
}

impl Reader {
    pub(super) fn new(store: Store, path: String, meta: Meta, memory_bytes: u64) -> Self {
        Self {
            store,
            path,
            meta,
            cache: HashMap::new(),
            order: VecDeque::new(),
            held: 0,
            shards: HashMap::new(),
            memory_bytes: usize::try_from(memory_bytes).unwrap_or(usize::MAX),
        }
    }

    /// The cells of a box, in row-major order.
    pub(super) fn read(&mut self, ranges: &[Range<u64>]) -> Result<Column> {
        let lengths: Vec<usize> = ranges
            .iter()
            .map(|r| usize::try_from(r.end.saturating_sub(r.start)))
            .collect::<Result<_, _>>()?;
        let cells = lengths
            .iter()
            .try_fold(1_usize, |n, l| n.checked_mul(*l))
            .context("the box is too large")?;
        let width = self.meta.of.bytes;
        let is_any = matches!(self.meta.of.kind, Kind::LongText | Kind::LongBlob);
        let bytes = cells.checked_mul(width).context("the box is too large")?;
        let mut out = match is_any {
            true => Chunk::Any(vec![self.meta.fill.clone(); cells]),
            false if self.meta.fill.iter().all(|b| *b == 0) => Chunk::Fixed(vec![0; bytes]),
            false => Chunk::Fixed(self.meta.fill.repeat(cells)),
        };
        let grid = ranges
            .iter()
            .zip(&self.meta.chunk)
            .map(|(range, chunk)| match range.is_empty() {
                true => 0..0,
                false => range.start / chunk..(range.end - 1) / chunk + 1,
            });
        let grid: Vec<Range<u64>> = grid.collect();
        let mut position: Vec<u64> = grid.iter().map(|g| g.start).collect();
        if cells == 0 {
            return Ok(self.column(out));
        }
        loop {
            let chunk = self.chunk(&position);
            let chunk = chunk.with_context(|| format!("cannot read the chunk at {position:?}"))?;
            if let Some(chunk) = chunk {
                copy(&chunk, &mut out, &self.meta.chunk, &position, ranges, width)?;
            }
            if !advance(&mut position, &grid) {
                return Ok(self.column(out));
            }
        }
    }

    fn column(&self, cells: Chunk) -> Column {
        match cells {
            Chunk::Fixed(bytes) => self.meta.of.column(bytes),
            Chunk::Any(cells) if self.meta.of.kind == Kind::LongText => {
                Column::from_cells(Datatype::StringUtf8, cells.iter().map(|c| crate::text::decode(c)))
            }
            Chunk::Any(cells) => Column::from_cells(Datatype::Blob, cells),
        }
    }

    /// A decoded chunk; `None` if it holds fill values only.
    fn chunk(&mut self, position: &[u64]) -> Result<Option<Arc<Chunk>>> {
        if let Some(chunk) = self.cache.get(position) {
            return Ok(chunk.clone());
        }
        let shape: Vec<usize> = self
            .meta
            .chunk
            .iter()
            .map(|n| usize::try_from(*n))
            .collect::<Result<_, _>>()?;
        let chunk = match self.stored(position)? {
            Some(data) => Some(Arc::new(self.meta.pipeline.decode(data, &shape, self.meta.of)?)),
            None => None,
        };
        let size = |chunk: &Option<Arc<Chunk>>| chunk.as_ref().map_or(0, |c| c.bytes()) + 64;
        self.held += size(&chunk);
        self.cache.insert(position.to_vec(), chunk.clone());
        self.order.push_back(position.to_vec());
        while self.held > self.memory_bytes && self.order.len() > 1 {
            let oldest = self.order.pop_front().and_then(|at| self.cache.remove(&at));
            self.held -= oldest.map_or(0, |chunk| size(&chunk));
        }
        Ok(chunk)
    }

    /// The bytes of a chunk as they are stored.
    fn stored(&mut self, position: &[u64]) -> Result<Option<Vec<u8>>> {
        // Encoded chunks may be longer than decoded ones, but not by much.
        let any_length = matches!(self.meta.of.kind, Kind::LongText | Kind::LongBlob);
        let cells = self.meta.chunk.iter().fold(1, |n: u64, side| n.saturating_mul(*side));
        let decoded = cells.saturating_mul(self.meta.of.bytes as u64).saturating_add(1 << 16);
        let most = if any_length {
            u64::MAX
        } else {
            decoded.saturating_mul(2)
        };
        let limit = most.min(2 * CHUNK_BYTES_MAX as u64);
        let Some(shards) = self.meta.shards.clone() else {
            let file = join(&self.path, &self.meta.keys.name(position));
            return self.store.read(&file, limit);
        };
        let shard: Vec<u64> = position
            .iter()
            .zip(&shards.counts)
            .map(|(n, count)| n / count)
            .collect();
        let file = join(&self.path, &self.meta.keys.name(&shard));
        let Some(index) = self.index(&file, &shards)? else {
            return Ok(None);
        };
        let within = position.iter().zip(&shards.counts);
        let number = within.fold(0, |n, (at, count)| n * count + at % count);
        let entry = usize::try_from(number).ok().and_then(|n| index.get(n));
        let [start, bytes] = *entry.context("the index of a shard is cut short")?;
        if start == MISSING && bytes == MISSING {
            return Ok(None);
        }
        ensure!(
            bytes <= limit,
            "a chunk in a shard has {bytes} bytes, more than the {limit} that it can have; the shard's index is damaged"
        );
        let data = self.store.range(&file, start, bytes)?;
        data.map(Some).with_context(|| format!("{file} is gone"))
    }

    /// The index of a shard; `None` if there is no such shard.
    fn index(&mut self, file: &str, shards: &Shards) -> Result<Option<Arc<Vec<[u64; 2]>>>> {
        if let Some(index) = self.shards.get(file) {
            return Ok(index.clone());
        }
        let plain = shards.counts.iter().product::<u64>() * ENTRY_BYTES;
        let sums = shards.index.iter().filter(|s| **s == codec::Step::Crc32c).count() as u64;
        ensure!(
            sums == shards.index.len() as u64,
            "the index of the shards is compressed, so that its length is unknown"
        );
        let stored = plain + sums * 4;
        ensure!(
            sums * 4 <= INDEX_EXTRA,
            "the index of the shards has too many checksums"
        );
        let data = match shards.index_at_start {
            true => self.store.range(file, 0, stored)?,
            false => self.store.tail(file, stored)?.map(|(_, bytes)| bytes),
        };
        let index = match data {
            Some(data) => Some(Arc::new(entries(&codec::decoded(
                &shards.index,
                data,
                usize::try_from(plain)?,
            )?))),
            None => None,
        };
        if self.shards.len() >= SHARDS_MAX {
            self.shards.clear();
        }
        self.shards.insert(file.to_owned(), index.clone());
        Ok(index)
    }
}

fn entries(index: &[u8]) -> Vec<[u64; 2]> {
    let pairs = index.as_chunks::<16>().0.iter();
    let number = |half: Option<&[u8; 8]>| half.map_or(MISSING, |b| u64::from_le_bytes(*b));
    pairs
        .map(|pair| [number(pair.first_chunk()), number(pair.last_chunk())])
        .collect()
}

/// Goes to the next position in row-major order. Returns whether there is one.
fn advance(position: &mut [u64], within: &[Range<u64>]) -> bool {
    for (at, range) in position.iter_mut().zip(within).rev() {
        *at += 1;
        if *at < range.end {
            return true;
        }
        *at = range.start;
    }
    false
}

/// Copies the cells of a chunk that are in a box.
fn copy(
    chunk: &Chunk,
    out: &mut Chunk,
    lengths: &[u64],
    position: &[u64],
    ranges: &[Range<u64>],
    width: usize,
) -> Result<()> {
    let overlap = ranges.iter().zip(lengths).zip(position).map(|((range, length), at)| {
        let start = at * length;
        range.start.max(start)..range.end.min(start + length)
    });
    let overlap: Vec<Range<u64>> = overlap.collect();
    let run = overlap.last().map_or(1, |r| r.end - r.start);
    let run = usize::try_from(run)?;
    let rows = overlap.split_last().map_or(&[][..], |(_, rows)| rows);
    let mut at: Vec<u64> = overlap.iter().map(|r| r.start).collect();
    loop {
        let from = at.iter().zip(lengths).zip(position);
        let from = from.fold(0, |n, ((at, length), p)| n * length + (at - p * length));
        let to = at
            .iter()
            .zip(ranges)
            .fold(0, |n, (at, r)| n * (r.end - r.start) + (at - r.start));
        let (from, to) = (usize::try_from(from)?, usize::try_from(to)?);
        let short = "a chunk is too short";
        match (chunk, &mut *out) {
            (Chunk::Fixed(chunk), Chunk::Fixed(out)) => {
                let source = chunk.get(from * width..(from + run) * width).context(short)?;
                let target = out.get_mut(to * width..(to + run) * width).context(short)?;
                target.copy_from_slice(source);
            }
            (Chunk::Any(chunk), Chunk::Any(out)) => {
                let source = chunk.get(from..from + run).context(short)?;
                let target = out.get_mut(to..to + run).context(short)?;
                target.clone_from_slice(source);
            }
            _ => bail!("a chunk has other cells than its array"),
        }
        let Some(front) = at.get_mut(..rows.len()) else {
            return Ok(());
        };
        if !advance(front, rows) {
            return Ok(());
        }
    }
}
