//! Plans a read without fetching tiles: which byte ranges it requests, and which tiles it touches.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::PART_BYTES;
use super::dense::GROUP_BYTES;
use crate::array::{Array, Fragment};
use crate::error::{Error, Result};
use crate::geometry::region;
use crate::query::Query;
use crate::query::dense::DenseQuery;
use crate::query::dense::fetch::Fetcher;
use crate::query::dense::plan::TilePlan;
use crate::query::merge::SparseQuery;
use crate::query::merge::layer::{Candidate, SparseLayer};
use crate::query::merge::merge_stream::MergeStream;
use crate::query::merge::sorted_tile::SortTileJob;
use crate::query::tile::{Extent, FetchList, Input, StoredField, TileRef};
use crate::scalar::ScalarRange;
use crate::vfs::coalesce::{GAP_BYTES, MERGED_BYTES_MAX, coalesce};

/// The most tiles in a plan.
const TILES_MAX: u64 = 1 << 20;

/// The requests and tiles of a read. Planning reads the metadata of fragments, but no tiles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadPlan {
    /// The byte ranges that would be requested, neighbours merged. Tiles in the cache of decoded tiles need none. Of
    /// sparse tiles, these are all that may be needed: attributes are requested only if the coordinates of some cell
    /// match. On a local disk, tiles are read while they are decoded, and most are not listed.
    pub requests: Vec<PlannedRequest>,
    /// The tiles that hold selected cells, whether they are cached or not.
    pub tiles: Vec<PlannedTile>,
}

/// A byte range of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRequest {
    /// Path of the file in the store.
    pub path: Arc<str>,
    /// The bytes, with an exclusive end.
    pub range: Range<u64>,
}

/// A tile of a fragment.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedTile {
    /// Name of the fragment.
    pub fragment: String,
    /// The tile's number in the fragment.
    pub number: u64,
    /// The closed ranges of its coordinates, one per dimension: the cells of a dense tile in the domain, or the bounding
    /// box of a sparse tile.
    pub domain: Vec<ScalarRange>,
    /// The stored size of the fields to read, in bytes.
    pub bytes: u64,
}

impl Array {
    /// Plans a read of `query`. Reads metadata of fragments, but no tiles.
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
    /// # let columns = vec![("a".to_owned(), Column::from_values(Datatype::Int32, &[0, 1, 2, 3, 4, 5, 6, 7]))];
    /// # let cells = Cells { region: None, layout: Layout::RowMajor, columns };
    /// # array.write(cells, &WriteOptions { timestamp_ms: 10, seed: [2; 32], sync: false }).await?;
    /// let array = array.at(Window::ALL).await?;
    /// let query = Query { region: Region::from_box(vec![ScalarRange::new(5, 6)]), ..Query::default() };
    /// let plan = array.explain(&query).await?;
    /// assert_eq!(plan.tiles[0].domain, [ScalarRange::new(4, 7)]);
    /// assert_eq!(plan.requests.len(), 1);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the query does not fit the schema, [`Error::LimitExceeded`] for more than a million
    /// tiles. [`Error::Corrupt`] and [`Error::Io`] name the file.
    pub async fn explain(&self, query: &Query) -> Result<ReadPlan> {
        let mut plan = ReadPlan::default();
        if self.schema().is_dense() {
            let resolved = self.resolve_dense(query, &|_| Vec::new()).await?;
            self.explain_dense(&resolved, &mut plan).await?;
        } else {
            let condition = self.bind_query(query).await?;
            let (resolved, tiles) = self
                .start_sparse(query, condition, self.fragments(), &[], &|_| Vec::new())
                .await?;
            self.explain_sparse(&resolved, tiles, &mut plan)?;
        }
        Ok(plan)
    }

    async fn explain_dense(&self, query: &DenseQuery, out: &mut ReadPlan) -> Result<()> {
        within_limit(visited_tiles(query))?;
        let fetcher = Fetcher {
            fields: &query.attributes,
            stored: &query.stored,
            fetching: self.fetching(),
            cache: &self.context().cache,
        };
        let mut boxes = query.boxes(PART_BYTES, true);
        while let Some(dense) = boxes.next(query)? {
            let mut next = 0;
            while let Some(group) = fetcher.group(&dense.plan, next, GROUP_BYTES)? {
                out.add_requests(&group.list.extents)?;
                for tile in dense.plan.tiles.get(next..group.end).unwrap_or(&[]) {
                    out.add_dense(query, tile)?;
                }
                next = group.end;
            }
            if !query.overlays.is_empty() {
                let inner = query.overlay_query(&query.bounds(&dense));
                let fragments: Vec<Arc<Fragment>> = query.overlays.iter().map(|(f, _)| Arc::clone(f)).collect();
                let (inner, tiles) = self
                    .start_sparse(&inner, None, &fragments, &query.overlays, &|_| Vec::new())
                    .await?;
                self.explain_sparse(&inner, tiles, out)?;
            }
        }
        Ok(())
    }

    fn explain_sparse(&self, query: &SparseQuery, mut tiles: MergeStream, out: &mut ReadPlan) -> Result<()> {
        let (needed, cache) = (query.needed_dimensions(), &self.context().cache);
        loop {
            let candidates = tiles.next_to_load(&query.layers, self.part_bytes())?;
            if candidates.is_empty() {
                return Ok(());
            }
            // Attributes are requested after the coordinates.
            let (mut first, mut then) = (FetchList::default(), FetchList::default());
            for candidate in candidates {
                let Some(layer) = query.layers.get(candidate.layer) else {
                    continue;
                };
                out.add_sparse(layer, &candidate)?;
                for field in layer.attributes.iter().flatten().filter(|_| !query.eager) {
                    Input::new(SparseLayer::tile(field, candidate.tile)?, None, cache, &mut then);
                }
                SortTileJob::new(candidate, layer, query, &needed, cache, &mut first)?;
            }
            out.add_requests(&first.extents)?;
            out.add_requests(&then.extents)?;
        }
    }
}

impl ReadPlan {
    /// The sum of the requested bytes.
    pub fn bytes(&self) -> u64 {
        let bytes = |r: &PlannedRequest| r.range.end - r.range.start;
        self.requests.iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// Adds what is fetched together.
    fn add_requests(&mut self, extents: &[Extent]) -> Result<()> {
        let mut files: BTreeMap<&Arc<str>, Vec<Range<u64>>> = BTreeMap::new();
        for extent in extents {
            files.entry(&extent.path).or_default().push(extent.range.clone());
        }
        for (path, ranges) in files {
            let merged = coalesce(&ranges, GAP_BYTES, MERGED_BYTES_MAX)?.fetches.into_iter();
            self.requests
                .extend(merged.filter(|r| !r.is_empty()).map(|range| PlannedRequest {
                    path: Arc::clone(path),
                    range,
                }));
        }
        Ok(())
    }

    fn add_dense(&mut self, query: &DenseQuery, tile: &TilePlan) -> Result<()> {
        let cells = query.grid.tile_spans(&tile.tile);
        let cells = region::intersect(&cells, &query.grid.domain()).unwrap_or(cells);
        for source in &tile.sources {
            let Some(layer) = query.layers.get(source.layer) else {
                continue;
            };
            let fields = query.stored.get(source.layer).into_iter().flatten().flatten();
            let bytes = stored_bytes(fields, source.tile)?;
            self.add_tile(&layer.fragment, source.tile, query.grid.ranges(&cells), bytes)?;
        }
        Ok(())
    }

    fn add_sparse(&mut self, layer: &SparseLayer, candidate: &Candidate) -> Result<()> {
        let leaves = layer.fragment.index.rtree().and_then(|t| t.leaves());
        let number = usize::try_from(candidate.tile).ok();
        let bounds = leaves
            .zip(number)
            .and_then(|(leaves, i)| leaves.mbr(i))
            .unwrap_or_default();
        let bytes = stored_bytes(layer.stored(), candidate.tile)?;
        self.add_tile(&layer.fragment, candidate.tile, bounds, bytes)
    }

    fn add_tile(&mut self, fragment: &Fragment, number: u64, domain: Vec<ScalarRange>, bytes: u64) -> Result<()> {
        within_limit(self.tiles.len() as u64 + 1)?;
        self.tiles.push(PlannedTile {
            fragment: fragment.name.clone(),
            number,
            domain,
            bytes,
        });
        Ok(())
    }
}

/// The number of tiles that a dense read looks at, whether a fragment has them or not.
fn visited_tiles(query: &DenseQuery) -> u64 {
    let axes = query.grid.axes.iter().zip(&query.spans);
    let along = axes.map(|(axis, spans)| {
        let tiles = spans.iter().map(|s| s.last / axis.extent - s.first / axis.extent + 1);
        tiles.fold(0, u64::saturating_add)
    });
    along.fold(1, u64::saturating_mul)
}

fn within_limit(tiles: u64) -> Result<()> {
    if tiles <= TILES_MAX {
        return Ok(());
    }
    Err(Error::LimitExceeded {
        what: "tiles of a plan (select fewer cells)".into(),
        found: tiles,
        limit: TILES_MAX,
    })
}

/// The stored size of a tile of these fields.
fn stored_bytes<'a>(mut fields: impl Iterator<Item = &'a Arc<StoredField>>, tile: u64) -> Result<u64> {
    fields.try_fold(0, |sum: u64, field| {
        let extents = TileRef::new(field, tile)?.extents()?;
        let bytes = extents.iter().map(|e| e.range.end - e.range.start);
        Ok(bytes.fold(sum, u64::saturating_add))
    })
}
