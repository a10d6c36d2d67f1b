//! Consolidation of dense fragments: boxes of whole tiles are read and written one after another.

use std::sync::Arc;

use super::consolidate::{Merge, still_there};
use crate::array::{Array, Fragment};
use crate::error::{Error, Result};
use crate::format::schema::{ArrayType, Schema};
use crate::geometry::{Frame, Grid, Order, Span, TileBox, region};
use crate::query::{Query, Region};
use crate::write::commit::Draft;
use crate::write::identity::Ids;
use crate::write::tiler::DenseBox;

/// Merges `run`, oldest first, into one fragment and commits it. Returns its name.
pub(super) async fn merge(array: &Array, run: &[Arc<Fragment>], m: &Merge, ids: &mut Ids) -> Result<Vec<String>> {
    let schema = array.schema();
    let grid = Grid::new(schema)?;
    let spans = bounds(&grid, run)?;
    let source = array.with_fragments(run.to_vec());
    let times = super::consolidate::times(run);
    let whole = Region::from_box(grid.ranges(&spans));
    let mut draft = Draft::new(array, ArrayType::Dense, times, &[], ids, m.sync).within(m.memory_bytes);
    let name = draft.name.clone();
    let result = async {
        for part in parts(&grid, &spans, cells_at_once(schema, &grid, run, m.memory_bytes)?) {
            let order = Order::of(schema.cell_order)?;
            let query = Query {
                region: Region::from_box(grid.ranges(&part)),
                order: schema.cell_order,
                ..Query::default()
            };
            let (columns, _) = draft
                .fields()
                .arrange(source.read_part(&query, &whole).await?.columns)?;
            let frame = Frame {
                shape: region::shape(&part),
                order,
            };
            draft
                .add(Arc::new(DenseBox::new(grid.clone(), part, frame, columns)?))
                .await?;
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

/// The box around all fragments.
fn bounds(grid: &Grid, run: &[Arc<Fragment>]) -> Result<Vec<Span>> {
    let mut union: Option<Vec<Span>> = None;
    for domain in run.iter().filter_map(|f| f.non_empty_domain()) {
        let spans = grid.spans(domain)?;
        union = Some(union.map_or_else(|| spans.clone(), |u| region::union(&u, &spans)));
    }
    union.ok_or_else(|| Error::invalid("the fragments hold no cells"))
}

/// Cells that are read and written at a time: a quarter of the memory, since the tiles they come from
/// and the tiles they go to are held beside them.
fn cells_at_once(schema: &Schema, grid: &Grid, run: &[Arc<Fragment>], memory_bytes: u64) -> Result<u64> {
    let fixed = schema
        .attributes
        .iter()
        .map(|a| a.cell.cell_bytes(a.datatype).unwrap_or(8) as u64 + u64::from(a.nullable));
    let var = run.iter().map(|f| f.bytes.div_ceil(f.cells.max(1))).max().unwrap_or(0);
    let has_var = schema.attributes.iter().any(|a| a.cell.is_var());
    let cell_bytes = fixed.sum::<u64>() + if has_var { var.saturating_mul(4) } else { 0 };
    let cells = memory_bytes / 4 / cell_bytes.max(1);
    let tile = grid.tile_cells().unwrap_or(u64::MAX);
    if cells >= tile {
        return Ok(cells);
    }
    Err(Error::LimitExceeded {
        what: "bytes that merging one tile at a time takes; give more memory".into(),
        found: tile.saturating_mul(cell_bytes).saturating_mul(4),
        limit: memory_bytes,
    })
}

/// Cuts a box into boxes of whole tiles of at most `cells_max` cells each (but at least one tile), in
/// the order in which tiles are stored.
fn parts(grid: &Grid, spans: &[Span], cells_max: u64) -> impl Iterator<Item = Vec<Span>> {
    let tiles = grid.tiles(spans);
    let tile_cells = grid.tile_cells().unwrap_or(u64::MAX);
    let mut at_once = (cells_max / tile_cells.max(1)).max(1);
    // How many tiles of each dimension a part spans: as many as fit, fastest dimension first. Only
    // where a dimension is spanned wholly may the next one be spanned too, or the order would break.
    let mut steps = vec![1; spans.len()];
    for d in grid.tile_order.fast_to_slow(spans.len()) {
        let side = tiles.spans[d].len();
        steps[d] = side.min(at_once);
        at_once /= side;
        if at_once <= 1 {
            break;
        }
    }
    let coarse = TileBox {
        spans: tiles
            .spans
            .iter()
            .zip(&steps)
            .map(|(s, &n)| Span {
                first: 0,
                last: (s.len() - 1) / n,
            })
            .collect(),
        order: grid.tile_order,
    };
    let (grid, spans) = (grid.clone(), spans.to_vec());
    let count = coarse.count().unwrap_or(u64::MAX);
    let part = move |i: u64| {
        let at = coarse.tile(i);
        let ends = |last: bool| -> Vec<u64> {
            let tile = |(d, s): (usize, &Span)| {
                let first = s.first + at[d] * steps[d];
                if last {
                    (first + steps[d] - 1).min(s.last)
                } else {
                    first
                }
            };
            tiles.spans.iter().enumerate().map(tile).collect()
        };
        let whole = region::union(&grid.tile_spans(&ends(false)), &grid.tile_spans(&ends(true)));
        region::intersect(&whole, &spans)
    };
    (0..count).filter_map(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;
    use crate::format::domain::Dimension;
    use crate::format::schema::{ArrayType, Layout};

    fn check(order: Layout, cells_max: u64) {
        let dim = |n| Dimension::new(n, Datatype::Int32, 0, 99, 10);
        let mut schema = Schema::new(ArrayType::Dense, vec![dim("z"), dim("y"), dim("x")], vec![]);
        schema.tile_order = order;
        let grid = Grid::new(&schema).unwrap();
        let span = |first, last| Span { first, last };
        let spans = [span(5, 34), span(10, 39), span(0, 25)];
        let parts = parts(&grid, &spans, cells_max);
        // The tiles of all parts, part by part, are the tiles of the box in their order.
        let all = grid.tiles(&spans);
        let mut next = 0;
        for part in parts {
            let tiles = grid.tiles(&part);
            assert!(
                cells_max < 1000 || tiles.count().unwrap() * 1000 <= cells_max.max(1000),
                "{part:?}"
            );
            for i in 0..tiles.count().unwrap() {
                assert_eq!(all.index(&tiles.tile(i)), Some(next), "{cells_max} {part:?}");
                next += 1;
            }
        }
        assert_eq!(Some(next), all.count());
    }

    #[test]
    fn parts_follow_the_order_of_tiles() {
        for order in [Layout::RowMajor, Layout::ColMajor] {
            for cells_max in [1, 1000, 2000, 3000, 5000, 9000, 12_000, 27_000, 1 << 30] {
                check(order, cells_max);
            }
        }
    }
}
