//! Runs queries: fetches, decodes and assembles each box or batch. All I/O of queries is here.

mod aggregate;
mod dense;
mod explain;
mod files;
mod labels;
mod points;
mod sparse;
mod splits;
mod statistics;
mod stored;
mod verify;
mod weigh;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::condition::{Bound, bind, field_name};
use super::dense::DenseQuery;
use super::dense::boxes::Boxes;
use super::dense::result::buffers::RecycledColumns;
use super::merge::SparseQuery;
use super::merge::merge_stream::MergeStream;
use super::tile::Extent;
use super::{Batch, Condition, Query};
use crate::array::index::Section;
use crate::array::sections::load_index;
use crate::array::{Array, Fragment};
use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::vfs::{VfsExt, local_reads};
pub use explain::{PlannedRequest, PlannedTile, ReadPlan};
pub use verify::Finding;
pub(crate) use weigh::{Coordinates, DeleteEffect};

/// Bytes of a result to assemble at a time if the whole result is wanted.
const PART_BYTES: u64 = 64 << 20;
/// The same for sparse cells on a local disk. Smaller parts stay in the processor's caches, and a local disk has no
/// request latency to hide.
const NEAR_PART_BYTES: u64 = 32 << 20;
/// Work on fewer bytes than this is not moved to another thread.
const SMALL_BYTES: u64 = 256 << 10;

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
    Sparse(Arc<SparseQuery>, MergeStream),
    Done,
}

/// Sections of a fragment's index to load in addition to the query's own.
type MoreSections<'a> = dyn Fn(&Fragment) -> Vec<Section> + Sync + 'a;

fn with_more(
    mut index: Vec<(Arc<Fragment>, Vec<Section>)>,
    more: &MoreSections<'_>,
) -> Vec<(Arc<Fragment>, Vec<Section>)> {
    index
        .iter_mut()
        .for_each(|(fragment, sections)| sections.extend(more(fragment)));
    index
}

impl Batches {
    /// The next batch; `None` after the last one.
    ///
    /// # Errors
    /// Those of [`Array::read`].
    pub async fn next(&mut self) -> Result<Option<Batch>> {
        if matches!(self.state, State::New) {
            self.state = self.array.start(&self.query).await?;
        }
        let batch = match &mut self.state {
            State::New | State::Done => None,
            State::Dense(query, boxes) => match boxes.next(query)? {
                Some(dense) => Some(self.array.read_box(query, dense).await?.0),
                None => None,
            },
            State::Sparse(query, merge_stream) => {
                self.array
                    .next_sparse(query, merge_stream, self.query.batch_bytes)
                    .await?
            }
        };
        if batch.is_none() {
            self.state = State::Done;
        }
        Ok(batch)
    }

    /// The next cells that meet the query's condition; `None` after the last ones. A dense result then has no other
    /// cells, no shape and no region, and tiles whose statistics exclude them are not read in global order.
    ///
    /// ```
    /// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
    /// # use hyperslab::*;
    /// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
    /// # let context = Context::memory();
    /// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
    /// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
    /// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
    /// # Array::create(&context, "line", &schema, &[], &options).await?;
    /// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
    /// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
    /// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
    /// # let cells = Cells { region: None, layout: Layout::RowMajor, columns: column(&[0, 10, 2, 30, 4, 5, 6, 70]) };
    /// # array.write(cells, &at(10)).await?;
    /// let array = array.at(Window::ALL).await?;
    /// let mut batches = array.batches(Query {
    ///     fields: Some(vec!["x".into(), "a".into()]),
    ///     condition: Some("a >= 10".parse()?),
    ///     ..Query::default()
    /// });
    /// let rows = batches.next_matching().await?.unwrap();
    /// assert_eq!(*rows.column("x").unwrap().values::<i32>()?, [1, 3, 7]);
    /// assert!(batches.next_matching().await?.is_none());
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Those of [`Array::read`].
    pub async fn next_matching(&mut self) -> Result<Option<Batch>> {
        if matches!(self.state, State::New) {
            self.state = self.array.start(&self.query).await?;
        }
        while let State::Dense(query, boxes) = &mut self.state {
            let Some(dense) = boxes.next_but(query, |tile| query.excludes(tile))? else {
                self.state = State::Done;
                break;
            };
            let (mut batch, mask) = self.array.read_box(query, dense).await?;
            (batch.shape, batch.region) = (None, None);
            if let Some(places) = mask.as_deref().map(places) {
                for (_, column) in &mut batch.columns {
                    *column = column.picked(&places);
                }
                batch.cells = places.len() as u64;
            }
            if batch.cells > 0 {
                return Ok(Some(batch));
            }
        }
        self.next().await
    }
}

/// The places in a mask that are set.
fn places(mask: &[u8]) -> Vec<u32> {
    (0..).zip(mask).filter(|(_, m)| **m != 0).map(|(i, _)| i).collect()
}

impl Array {
    /// Reads the whole result of the query.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the query does not fit the schema. [`Error::Corrupt`] and [`Error::Io`] name the
    /// file.
    pub async fn read(&self, query: &Query) -> Result<Batch> {
        let mut batch = Batch::default();
        self.read_into(query, &mut batch).await?;
        Ok(batch)
    }

    /// Like [`Array::read`], but reuses the memory of `batch`. Allocating memory can cost more than reading the cells.
    ///
    /// # Errors
    /// Those of [`Array::read`]. The content of `batch` is then unspecified.
    pub async fn read_into(&self, query: &Query, batch: &mut Batch) -> Result<()> {
        let spare = RecycledColumns::of(batch);
        *batch = match self.start(query).await? {
            State::Dense(query, _) => self.read_dense(&query, spare).await?,
            State::Sparse(query, merge_stream) => self.read_sparse(&query, merge_stream, spare).await?,
            State::New | State::Done => return Err(Error::Cancelled),
        };
        Ok(())
    }

    /// Resolves the query of a dense array and loads the index of its fragments, with `more` sections of each.
    pub(crate) async fn resolve_dense(&self, query: &Query, more: &MoreSections<'_>) -> Result<Arc<DenseQuery>> {
        let condition = self.bind_query(query).await?;
        let resolved = Arc::new(DenseQuery::new(self, query, condition)?);
        load_index(self, &with_more(resolved.index(), more)).await?;
        Ok(resolved)
    }

    /// Reads the result in batches of at most `query.batch_bytes` bytes.
    ///
    /// ```
    /// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
    /// # use hyperslab::*;
    /// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
    /// # let context = Context::memory();
    /// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
    /// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
    /// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
    /// # Array::create(&context, "line", &schema, &[], &options).await?;
    /// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
    /// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
    /// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
    /// # let cells = Cells { region: None, layout: Layout::RowMajor, columns: column(&[0, 1, 2, 3, 4, 5, 6, 7]) };
    /// # array.write(cells, &at(10)).await?;
    /// let array = array.at(Window::ALL).await?;
    /// // Batches of at most 16 bytes: four cells.
    /// let mut batches = array.batches(Query { batch_bytes: 16, ..Query::default() });
    /// let mut sum = 0;
    /// while let Some(batch) = batches.next().await? {
    ///     assert!(batch.cells <= 4);
    ///     sum += batch.column("a").unwrap().values::<i32>()?.iter().sum::<i32>();
    /// }
    /// assert_eq!(sum, 28);
    /// # Ok(()) }) }
    /// ```
    pub fn batches(&self, query: Query) -> Batches {
        Batches {
            array: self.clone(),
            query,
            state: State::New,
        }
    }

    async fn start(&self, query: &Query) -> Result<State> {
        self.start_with(query, &|_| Vec::new()).await
    }

    /// Starts a query, with `more` sections of each fragment's index.
    async fn start_with(&self, query: &Query, more: &MoreSections<'_>) -> Result<State> {
        if !self.schema().is_dense() {
            let condition = self.bind_query(query).await?;
            let (resolved, merge_stream) = self.start_sparse(query, condition, self.fragments(), &[], more).await?;
            return Ok(State::Sparse(resolved, merge_stream));
        }
        let resolved = self.resolve_dense(query, more).await?;
        let boxes = resolved.boxes(query.batch_bytes, false);
        Ok(State::Dense(resolved, boxes))
    }

    /// Checks that a condition fits the array's fields, to report errors before a read starts.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an unknown field, or a value that cannot be compared with its field.
    /// [`Error::Corrupt`] and [`Error::Io`] name the file of an enumeration.
    pub async fn check_condition(&self, condition: &Condition) -> Result<()> {
        self.bind(condition).await.map(drop)
    }

    /// Binds a condition to the array's fields and resolves the values of enumerations.
    pub(crate) async fn bind(&self, condition: &Condition) -> Result<Bound> {
        let mut enumerations = BTreeMap::new();
        for name in condition.fields().into_iter().map(|f| field_name(self.schema(), f)) {
            if let Some(e) = self.schema().attribute(name).and_then(|(_, a)| a.enumeration.as_ref()) {
                enumerations.insert(e.clone(), self.enumeration(e).await?);
            }
        }
        bind(condition, self.schema(), &enumerations)
    }

    /// Binds a query's condition, if it has one.
    async fn bind_query(&self, query: &Query) -> Result<Option<Bound>> {
        match &query.condition {
            Some(condition) => Ok(Some(self.bind(condition).await?)),
            None => Ok(None),
        }
    }

    /// Bytes of sparse cells to read at a time.
    fn part_bytes(&self) -> u64 {
        match local_reads(&*self.context().vfs) {
            Some(_) => NEAR_PART_BYTES,
            None => PART_BYTES,
        }
    }

    /// Small amounts of work run on the current thread.
    fn cpu_for(&self, bytes: u64) -> Cpu {
        if bytes < SMALL_BYTES {
            Cpu::Inline
        } else {
            self.context().cpu
        }
    }

    /// Fetches these extents, in order. Ranges are grouped by file, and the store merges neighbours.
    pub(crate) async fn fetch(&self, extents: &[Extent]) -> Result<Vec<Bytes>> {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut files: Vec<(Arc<str>, Vec<Range<u64>>)> = Vec::new();
        let mut places: Vec<Vec<usize>> = Vec::new();
        for (i, extent) in extents.iter().enumerate() {
            let number = *numbers.entry(&extent.path).or_insert_with(|| {
                files.push((extent.path.clone(), Vec::new()));
                places.push(Vec::new());
                files.len() - 1
            });
            if let (Some(file), Some(places)) = (files.get_mut(number), places.get_mut(number)) {
                file.1.push(extent.range.clone());
                places.push(i);
            }
        }
        let mut out = vec![Bytes::new(); extents.len()];
        for (places, fetched) in places.into_iter().zip(self.context().vfs.read_files(&files).await?) {
            for (place, bytes) in places.into_iter().zip(fetched) {
                if let Some(out) = out.get_mut(place) {
                    *out = bytes;
                }
            }
        }
        Ok(out)
    }
}
