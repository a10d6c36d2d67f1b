//! Reads boxes of dense arrays.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{PART_BYTES, fetched_bytes};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::format::schema::Layout;
use crate::geometry::Span;
use crate::query::dense::fill::Fetching;
use crate::query::dense::plan::Plan;
use crate::query::dense::result_buffers::{RecycledColumns, ResultBuffers, reserved};
use crate::query::dense::runs::CellRun;
use crate::query::dense::{Boxes, DenseBox, DenseOrder, DenseQuery, fill};
use crate::query::{Batch, Query};
use crate::vfs::local_reads;

/// Stored bytes to decode at a time.
const GROUP_BYTES: u64 = 32 << 20;
/// Work on fewer cells than this is not moved to another thread.
const SMALL_CELLS: usize = 4096;

/// The groups of a plan that are still to be fetched.
struct Rest {
    fetching: Fetching,
    groups: VecDeque<Range<usize>>,
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
            result_buffers = self.paint_box(query, result_buffers, base, dense).await?.0;
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
        let (result_buffers, dense) = self.paint_box(query, result_buffers, 0, dense).await?;
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

    /// Paints a box whose first cell is at `base` of the result. While one group of tiles is decoded, the next is
    /// fetched.
    async fn paint_box(
        &self,
        query: &Arc<DenseQuery>,
        mut result_buffers: ResultBuffers,
        base: usize,
        dense: DenseBox,
    ) -> Result<(ResultBuffers, DenseBox)> {
        result_buffers.start_box(dense.plan.cells)?;
        result_buffers = self.paint_plan(query, result_buffers, base, &dense.plan, None).await?;
        if !query.overlays.is_empty() {
            let points = self.overlay_cells(query, &query.bounds(&dense)).await?;
            query.overlay(&mut result_buffers, base, &points, &|cell, out| {
                query.places(&dense, cell, out)
            });
        }
        result_buffers.finish_box(self.context().cpu)?;
        Ok((result_buffers, dense))
    }

    /// Paints the tiles of a plan. `runs` are its runs in the order of the result, if they are known.
    pub(super) async fn paint_plan(
        &self,
        query: &DenseQuery,
        mut result_buffers: ResultBuffers,
        base: usize,
        plan: &Arc<Plan>,
        runs: Option<Arc<Vec<CellRun>>>,
    ) -> Result<ResultBuffers> {
        let mut rest = Rest {
            fetching: self.fetching(),
            groups: VecDeque::new(),
        };
        rest.groups = self.groups(query, plan, 0, rest.fetching)?;
        let mut next = self.fetch_work(query, plan, &mut rest).await?;
        while let Some((work, fetched)) = next {
            let cpu = if plan.cells > SMALL_CELLS {
                self.context().cpu
            } else {
                self.cpu_for(fetched_bytes(&fetched))
            };
            let decoding = self.decoding(cpu);
            let (plan, runs) = (Arc::clone(plan), runs.clone());
            let shared = Arc::clone(&plan);
            let painting = cpu.run(move || {
                fill::paint(
                    result_buffers,
                    base,
                    &shared,
                    runs.as_deref(),
                    work,
                    &fetched,
                    &decoding,
                )
            });
            next = self.fetch_work(query, &plan, &mut rest).await?;
            result_buffers = painting.await?;
        }
        Ok(result_buffers)
    }

    fn fetching(&self) -> Fetching {
        match (local_reads(&*self.context().vfs), &self.0.options.key) {
            (Some(_), _) => Fetching::Nothing,
            (None, None) => Fetching::Chunks,
            (None, Some(_)) => Fetching::Tiles,
        }
    }

    fn groups(
        &self,
        query: &DenseQuery,
        plan: &Plan,
        first: usize,
        fetching: Fetching,
    ) -> Result<VecDeque<Range<usize>>> {
        let fetching = (fetching, &*self.context().cache);
        fill::groups(plan, first, &query.attributes, &query.stored, GROUP_BYTES, fetching)
    }

    /// Fetches the next group; `None` after the last.
    async fn fetch_work(
        &self,
        query: &DenseQuery,
        plan: &Plan,
        rest: &mut Rest,
    ) -> Result<Option<(Vec<fill::Work>, Vec<Bytes>)>> {
        let cache = &self.context().cache;
        while let Some(group) = rest.groups.pop_front() {
            let first = group.start;
            let (work, extents) = fill::work(plan, group, &query.attributes, &query.stored, cache, rest.fetching)?;
            let fetched = self.fetch(&extents).await?;
            if fill::are_chunks(&work, &fetched, cache) {
                return Ok(Some((work, fetched)));
            }
            // Whole tiles have more bytes, so groups hold fewer of them.
            rest.fetching = Fetching::Tiles;
            rest.groups = self.groups(query, plan, first, rest.fetching)?;
        }
        Ok(None)
    }

    /// Reads the cells of sparse fragments in a box of a dense array: coordinates, then attributes.
    pub(super) async fn overlay_cells(&self, query: &DenseQuery, spans: &[Vec<Span>]) -> Result<Batch> {
        let fields = query
            .dimensions
            .iter()
            .chain(&query.attributes)
            .map(|f| f.name.clone())
            .collect();
        let inner = Query {
            fields: Some(fields),
            region: query.region(spans),
            order: Layout::Unordered,
            ..Query::default()
        };
        let fragments: Vec<_> = query.overlays.iter().map(|(f, _)| Arc::clone(f)).collect();
        let (inner, merge_stream) = self
            .start_sparse(&inner, None, &fragments, &query.overlays, &|_| Vec::new())
            .await?;
        self.read_sparse(&inner, merge_stream, RecycledColumns::default()).await
    }
}
