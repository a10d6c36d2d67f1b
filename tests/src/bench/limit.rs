//! What no engine can undercut on the dense matrix with as many threads. Of reads without a filter it is
//! the result's cells copied out of tiles that lie in memory, of compressed ones the library's decoding of the
//! same chunks, from memory to memory; of loads it is writing the bytes, or encoding the chunks.

use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use hyperslab::filter::{Nonces, TileFormat, encode_tile};
use hyperslab::format::pipeline::{Filter, Pipeline};
use hyperslab::{CellCount, Datatype};
use rayon::prelude::*;
use serde_json::Value;

use super::Job;
use super::bare::Bare;
use super::data::{self, Box4, DenseQueries, DenseSet};
use super::measure::{LIMIT, Metric, Unit, measure};
use super::schema;

const CELL_BYTES: i64 = 4;
/// Bytes that a thread copies at once.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes of a chunk of cells of this size.
const CHUNK_BYTES: usize = 64 << 10;

/// Beside the read of a set of boxes. Of compressed arrays only where these are whole tiles, or nearly: of others
/// an engine may leave chunks out.
pub(super) fn read(job: &Job, codec: &str, name: &str, set: &DenseSet) -> Result<()> {
    let metric = metric("read", Unit::Milliseconds, set.boxes.len());
    let q = DenseQueries::load(&job.data)?;
    match schema::filters(codec)?.split_last() {
        None => copy(job, &metric, &q, set),
        Some((last, before)) if ["tile", "par", "full"].contains(&name) => {
            decode(job, &metric, &Coding { last, before }, &q, &set.boxes)
        }
        Some(_) => Ok(()),
    }
}

/// Beside the load of the matrix.
pub(super) fn load(job: &Job, codec: &str) -> Result<()> {
    let metric = metric("load", Unit::Seconds, 1);
    let q = DenseQueries::load(&job.data)?;
    let Some((last, before)) = schema::filters(codec)?
        .split_last()
        .map(|(l, b)| (l.clone(), b.to_vec()))
    else {
        let matrix = data::matrix(&job.data)?;
        // Beside the array, which is read later.
        let file = job.array.with_extension("bytes");
        let write = |()| {
            std::fs::write(&file, &matrix)?;
            Ok(File::open(&file)?.sync_all()?)
        };
        measure(job, &metric, None, || Ok(()), write)?;
        return Ok(std::fs::remove_file(&file)?);
    };
    let coding = Coding {
        last: &last,
        before: &before,
    };
    let tiles = data::tiled(&data::matrix(&job.data)?, q.shape, q.tile);
    let framed: Vec<Vec<u8>> = tiles
        .par_chunks(tile_bytes(&q)?)
        .map(|tile| coding.framed(tile))
        .collect::<Result<_>>()?;
    let chunks: Vec<&[u8]> = framed.iter().map(|f| chunks(f)).collect::<Result<Vec<_>>>()?.concat();
    let bare = coding.bare(job)?;
    measure(
        job,
        &metric,
        None,
        || Ok(()),
        |()| {
            let encode = |chunk: &&[u8]| mine(&bare, |b| b.encode(chunk).map(|bytes| drop(black_box(bytes))));
            chunks.par_iter().try_for_each(encode)
        },
    )
}

fn metric(name: &'static str, unit: Unit, per: usize) -> Metric {
    Metric {
        peer: LIMIT,
        ..Metric::new(name, unit, per, Value::Null)
    }
}

fn tile_bytes(q: &DenseQueries) -> Result<usize> {
    Ok(usize::try_from(q.tile[0] * q.tile[1] * CELL_BYTES)?)
}

/// The cells of each box, copied out of the tiles that hold them: as from a mapped file, without a call of
/// the system.
fn copy(job: &Job, metric: &Metric, q: &DenseQueries, set: &DenseSet) -> Result<()> {
    let tiles = data::tiled(&data::matrix(&job.data)?, q.shape, q.tile);
    let [rows, columns] = q.tile;
    let across = q.shape[1] / columns;
    let at = |row: i64, column: i64| {
        let tile = row / rows * across + column / columns;
        ((tile * rows + row % rows) * columns + column % columns) * CELL_BYTES
    };
    let copy_row = |b: &Box4, row: i64, to: &mut [u8]| -> Result<()> {
        let mut rest = to;
        let mut column = b[2];
        while column <= b[3] {
            let end = (column / columns * columns + columns).min(b[3] + 1);
            let (start, len) = (at(row, column), (end - column) * CELL_BYTES);
            let (run, behind) = rest.split_at_mut(usize::try_from(len)?);
            let stored = usize::try_from(start)?..usize::try_from(start + len)?;
            run.copy_from_slice(tiles.get(stored).context("no such cells")?);
            (rest, column) = (behind, end);
        }
        Ok(())
    };
    let mut out = Vec::new();
    let mut copied = |b: &Box4, see: &mut dyn FnMut(&[u8])| -> Result<()> {
        let width = usize::try_from((b[3] - b[2] + 1) * CELL_BYTES)?;
        out.resize(usize::try_from(b[1] - b[0] + 1)? * width, 0_u8);
        let lot = PIECE_BYTES.div_ceil(width);
        out.par_chunks_mut(lot * width).enumerate().try_for_each(|(i, piece)| {
            let first = b[0] + i64::try_from(i * lot)?;
            (first..)
                .zip(piece.chunks_mut(width))
                .try_for_each(|(row, to)| copy_row(b, row, to))
        })?;
        see(&out);
        Ok(())
    };
    let mut sum = 0;
    let mut add = |bytes: &[u8]| {
        sum += bytemuck::pod_collect_to_vec::<u8, i32>(bytes)
            .iter()
            .map(|v| i64::from(*v))
            .sum::<i64>()
    };
    set.boxes.iter().try_for_each(|b| copied(b, &mut add))?;
    ensure!(sum == set.sum, "the copies are of other cells");
    let run = |()| {
        set.boxes.iter().try_for_each(|b| {
            copied(b, &mut |bytes| {
                black_box(bytes);
            })
        })
    };
    measure(job, metric, None, || Ok(()), run)
}

/// The bytes of a chunk before, and what the library makes of them.
type Packed = (usize, Vec<u8>);

/// The chunks of the tiles of each box, decoded.
fn decode(job: &Job, metric: &Metric, coding: &Coding<'_>, q: &DenseQueries, boxes: &[Box4]) -> Result<()> {
    let bare = coding.bare(job)?;
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
    let pack = |&t: &i64| -> Result<(i64, Vec<Packed>)> {
        let start = usize::try_from(t)? * size;
        let framed = coding.framed(tiles.get(start..start + size).context("no such tile")?)?;
        let encode = |c: &&[u8]| Ok((c.len(), mine(&bare, |b| b.encode(c))?));
        Ok((t, chunks(&framed)?.iter().map(encode).collect::<Result<_>>()?))
    };
    let packed: BTreeMap<i64, _> = wanted.par_iter().map(pack).collect::<Result<_>>()?;
    drop(tiles);
    let lists: Vec<Vec<&Packed>> = boxes
        .iter()
        .map(|b| of_box(b).iter().filter_map(|t| packed.get(t)).flatten().collect())
        .collect();
    let mut out = vec![0; lists.iter().map(Vec::len).max().unwrap_or(0) * CHUNK_BYTES];
    measure(
        job,
        metric,
        None,
        || Ok(()),
        |()| {
            for list in &lists {
                let each = list.par_iter().zip(out.par_chunks_mut(CHUNK_BYTES));
                each.try_for_each(|((len, bytes), to)| mine(&bare, |b| b.decode(bytes, &mut to[..*len])))?;
                black_box(&out);
            }
            Ok(())
        },
    )
}

/// A list of filters: what compresses, and what comes before it.
struct Coding<'a> {
    last: &'a Filter,
    before: &'a [Filter],
}

impl Coding<'_> {
    /// The tile's chunks as they come to the compressor, framed.
    fn framed(&self, tile: &[u8]) -> Result<Vec<u8>> {
        let format = TileFormat::new(Datatype::Int32, CellCount::ONE);
        let before = Pipeline::new(self.before.to_vec());
        Ok(encode_tile(tile, &before, &format, &Nonces::none())?)
    }

    /// The library, once for each thread.
    fn bare(&self, job: &Job) -> Result<Vec<Mutex<Bare>>> {
        (0..job.threads).map(|_| Ok(Mutex::new(Bare::of(self.last)?))).collect()
    }
}

/// Does something with the library of this thread.
fn mine<T>(bare: &[Mutex<Bare>], f: impl FnOnce(&mut Bare) -> Result<T>) -> Result<T> {
    let mine = bare
        .get(rayon::current_thread_index().unwrap_or(0))
        .context("no such thread")?;
    f(&mut mine.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The bytes of each chunk of a framed tile.
fn chunks(framed: &[u8]) -> Result<Vec<&[u8]>> {
    let (count, mut rest) = framed.split_first_chunk::<8>().context("no chunks")?;
    let mut out = Vec::new();
    for _ in 0..u64::from_le_bytes(*count) {
        let (head, behind) = rest.split_first_chunk::<12>().context("no head")?;
        let number = |i: usize| head[i..i + 4].iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
        let (bytes, metadata) = (number(4), number(8));
        ensure!(behind.len() >= bytes + metadata, "a chunk ends early");
        out.push(&behind[metadata..metadata + bytes]);
        rest = &behind[metadata + bytes..];
    }
    Ok(out)
}
