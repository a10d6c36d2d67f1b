//! Reads sparse cells, batch by batch.

use std::sync::Arc;

use super::{MoreSections, with_more};
use crate::array::sections::load_index;
use crate::array::{Array, Fragment};
use crate::cache::Cache;
use crate::error::Result;
use crate::query::condition::Bound;
use crate::query::dense::OverlayMask;
use crate::query::dense::result::buffers::RecycledColumns;
use crate::query::merge::SparseQuery;
use crate::query::merge::gather::FinalCells;
use crate::query::merge::merge_stream::MergeStream;
use crate::query::merge::sorted_tile::SortTileJob;
use crate::query::tile::{Decoding, FetchList};
use crate::query::{Batch, Query};

/// Testing a cell costs a fraction of fetching it: this many bytes are tested in the time it takes to process one
/// fetched byte.
const TESTED_FASTER: u64 = 2;

impl Array {
    pub(super) async fn start_sparse(
        &self,
        query: &Query,
        condition: Option<Bound>,
        fragments: &[Arc<Fragment>],
        masks: &[(Arc<Fragment>, Arc<OverlayMask>)],
        more: &MoreSections<'_>,
    ) -> Result<(Arc<SparseQuery>, MergeStream)> {
        let mut resolved = SparseQuery::new(self, query, condition, fragments)?;
        resolved.hide(masks);
        load_index(self, &with_more(resolved.index(), more)).await?;
        resolved.skip_processed(self)?;
        let merge_stream = resolved.merge_stream()?;
        Ok((Arc::new(resolved), merge_stream))
    }

    pub(super) async fn read_sparse(
        &self,
        query: &Arc<SparseQuery>,
        mut merge_stream: MergeStream,
        mut spare: RecycledColumns,
    ) -> Result<Batch> {
        let columns = query.fields.iter().map(|f| (f.name.clone(), spare.empty(f)));
        let mut all = Batch {
            columns: columns.collect(),
            ..Batch::default()
        };
        let part_bytes = self.part_bytes();
        if self
            .append_sparse(query, &mut merge_stream, part_bytes, &mut all)
            .await?
        {
            reserve(&mut all, merge_stream.cells_left());
            while self
                .append_sparse(query, &mut merge_stream, part_bytes, &mut all)
                .await?
            {}
        }
        Ok(all)
    }

    /// The next cells of a sparse read: at least one, and at most `bytes_max` bytes.
    pub(super) async fn next_sparse(
        &self,
        query: &Arc<SparseQuery>,
        merge_stream: &mut MergeStream,
        bytes_max: u64,
    ) -> Result<Option<Batch>> {
        let columns = query.fields.iter().map(|f| (f.name.clone(), f.empty_column()));
        let mut batch = Batch {
            columns: columns.collect(),
            ..Batch::default()
        };
        let more = self.append_sparse(query, merge_stream, bytes_max, &mut batch).await?;
        Ok(more.then_some(batch))
    }

    /// Appends the next cells to `batch`: at least one, and at most `bytes_max` bytes. Returns `false` after the last.
    async fn append_sparse(
        &self,
        query: &Arc<SparseQuery>,
        merge_stream: &mut MergeStream,
        bytes_max: u64,
        batch: &mut Batch,
    ) -> Result<bool> {
        let attributes: Vec<usize> = (0..query.attributes.len()).filter(|&a| query.is_wanted(a)).collect();
        loop {
            let Some(chunk) = self.next_chunk(query, merge_stream, bytes_max).await? else {
                return Ok(false);
            };
            if chunk.segments.is_empty() {
                continue;
            }
            let (chunk, decoding) = self.decode_chunk(query, chunk, &attributes).await?;
            let (query, cpu, mut grown) = (Arc::clone(query), decoding.cpu, std::mem::take(batch));
            let append = move || {
                chunk.append_to(&mut grown, &query, &decoding)?;
                Ok(grown)
            };
            *batch = cpu.run(append).await?;
            return Ok(true);
        }
    }

    /// Counts the cells, processing `bytes_max` bytes at a time.
    pub(super) async fn count_sparse(
        &self,
        query: &Arc<SparseQuery>,
        mut merge_stream: MergeStream,
        bytes_max: u64,
    ) -> Result<u64> {
        let mut count = 0;
        while let Some(chunk) = self.next_chunk(query, &mut merge_stream, bytes_max).await? {
            count += chunk.cells() as u64;
        }
        Ok(count)
    }

    /// The next final cells that satisfy every condition. The chunk may be empty although more cells follow.
    pub(super) async fn next_chunk(
        &self,
        query: &Arc<SparseQuery>,
        merge_stream: &mut MergeStream,
        bytes_max: u64,
    ) -> Result<Option<FinalCells>> {
        let segments = loop {
            let segments = merge_stream.take(bytes_max, query.row_bytes());
            if !segments.is_empty() {
                break segments;
            }
            if merge_stream.is_loaded() {
                return Ok(None);
            }
            self.load(query, merge_stream, bytes_max).await?;
        };
        let mut chunk = FinalCells::new(merge_stream.runs.clone(), segments);
        if !query.is_filtered() {
            return Ok(Some(chunk));
        }
        chunk.prune(query);
        let tested = query.tested_attributes();
        let (mut chunk, _) = self.decode_chunk(query, chunk, &tested).await?;
        let cpu = self.cpu_for(chunk.cells() as u64 * size_of::<u64>() as u64 / TESTED_FASTER);
        let query = Arc::clone(query);
        let filter = move || {
            chunk.filter(&query, cpu)?;
            Ok(chunk)
        };
        Ok(Some(cpu.run(filter).await?))
    }

    /// Loads the next tiles of a merge, of up to `bytes_max` bytes.
    pub(crate) async fn load(
        &self,
        query: &Arc<SparseQuery>,
        merge_stream: &mut MergeStream,
        bytes_max: u64,
    ) -> Result<()> {
        merge_stream.drop_finished();
        let candidates = merge_stream.next_to_load(&query.layers, bytes_max)?;
        let (mut work, mut list) = (Vec::new(), FetchList::default());
        let needed = query.needed_dimensions();
        // Cells that are all read once are not cached.
        let cache = match query.eager {
            true => Arc::new(Cache::new(0)),
            false => Arc::clone(&self.context().cache),
        };
        for candidate in candidates {
            if let Some(layer) = query.layers.get(candidate.layer) {
                let job = SortTileJob::new(candidate, layer, query, &needed, &cache, &mut list)?;
                work.push((job, Arc::clone(query)));
            }
        }
        // Coordinates are tested even if their tiles come from the cache.
        let tested: u64 = work
            .iter()
            .map(|(w, _)| w.coordinate_bytes())
            .fold(0, u64::saturating_add);
        let cpu = self.cpu_for(list.bytes().max(tested / TESTED_FASTER));
        let decoding = self.fetch_tiles(list, cpu).await?;
        let decoding = Decoding { cache, ..decoding };
        let runs = cpu.run(move || {
            let run = |(job, query): (SortTileJob, Arc<SparseQuery>)| job.run(&query, &decoding);
            decoding.cpu.try_map_owned(work, run)
        });
        merge_stream.add(runs.await?.into_iter().flatten().collect(), cpu);
        Ok(())
    }

    /// Decodes the tiles of these attributes that a chunk needs.
    pub(super) async fn decode_chunk(
        &self,
        query: &Arc<SparseQuery>,
        mut chunk: FinalCells,
        attributes: &[usize],
    ) -> Result<(FinalCells, Decoding)> {
        let mut list = FetchList::default();
        let work = chunk.work(query, attributes, &self.context().cache, &mut list)?;
        let cpu = self.cpu_for(list.bytes());
        let decoding = self.fetch_tiles(list, cpu).await?;
        let mine = decoding.clone();
        let chunk = cpu.run(move || {
            chunk.decode(&work, &mine)?;
            Ok(chunk)
        });
        Ok((chunk.await?, decoding))
    }
}

/// The most memory to reserve for a column based on the metadata of fragments, which may be damaged.
const RESERVED_BYTES_MAX: usize = 256 << 20;

/// Reserves memory for `more` cells, so that a large result is not moved each time it grows. Failures are ignored; they
/// surface when the memory is needed.
fn reserve(batch: &mut Batch, more: u64) {
    let Ok(more) = usize::try_from(more) else { return };
    let cells = usize::try_from(batch.cells).unwrap_or(usize::MAX).max(1);
    for (_, column) in &mut batch.columns {
        let bytes = (column.data.len() / cells).saturating_mul(more);
        let _ = column.data.try_reserve(bytes.min(RESERVED_BYTES_MAX));
        let _ = column
            .offsets
            .as_mut()
            .map(|o| o.try_reserve(more.min(RESERVED_BYTES_MAX / 8)));
        let _ = column
            .validity
            .as_mut()
            .map(|v| v.try_reserve(more.min(RESERVED_BYTES_MAX)));
    }
}
