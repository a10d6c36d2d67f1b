//! Lower bounds: the time that no engine can beat with the same number of threads.

pub(super) mod files;
mod memory;

use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use hyperslab::internals::filter::{Nonces, TileFormat, encode_tile};
use hyperslab::schema::{Filter, Pipeline};
use hyperslab::{CellCount, Datatype};
use rayon::prelude::*;
use serde_json::Value;

use super::Job;
use super::bare::Bare;
use super::data::{self, Box4, DenseQueries, DenseSet};
use super::measure::{Metric, Unit, measure};
use super::schema;

const CELL_BYTES: i64 = 4;
/// Bytes that a thread copies at a time.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes of a chunk with cells of this size.
const CHUNK_BYTES: usize = 64 << 10;

/// The lower bound for reading a set of boxes. For compressed arrays only if the boxes are (nearly) whole tiles,
/// because for others an engine may skip chunks.
pub(super) fn read(job: &Job, codec: &str, name: &str, set: &DenseSet) -> Result<()> {
    let q = DenseQueries::load(&job.data)?;
    let per = set.boxes.len();
    match schema::filters(codec)?.split_last() {
        None => {
            memory::copy(job, per, &q, set)?;
            files::copy(job, per, &q, set)
        }
        Some((last, before)) if ["tile", "par", "full"].contains(&name) => {
            let packed = Packed::of(job, &Coding { last, before }, &q, &set.boxes)?;
            memory::decode(job, per, &packed)?;
            files::decode(job, per, &packed)
        }
        Some(_) => Ok(()),
    }
}

/// The lower bound for loading the matrix.
pub(super) fn load(job: &Job, codec: &str) -> Result<()> {
    let matrix = data::matrix(&job.data)?;
    let filters = schema::filters(codec)?;
    let Some((last, before)) = filters.split_last() else {
        return files::write(job, &matrix);
    };
    let q = DenseQueries::load(&job.data)?;
    let coding = Coding { last, before };
    let size = tile_bytes(&q)?;
    let tiles = data::tiled(&matrix, q.shape, q.tile);
    drop(matrix);
    let each = tiles.par_chunks(size).map(|tile| coding.framed(tile));
    let framed: Vec<Vec<u8>> = each.collect::<Result<_>>()?;
    drop(tiles);
    memory::encode(job, &coding, &framed)?;
    files::encode(job, &coding, &framed)
}

fn metric(peer: &'static str, name: &'static str, unit: Unit, per: usize) -> Metric {
    Metric {
        peer,
        ..Metric::new(name, unit, per, Value::Null)
    }
}

/// Times work that needs no preparation.
fn time(job: &Job, metric: &Metric, mut run: impl FnMut() -> Result<()>) -> Result<()> {
    measure(job, metric, None, || Ok(()), |()| run())
}

fn tile_bytes(q: &DenseQueries) -> Result<usize> {
    Ok(usize::try_from(q.tile[0] * q.tile[1] * CELL_BYTES)?)
}

/// A pipeline: the compressor, and the filters before it.
struct Coding<'a> {
    last: &'a Filter,
    before: &'a [Filter],
}

impl Coding<'_> {
    /// The tile's chunks as the compressor receives them, framed.
    fn framed(&self, tile: &[u8]) -> Result<Vec<u8>> {
        let format = TileFormat::new(Datatype::Int32, CellCount::ONE);
        let before = Pipeline::new(self.before.to_vec());
        Ok(encode_tile(tile, &before, &format, &Nonces::none())?)
    }

    fn bare(&self, job: &Job) -> Result<Libraries> {
        Libraries::of(job, self.last)
    }
}

/// One instance of a compression library per thread.
struct Libraries(Vec<Mutex<Bare>>);

impl Libraries {
    fn of(job: &Job, filter: &Filter) -> Result<Self> {
        let each = (0..job.threads).map(|_| Ok(Mutex::new(Bare::of(filter)?)));
        Ok(Self(each.collect::<Result<_>>()?))
    }

    /// Calls `f` with the instance of this thread.
    fn mine<T>(&self, f: impl FnOnce(&mut Bare) -> Result<T>) -> Result<T> {
        let mine = self
            .0
            .get(rayon::current_thread_index().unwrap_or(0))
            .context("no such thread")?;
        f(&mut mine.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A chunk: its unfiltered bytes, and the range of its compressed bytes.
#[derive(Clone, Copy)]
struct Chunk {
    bytes: usize,
    start: usize,
    packed: usize,
}

/// The compressed chunks, concatenated, of all tiles that the boxes meet.
struct Packed {
    bytes: Vec<u8>,
    /// The chunks that each box needs.
    boxes: Vec<Vec<Chunk>>,
    libraries: Libraries,
}

impl Packed {
    fn of(job: &Job, coding: &Coding<'_>, q: &DenseQueries, boxes: &[Box4]) -> Result<Self> {
        let libraries = coding.bare(job)?;
        let tiles = data::tiled(&data::matrix(&job.data)?, q.shape, q.tile);
        let across = q.shape[1] / q.tile[1];
        let of_box = |b: &Box4| -> Vec<i64> {
            let rows = b[0] / q.tile[0]..=b[1] / q.tile[0];
            rows.flat_map(|r| (b[2] / q.tile[1]..=b[3] / q.tile[1]).map(move |c| r * across + c))
                .collect()
        };
        let mut wanted: Vec<i64> = boxes.iter().flat_map(of_box).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let size = tile_bytes(q)?;
        let pack = |&t: &i64| -> Result<Vec<(usize, Vec<u8>)>> {
            let start = usize::try_from(t)? * size;
            let framed = coding.framed(tiles.get(start..start + size).context("no such tile")?)?;
            let encode = |c: &&[u8]| Ok((c.len(), libraries.mine(|b| b.encode(c))?));
            chunks(&framed)?.iter().map(encode).collect()
        };
        let packed: Vec<Vec<(usize, Vec<u8>)>> = wanted.par_iter().map(pack).collect::<Result<_>>()?;
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        for tile in &packed {
            let mut of_tile = Vec::new();
            for (len, chunk) in tile {
                of_tile.push(Chunk {
                    bytes: *len,
                    start: bytes.len(),
                    packed: chunk.len(),
                });
                bytes.extend_from_slice(chunk);
            }
            places.push(of_tile);
        }
        let place = |t: &i64| wanted.binary_search(t).ok().and_then(|i| places.get(i));
        let list = |b: &Box4| of_box(b).iter().filter_map(place).flatten().copied().collect();
        Ok(Self {
            boxes: boxes.iter().map(list).collect(),
            bytes,
            libraries,
        })
    }

    /// Enough memory for the chunks of any box.
    fn room(&self) -> Vec<u8> {
        vec![0; self.boxes.iter().map(Vec::len).max().unwrap_or(0) * CHUNK_BYTES]
    }
}

/// The bytes of each chunk of a framed tile.
fn chunks(framed: &[u8]) -> Result<Vec<&[u8]>> {
    Ok(framed_chunks(framed)?.into_iter().map(|c| c.1).collect())
}

/// The unfiltered and filtered size of each chunk of a framed tile.
fn framed_chunks(framed: &[u8]) -> Result<Vec<(usize, &[u8])>> {
    let (count, mut rest) = framed.split_first_chunk::<8>().context("no chunks")?;
    let mut out = Vec::new();
    for _ in 0..u64::from_le_bytes(*count) {
        let (head, behind) = rest.split_first_chunk::<12>().context("no head")?;
        let number = |i: usize| head[i..i + 4].iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
        let (plain, bytes, metadata) = (number(0), number(4), number(8));
        ensure!(behind.len() >= bytes + metadata, "a chunk ends early");
        out.push((plain, &behind[metadata..metadata + bytes]));
        rest = &behind[metadata + bytes..];
    }
    Ok(out)
}
