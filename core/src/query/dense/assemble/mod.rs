//! Assembles the result from decoded tiles: run by run, or all tiles of a part together if runs are short.

mod by_run;
pub(crate) mod runs;
mod staged;

use std::collections::HashMap;

use self::by_run::{SMALL_CELLS, in_order, run_jobs};
use self::runs::CellRun;
use self::staged::RunStats;
use super::fetch::TileJob;
use super::plan::Plan;
use super::points::with_sources;
use super::result::buffers::ResultBuffers;
use crate::error::Result;
use crate::query::tile::{Decoding, Input};

/// Decodes the tiles and copies their cells. `base` is the position of the plan's first cell in the result. `known` are the runs of a plan
/// without boxes, one per cell, in the order of the result.
///
/// # Errors
/// A tile is damaged.
pub(crate) fn assemble(
    mut result_buffers: ResultBuffers,
    base: usize,
    plan: &Plan,
    known: Option<&Vec<CellRun>>,
    jobs: Vec<TileJob>,
    d: &Decoding,
) -> Result<ResultBuffers> {
    let mut by_field: Vec<Vec<TileJob>> = result_buffers.fields.iter().map(|_| Vec::new()).collect();
    for job in jobs {
        if let Some(list) = by_field.get_mut(job.field) {
            list.push(job);
        }
    }
    let (mut copies, mut scattered, mut runs) = (Vec::new(), Vec::new(), None::<Vec<CellRun>>);
    let tiles: Vec<usize> = by_field.first().into_iter().flatten().map(|job| job.tile).collect();
    let is_large = known.is_none() && plan.cells > SMALL_CELLS;
    let run_stats = is_large.then(|| RunStats::of(plan, tiles.iter().copied()));
    for (f, jobs) in result_buffers.fields.iter_mut().zip(by_field) {
        if f.field.cell.is_var() || run_stats.as_ref().is_some_and(|s| s.prefers_staging(f.width())) {
            scattered.push((f, jobs));
            continue;
        }
        let own = is_seen_through(plan, &jobs).then(|| {
            let inputs: HashMap<usize, &[Option<Input>]> = jobs.iter().map(|job| (job.tile, &job.inputs[..])).collect();
            let has = |tile: usize, source: usize| matches!(inputs.get(&tile), Some(i) if matches!(i.get(source), Some(Some(_))));
            match known {
                Some(known) => with_sources(plan, known, &has),
                None => in_order(plan, &tiles, &has),
            }
        });
        let runs = match (&own, known) {
            (Some(own), _) => own,
            (None, Some(known)) => known,
            (None, None) => &*runs.get_or_insert_with(|| in_order(plan, &tiles, &|_, _| true)),
        };
        copies.extend(run_jobs(f, base, plan, runs, jobs));
    }
    d.cpu.try_map_owned(copies, |copy| copy.run(d))?;
    staged::assemble(scattered, base, plan, d)?;
    Ok(result_buffers)
}

/// Whether a source lacks the attribute of these tiles although an older source may have it.
fn is_seen_through(plan: &Plan, jobs: &[TileJob]) -> bool {
    let through = |job: &TileJob| {
        let sources = plan.tiles.get(job.tile).map_or(&[][..], |t| &t.sources);
        let mut each = sources.iter().zip(&job.inputs);
        each.any(|(source, input)| !source.whole && input.is_none())
    };
    jobs.iter().any(through)
}
