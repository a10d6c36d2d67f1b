//! Decodes tiles and paints them, each into its own part of the canvas.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::canvas::{Canvas, FieldCanvas};
use super::copy::{RunsJob, in_order, run_jobs};
use super::paint::{Fill, Ids, Values};
use super::plan::{Plan, Source};
use super::points::with_sources;
use super::runs::Run;
use crate::cache::{Cache, Reuse};
use crate::column::Column;
use crate::error::Result;
use crate::geometry::Span;
use crate::query::field::Field;
use crate::query::tile::{Decoding, Extent, Input, StoredField, Stretch, TileRef};

/// How each layer stores each attribute of the result; `None` where it has none of that name and type.
pub(crate) type StoredFields = Vec<Vec<Option<Arc<StoredField>>>>;

/// A tile of one attribute that is to be painted.
#[derive(Debug)]
pub(crate) struct Work {
    pub(super) tile: usize,
    field: usize,
    /// One for each source of the tile; `None` where the fragment does not have the attribute.
    pub(super) inputs: Vec<Option<Input>>,
}

/// What is fetched before tiles of fixed-size cells are decoded. Of others it is always the whole tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fetching {
    /// Nothing: whoever decodes them reads them.
    Nothing,
    /// Of unfiltered tiles, the chunks that hold wanted cells, if these are few.
    Chunks,
    Tiles,
}

/// The work on some tiles of a plan, and what must be fetched for it.
///
/// # Errors
/// The index of a fragment is damaged.
pub(crate) fn work(
    plan: &Plan,
    tiles: Range<usize>,
    fields: &[Field],
    stored: &StoredFields,
    cache: &Cache,
    fetching: Fetching,
) -> Result<(Vec<Work>, Vec<Extent>)> {
    let (mut out, mut extents) = (Vec::new(), Vec::new());
    for tile in tiles {
        let Some(t) = plan.tiles.get(tile) else { continue };
        for (field, wanted) in fields.iter().enumerate() {
            let mut inputs = Vec::with_capacity(t.sources.len());
            for source in &t.sources {
                let Some(own) = stored.get(source.layer).and_then(|l| l.get(field)?.as_ref()) else {
                    inputs.push(None);
                    continue;
                };
                let tile = TileRef::new(own, source.tile)?;
                inputs.push(Some(if fetching == Fetching::Nothing && plan.in_runs(wanted) {
                    Input::Direct(tile)
                } else if let Some(stretch) = plan.stretch(wanted, source, &tile, fetching, cache)? {
                    Input::part(stretch, cache, &mut extents)
                } else {
                    Input::new(tile, cache, &mut extents)?
                }));
            }
            out.push(Work { tile, field, inputs });
        }
    }
    Ok((out, extents))
}

/// Whether the chunks that were fetched for this work are what they were taken for. Where they are not, the tiles
/// must be fetched.
pub(crate) fn are_chunks(work: &[Work], fetched: &[Bytes], cache: &Cache) -> bool {
    work.iter().flat_map(|w| &w.inputs).flatten().all(|input| match input {
        Input::Part(stretch) => stretch.keep(fetched, cache),
        _ => true,
    })
}

impl Plan {
    /// The chunks of a source's tile to fetch without the others, if that is what to do.
    fn stretch(
        &self,
        field: &Field,
        source: &Source,
        tile: &TileRef,
        fetching: Fetching,
        cache: &Cache,
    ) -> Result<Option<Stretch>> {
        if fetching != Fetching::Chunks || !self.in_runs(field) {
            return Ok(None);
        }
        let cell = |of: fn(&Span) -> u64| -> u64 {
            let steps = source.inside.iter().zip(&self.strides);
            steps.fold(0, |n, (s, step)| n.saturating_add(of(s).saturating_mul(*step)))
        };
        Stretch::of(tile, cell(|s| s.first)..cell(|s| s.last).saturating_add(1), cache)
    }

    /// Whether a field's cells are copied run by run, rather than painted tile by tile.
    fn in_runs(&self, field: &Field) -> bool {
        !field.cell.is_var() && self.in_cell_order
    }

    /// Whether a source lacks the attribute of this work and an older one may have it.
    fn is_seen_through(&self, work: &[Work]) -> bool {
        let through = |w: &Work| {
            let sources = self.tiles.get(w.tile).map_or(&[][..], |t| &t.sources);
            let mut each = sources.iter().zip(&w.inputs);
            each.any(|(source, input)| !source.whole && input.is_none())
        };
        work.iter().any(through)
    }
}

/// Groups of consecutive tiles, from number `first` on, whose bytes to fetch come to about `bytes_max`.
///
/// # Errors
/// The index of a fragment is damaged.
pub(crate) fn groups(
    plan: &Plan,
    first: usize,
    fields: &[Field],
    stored: &StoredFields,
    bytes_max: u64,
    (fetching, cache): (Fetching, &Cache),
) -> Result<VecDeque<Range<usize>>> {
    let (mut out, mut start, mut bytes) = (VecDeque::new(), first, 0_u64);
    for (i, t) in plan.tiles.iter().enumerate().skip(first) {
        let mut here = 0_u64;
        for source in &t.sources {
            let own = stored.get(source.layer).into_iter().flatten().zip(fields);
            for (own, field) in own.filter(|(_, f)| fetching != Fetching::Nothing || !plan.in_runs(f)) {
                let Some(own) = own else { continue };
                let tile = TileRef::new(own, source.tile)?;
                if let Some(stretch) = plan.stretch(field, source, &tile, fetching, cache)? {
                    here = here.saturating_add(stretch.bytes());
                    continue;
                }
                here = tile
                    .extents()?
                    .iter()
                    .fold(here, |n, e| n.saturating_add(e.range.end - e.range.start));
            }
        }
        if i > start && bytes.saturating_add(here) > bytes_max {
            out.push_back(start..i);
            (start, bytes) = (i, 0);
        }
        bytes = bytes.saturating_add(here);
    }
    if start < plan.tiles.len() {
        out.push_back(start..plan.tiles.len());
    }
    Ok(out)
}

/// Does the work: `base` is the place of the plan's first cell in the canvas. `known` are the runs of
/// the whole plan in the order of the result, each of one cell, where it has no boxes.
///
/// # Errors
/// A tile is damaged.
pub(crate) fn paint(
    mut canvas: Canvas,
    base: usize,
    plan: &Plan,
    known: Option<&Vec<Run>>,
    work: Vec<Work>,
    fetched: &[Bytes],
    d: &Decoding,
) -> Result<Canvas> {
    let mut by_field: Vec<Vec<Work>> = canvas.fields.iter().map(|_| Vec::new()).collect();
    for w in work {
        if let Some(list) = by_field.get_mut(w.field) {
            list.push(w);
        }
    }
    let mut jobs: Vec<Job<'_>> = Vec::new();
    let mut runs: Option<Vec<Run>> = None;
    for (field, (f, work)) in canvas.fields.iter_mut().zip(by_field).enumerate() {
        let tiles: Vec<usize> = work.iter().map(|w| w.tile).collect();
        if plan.in_runs(&f.field) {
            let own = plan.is_seen_through(&work).then(|| {
                let inputs: HashMap<usize, &[Option<Input>]> = work.iter().map(|w| (w.tile, &w.inputs[..])).collect();
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
            jobs.extend(run_jobs(f, base, plan, runs, work).map(Job::Runs));
            continue;
        }
        let (width, fill) = (f.width(), f.fill());
        let var = f.field.cell.is_var();
        let first_id = f.tiles.len();
        let cells = cut_rows(plan, &tiles, &mut f.cells, if var { 0 } else { base }, width);
        let validity = match &mut f.validity {
            Some(v) => cut_rows(plan, &tiles, v, base, 1).into_iter().map(Some).collect(),
            None => tiles.iter().map(|_| None).collect::<Vec<_>>(),
        };
        let mut id = first_id;
        for ((w, cells), validity) in work.into_iter().zip(cells).zip(validity) {
            let ids = id..id + w.inputs.len();
            id = ids.end;
            jobs.push(Job::Boxes(BoxesJob {
                field,
                wanted: f.field.clone(),
                fill: fill.clone(),
                width,
                work: w,
                cells,
                validity,
                first_id: ids.start,
            }));
        }
    }
    let run = |job| match job {
        Job::Boxes(job) => job.run(plan, fetched, d),
        Job::Runs(job) => job.run(fetched, d).map(|()| (0, Vec::new())),
    };
    let done = d.cpu.try_map_owned(jobs, run)?;
    for (field, columns) in done {
        if let Some(f) = canvas.fields.get_mut(field).filter(|f| f.field.cell.is_var()) {
            f.tiles.extend(columns);
        }
    }
    Ok(canvas)
}

/// The rows of one box of a tile.
type BoxRows<'a> = Vec<&'a mut [u8]>;

/// Cuts a plane of the canvas into the rows of each box of each of these tiles.
fn cut_rows<'a>(plan: &Plan, tiles: &[usize], plane: &'a mut [u8], base: usize, width: usize) -> Vec<Vec<BoxRows<'a>>> {
    let mut segments: Vec<(u64, u64, usize, usize)> = Vec::new();
    let mut out: Vec<Vec<BoxRows<'a>>> = Vec::with_capacity(tiles.len());
    for (t, &tile) in tiles.iter().enumerate() {
        let boxes = plan.tiles.get(tile).map_or(&[][..], |t| &t.boxes);
        out.push(Vec::with_capacity(boxes.len()));
        for (b, plan) in boxes.iter().enumerate() {
            let cells = plan.shape.row_cells();
            let starts = plan.rows.starts();
            if let Some(out) = out.last_mut() {
                out.push(Vec::with_capacity(starts.len()));
            }
            segments.extend(starts.into_iter().map(|start| (start, cells, t, b)));
        }
    }
    segments.sort_unstable_by_key(|s| s.0);
    let mut rest = plane;
    let mut at = 0_usize;
    for (start, cells, t, b) in segments {
        let start = (base + start as usize) * width;
        let skipped = std::mem::take(&mut rest).split_at_mut(start - at).1;
        let (row, after) = skipped.split_at_mut(cells as usize * width);
        at = start + row.len();
        rest = after;
        if let Some(rows) = out.get_mut(t).and_then(|t| t.get_mut(b)) {
            rows.push(row);
        }
    }
    out
}

enum Job<'a> {
    Boxes(BoxesJob<'a>),
    Runs(RunsJob<'a>),
}

/// One tile of one attribute with the rows it paints.
struct BoxesJob<'a> {
    field: usize,
    wanted: Field,
    fill: Vec<u8>,
    width: usize,
    work: Work,
    cells: Vec<BoxRows<'a>>,
    validity: Option<Vec<BoxRows<'a>>>,
    /// Number of the first source among the field's tiles of variable-length cells.
    first_id: usize,
}

impl BoxesJob<'_> {
    /// Returns the decoded tiles of variable-length cells, one for each source.
    fn run(mut self, plan: &Plan, fetched: &[Bytes], d: &Decoding) -> Result<(usize, Vec<Arc<Column>>)> {
        let Some(tile) = plan.tiles.get(self.work.tile) else {
            return Ok((self.field, Vec::new()));
        };
        if !tile.covered || self.work.inputs.last().is_none_or(Option::is_none) {
            let valid = [u8::from(self.wanted.fill_valid)];
            self.cells
                .iter_mut()
                .flatten()
                .for_each(|row| super::paint::fill(row, &self.fill));
            self.validity
                .iter_mut()
                .flatten()
                .flatten()
                .for_each(|row| super::paint::fill(row, &valid));
        }
        let var = self.wanted.cell.is_var();
        let mut columns = Vec::new();
        for (i, input) in std::mem::take(&mut self.work.inputs).into_iter().enumerate() {
            let Some(source) = tile.sources.get(i) else { continue };
            let reuse = if tile.cells < plan.tile_cells() {
                Reuse::Likely
            } else {
                Reuse::Possible
            };
            let Some(input) = input else {
                // What older sources have is seen, or the fill values.
                columns.extend(var.then(|| Arc::new(self.wanted.empty_column())));
                continue;
            };
            let column = input.decode(fetched, d, reuse)?;
            for (b, plan_box) in tile.boxes.iter().enumerate() {
                let shape = &plan_box.shape;
                let Some(rows) = self.cells.get_mut(b) else { continue };
                let strides = &plan.strides;
                if var {
                    let ids = Ids {
                        base: FieldCanvas::id_base(self.first_id + i),
                    };
                    shape.paint(&ids, strides, &source.inside, rows, 8);
                } else {
                    let values = Values {
                        data: &column.data,
                        width: self.width,
                    };
                    shape.paint(&values, strides, &source.inside, rows, self.width);
                }
                if let Some(rows) = self.validity.as_mut().and_then(|v| v.get_mut(b)) {
                    match &column.validity {
                        Some(v) => shape.paint(&Values { data: v, width: 1 }, strides, &source.inside, rows, 1),
                        None => shape.paint(&Fill(&[1]), strides, &source.inside, rows, 1),
                    }
                }
            }
            columns.extend(var.then_some(column));
        }
        Ok((self.field, columns))
    }
}
