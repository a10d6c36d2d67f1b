//! Reads boxes of arrays whose last two axes are the rows and columns of pages.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result, anyhow};

use super::chunks::{Chunk, ChunkReader};
use super::page::Page;
use crate::guard::guarded;

/// The pixels of an array.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    /// The lengths of the axes before the rows and columns.
    pub(super) lead: Vec<u64>,
    /// The plane of each place of these axes, in row-major order.
    pub(super) planes: Vec<Plane>,
    /// The bytes of a cell of which the file has none.
    pub(super) fill: Vec<u8>,
}

/// Where the pixels of a plane are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plane {
    /// The number of the page, if the file has it.
    pub(super) page: Option<usize>,
    pub(super) sample: u64,
}

/// The place of a chunk: page, column, row, and the sample if samples have chunks of their own.
type Key = (usize, u64, u64, u64);

/// Reads boxes, with a bounded cache of decoded chunks.
pub(super) struct Boxes {
    path: PathBuf,
    pub(super) pages: Vec<Page>,
    memory_bytes: u64,
    cache: VecDeque<(Key, Arc<Chunk>)>,
    /// Open readers of the page that was read last.
    readers: (usize, Vec<ChunkReader>),
}

/// A box of a plane, and where it goes.
struct Target<'a> {
    rows: &'a Range<u64>,
    columns: &'a Range<u64>,
    /// Bytes of a cell.
    size: usize,
}

impl Boxes {
    pub(super) fn new(path: &Path, pages: Vec<Page>, memory_bytes: u64) -> Self {
        Self {
            path: path.to_owned(),
            pages,
            memory_bytes,
            cache: VecDeque::new(),
            readers: (0, Vec::new()),
        }
    }

    /// The cells of a box of the grid.
    pub(super) fn read(&mut self, grid: &Grid, ranges: &[Range<u64>]) -> Result<Vec<u8>> {
        let (lead, [rows, columns]) = ranges.split_last_chunk::<2>().context("a box has two axes at least")?;
        let target = Target {
            rows,
            columns,
            size: grid.fill.len(),
        };
        let cells = |r: &Range<u64>| usize::try_from(r.end - r.start);
        let plane_cells = cells(rows)? * cells(columns)?;
        let places = places(&grid.lead, lead);
        let mut out = grid.fill.repeat(plane_cells * places.len());
        // The planes of a page are filled together, because they may share chunks.
        let mut by_page: BTreeMap<usize, Vec<(u64, usize)>> = BTreeMap::new();
        for (number, place) in places.iter().enumerate() {
            let plane = grid.planes.get(*place).context("there is no such plane")?;
            if let Some(page) = plane.page {
                by_page.entry(page).or_default().push((plane.sample, number));
            }
        }
        for (page, planes) in by_page {
            self.page(page, &planes, &target, &mut out)?;
        }
        Ok(out)
    }

    /// Fills planes of one page: pairs of a sample and the number of the plane in `out`.
    fn page(&mut self, page: usize, planes: &[(u64, usize)], target: &Target<'_>, out: &mut [u8]) -> Result<()> {
        let info = self.pages.get(page).context("there is no such page")?.clone();
        let span = |r: &Range<u64>, chunk: u64| r.start / chunk..r.end.div_ceil(chunk);
        let mut keys: Vec<Key> = Vec::new();
        let samples: Vec<u64> = if info.planar {
            planes.iter().map(|(sample, _)| *sample).collect()
        } else {
            vec![0]
        };
        for sample in samples {
            for row in span(target.rows, info.chunk_height) {
                let columns = span(target.columns, info.chunk_width);
                keys.extend(columns.map(|column| (page, column, row, sample)));
            }
        }
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let chunk_bytes = info.chunk_width * info.chunk_height * info.chunk_samples() * target.size as u64;
        let fitting = usize::try_from(self.memory_bytes / chunk_bytes.max(1)).unwrap_or(usize::MAX);
        for batch in keys.chunks(fitting.clamp(1, threads * 4)) {
            for (key, chunk) in batch.iter().zip(self.chunks(&info, batch)?) {
                scatter(&info, *key, &chunk, planes, target, out);
            }
        }
        Ok(())
    }

    /// The chunks at these places, from the cache or decoded by several threads.
    fn chunks(&mut self, page: &Page, keys: &[Key]) -> Result<Vec<Arc<Chunk>>> {
        let cached = |key: &Key| self.cache.iter().find(|(k, _)| k == key).map(|(_, c)| Arc::clone(c));
        let mut found: Vec<Option<Arc<Chunk>>> = keys.iter().map(cached).collect();
        let missing: Vec<usize> = (0..keys.len()).filter(|i| found[*i].is_none()).collect();
        for (at, chunk) in missing.iter().zip(self.decode(page, keys, &missing)?) {
            let chunk = Arc::new(chunk);
            self.keep(keys[*at], &chunk);
            found[*at] = Some(chunk);
        }
        found.into_iter().map(|c| c.context("a chunk is missing")).collect()
    }

    fn decode(&mut self, page: &Page, keys: &[Key], missing: &[usize]) -> Result<Vec<Chunk>> {
        let Some(first) = missing.first() else {
            return Ok(Vec::new());
        };
        let number = keys[*first].0;
        if self.readers.0 != number {
            self.readers = (number, Vec::new());
        }
        let threads = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(missing.len());
        while self.readers.1.len() < threads {
            let reader = ChunkReader::open(&self.path, page)?;
            self.readers.1.push(reader);
        }
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Result<Chunk>)>> = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for reader in self.readers.1.iter_mut().take(threads) {
                let (next, done) = (&next, &done);
                scope.spawn(move || {
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        let Some(at) = missing.get(i) else { return };
                        let (_, column, row, sample) = keys[*at];
                        let chunk = guarded(|| reader.read(column, row, sample));
                        done.lock().unwrap_or_else(PoisonError::into_inner).push((i, chunk));
                    }
                });
            }
        });
        let mut done = done.into_inner().map_err(|_| anyhow!("a thread stopped"))?;
        done.sort_by_key(|(i, _)| *i);
        done.into_iter().map(|(_, chunk)| chunk).collect()
    }

    fn keep(&mut self, key: Key, chunk: &Arc<Chunk>) {
        let bytes = |c: &Chunk| c.data.as_ref().map_or(0, Vec::len) as u64;
        self.cache.push_back((key, Arc::clone(chunk)));
        let mut sum: u64 = self.cache.iter().map(|(_, c)| bytes(c)).sum();
        while sum > self.memory_bytes && self.cache.len() > 1 {
            sum -= self.cache.pop_front().map_or(0, |(_, c)| bytes(&c));
        }
    }
}

/// The places of a box of axes with these lengths, in row-major order.
fn places(lengths: &[u64], ranges: &[Range<u64>]) -> Vec<usize> {
    let mut all = vec![0_usize];
    for (length, range) in lengths.iter().zip(ranges) {
        let step = |place: usize| range.clone().map(move |i| place * *length as usize + i as usize);
        all = all.into_iter().flat_map(step).collect();
    }
    all
}

/// Copies the part of a chunk within the box to the planes.
fn scatter(page: &Page, key: Key, chunk: &Chunk, planes: &[(u64, usize)], target: &Target<'_>, out: &mut [u8]) {
    let Some(data) = &chunk.data else { return };
    let (_, column, row, own) = key;
    let (left, top) = (column * page.chunk_width, row * page.chunk_height);
    let columns = target.columns.start.max(left)..target.columns.end.min(left + chunk.width as u64);
    let rows = target.rows.start.max(top)..target.rows.end.min(top + chunk.height as u64);
    let (size, samples) = (target.size, page.chunk_samples() as usize);
    let out_width = (target.columns.end - target.columns.start) as usize;
    let plane_cells = out_width * (target.rows.end - target.rows.start) as usize;
    let cells = (columns.end.saturating_sub(columns.start)) as usize;
    for (sample, plane) in planes {
        if page.planar && *sample != own {
            continue;
        }
        let sample = if page.planar { 0 } else { *sample as usize };
        for y in rows.clone() {
            let from = (y - top) as usize * chunk.width + (columns.start - left) as usize;
            let to = plane * plane_cells
                + (y - target.rows.start) as usize * out_width
                + (columns.start - target.columns.start) as usize;
            let from = &data[from * samples * size..(from + cells) * samples * size];
            let to = &mut out[to * size..(to + cells) * size];
            if samples == 1 {
                to.copy_from_slice(from);
            } else {
                pick(from, to, samples, sample, size);
            }
        }
    }
}

/// Copies one sample of each pixel.
fn pick(from: &[u8], to: &mut [u8], samples: usize, sample: usize, size: usize) {
    fn cells<const N: usize>(from: &[u8], to: &mut [u8], samples: usize, sample: usize) {
        let from = from.as_chunks::<N>().0.iter().skip(sample).step_by(samples);
        to.as_chunks_mut::<N>()
            .0
            .iter_mut()
            .zip(from)
            .for_each(|(to, from)| *to = *from);
    }
    match size {
        1 => cells::<1>(from, to, samples, sample),
        2 => cells::<2>(from, to, samples, sample),
        4 => cells::<4>(from, to, samples, sample),
        _ => cells::<8>(from, to, samples, sample),
    }
}
