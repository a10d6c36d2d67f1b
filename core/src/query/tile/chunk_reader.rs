//! Copies ranges of cells from tiles of fixed-size cells. Only chunks with wanted cells are decoded, in parallel. A
//! chunk of which every cell is wanted is decoded directly into the output.

use std::cell::Cell;
use std::sync::Arc;

use super::fetched::not_fetched;
use super::vectored_read::read_unfiltered;
use super::{Decoding, Extent, HAS_FILES, Input, LocatedTile, stream_tile};
use crate::cache::{CacheKey, Reuse};
use crate::column::Column;
use crate::datatype::{CellCount, Datatype};
use crate::error::{AtPath, Error, Malformed, Result};
use crate::filter::{ChunkDecoder, TileFormat};
use crate::format::pipeline::Pipeline;
use crate::format::tile::{ChunkPlace, locate, unfiltered};
use crate::vfs::ReadAt;

/// A tile is read whole if the wanted cells span at least one byte in this many.
const FEW: u64 = 4;
/// Chunks that claim to be larger are left to the decoder of whole tiles, which does not trust stored sizes.
const CHUNK_BYTES_MAX: u32 = 16 << 20;
/// The largest buffer that a thread keeps.
const KEPT_BYTES_MAX: usize = 4 << 20;

thread_local! {
    static FRAMED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    pub(super) static CHUNK: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A part of a tile of fixed-size cells that has its own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Buffer {
    Values,
    Validity,
}

/// Wanted bytes of a buffer and their destination.
#[derive(Debug)]
pub(crate) struct OutputPiece<'a> {
    pub(crate) at: u64,
    pub(crate) out: &'a mut [u8],
}

/// A buffer of a tile, with its location and filters.
pub(super) struct Stored<'a> {
    pub(super) extent: &'a Extent,
    pipeline: &'a Pipeline,
    format: TileFormat<'a>,
    /// Size of all cells in bytes, unfiltered.
    pub(super) plain: u64,
    cell_bytes: usize,
}

/// Copies these pieces of a buffer, which must not overlap. `remember` caches decoded chunks because the same pieces may
/// be needed again soon.
///
/// # Errors
/// The tile is damaged or cannot be read.
pub(crate) fn copy_pieces(
    input: &Input,
    buffer: Buffer,
    pieces: &mut [OutputPiece<'_>],
    d: &Decoding,
    remember: bool,
) -> Result<()> {
    if !pieces.is_sorted_by_key(|p| p.at) {
        pieces.sort_unstable_by_key(|p| p.at);
    }
    let copied = match input {
        Input::Decoded(column) => return copy_decoded(column, buffer, pieces),
        Input::Stored(tile) if is_kept(tile, buffer, pieces, d) => {
            return copy_decoded(&*input.decode(d, Reuse::Likely)?, buffer, pieces);
        }
        Input::Stored(tile) => copy_stored(tile, buffer, pieces, d, remember),
    };
    match copied {
        // The filters of another schema may fit. If none do, decoding the whole tile reports why.
        Err(Error::Corrupt { .. }) => copy_decoded(&*input.decode(d, Reuse::Likely)?, buffer, pieces),
        copied => copied,
    }
}

/// Whether to decode and cache a whole tile: if the cache keeps tiles, and this one has filters, fits in the cache, and at
/// least a quarter of it is wanted.
fn is_kept(tile: &LocatedTile, buffer: Buffer, pieces: &[OutputPiece<'_>], d: &Decoding) -> bool {
    if !d.cache.keeps_tiles() {
        return false;
    }
    let Ok(stored) = Stored::new(tile, buffer, d) else {
        return false;
    };
    let wanted: u64 = pieces.iter().map(|p| p.out.len() as u64).sum();
    let has_filters = ChunkDecoder::new(stored.pipeline, &stored.format).is_ok_and(|d| !d.is_plain());
    has_filters && wanted.saturating_mul(FEW) >= stored.plain && d.cache.takes(tile.tile.decoded_bytes())
}

/// Copies the pieces from the decoded tile.
fn copy_decoded(column: &Column, buffer: Buffer, pieces: &mut [OutputPiece<'_>]) -> Result<()> {
    let data = match (buffer, &column.validity) {
        (Buffer::Values, _) => &column.data,
        (Buffer::Validity, Some(validity)) => validity,
        (Buffer::Validity, None) => {
            pieces.iter_mut().for_each(|p| p.out.fill(1));
            return Ok(());
        }
    };
    for p in pieces {
        let found = usize::try_from(p.at)
            .ok()
            .and_then(|at| data.get(at..)?.get(..p.out.len()));
        let found = found.ok_or_else(|| Error::invalid("the tile does not have these cells"))?;
        p.out.copy_from_slice(found);
    }
    Ok(())
}

impl<'a> Stored<'a> {
    fn new(located: &'a LocatedTile, buffer: Buffer, d: &'a Decoding) -> Result<Self> {
        let (tile, extents) = (&located.tile, &located.extents);
        let field = &*tile.field;
        let own = &*field.fragment.schema;
        let format = tile.field.format(d.key.as_ref());
        let (extent, pipeline, format) = match buffer {
            Buffer::Values => (extents.first(), field.pipeline(own, own), format),
            Buffer::Validity => {
                let format = TileFormat {
                    datatype: Datatype::Uint8,
                    cell: CellCount::ONE,
                    ..format
                };
                (extents.get(1), Some(&own.validity_filters), format)
            }
        };
        let cell_bytes = format.cell.cell_bytes(format.datatype);
        match (extent, pipeline, cell_bytes) {
            (Some(extent), Some(pipeline), Some(cell_bytes)) => Ok(Self {
                plain: tile.expected(cell_bytes, &extent.path)?,
                extent,
                pipeline,
                format,
                cell_bytes,
            }),
            _ => Err(Error::invalid("the field has no filter pipeline")),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.extent.range.end - self.extent.range.start
    }

    pub(super) fn path(&self) -> &str {
        &self.extent.path
    }

    fn cache_key(&self, at: u64, kind: &'static str) -> CacheKey {
        CacheKey {
            path: Arc::clone(&self.extent.path),
            part: self.extent.range.start + at,
            kind,
        }
    }
}

/// Copies the pieces from the chunks that hold them.
fn copy_stored(
    tile: &LocatedTile,
    buffer: Buffer,
    pieces: &mut [OutputPiece<'_>],
    d: &Decoding,
    remember: bool,
) -> Result<()> {
    let stored = Stored::new(tile, buffer, d)?;
    let (path, range) = (stored.path(), &stored.extent.range);
    let (file, start) = (&*d.files.open(stored.extent)?, range.start);
    let decoder = ChunkDecoder::new(stored.pipeline, &stored.format).at(path)?;
    let wanted: u64 = pieces.iter().map(|p| p.out.len() as u64).sum();
    let held = file.held(range.clone());
    if held.is_some() && wanted < stored.plain && buffer == Buffer::Values {
        // The fetch was slow, and neighbouring cells may be needed next.
        tile.cache_stored(d);
    }
    if decoder.is_plain()
        && let Some(layout) = unfiltered(stored.bytes(), stored.plain, stored.cell_bytes)
    {
        let mut found = [0; 20];
        if stored.plain > 0 {
            file.read_at(&mut found, start)?;
        }
        if found[..] == layout.start()[..] {
            return read_unfiltered(file, start, layout, pieces, d.cpu);
        }
    }
    let span = match pieces {
        [] => return Ok(()),
        [first, .., last] => last.at.saturating_add(last.out.len() as u64).saturating_sub(first.at),
        [one] => one.out.len() as u64,
    };
    if HAS_FILES && held.is_none() && !remember && span.saturating_mul(FEW) >= stored.plain {
        let mut block = FRAMED.take();
        let done = stream_tile::read(&stored, file, &decoder, pieces, d, &mut block);
        FRAMED.set(kept(block));
        return done;
    }
    let places = cached_places(&stored, file, held.is_some(), d)?;
    d.cpu
        .try_map_owned(jobs(&places, pieces).at(path)?, |job: ChunkJob<'_>| {
            let (at, end) = (job.place.start, job.place.end());
            job.run(&stored, &decoder, d, remember, |decode| {
                if let Some(bytes) = &held {
                    return decode(bytes.get(at as usize..end as usize).unwrap_or(&[]));
                }
                if !HAS_FILES {
                    return Err(not_fetched(path, range));
                }
                let mut packed = sized(FRAMED.take(), end - at)?;
                let done = file.read_at(&mut packed, start + at).and_then(|()| decode(&packed));
                FRAMED.set(kept(packed));
                done
            })
        })?;
    Ok(())
}

/// Locates the chunks of a tile. Unless the tile is in memory, the places are cached.
fn cached_places(
    stored: &Stored<'_>,
    file: &dyn ReadAt,
    in_memory: bool,
    d: &Decoding,
) -> Result<Arc<Vec<ChunkPlace>>> {
    let key = stored.cache_key(0, "chunks");
    let in_memory = in_memory || !HAS_FILES;
    if !in_memory && let Some(places) = d.cache.get::<Vec<ChunkPlace>>(&key) {
        return Ok(places);
    }
    let start = stored.extent.range.start;
    let read = |at, out: &mut [u8]| file.read_at(out, start + at).map_err(Failure::Store);
    let places = Arc::new(places(stored, read).or_else(|e| e.at(stored.path()))?);
    if !in_memory {
        let bytes = places.len() as u64 * size_of::<ChunkPlace>() as u64;
        d.cache.insert(key, Arc::clone(&places), bytes, Reuse::Likely);
    }
    Ok(places)
}

/// Why the chunks of a tile were not found.
pub(super) enum Failure {
    Store(Error),
    Malformed(Malformed),
}

impl From<Malformed> for Failure {
    fn from(e: Malformed) -> Self {
        Self::Malformed(e)
    }
}

impl Failure {
    fn at<T>(self, path: &str) -> Result<T> {
        match self {
            Self::Store(e) => Err(e),
            Self::Malformed(e) => Err(e).at(path),
        }
    }
}

/// Locates the chunks of a tile, which together must hold its cells.
fn places<E: From<Malformed>>(
    stored: &Stored<'_>,
    read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
) -> Result<Vec<ChunkPlace>, E> {
    let places = locate(stored.bytes(), read)?;
    places.iter().try_for_each(believable)?;
    let total: u64 = places.iter().map(|p| u64::from(p.plain_bytes)).sum();
    if total != stored.plain {
        return Err(wrong_total(total, stored.plain).into());
    }
    Ok(places)
}

pub(super) fn believable(place: &ChunkPlace) -> Result<(), Malformed> {
    match place.plain_bytes {
        0..=CHUNK_BYTES_MAX => Ok(()),
        _ => Err(Malformed::new("tile", 0, "a chunk is too large")),
    }
}

pub(super) fn wrong_total(total: u64, cells: u64) -> Malformed {
    let why = format!("its chunks hold {total} bytes, but its cells take {cells}");
    Malformed::new("tile", 0, why)
}

/// A chunk and its wanted parts, each with its offset in the chunk and its destination.
pub(super) struct ChunkJob<'a> {
    pub(super) place: ChunkPlace,
    parts: Vec<(usize, &'a mut [u8])>,
}

/// The chunks that hold these sorted pieces. A chunk may occur more than once.
///
/// # Errors
/// A piece is not completely within the chunks.
pub(super) fn jobs<'a>(
    places: &[ChunkPlace],
    pieces: &'a mut [OutputPiece<'_>],
) -> Result<Vec<ChunkJob<'a>>, Malformed> {
    let missing = |at: u64| Malformed::new("tile", at, "no chunk contains this byte of the cells");
    let mut out: Vec<ChunkJob<'a>> = Vec::new();
    let starts: Vec<u64> = places
        .iter()
        .scan(0, |at, p| Some(std::mem::replace(at, *at + u64::from(p.plain_bytes))))
        .collect();
    let (mut current, mut number) = (usize::MAX, 0);
    for piece in pieces {
        let (mut at, mut rest) = (piece.at, &mut *piece.out);
        while !rest.is_empty() {
            if starts.get(number).is_some_and(|s| *s > at) {
                number = starts.partition_point(|s| *s <= at).saturating_sub(1);
            }
            while starts.get(number + 1).is_some_and(|next| *next <= at) {
                number += 1;
            }
            let (Some(&place), Some(&start)) = (places.get(number), starts.get(number)) else {
                return Err(missing(at));
            };
            let left = (start + u64::from(place.plain_bytes)).saturating_sub(at);
            let n = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if n == 0 {
                return Err(missing(at));
            }
            let (part, later) = rest.split_at_mut(n);
            if std::mem::replace(&mut current, number) != number {
                out.push(ChunkJob {
                    place,
                    parts: Vec::new(),
                });
            }
            if let Some(job) = out.last_mut() {
                job.parts.push(((at - start) as usize, part));
            }
            at += n as u64;
            rest = later;
        }
    }
    Ok(out)
}

impl ChunkJob<'_> {
    /// Decodes and copies. `load` provides the bytes of the chunk. `remember` caches the decoded chunk.
    pub(super) fn run(
        mut self,
        stored: &Stored<'_>,
        decoder: &ChunkDecoder<'_>,
        d: &Decoding,
        remember: bool,
        load: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let path = stored.path();
        if !remember {
            return load(&mut |bytes| self.decode(decoder, bytes).at(path));
        }
        let key = stored.cache_key(self.place.start, "chunk");
        if let Some(chunk) = d.cache.get::<Vec<u8>>(&key) {
            self.copy(&chunk);
            return Ok(());
        }
        load(&mut |bytes| {
            let mut chunk = vec![0; self.place.plain_bytes as usize];
            let raw = self.place.of(bytes).at(path)?;
            decoder.decode(&raw, &mut chunk).at(path)?;
            self.copy(&chunk);
            let bytes = chunk.len() as u64;
            d.cache.insert(key.clone(), Arc::new(chunk), bytes, Reuse::Likely);
            Ok(())
        })
    }

    fn decode(&mut self, decoder: &ChunkDecoder<'_>, bytes: &[u8]) -> Result<(), Malformed> {
        let raw = self.place.of(bytes)?;
        if let [(0, out)] = &mut self.parts[..]
            && out.len() as u64 == u64::from(self.place.plain_bytes)
        {
            return decoder.decode(&raw, out);
        }
        let mut chunk = CHUNK.take();
        chunk.resize(self.place.plain_bytes as usize, 0);
        let done = decoder.decode(&raw, &mut chunk);
        if done.is_ok() {
            self.copy(&chunk);
        }
        CHUNK.set(kept(chunk));
        done
    }

    fn copy(&mut self, chunk: &[u8]) {
        for (at, out) in &mut self.parts {
            if let Some(found) = chunk.get(*at..).and_then(|rest| rest.get(..out.len())) {
                out.copy_from_slice(found);
            }
        }
    }
}

/// Resizes a thread's buffer to `bytes`. Buffers are taken rather than borrowed, because a thread that waits for others
/// may start another tile.
pub(super) fn sized(mut buffer: Vec<u8>, bytes: u64) -> Result<Vec<u8>> {
    let bytes = super::limited(bytes, "a file")? as usize;
    if buffer.capacity() < bytes {
        buffer = vec![0; bytes];
    }
    buffer.resize(bytes, 0);
    Ok(buffer)
}

/// Returns the buffer if it is small enough for a thread to keep.
pub(super) fn kept(buffer: Vec<u8>) -> Vec<u8> {
    if buffer.capacity() <= KEPT_BYTES_MAX {
        buffer
    } else {
        Vec::new()
    }
}
