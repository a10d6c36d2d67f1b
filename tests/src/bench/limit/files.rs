//! Lower bounds with files: bytes are read from the page cache and decoded if compressed, or encoded and written to
//! disk. Nothing is searched, gathered or put in place.

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use hyperslab::schema::Filter;
use hyperslab::{Fragment, Scalar, ScalarRange};
use rayon::prelude::*;

use super::super::Job;
use super::super::data::{self, Box4, DenseQueries, DenseSet};
use super::super::measure::{FILES, Unit};
use super::super::schema;
use super::{CELL_BYTES, CHUNK_BYTES, Coding, Libraries, PIECE_BYTES, Packed, chunks, framed_chunks, metric, time};

/// Chunks that a thread reads per call.
const LOT: usize = 16;
/// The size of the file ends that are read when arrays are opened.
const TAIL_BYTES: u64 = 4096;

/// Reads as many bytes as each box has from a file with the matrix, from about the start of the box.
pub(super) fn copy(job: &Job, per: usize, q: &DenseQueries, set: &DenseSet) -> Result<()> {
    let matrix = data::tiled(&data::matrix(&job.data)?, q.shape, q.tile);
    let scratch = Scratch::of(job, &matrix)?;
    drop(matrix);
    let file = File::open(&scratch.0)?;
    let bytes = |b: &Box4| (b[1] - b[0] + 1) * (b[3] - b[2] + 1) * CELL_BYTES;
    let start = |b: &Box4| {
        let first = (b[0] * q.shape[1] + b[2]) * CELL_BYTES;
        u64::try_from(first.min(q.shape[0] * q.shape[1] * CELL_BYTES - bytes(b)))
    };
    let mut out = vec![0_u8; usize::try_from(set.boxes.iter().map(bytes).max().unwrap_or(0))?];
    let run = || {
        for b in &set.boxes {
            let out = &mut out[..usize::try_from(bytes(b))?];
            let size = PIECE_BYTES.min(out.len().div_ceil(job.threads));
            let (start, pieces) = (start(b)?, out.par_chunks_mut(size).enumerate());
            pieces.try_for_each(|(i, piece)| file.read_exact_at(piece, start + (i * size) as u64))?;
            black_box(&out);
        }
        Ok(())
    };
    time(job, &metric(FILES, "read", Unit::Milliseconds, per), run)
}

/// Reads and decodes the chunks of each box.
pub(super) fn decode(job: &Job, per: usize, packed: &Packed) -> Result<()> {
    let scratch = Scratch::of(job, &packed.bytes)?;
    let file = File::open(&scratch.0)?;
    let mut out = packed.room();
    let run = || {
        for list in &packed.boxes {
            let lots = list.par_chunks(LOT).zip(out.par_chunks_mut(LOT * CHUNK_BYTES));
            lots.try_for_each_init(Vec::new, |read, (lot, to)| {
                let (first, last) = lot.first().zip(lot.last()).context("no chunks")?;
                let start = first.start;
                read.resize(last.start + last.packed - start, 0);
                file.read_exact_at(read, start as u64)?;
                lot.iter().zip(to.chunks_mut(CHUNK_BYTES)).try_for_each(|(c, to)| {
                    let at = c.start - start;
                    packed
                        .libraries
                        .mine(|b| b.decode(&read[at..at + c.packed], &mut to[..c.bytes]))
                })
            })?;
            black_box(&out);
        }
        Ok(())
    };
    time(job, &metric(FILES, "read", Unit::Milliseconds, per), run)
}

/// Writes and syncs the bytes of the matrix.
pub(super) fn write(job: &Job, matrix: &[u8]) -> Result<()> {
    // A file next to the array, which is read later.
    let scratch = Scratch(job.array.with_extension("bytes"));
    let run = || {
        std::fs::write(&scratch.0, matrix)?;
        Ok(File::open(&scratch.0)?.sync_all()?)
    };
    time(job, &metric(FILES, "load", Unit::Seconds, 1), run)
}

/// Encodes the chunks of the matrix, writes them tile by tile and syncs them.
pub(super) fn encode(job: &Job, coding: &Coding<'_>, framed: &[Vec<u8>]) -> Result<()> {
    let scratch = Scratch(job.array.with_extension("bytes"));
    let libraries = coding.bare(job)?;
    let run = || {
        let file = Mutex::new(File::create(&scratch.0)?);
        framed.par_iter().try_for_each(|tile| {
            let mut packed = Vec::new();
            for chunk in chunks(tile)? {
                packed.extend(libraries.mine(|b| b.encode(chunk))?);
            }
            anyhow::Ok(file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&packed)?)
        })?;
        Ok(file.into_inner().unwrap_or_else(PoisonError::into_inner).sync_all()?)
    };
    time(job, &metric(FILES, "load", Unit::Seconds, 1), run)
}

/// The lower bound for boxes of a sparse array after later fragments, whose cells are all in one tile each. Reads and
/// decodes the coordinates of those fragments, once for all boxes.
pub(in super::super) fn fragments(job: &Job, codec: &str, boxes: &[Box4]) -> Result<()> {
    let array = job.open()?;
    let met = array.fragments().iter().skip(1);
    let met = met.filter(|f| boxes.iter().any(|b| meets(f, b)));
    let files = met.flat_map(|f| files_of(job, f)).collect::<Vec<_>>();
    ensure!(!files.is_empty(), "the boxes meet no later fragment");
    let libraries = Libraries::of(job, schema::filters(codec)?.last().unwrap_or(&Filter::None))?;
    let run = || tiles(&files, &libraries);
    time(job, &metric(FILES, "read", Unit::Milliseconds, boxes.len()), run)
}

/// The lower bound for opening an array without consolidated metadata. Lists its folders and reads the end of each
/// fragment's metadata. Then reads the single tile that the box meets, if any; for sparse fragments, the coordinates.
pub(in super::super) fn open(job: &Job, name: &'static str, per: usize, read: Option<&Box4>) -> Result<()> {
    let array = job.open()?;
    let met = array.fragments().iter().filter(|f| read.is_some_and(|b| meets(f, b)));
    let files = met.flat_map(|f| files_of(job, f)).collect::<Vec<_>>();
    ensure!(read.is_none() || !files.is_empty(), "the box meets no fragment");
    let libraries = Libraries::of(job, &Filter::Zstd { level: 3 })?;
    let listed = |folder: &str| -> Result<Vec<PathBuf>> {
        let all = std::fs::read_dir(job.array.join(folder))?;
        Ok(all.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?)
    };
    let run = || {
        for _ in 0..per {
            black_box(listed("__commits")?);
            listed("__fragments")?.par_iter().try_for_each(|folder| {
                let file = File::open(folder.join("__fragment_metadata.tdb"))?;
                let bytes = file.metadata()?.len();
                let mut end = vec![0; usize::try_from(bytes.min(TAIL_BYTES))?];
                file.read_exact_at(&mut end, bytes.saturating_sub(TAIL_BYTES))?;
                black_box(&end);
                anyhow::Ok(())
            })?;
            tiles(&files, &libraries)?;
        }
        Ok(())
    };
    time(job, &metric(FILES, name, Unit::Milliseconds, per), run)
}

/// Reads and decodes all tiles of small files.
fn tiles(files: &[PathBuf], libraries: &Libraries) -> Result<()> {
    files.par_iter().try_for_each_init(
        || (Vec::new(), Vec::new()),
        |(read, out), path| {
            let file = File::open(path)?;
            read.resize(usize::try_from(file.metadata()?.len())?, 0);
            file.read_exact_at(read, 0)?;
            for (plain, packed) in framed_chunks(read)? {
                out.resize(plain, 0);
                libraries.mine(|b| b.decode(packed, out))?;
                black_box(&out);
            }
            Ok(())
        },
    )
}

/// Whether the non-empty domain of the fragment meets this box.
fn meets(fragment: &Fragment, b: &Box4) -> bool {
    let wanted = [(b[0], b[1]), (b[2], b[3])];
    let within = |(range, (lo, hi)): (&ScalarRange, (i64, i64))| {
        let end = |s: &Scalar| s.as_i128().unwrap_or(0);
        end(&range.lo) <= i128::from(hi) && i128::from(lo) <= end(&range.hi)
    };
    let spanned = fragment.non_empty_domain().unwrap_or(&[]);
    spanned.iter().zip(wanted).all(within)
}

/// The files with the coordinates of a sparse fragment, or with the values of a dense one.
fn files_of(job: &Job, fragment: &Fragment) -> Vec<PathBuf> {
    let root = job.array.parent().unwrap_or(Path::new(""));
    let names: &[&str] = if fragment.dense {
        &["a0.tdb"]
    } else {
        &["d0.tdb", "d1.tdb"]
    };
    names.iter().map(|name| root.join(&fragment.path).join(name)).collect()
}

/// A file next to the array, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn of(job: &Job, bytes: &[u8]) -> Result<Self> {
        let scratch = Self(job.array.with_extension("bytes"));
        std::fs::write(&scratch.0, bytes)?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
