//! Reads boxes of dense arrays.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::PART_BYTES;
use crate::array::Array;
use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::geometry::Span;
use crate::query::Batch;
use crate::query::dense::DenseQuery;
use crate::query::dense::assemble::assemble;
use crate::query::dense::assemble::runs::CellRun;
use crate::query::dense::boxes::{Boxes, DenseBox, DenseOrder};
use crate::query::dense::fetch::{Fetcher, Fetching, TileJob};
use crate::query::dense::plan::Plan;
use crate::query::dense::result::buffers::{RecycledColumns, ResultBuffers, reserved};
use crate::query::tile::Decoding;
use crate::vfs::local_reads;

/// Stored bytes to decode at a time.
pub(super) const GROUP_BYTES: u64 = 32 << 20;
/// Work on fewer cells than this is not moved to another thread.
const SMALL_CELLS: usize = 4096;

/// How far a plan was fetched.
struct Progress {
    fetching: Fetching,
    /// Index of the next tile.
    next: usize,
}

impl Array {
    pub(super) async fn read_dense(&self, query: &Arc<DenseQuery>, mut spare: RecycledColumns) -> Result<Batch> {
        let cells = query.cells().and_then(|n| usize::try_from(n).ok());
        let cells = cells.ok_or_else(|| Error::LimitExceeded {
            what: "cells of a result (select fewer, or read in batches)".into(),
            found: query.cells().unwrap_or(u64::MAX),
            limit: isize::MAX as u64,
        })?;
        let mut result_buffers = ResultBuffers::new(&query.attributes, cells, &mut spare)?;
        let mut boxes = query.boxes(PART_BYTES, true);
        let mut coordinates: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for (d, field) in query.dimensions_wanted() {
            coordinates.insert(d, reserved(cells, field.cell_bytes().unwrap_or(8))?);
        }
        let mut base = 0;
        while let Some(dense) = boxes.next(query)? {
            for (d, _) in query.dimensions_wanted() {
                query.coordinates(d, &dense, coordinates.entry(d).or_default());
            }
            let here = dense.plan.cells;
            result_buffers = self.assemble_box(query, result_buffers, base, dense).await?.0;
            base += here;
        }
        let shape = matches!(query.order, DenseOrder::Major(_)).then(|| query.shape());
        let coordinates = |d: usize| coordinates.get(&d).cloned().unwrap_or_default();
        Ok(query
            .finish(
                cells,
                result_buffers.into_columns(),
                &coordinates,
                shape,
                &query.spans,
                self.context().cpu,
            )
            .0)
    }

    /// Reads the cells of a box. Also returns a mask with 1 for each cell that satisfies the condition.
    pub(crate) async fn read_box(&self, query: &Arc<DenseQuery>, dense: DenseBox) -> Result<(Batch, Option<Vec<u8>>)> {
        let cells = dense.plan.cells;
        let result_buffers = ResultBuffers::new(&query.attributes, cells, &mut RecycledColumns::default())?;
        let (result_buffers, dense) = self.assemble_box(query, result_buffers, 0, dense).await?;
        let coordinates = |d: usize| {
            let mut out = Vec::new();
            query.coordinates(d, &dense, &mut out);
            out
        };
        let shape = matches!(query.order, DenseOrder::Major(_)).then(|| dense.plan.shape.clone());
        let (batch, mut mask) = query.finish(
            cells,
            result_buffers.into_columns(),
            &coordinates,
            shape,
            &dense.spans,
            self.context().cpu,
        );
        if let Some(mask) = &mut mask {
            dense.plan.unmask(mask);
        }
        Ok((batch, mask))
    }

    pub(super) async fn count_dense(&self, query: &Arc<DenseQuery>, mut boxes: Boxes) -> Result<u64> {
        if query.condition.is_none() {
            let too_many = || Error::invalid("the region has more cells than can be counted; select fewer");
            return query.cells().ok_or_else(too_many);
        }
        let mut count = 0;
        while let Some(dense) = boxes.next_but(query, |tile| query.excludes(tile))? {
            let (_, mask) = self.read_box(query, dense).await?;
            count += mask.iter().flatten().map(|&m| u64::from(m)).sum::<u64>();
        }
        Ok(count)
    }

    /// Assembles a box whose first cell is at `base` of the result.
    async fn assemble_box(
        &self,
        query: &Arc<DenseQuery>,
        mut result_buffers: ResultBuffers,
        base: usize,
        dense: DenseBox,
    ) -> Result<(ResultBuffers, DenseBox)> {
        result_buffers.start_box(dense.plan.cells)?;
        let plan = &dense.plan;
        result_buffers = self.assemble_plan(query, result_buffers, base, plan, None).await?;
        if !query.overlays.is_empty() {
            let points = self.overlay_cells(query, &query.bounds(&dense)).await?;
            query.overlay(&mut result_buffers, base, &points, &|cell, out| {
                query.places(&dense, cell, out)
            });
        }
        result_buffers.finish_box(self.context().cpu)?;
        Ok((result_buffers, dense))
    }

    /// Assembles the tiles of a plan. While one group of tiles is decoded, the next is fetched. `runs` are the plan's
    /// runs in the order of the result, if they are known.
    pub(super) async fn assemble_plan(
        &self,
        query: &DenseQuery,
        mut result_buffers: ResultBuffers,
        base: usize,
        plan: &Arc<Plan>,
        runs: Option<Arc<Vec<CellRun>>>,
    ) -> Result<ResultBuffers> {
        let mut progress = Progress {
            fetching: self.fetching(),
            next: 0,
        };
        let mut group = self.fetch_group(query, plan, &mut progress).await?;
        while let Some((jobs, decoding)) = group {
            let (shared, runs) = (Arc::clone(plan), runs.clone());
            let assembly = decoding
                .cpu
                .run(move || assemble(result_buffers, base, &shared, runs.as_deref(), jobs, &decoding));
            group = self.fetch_group(query, plan, &mut progress).await?;
            result_buffers = assembly.await?;
        }
        Ok(result_buffers)
    }

    pub(super) fn fetching(&self) -> Fetching {
        match (local_reads(&*self.context().vfs), &self.0.options.key) {
            (Some(_), _) => Fetching::Nothing,
            (None, None) => Fetching::Chunks,
            (None, Some(_)) => Fetching::Tiles,
        }
    }

    /// Fetches the next group of tiles; `None` after the last.
    async fn fetch_group(
        &self,
        query: &DenseQuery,
        plan: &Plan,
        progress: &mut Progress,
    ) -> Result<Option<(Vec<TileJob>, Decoding)>> {
        let cache = &self.context().cache;
        loop {
            let fetcher = Fetcher {
                fields: &query.attributes,
                stored: &query.stored,
                fetching: progress.fetching,
                cache,
            };
            let Some(group) = fetcher.group(plan, progress.next, GROUP_BYTES)? else {
                return Ok(None);
            };
            let fetched = self.fetch(&group.list.extents).await?;
            if !group.list.are_chunks(&fetched, cache) {
                progress.fetching = Fetching::Tiles;
                continue;
            }
            progress.next = group.end;
            let cpu = self.cpu_of_group(plan, group.list.bytes());
            return Ok(Some((group.jobs, self.decoding(cpu, group.list.into_fetched(fetched)))));
        }
    }

    /// Large plans are assembled on all cores, whatever was fetched.
    fn cpu_of_group(&self, plan: &Plan, fetched_bytes: u64) -> Cpu {
        if plan.cells > SMALL_CELLS {
            self.context().cpu
        } else {
            self.cpu_for(fetched_bytes)
        }
    }

    /// Reads the cells of sparse fragments in a box of a dense array: coordinates, then attributes.
    pub(super) async fn overlay_cells(&self, query: &DenseQuery, spans: &[Vec<Span>]) -> Result<Batch> {
        let inner = query.overlay_query(spans);
        let fragments: Vec<_> = query.overlays.iter().map(|(f, _)| Arc::clone(f)).collect();
        let (inner, merge_stream) = self
            .start_sparse(&inner, None, &fragments, &query.overlays, &|_| Vec::new())
            .await?;
        self.read_sparse(&inner, merge_stream, RecycledColumns::default()).await
    }
}
