//! Consolidation of dense fragments: runs of tiles are read and written one after another, but for those that one
//! fragment alone has all cells of, which are taken over as they are stored.

use std::ops::Range;
use std::sync::Arc;

use super::consolidate::{Merge, still_there};
use super::kept::{Donors, Kept};
use crate::array::{Array, Fragment};
use crate::error::{Error, Result};
use crate::format::schema::{ArrayType, Layout, Schema};
use crate::geometry::{Grid, Span, region};
use crate::limits;
use crate::query::dense::{DenseQuery, PLAN_BYTES_PER_TILE};
use crate::query::{Query, Region};
use crate::write::boxes::{RunTile, TileRun};
use crate::write::commit::Draft;
use crate::write::field::Fields;
use crate::write::identity::Ids;

/// Merges `run`, oldest first, into one fragment and commits it. Returns its name.
pub(super) async fn merge(array: &Array, run: &[Arc<Fragment>], m: &Merge, ids: &mut Ids) -> Result<Vec<String>> {
    let grid = Grid::new(array.schema())?;
    let spans = bounds(&grid, run)?;
    let times = super::consolidate::times(run);
    let mut draft = Draft::new(array, ArrayType::Dense, times, &[], ids, m.sync).within(m.memory_bytes);
    let name = draft.name.clone();
    let result = async {
        let at_once = tiles_at_once(array.schema(), &grid, run, m.memory_bytes)?;
        let query = Query {
            region: Region::from_box(grid.ranges(&spans)),
            order: Layout::Global,
            ..Query::default()
        };
        let donors = Donors::new(array.schema(), draft.fields())?;
        let source = array.with_fragments(run.to_vec());
        let query = source.resolve_dense(&query, &|f| donors.sections(f)).await?;
        let tiles = grid.tiles(&spans);
        let count = tiles.count().unwrap_or(u64::MAX);
        let fields = Arc::clone(draft.fields());
        let mut next = 0;
        while next < count {
            let end = next.saturating_add(at_once).min(count);
            let lot: Vec<Vec<u64>> = (next..end).map(|i| tiles.tile(i)).collect();
            draft
                .add(Arc::new(tile_run(&source, &query, &donors, &fields, &lot).await?))
                .await?;
            next = end;
        }
        let sealed = draft.seal(Some(grid.ranges(&spans)), Vec::new()).await?;
        still_there(array, run).await?;
        Ok(sealed)
    };
    match result.await {
        Ok(sealed) => Ok(vec![sealed.commit().await?]),
        Err(e) => {
            Draft::discard(array, &name).await;
            Err(e)
        }
    }
}

/// Tiles of what `source` holds, ready to be written.
async fn tile_run(
    source: &Array,
    query: &Arc<DenseQuery>,
    donors: &Donors,
    fields: &Fields,
    tiles: &[Vec<u64>],
) -> Result<TileRun> {
    let (mut kept, mut extents, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for tile in tiles {
        let fields = query.only_source(tile).and_then(|(layer, number)| {
            let fragment = &query.layers.get(layer)?.fragment;
            donors.tile(fragment, query.stored.get(layer)?, number)
        });
        let Some(fields) = fields else {
            rest.push(tile.clone());
            kept.push(None);
            continue;
        };
        let mut of_tile = Vec::with_capacity(fields.len());
        for field in fields {
            let first = extents.len();
            extents.extend(field.tile.extents()?);
            of_tile.push((field, first..extents.len()));
        }
        kept.push(Some(of_tile));
    }
    let fetched = source.fetch(&extents).await?;
    let columns = if rest.is_empty() {
        Vec::new()
    } else {
        let read = source.read_box(query, query.box_of(&rest)?).await?.0;
        fields.arrange(read.columns)?.0
    };
    let region: Vec<Span> = query.spans.iter().filter_map(|s| s.first().copied()).collect();
    let (mut out, mut first) = (Vec::with_capacity(tiles.len()), 0);
    for (tile, kept) in tiles.iter().zip(kept) {
        if let Some(of_tile) = kept {
            let pack = |(field, range): (Kept, Range<usize>)| field.pack(&extents[range.clone()], &fetched[range]);
            out.push(RunTile::Stored(of_tile.into_iter().map(pack).collect::<Result<_>>()?));
            continue;
        }
        let spans = region::intersect(&query.grid.tile_spans(tile), &region).unwrap_or_default();
        let cells = region::cells(&spans).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        out.push(RunTile::Cells {
            tile: tile.clone(),
            spans,
            first,
        });
        first += cells;
    }
    TileRun::new(query.grid.clone(), out, columns)
}

/// The box around all fragments.
fn bounds(grid: &Grid, run: &[Arc<Fragment>]) -> Result<Vec<Span>> {
    let mut union: Option<Vec<Span>> = None;
    for domain in run.iter().filter_map(|f| f.non_empty_domain()) {
        let spans = grid.spans(domain)?;
        union = Some(union.map_or_else(|| spans.clone(), |u| region::union(&u, &spans)));
    }
    union.ok_or_else(|| Error::invalid("the fragments hold no cells"))
}

/// Tiles that are read and written at a time: their cells take a quarter of the memory, since the tiles they come
/// from and the tiles they go to are held beside them.
fn tiles_at_once(schema: &Schema, grid: &Grid, run: &[Arc<Fragment>], memory_bytes: u64) -> Result<u64> {
    let fixed = schema
        .attributes
        .iter()
        .map(|a| a.cell.cell_bytes(a.datatype).unwrap_or(8) as u64 + u64::from(a.nullable));
    let var = run.iter().map(|f| f.bytes.div_ceil(f.cells.max(1))).max().unwrap_or(0);
    let has_var = schema.attributes.iter().any(|a| a.cell.is_var());
    let cell_bytes = fixed.sum::<u64>() + if has_var { var.saturating_mul(4) } else { 0 };
    let tile_bytes = grid.tile_cells().unwrap_or(u64::MAX).saturating_mul(cell_bytes.max(1));
    let share = memory_bytes / 4;
    if tile_bytes > share {
        return Err(Error::LimitExceeded {
            what: "bytes that merging one tile at a time takes; give more memory".into(),
            found: tile_bytes.saturating_mul(4),
            limit: memory_bytes,
        });
    }
    let noted = PLAN_BYTES_PER_TILE + schema.attributes.len() as u64 * limits::TILE_NOTES_BYTES;
    Ok((share / (tile_bytes + noted)).max(1))
}
