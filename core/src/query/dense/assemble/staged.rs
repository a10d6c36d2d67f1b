//! Assembles tiles whose cells are scattered in the result: tiles with short runs, and tiles of variable-length cells.
//!
//! Tiles are processed in batches. The tiles of a batch are decoded in parallel. Then parts of the result are assembled
//! in parallel, each from the tiles that have some of its cells. No state is kept per run, because there may be one run
//! per cell.

use std::ops::Range;
use std::sync::Arc;

use super::runs::{copy_of, patches};
use crate::cache::Reuse;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::geometry::CopyPlan;
use crate::query::dense::fetch::TileJob;
use crate::query::dense::plan::Plan;
use crate::query::dense::result::buffers::FieldBuffers;
use crate::query::fill::fill;
use crate::query::tile::{Buffer, Decoding, Input, OutputPiece, copy_pieces};

/// Size of a batch in bytes. Decoded cells should still be in the processor's cache when they are copied.
const BLOCK_BYTES: u64 = 8 << 20;
/// The least part of the result that one job assembles, in bytes.
const PART_BYTES: usize = 64 << 10;
/// Runs shorter than this cost more to track than to copy twice.
const SHORT_BYTES: u64 = 256;
/// More runs than this take too much memory to track, even if few of a tile's cells are wanted.
const RUNS_MAX: u64 = 1 << 20;
/// If at most one cell in this many is wanted, decoding only the chunks that hold wanted cells is better.
const FEW: u64 = 8;

/// How scattered the cells of some tiles are in the result.
#[derive(Debug, Default)]
pub(super) struct RunStats {
    cells: u64,
    runs: u64,
    /// For all tiles, the cells from the first wanted one to the last.
    reach: u64,
}

impl RunStats {
    /// Measures these tiles of a plan.
    pub(super) fn of(plan: &Plan, tiles: impl IntoIterator<Item = usize>) -> Self {
        let mut all = Self::default();
        let boxes = tiles
            .into_iter()
            .filter_map(|t| plan.tiles.get(t))
            .flat_map(|t| &t.boxes);
        for b in boxes {
            let copy = copy_of(plan, b, &b.cells());
            let reach = copy.source();
            all.cells = all.cells.saturating_add(copy.cells());
            all.runs = all.runs.saturating_add(copy.run_count());
            all.reach = all.reach.saturating_add(reach.end - reach.start);
        }
        all
    }

    /// Whether tiles with cells of `width` bytes are best assembled by this module instead of run by run.
    pub(super) fn prefers_staging(&self, width: usize) -> bool {
        let short = self.cells.saturating_mul(width as u64) < self.runs.saturating_mul(SHORT_BYTES);
        short && (self.runs > RUNS_MAX || self.cells.saturating_mul(FEW) >= self.reach)
    }
}

/// The cells of a field that come from one source of a tile, or from none.
struct StagedTile {
    /// Index of the field.
    field: usize,
    /// `None` if the cells get the fill value.
    input: Option<Input>,
    reuse: Reuse,
    /// For variable-length cells, the index of the tile among the field's tiles.
    id: usize,
    /// From the first wanted cell of the tile to the last.
    cells: Range<u64>,
    /// How to copy the cells to the result, relative to the first.
    copies: Vec<CopyPlan>,
    /// The values of these cells, or their ids if they vary in length.
    values: Vec<u8>,
    validity: Vec<u8>,
}

/// Assembles the tiles of these fields. `base` is the position of the plan's first cell in the result.
///
/// # Errors
/// A tile is damaged or cannot be read.
pub(super) fn assemble(
    mut fields: Vec<(&mut FieldBuffers, Vec<TileJob>)>,
    base: usize,
    plan: &Plan,
    d: &Decoding,
) -> Result<()> {
    let jobs: Vec<(usize, TileJob)> = fields
        .iter_mut()
        .enumerate()
        .flat_map(|(field, (_, jobs))| std::mem::take(jobs).into_iter().map(move |job| (field, job)))
        .collect();
    let mut fields: Vec<&mut FieldBuffers> = fields.into_iter().map(|(f, _)| f).collect();
    let (mut lot, mut bytes, mut spare) = (Vec::new(), 0_u64, Vec::new());
    let mut jobs = jobs.into_iter().peekable();
    while let Some((field, job)) = jobs.next() {
        for staged in StagedTile::all(field, job, plan) {
            let width = fields.get(field).map_or(0, |f| f.width()) as u64;
            bytes = bytes.saturating_add((staged.cells.end - staged.cells.start).saturating_mul(width));
            lot.push(staged);
        }
        if bytes >= BLOCK_BYTES || jobs.peek().is_none() {
            finish(std::mem::take(&mut lot), &mut fields, base, &mut spare, d)?;
            bytes = 0;
        }
    }
    Ok(())
}

/// Decodes a batch and copies it to the result. `spare` holds buffers to reuse; they are returned at the end.
fn finish(
    mut lot: Vec<StagedTile>,
    fields: &mut [&mut FieldBuffers],
    base: usize,
    spare: &mut Vec<Vec<u8>>,
    d: &Decoding,
) -> Result<()> {
    let mut ids: Vec<usize> = fields.iter().map(|f| f.tiles.len()).collect();
    for staged in &mut lot {
        staged.values = spare.pop().unwrap_or_default();
        if let Some(id) = ids.get_mut(staged.field).filter(|_| staged.input.is_some()) {
            staged.id = *id;
            *id += 1;
        }
    }
    let of_field = |staged: &StagedTile| fields.get(staged.field).map(|f| &**f);
    let decoded = d.cpu.try_map_owned(lot, |mut staged| {
        let column = of_field(&staged).map_or(Ok(None), |f| staged.decode(f, d))?;
        Ok((staged, column))
    })?;
    let mut tiles_staged = Vec::with_capacity(decoded.len());
    for (staged, column) in decoded {
        if let Some(f) = fields.get_mut(staged.field) {
            f.tiles.extend(column);
        }
        tiles_staged.push(staged);
    }
    let mut parts = Vec::new();
    for (field, f) in fields.iter_mut().enumerate() {
        let start = tiles_staged.partition_point(|s| s.field < field);
        let end = tiles_staged.partition_point(|s| s.field <= field);
        parts.extend(OutputSlice::all(f, base, &tiles_staged[start..end], d.cpu.threads()));
    }
    d.cpu.try_map_owned(parts, OutputSlice::put)?;
    spare.extend(tiles_staged.into_iter().map(|s| s.values));
    Ok(())
}

impl StagedTile {
    /// The cells that each source of a tile provides.
    fn all(field: usize, job: TileJob, plan: &Plan) -> Vec<Self> {
        let has = |source: usize| matches!(job.inputs.get(source), Some(Some(_)));
        let patches = patches(plan, job.tile, &has);
        let partial = plan.tiles.get(job.tile).is_some_and(|t| t.cells < plan.tile_cells());
        let mut copies: Vec<Vec<CopyPlan>> = Vec::new();
        copies.resize_with(job.inputs.len() + 1, Vec::new);
        for patch in patches {
            if let Some(list) = copies.get_mut(patch.source.map_or(0, |s| s + 1)) {
                list.push(patch.copy);
            }
        }
        let inputs = std::iter::once(None).chain(job.inputs);
        let tiles_staged = inputs.zip(copies).filter_map(|(input, copies)| {
            let reach = copies.iter().map(CopyPlan::source);
            let cells = reach.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))?;
            Some(Self {
                field,
                input,
                reuse: if partial { Reuse::Likely } else { Reuse::Possible },
                id: 0,
                copies: copies.into_iter().map(|c| c.moved(cells.start)).collect(),
                cells,
                values: Vec::new(),
                validity: Vec::new(),
            })
        });
        tiles_staged.collect()
    }

    /// Decodes the cells. Returns the decoded tile if its cells vary in length.
    fn decode(&mut self, f: &FieldBuffers, d: &Decoding) -> Result<Option<Arc<Column>>> {
        let Some(input) = &self.input else { return Ok(None) };
        let cells = usize::try_from(self.cells.end - self.cells.start).map_err(|_| missing_cells())?;
        self.values.resize(cells.saturating_mul(f.width()), 0);
        if f.validity.is_some() {
            self.validity.resize(cells, 1);
        }
        if !f.field.cell.is_var() {
            let buffers = [
                (Buffer::Values, &mut self.values, f.width()),
                (Buffer::Validity, &mut self.validity, 1),
            ];
            let nullable = f.validity.is_some() && input.is_nullable();
            for (buffer, out, width) in buffers.into_iter().take(1 + usize::from(nullable)) {
                let at = self.cells.start.saturating_mul(width as u64);
                copy_pieces(input, buffer, &mut [OutputPiece { at, out }], d, false)?;
            }
            return Ok(None);
        }
        let column = input.decode(d, self.reuse)?;
        let first = FieldBuffers::id_base(self.id) + self.cells.start;
        for (id, out) in (first..).zip(self.values.as_chunks_mut::<8>().0) {
            *out = id.to_le_bytes();
        }
        if let (Some(found), false) = (&column.validity, self.validity.is_empty()) {
            let found = found.get(self.cells.start as usize..self.cells.end as usize);
            self.validity.copy_from_slice(found.ok_or_else(missing_cells)?);
        }
        Ok(Some(column))
    }
}

/// Contiguous cells of the result, and the tiles that they come from.
struct OutputSlice<'a> {
    /// The positions of the cells in the plan.
    cells: Range<u64>,
    out: &'a mut [u8],
    width: usize,
    buffer: Buffer,
    fill: Arc<[u8]>,
    tiles_staged: &'a [StagedTile],
}

impl<'a> OutputSlice<'a> {
    /// Splits a field into parts that cover the cells of these tiles.
    fn all(f: &'a mut FieldBuffers, base: usize, tiles_staged: &'a [StagedTile], threads: usize) -> Vec<Self> {
        let reach = tiles_staged.iter().flat_map(|s| &s.copies).map(CopyPlan::target);
        let Some(reach) = reach.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)) else {
            return Vec::new();
        };
        let (width, fill) = (f.width(), Arc::from(f.fill()));
        let first = if f.field.cell.is_var() { 0 } else { base };
        let valid = Arc::from([u8::from(f.field.fill_valid)]);
        let buffers = [
            Some((Buffer::Values, &mut f.cells, first, width, fill)),
            f.validity.as_mut().map(|v| (Buffer::Validity, v, base, 1, valid)),
        ];
        let mut out = Vec::new();
        for (buffer, cells, first, width, fill) in buffers.into_iter().flatten() {
            let (start, end) = (first + reach.start as usize, first + reach.end as usize);
            let part = (end - start)
                .div_ceil(4 * threads)
                .max(PART_BYTES / width.max(1))
                .max(1);
            let written = cells.get_mut(start * width..end * width).unwrap_or_default();
            let starts = (reach.start..).step_by(part);
            out.extend(starts.zip(written.chunks_mut(part * width)).map(|(start, out)| Self {
                cells: start..start + (out.len() / width) as u64,
                out,
                width,
                buffer,
                fill: Arc::clone(&fill),
                tiles_staged,
            }));
        }
        out
    }

    fn put(self) -> Result<()> {
        for staged in self.tiles_staged {
            let source = match self.buffer {
                Buffer::Values => &staged.values,
                Buffer::Validity => &staged.validity,
            };
            for copy in staged.copies.iter().flat_map(|c| c.within(&self.cells)) {
                if staged.input.is_some() {
                    copy.copy(source, self.out, self.width)
                        .then_some(())
                        .ok_or_else(missing_cells)?;
                    continue;
                }
                for run in copy.runs() {
                    let (start, bytes) = (run.to as usize * self.width, run.cells as usize * self.width);
                    fill(&mut self.out[start..start + bytes], &self.fill);
                }
            }
        }
        Ok(())
    }
}

fn missing_cells() -> Error {
    Error::invalid("the tile does not have these cells")
}
