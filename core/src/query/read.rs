//! Reading: for each box or batch fetch, decode, assemble. The only part of queries that waits.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::condition::{Bound, bind};
use super::dense::canvas::Canvas;
use super::dense::fill;
use super::dense::{Boxes, DenseBox, DenseOrder, DenseQuery};
use super::sparse::SparseQuery;
use super::sparse::gather::Chunk;
use super::sparse::run::RunWork;
use super::sparse::sweep::Sweep;
use super::tile::{Decoding, Extent};
use super::{Batch, Query, ReadResult};
use crate::array::open::load_index;
use crate::array::{Array, Fragment};
use crate::column::Column;
use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::format::schema::Layout;
use crate::vfs::coalesce::{GAP_BYTES, MERGED_BYTES_MAX, coalesce};

/// Bytes on disk that are decoded in one go.
const GROUP_BYTES: u64 = 32 << 20;
/// Bytes of a result that are assembled in one go, where all of it was asked for.
const PART_BYTES: u64 = 64 << 20;
/// Bytes that are not worth the way to another thread.
const SMALL_BYTES: u64 = 256 << 10;
/// Requests in flight at once.
const IN_FLIGHT: usize = 32;

/// The batches of a streamed read, in the order of the query's layout.
#[derive(Debug)]
pub struct Batches {
    array: Array,
    query: Query,
    state: State,
}

#[derive(Debug)]
enum State {
    New,
    Dense(Arc<DenseQuery>, Boxes),
    Sparse(Arc<SparseQuery>, Sweep),
    Done,
}

impl Batches {
    /// The next batch; `None` after the last.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub async fn next(&mut self) -> Result<Option<Batch>> {
        if matches!(self.state, State::New) {
            self.state = self.array.start(&self.query).await?;
        }
        let batch = match &mut self.state {
            State::New | State::Done => None,
            State::Dense(query, boxes) => match boxes.next(query)? {
                Some(dense) => Some(self.array.read_box(query, dense).await?),
                None => None,
            },
            State::Sparse(query, sweep) => self.array.next_sparse(query, sweep, self.query.batch_bytes).await?,
        };
        if batch.is_none() {
            self.state = State::Done;
        }
        Ok(batch)
    }
}

/// What [`Array::verify`] has to say about one file.
#[derive(Debug)]
pub struct Finding {
    /// The file, from the root of the store.
    pub path: String,
    /// What is wrong with it; `None` where it was read without complaint.
    pub error: Option<Error>,
    /// Tiles that were decoded.
    pub tiles: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

impl Array {
    /// Everything that the query asks for, at once.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the query does not fit the schema; [`Error::Corrupt`] and
    /// [`Error::Io`] name the file.
    pub async fn read(&self, query: &Query) -> Result<ReadResult> {
        match self.start(query).await? {
            State::Dense(query, _) => self.read_dense(&query).await,
            State::Sparse(query, sweep) => self.read_sparse(&query, sweep).await,
            State::New | State::Done => Err(Error::Cancelled),
        }
    }

    /// The same in batches of at most `query.batch_bytes` bytes.
    pub fn batches(&self, query: Query) -> Batches {
        Batches { array: self.clone(), query, state: State::New }
    }

    /// How many cells the query finds.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub async fn count(&self, query: &Query) -> Result<u64> {
        match self.start(query).await? {
            State::Dense(query, boxes) => self.count_dense(&query, boxes).await,
            State::Sparse(query, sweep) => self.count_sparse(&query, sweep).await,
            State::New | State::Done => Err(Error::Cancelled),
        }
    }

    /// Reads every tile of every fragment, and reports on each file.
    ///
    /// # Errors
    /// None for damage, which is reported; only what keeps the check itself from going on.
    pub async fn verify(&self, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let _ = report;
        Err(Error::Unsupported("verify".into()))
    }

    async fn start(&self, query: &Query) -> Result<State> {
        let condition = self.bind(query).await?;
        if !self.schema().is_dense() {
            let (resolved, sweep) = self.start_sparse(query, condition, self.fragments()).await?;
            return Ok(State::Sparse(resolved, sweep));
        }
        let resolved = Arc::new(DenseQuery::new(self, query, condition)?);
        load_index(self, &resolved.index()).await?;
        let boxes = resolved.boxes(query.batch_bytes, false);
        Ok(State::Dense(resolved, boxes))
    }

    async fn start_sparse(&self, query: &Query, condition: Option<Bound>, fragments: &[Arc<Fragment>]) -> Result<(Arc<SparseQuery>, Sweep)> {
        let mut resolved = SparseQuery::new(self, query, condition, fragments)?;
        load_index(self, &resolved.index()).await?;
        resolved.skip_processed(&self.0.deletes);
        let sweep = resolved.sweep()?;
        Ok((Arc::new(resolved), sweep))
    }

    /// The query's condition, with the values of enumerations looked up.
    async fn bind(&self, query: &Query) -> Result<Option<Bound>> {
        let Some(condition) = &query.condition else { return Ok(None) };
        let mut enumerations = BTreeMap::new();
        for name in condition.fields() {
            if let Some(e) = self.schema().attribute(name).and_then(|(_, a)| a.enumeration.as_ref()) {
                enumerations.insert(e.clone(), self.enumeration(e).await?);
            }
        }
        Ok(Some(bind(condition, self.schema(), &enumerations)?))
    }

    async fn read_dense(&self, query: &Arc<DenseQuery>) -> Result<Batch> {
        let cells = query.cells().and_then(|n| usize::try_from(n).ok());
        let cells = cells.ok_or_else(|| Error::LimitExceeded {
            what: "cells of a result; read it in batches".into(),
            found: u64::MAX,
            limit: isize::MAX as u64,
        })?;
        let mut canvas = Canvas::new(&query.attributes, cells)?;
        let mut boxes = query.boxes(PART_BYTES, true);
        let mut coordinates: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        let mut base = 0;
        while let Some(dense) = boxes.next(query)? {
            for (d, _) in query.dimensions_wanted() {
                query.coordinates(d, &dense, coordinates.entry(d).or_default());
            }
            let here = dense.plan.cells;
            canvas = self.paint_box(query, canvas, base, dense).await?.0;
            base += here;
        }
        let shape = matches!(query.order, DenseOrder::Major(_)).then(|| query.shape());
        let coordinates = |d: usize| coordinates.get(&d).cloned().unwrap_or_default();
        Ok(query.finish(cells, canvas.into_columns(), &coordinates, shape, &query.spans))
    }

    async fn read_box(&self, query: &Arc<DenseQuery>, dense: DenseBox) -> Result<Batch> {
        let cells = dense.plan.cells;
        let canvas = Canvas::new(&query.attributes, cells)?;
        let (canvas, dense) = self.paint_box(query, canvas, 0, dense).await?;
        let coordinates = |d: usize| {
            let mut out = Vec::new();
            query.coordinates(d, &dense, &mut out);
            out
        };
        let shape = matches!(query.order, DenseOrder::Major(_)).then(|| dense.plan.shape.clone());
        Ok(query.finish(cells, canvas.into_columns(), &coordinates, shape, &dense.spans))
    }

    async fn count_dense(&self, query: &Arc<DenseQuery>, mut boxes: Boxes) -> Result<u64> {
        if query.condition.is_none() {
            let too_many = || Error::invalid("the region has more cells than can be counted");
            return query.cells().ok_or_else(too_many);
        }
        let mut count = 0;
        while let Some(dense) = boxes.next(query)? {
            let cells = dense.plan.cells;
            let canvas = Canvas::new(&query.attributes, cells)?;
            let (canvas, dense) = self.paint_box(query, canvas, 0, dense).await?;
            let coordinates = |d: usize| {
                let mut out = Vec::new();
                query.coordinates(d, &dense, &mut out);
                out
            };
            let columns: Vec<_> = canvas.into_columns().into_iter().map(Some).collect();
            let mask = query.mask(cells, &columns, &coordinates).unwrap_or_default();
            count += mask.iter().map(|&m| u64::from(m)).sum::<u64>();
        }
        Ok(count)
    }

    /// Paints a box whose first cell is at `base` of the canvas. While one group of tiles is decoded,
    /// the bytes of the next are fetched.
    async fn paint_box(&self, query: &Arc<DenseQuery>, mut canvas: Canvas, base: usize, dense: DenseBox) -> Result<(Canvas, Arc<DenseBox>)> {
        canvas.start_box(dense.plan.cells)?;
        let dense = Arc::new(dense);
        let groups = fill::groups(&dense.plan, &query.attributes, &query.stored, GROUP_BYTES)?;
        let mut next = match groups.first() {
            Some(first) => Some(self.fetch_work(query, &dense, first.clone()).await?),
            None => None,
        };
        for i in 0..groups.len() {
            let Some((work, fetched)) = next.take() else { break };
            let cpu = self.cpu_for(&fetched);
            let decoding = self.decoding(cpu);
            let shared = Arc::clone(&dense);
            let painting = cpu.run(move || fill::paint(canvas, base, &shared.plan, work, &fetched, &decoding));
            if let Some(group) = groups.get(i + 1) {
                next = Some(self.fetch_work(query, &dense, group.clone()).await?);
            }
            canvas = painting.await?;
        }
        if !query.overlays.is_empty() {
            let points = self.overlay_cells(query, &dense).await?;
            query.overlay(&mut canvas, base, &dense, &points);
        }
        canvas.finish_box();
        Ok((canvas, dense))
    }

    /// The cells of sparse fragments in a box of a dense array: coordinates, then attributes.
    async fn overlay_cells(&self, query: &DenseQuery, dense: &DenseBox) -> Result<Batch> {
        let fields = query.dimensions.iter().chain(&query.attributes).map(|f| f.name.clone()).collect();
        let inner = Query { fields: Some(fields), region: query.region(&dense.spans), order: Layout::Unordered, ..Query::default() };
        let (inner, sweep) = self.start_sparse(&inner, None, &query.overlays).await?;
        self.read_sparse(&inner, sweep).await
    }

    async fn read_sparse(&self, query: &Arc<SparseQuery>, mut sweep: Sweep) -> Result<Batch> {
        let mut all = Batch {
            columns: query.fields.iter().map(|f| (f.name.clone(), f.empty_column())).collect(),
            cells: 0,
            shape: None,
            region: None,
        };
        let mut first = true;
        while let Some(batch) = self.next_sparse(query, &mut sweep, PART_BYTES).await? {
            if std::mem::take(&mut first) {
                all = batch;
                continue;
            }
            all.cells += batch.cells;
            for ((_, to), (_, from)) in all.columns.iter_mut().zip(&batch.columns) {
                append(to, from);
            }
        }
        Ok(all)
    }

    /// The next cells of a sparse read: at most `bytes_max` bytes, and never none.
    async fn next_sparse(&self, query: &Arc<SparseQuery>, sweep: &mut Sweep, bytes_max: u64) -> Result<Option<Batch>> {
        let attributes: Vec<usize> = (0..query.attributes.len()).filter(|&a| query.is_wanted(a)).collect();
        loop {
            let Some(chunk) = self.next_chunk(query, sweep, bytes_max).await? else { return Ok(None) };
            if chunk.segments.is_empty() {
                continue;
            }
            let (chunk, decoding) = self.decode_chunk(query, chunk, &attributes).await?;
            let query = Arc::clone(query);
            let cpu = decoding.cpu;
            return Ok(Some(cpu.run(move || chunk.batch(&query, &decoding)).await?));
        }
    }

    async fn count_sparse(&self, query: &Arc<SparseQuery>, mut sweep: Sweep) -> Result<u64> {
        let mut count = 0;
        while let Some(chunk) = self.next_chunk(query, &mut sweep, PART_BYTES).await? {
            count += chunk.cells() as u64;
        }
        Ok(count)
    }

    /// The next cells that are final and satisfy every condition; may be none of those that were looked at.
    async fn next_chunk(&self, query: &Arc<SparseQuery>, sweep: &mut Sweep, bytes_max: u64) -> Result<Option<Chunk>> {
        let cells_max = (bytes_max / query.row_bytes()).max(1);
        let segments = loop {
            let segments = sweep.take(cells_max);
            if !segments.is_empty() {
                break segments;
            }
            if sweep.is_loaded() {
                return Ok(None);
            }
            self.load(query, sweep, bytes_max).await?;
        };
        let mut chunk = Chunk::new(sweep.runs.clone(), segments);
        if !query.is_filtered() {
            return Ok(Some(chunk));
        }
        chunk.prune(query);
        let tested = query.tested_attributes();
        let (mut chunk, decoding) = self.decode_chunk(query, chunk, &tested).await?;
        let query = Arc::clone(query);
        let filter = move || {
            chunk.filter(&query);
            Ok(chunk)
        };
        Ok(Some(decoding.cpu.run(filter).await?))
    }

    /// Loads the next tiles of a sweep.
    async fn load(&self, query: &Arc<SparseQuery>, sweep: &mut Sweep, bytes_max: u64) -> Result<()> {
        let mut room = bytes_max;
        let candidates = sweep.to_load(|c| {
            let cells = query.layers.get(c.layer).and_then(|l| l.fragment.tile_cells(c.tile).ok()).unwrap_or(0);
            let bytes = query.loaded_bytes().saturating_mul(cells as u64);
            let fits = bytes <= room;
            room = room.saturating_sub(bytes);
            fits
        });
        let (mut work, mut extents) = (Vec::new(), Vec::new());
        for candidate in candidates {
            if let Some(layer) = query.layers.get(candidate.layer) {
                work.push((candidate.layer, RunWork::new(candidate, layer, &self.context().cache, &mut extents)?));
            }
        }
        let fetched = self.fetch(&extents).await?;
        let decoding = self.decoding(self.cpu_for(&fetched));
        let cpu = decoding.cpu;
        let query = Arc::clone(query);
        let runs = cpu.run(move || {
            let run = |(layer, work): (usize, RunWork)| {
                let layer = query.layers.get(layer).ok_or(Error::Cancelled)?;
                work.run(layer, &query.ranges, query.order.as_deref(), query.window, &fetched, &decoding)
            };
            decoding.cpu.try_map_owned(work, run)
        });
        sweep.add(runs.await?, cpu);
        Ok(())
    }

    /// Decodes the tiles of these attributes that a chunk needs.
    async fn decode_chunk(&self, query: &Arc<SparseQuery>, mut chunk: Chunk, attributes: &[usize]) -> Result<(Chunk, Decoding)> {
        let mut extents = Vec::new();
        let work = chunk.work(query, attributes, &self.context().cache, &mut extents)?;
        let fetched = self.fetch(&extents).await?;
        let decoding = self.decoding(self.cpu_for(&fetched));
        let mine = decoding.clone();
        let chunk = decoding.cpu.run(move || {
            chunk.decode(&work, &fetched, &mine)?;
            Ok(chunk)
        });
        Ok((chunk.await?, decoding))
    }

    fn decoding(&self, cpu: Cpu) -> Decoding {
        Decoding { cpu, key: self.key().cloned(), latest: Arc::clone(self.schema()), cache: Arc::clone(&self.context().cache) }
    }

    /// Small work is done on the spot.
    fn cpu_for(&self, fetched: &[Bytes]) -> Cpu {
        let bytes: usize = fetched.iter().map(Bytes::len).sum();
        if (bytes as u64) < SMALL_BYTES { Cpu::Inline } else { self.context().cpu }
    }

    async fn fetch_work(&self, query: &DenseQuery, dense: &DenseBox, group: std::ops::Range<usize>) -> Result<(Vec<fill::Work>, Vec<Bytes>)> {
        let (work, extents) = fill::work(&dense.plan, group, &query.attributes, &query.stored, &self.context().cache)?;
        Ok((work, self.fetch(&extents).await?))
    }

    /// The bytes of these extents, in their order: one request a file, neighbours merged.
    pub(crate) async fn fetch(&self, extents: &[Extent]) -> Result<Vec<Bytes>> {
        let mut files: HashMap<&str, Vec<usize>> = HashMap::new();
        for (i, extent) in extents.iter().enumerate() {
            files.entry(&extent.path).or_default().push(i);
        }
        let vfs = &self.context().vfs;
        let read = |(path, places): (&str, Vec<usize>)| {
            let path = path.to_owned();
            async move {
                let ranges: Vec<_> = places.iter().filter_map(|&i| extents.get(i).map(|e| e.range.clone())).collect();
                let merged = coalesce(&ranges, GAP_BYTES, MERGED_BYTES_MAX)?;
                let fetched = vfs.read(&path, &merged.fetches).await?;
                Ok::<_, Error>((places, merged.split(&path, &fetched)?))
            }
        };
        let mut out = vec![Bytes::new(); extents.len()];
        let mut reads = stream::iter(files.into_iter().map(read)).buffer_unordered(IN_FLIGHT);
        while let Some((places, bytes)) = reads.try_next().await? {
            for (place, bytes) in places.into_iter().zip(bytes) {
                if let Some(out) = out.get_mut(place) {
                    *out = bytes;
                }
            }
        }
        Ok(out)
    }
}

/// Appends the cells of `from`, a column of the same type.
fn append(to: &mut Column, from: &Column) {
    let base = to.data.len() as u64;
    to.data.extend_from_slice(&from.data);
    if let (Some(to), Some(from)) = (&mut to.offsets, &from.offsets) {
        to.extend(from.iter().skip(1).map(|o| base + o));
    }
    if let (Some(to), Some(from)) = (&mut to.validity, &from.validity) {
        to.extend_from_slice(from);
    }
}
