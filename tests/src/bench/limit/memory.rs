//! Lower bounds from memory to memory: copying the cells of the result out of uncompressed tiles, decoding the same
//! chunks with the compression library, or encoding the chunks of a load.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;

use super::super::Job;
use super::super::data::{self, Box4, DenseQueries, DenseSet};
use super::super::measure::{LIMIT, Unit};
use super::{CELL_BYTES, CHUNK_BYTES, Coding, PIECE_BYTES, Packed, chunks, metric, time};

/// Copies the cells of each box out of the tiles that hold them, as from a mapped file, without system calls.
pub(super) fn copy(job: &Job, per: usize, q: &DenseQueries, set: &DenseSet) -> Result<()> {
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
    let run = || {
        set.boxes.iter().try_for_each(|b| {
            copied(b, &mut |bytes| {
                black_box(bytes);
            })
        })
    };
    time(job, &metric(LIMIT, "read", Unit::Milliseconds, per), run)
}

/// Decodes the chunks of each box.
pub(super) fn decode(job: &Job, per: usize, packed: &Packed) -> Result<()> {
    let mut out = packed.room();
    let run = || {
        for list in &packed.boxes {
            let each = list.par_iter().zip(out.par_chunks_mut(CHUNK_BYTES));
            each.try_for_each(|(c, to)| {
                let bytes = packed.bytes.get(c.start..c.start + c.packed).context("no such chunk")?;
                packed.libraries.mine(|b| b.decode(bytes, &mut to[..c.bytes]))
            })?;
            black_box(&out);
        }
        Ok(())
    };
    time(job, &metric(LIMIT, "read", Unit::Milliseconds, per), run)
}

/// Encodes the chunks of the matrix.
pub(super) fn encode(job: &Job, coding: &Coding<'_>, framed: &[Vec<u8>]) -> Result<()> {
    let chunks: Vec<&[u8]> = framed.iter().map(|f| chunks(f)).collect::<Result<Vec<_>>>()?.concat();
    let libraries = coding.bare(job)?;
    let run = || {
        let encode = |chunk: &&[u8]| libraries.mine(|b| b.encode(chunk).map(|bytes| drop(black_box(bytes))));
        chunks.par_iter().try_for_each(encode)
    };
    time(job, &metric(LIMIT, "load", Unit::Seconds, 1), run)
}
