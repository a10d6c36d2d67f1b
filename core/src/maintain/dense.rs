//! Consolidation of dense fragments. Runs of tiles are read and rewritten; tiles that a single fragment has in full are
//! copied in their stored form.

use std::sync::Arc;

use super::check_fill_value;
use super::options::{Merge, times};
use super::tile_copy::{self, CopiedTile, CopySource, CopySources};
use crate::array::{Array, Fragment};
use crate::error::{Error, Result};
use crate::format::schema::{ArrayType, Layout, Schema};
use crate::geometry::{Grid, Span, region};
use crate::identity::Ids;
use crate::limits;
use crate::query::dense::plan::TilePlan;
use crate::query::dense::{DenseQuery, PLAN_BYTES_PER_TILE};
use crate::query::{Query, Region};
use crate::write::boxes::{RunTile, TileRun};
use crate::write::commit::{Draft, Sealed};
use crate::write::field::Fields;
use crate::write::tiler::Tiles as _;

/// Merges `run`, oldest first, into one fragment, which is not committed yet.
pub(super) async fn merge(array: &Array, run: &[Arc<Fragment>], m: &Merge, ids: &mut Ids) -> Result<Vec<Sealed>> {
    let grid = Grid::new(array.schema())?;
    let spans = bounds(&grid, run)?;
    check_fill_value::check_gaps(array.schema(), &grid, &spans, run)?;
    let times = times(run);
    let mut draft = Draft::new(array, ArrayType::Dense, times, &[], ids, m.sync).within(m.memory_bytes);
    let name = draft.name.clone();
    let result = async {
        let memory = TileMemory::new(array.schema(), &grid, run, m.memory_bytes)?;
        let query = Query {
            region: Region::from_box(grid.ranges(&spans)),
            order: Layout::Global,
            ..Query::default()
        };
        let fields = Arc::clone(draft.fields());
        let donors = CopySources::new(array.schema(), &grid, &fields);
        let source = array.with_fragments(run.to_vec());
        let query = source.resolve_dense(&query, &|f| donors.sections(f)).await?;
        let reader = Reader {
            donors: query.layers.iter().map(|l| donors.donor(&l.fragment)).collect(),
            source: &source,
            query: &query,
            fields: &fields,
            memory,
        };
        let tiles = grid.tiles(&spans);
        let count = tiles.count().unwrap_or(u64::MAX);
        let (mut next, mut ahead) = (0, reader.memory.tiles);
        while next < count {
            let end = next.saturating_add(ahead).min(count);
            let lot: Vec<Vec<u64>> = (next..end).map(|i| tiles.tile(i)).collect();
            let run = reader.read(&lot).await?;
            // Do not plan large tiles over and over.
            ahead = run.count().saturating_mul(2).min(reader.memory.tiles);
            next += run.count();
            draft.add(Arc::new(run)).await?;
        }
        draft.seal(Some(grid.ranges(&spans)), Vec::new()).await
    };
    match result.await {
        Ok(sealed) => Ok(vec![sealed]),
        Err(e) => {
            Draft::discard(array, &name).await;
            Err(e)
        }
    }
}

/// Reads the tiles of the merged fragment.
struct Reader<'a> {
    source: &'a Array,
    query: &'a Arc<DenseQuery>,
    /// One per layer of the query.
    donors: Vec<Option<CopySource<'a>>>,
    fields: &'a Fields,
    memory: TileMemory,
}

impl Reader<'_> {
    /// Reads the first of these tiles, as many as the memory suffices for, and at least one.
    async fn read(&self, tiles: &[Vec<u64>]) -> Result<TileRun> {
        let grid = &self.query.grid;
        let plan = self.query.box_of(tiles)?.plan;
        let (mut chosen, mut extents, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let mut bytes = 0_u64;
        for tile in &plan.tiles {
            let kept = self.kept(tile)?;
            bytes = bytes.saturating_add(match &kept {
                Some(fields) => tile_copy::bytes(fields.iter().flat_map(|f| &f.extents)),
                None => self.memory.cells_of(tile, self.query)?,
            });
            if bytes > self.memory.share && !chosen.is_empty() {
                break;
            }
            match &kept {
                Some(fields) => extents.extend(fields.iter().flat_map(|f| &f.extents).cloned()),
                None => rest.push(tile.tile.clone()),
            }
            chosen.push((tile, kept));
        }
        let mut fetched = self.source.fetch(&extents).await?.into_iter();
        let columns = if rest.is_empty() {
            Vec::new()
        } else {
            let read = self.source.read_box(self.query, self.query.box_of(&rest)?).await?.0;
            self.fields.arrange(read.columns)?.0
        };
        let region: Vec<Span> = self.query.spans.iter().filter_map(|s| s.first().copied()).collect();
        let (mut out, mut first) = (Vec::with_capacity(chosen.len()), 0);
        for (plan, kept) in chosen {
            if let Some(fields) = kept {
                let mut pack = |field: CopiedTile| {
                    let parts: Vec<_> = fetched.by_ref().take(field.extents.len()).collect();
                    field.pack(&parts)
                };
                out.push(RunTile::Stored(
                    fields.into_iter().map(&mut pack).collect::<Result<_>>()?,
                ));
                continue;
            }
            out.push(RunTile::Cells {
                tile: plan.tile.clone(),
                spans: region::intersect(&grid.tile_spans(&plan.tile), &region).unwrap_or_default(),
                first,
            });
            first += usize::try_from(plan.cells).unwrap_or(usize::MAX);
        }
        TileRun::new(grid.clone(), out, columns)
    }

    /// The fields of a tile that can be copied in stored form.
    fn kept(&self, tile: &TilePlan) -> Result<Option<Vec<CopiedTile>>> {
        let whole = tile.covered && self.query.grid.tile_cells() == Some(tile.cells);
        let only = tile.sources.last().filter(|_| whole && self.query.overlays.is_empty());
        let donor = only.and_then(|s| {
            let donor = self.donors.get(s.layer)?.as_ref()?;
            Some((donor, self.query.stored.get(s.layer)?, s.tile))
        });
        match donor {
            Some((donor, stored, tile)) => donor.tile(stored, tile),
            None => Ok(None),
        }
    }
}

/// The bounding box of all fragments.
fn bounds(grid: &Grid, run: &[Arc<Fragment>]) -> Result<Vec<Span>> {
    let boxes = run.iter().filter_map(|f| f.spans(grid).transpose());
    let boxes: Vec<Vec<Span>> = boxes.collect::<Result<_>>()?;
    let union = boxes.into_iter().reduce(|a, b| region::union(&a, &b));
    union.ok_or_else(|| Error::invalid("the fragments hold no cells"))
}

/// Limits how many tiles are read and written at a time. Their cells take a quarter of the memory, because their source
/// and target tiles are held at the same time.
struct TileMemory {
    share: u64,
    /// Bytes of a tile's cells without variable-length values.
    fixed: u64,
    /// The number of tiles to plan at a time.
    tiles: u64,
}

impl TileMemory {
    fn new(schema: &Schema, grid: &Grid, run: &[Arc<Fragment>], memory_bytes: u64) -> Result<Self> {
        let widths = schema
            .attributes
            .iter()
            .map(|a| a.cell.cell_bytes(a.datatype).unwrap_or(8) as u64 + u64::from(a.nullable));
        let width = widths.sum::<u64>().max(1);
        let has_var = schema.attributes.iter().any(|a| a.cell.is_var());
        let var = run.iter().map(|f| f.bytes.div_ceil(f.cells.max(1))).max().unwrap_or(0);
        let cells = grid.tile_cells().unwrap_or(u64::MAX);
        let usual = cells.saturating_mul(width + if has_var { var.saturating_mul(4) } else { 0 });
        let noted = PLAN_BYTES_PER_TILE + schema.attributes.len() as u64 * limits::TILE_NOTES_BYTES;
        let share = memory_bytes / 4;
        let new = Self {
            share,
            fixed: cells.saturating_mul(width),
            tiles: (share / usual.saturating_add(noted)).max(1),
        };
        new.check(new.fixed)?;
        Ok(new)
    }

    /// Bytes of the cells of a tile to read, including all variable-length values of its sources.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if a single source has too many.
    fn cells_of(&self, tile: &TilePlan, query: &DenseQuery) -> Result<u64> {
        let mut all = self.fixed;
        for source in &tile.sources {
            let fields = query.stored.get(source.layer).into_iter().flatten().flatten();
            let values = fields.filter_map(|f| f.fragment.index.var_bytes(f.slot(), source.tile));
            let values = values.fold(0, u64::saturating_add);
            self.check(self.fixed.saturating_add(values))?;
            all = all.saturating_add(values);
        }
        Ok(all)
    }

    /// Fails if a tile with this many bytes of cells is too large.
    fn check(&self, tile: u64) -> Result<()> {
        if tile <= self.share {
            return Ok(());
        }
        Err(Error::LimitExceeded {
            what: "bytes of memory to merge one tile at a time (give more memory; check for damaged metadata with `hyperslab verify`)".into(),
            found: tile.saturating_mul(4),
            limit: self.share.saturating_mul(4),
        })
    }
}
