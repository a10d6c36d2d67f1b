//! Copies runs of cells from tiles into the result, each tile separately.

use std::sync::Arc;

use super::runs::{CellRun, runs, sort};
use crate::error::Result;
use crate::query::dense::fetch::TileJob;
use crate::query::dense::plan::{Has, Plan};
use crate::query::dense::result::buffers::FieldBuffers;
use crate::query::fill::fill;
use crate::query::tile::{Buffer, Decoding, Input, OutputPiece, copy_pieces};

/// Up to this many cells and tiles, a later read is likely to need neighbouring cells.
pub(super) const SMALL_CELLS: usize = 4096;
const FEW_TILES: usize = 8;

/// The runs of these tiles, in the order of the result, for an attribute that some sources have.
pub(super) fn in_order(plan: &Plan, tiles: &[usize], has: Has<'_>) -> Vec<CellRun> {
    let mut runs = runs(plan, tiles.iter().copied(), has);
    sort(&mut runs);
    runs
}

/// The copies of one buffer of one tile from one fragment, or from none.
pub(super) struct RunsJob<'a> {
    buffer: Buffer,
    /// `None` if the cells get `fill`.
    input: Option<Arc<Input>>,
    fill: Arc<[u8]>,
    pieces: Vec<OutputPiece<'a>>,
    remember: bool,
}

/// The jobs that copy sorted `runs` to the cells of a field.
pub(super) fn run_jobs<'a>(
    f: &'a mut FieldBuffers,
    base: usize,
    plan: &Plan,
    runs: &[CellRun],
    tiles: Vec<TileJob>,
) -> impl Iterator<Item = RunsJob<'a>> {
    let (width, remember) = (f.width(), plan.cells <= SMALL_CELLS && plan.tiles.len() <= FEW_TILES);
    let fill: Arc<[u8]> = Arc::from(f.fill());
    let valid = u8::from(f.field.fill_valid);
    let buffers = [
        Some((Buffer::Values, &mut f.cells, width, fill)),
        f.validity
            .as_mut()
            .map(|v| (Buffer::Validity, v, 1, Arc::from([valid]))),
    ];
    // The index of each tile's first job. The jobs of its sources follow.
    let mut first = vec![usize::MAX; plan.tiles.len()];
    let mut inputs = Vec::new();
    for tile in tiles {
        if let Some(first) = first.get_mut(tile.tile) {
            *first = inputs.len();
        }
        inputs.push(None);
        inputs.extend(tile.inputs.into_iter().map(|i| i.map(Arc::new)));
    }
    let mut jobs = Vec::new();
    for (buffer, cells, width, fill) in buffers.into_iter().flatten() {
        let start = jobs.len();
        jobs.extend(inputs.iter().map(|input| RunsJob {
            buffer,
            input: input.clone(),
            fill: Arc::clone(&fill),
            pieces: Vec::new(),
            remember,
        }));
        let (mut rest, mut at) = (&mut cells[..], 0);
        for run in runs {
            let begin = (base + run.to as usize) * width;
            let skipped = std::mem::take(&mut rest).split_at_mut(begin - at).1;
            let (out, later) = skipped.split_at_mut(run.cells as usize * width);
            at = begin + out.len();
            rest = later;
            let number = first
                .get(run.tile)
                .map(|f| f.saturating_add(run.source.map_or(0, |s| s + 1)));
            if let Some(job) = number.and_then(|n| jobs.get_mut(start.saturating_add(n))) {
                job.pieces.push(OutputPiece {
                    at: run.from * width as u64,
                    out,
                });
            }
        }
    }
    jobs.into_iter().filter(|job| !job.pieces.is_empty())
}

impl RunsJob<'_> {
    pub(super) fn run(mut self, d: &Decoding) -> Result<()> {
        let Some(input) = &self.input else {
            self.pieces.iter_mut().for_each(|p| fill(p.out, &self.fill));
            return Ok(());
        };
        if self.buffer == Buffer::Validity && !input.is_nullable() {
            self.pieces.iter_mut().for_each(|p| p.out.fill(1));
            return Ok(());
        }
        copy_pieces(input, self.buffer, &mut self.pieces, d, self.remember)
    }
}
