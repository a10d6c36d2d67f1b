//! Sparse fragments of a dense array: their cells are written over those of older dense fragments, and later dense
//! fragments hide them. All rules of this are here.

use std::sync::Arc;

use super::DenseQuery;
use super::boxes::{DenseBox, DenseOrder};
use super::result::buffers::ResultBuffers;
use crate::array::Fragment;
use crate::column::Column;
use crate::error::Result;
use crate::format::fragment::rtree::Level;
use crate::format::schema::{Layout, Schema};
use crate::geometry::Span;
use crate::key::keys;
use crate::query::region::{Ranges, Relation};
use crate::query::{Batch, Query, Region};

/// The later dense fragments that hide cells of a sparse fragment in a dense array.
///
/// As in libtiledb, a cell inside one of their boxes is hidden, with one exception. If a tile is entirely inside the
/// query's region, it is hidden only as a whole, by a box that covers all of it.
#[derive(Debug)]
pub(crate) struct OverlayMask {
    /// The region of the whole query. A single read may cover only a part of it.
    region: Ranges,
    /// The boxes of the later dense fragments.
    boxes: Vec<Ranges>,
}

impl OverlayMask {
    /// The mask of a sparse fragment that is followed by the fragments `later`.
    pub(super) fn new(later: &[Arc<Fragment>], region: &Region, schema: &Schema) -> Result<Self> {
        let dense = later.iter().filter(|f| f.dense);
        let boxes = dense.filter_map(|f| f.non_empty_domain().map(<[_]>::to_vec));
        Ok(Self {
            region: Ranges::new(region, schema)?,
            boxes: boxes
                .map(|b| Ranges::new(&Region::from_box(b), schema))
                .collect::<Result<_>>()?,
        })
    }

    /// Whether all cells of a tile are hidden. `leaves` are the bounding boxes of the fragment's tiles.
    pub(crate) fn hides_tile(&self, leaves: &Level, tile: usize) -> bool {
        self.boxes.iter().any(|b| b.relation(leaves, tile) == Relation::Inside)
    }

    /// Whether single cells of a tile may be hidden.
    pub(crate) fn may_hide_cells(&self, leaves: &Level, tile: usize) -> bool {
        self.region.relation(leaves, tile) != Relation::Inside
    }

    /// Removes hidden cells from `cells`, the indices of the selected cells of a tile; `None` means all
    /// `tile_cells` cells. `coordinates` holds a column for each dimension.
    pub(crate) fn visible(
        &self,
        cells: Option<Vec<u32>>,
        tile_cells: usize,
        coordinates: &[Option<&Column>],
    ) -> Option<Vec<u32>> {
        self.boxes.iter().fold(cells, |cells, later| {
            let Some(under) = later.select(coordinates) else {
                return Some(Vec::new());
            };
            let all = cells.unwrap_or_else(|| (0..tile_cells as u32).collect());
            Some(all.into_iter().filter(|i| under.binary_search(i).is_err()).collect())
        })
    }
}

impl DenseQuery {
    /// The query for the cells of sparse fragments in these ranges: the dimensions, then the attributes.
    pub(crate) fn overlay_query(&self, spans: &[Vec<Span>]) -> Query {
        let fields = self.dimensions.iter().chain(&self.attributes);
        Query {
            fields: Some(fields.map(|f| f.name.clone()).collect()),
            region: self.region(spans),
            order: Layout::Unordered,
            ..Query::default()
        }
    }

    /// Writes the cells of sparse fragments over a result whose first cell is at `base`. `points` holds the
    /// coordinates, then the attributes. `find` returns the positions of a cell in the result.
    pub(crate) fn overlay(
        &self,
        result_buffers: &mut ResultBuffers,
        base: usize,
        points: &Batch,
        find: &dyn Fn(&[u64], &mut Vec<usize>),
    ) {
        let n = self.grid.axes.len();
        let mut offsets = Vec::with_capacity(n);
        for (axis, (_, column)) in self.grid.axes.iter().zip(&points.columns) {
            let keys = keys(axis.datatype.physical(), &column.data).unwrap_or_default();
            offsets.push(keys.into_iter().map(|k| k.wrapping_sub(axis.low)).collect::<Vec<u64>>());
        }
        let attributes: Vec<Arc<Column>> = points
            .columns
            .iter()
            .skip(n)
            .map(|(_, c)| Arc::new(c.clone()))
            .collect();
        let numbers: Vec<usize> = result_buffers.fields.iter().map(|f| f.tiles.len()).collect();
        for (f, column) in result_buffers
            .fields
            .iter_mut()
            .zip(&attributes)
            .filter(|(f, _)| f.field.cell.is_var())
        {
            f.tiles.push(Arc::clone(column));
        }
        let mut places = Vec::new();
        for i in 0..usize::try_from(points.cells).unwrap_or(0) {
            let cell: Vec<u64> = offsets.iter().filter_map(|o| o.get(i).copied()).collect();
            places.clear();
            find(&cell, &mut places);
            for &to in &places {
                for ((f, column), tile) in result_buffers.fields.iter_mut().zip(&attributes).zip(&numbers) {
                    f.put_cell(base, to, column, i, *tile);
                }
            }
        }
    }

    /// The positions of a cell of the array in the result of a box. There are several if ranges overlap.
    pub(crate) fn places(&self, dense: &DenseBox, cell: &[u64], out: &mut Vec<usize>) {
        match self.order {
            DenseOrder::Major(order) => {
                let steps = order.strides(&dense.plan.shape);
                out.push(0);
                for (d, &at) in cell.iter().enumerate() {
                    let mut along = Vec::new();
                    let mut before = 0;
                    for span in &dense.spans[d] {
                        if span.contains(at) {
                            along.push(((before + at - span.first) * steps[d]) as usize);
                        }
                        before += span.len();
                    }
                    *out = along.iter().flat_map(|a| out.iter().map(move |o| o + a)).collect();
                }
            }
            DenseOrder::Global => {
                let tile: Vec<u64> = cell
                    .iter()
                    .zip(&self.grid.axes)
                    .map(|(c, axis)| c / axis.extent)
                    .collect();
                // The tiles are sorted in tile order.
                let order = self.grid.tile_order;
                let place = dense.plan.tiles.binary_search_by(|t| order.compare(&t.tile, &tile));
                let Some(t) = place.ok().and_then(|i| dense.plan.tiles.get(i)) else {
                    return;
                };
                let Some(b) = t.boxes.first() else { return };
                let local =
                    (0..cell.len()).map(|d| (cell[d] - tile[d] * self.grid.axes[d].extent).wrapping_sub(b.at[d]));
                let local: Vec<u64> = local.collect();
                if local.iter().zip(&b.len).all(|(l, n)| l < n) {
                    out.push((b.base + local.iter().zip(&b.steps).map(|(l, s)| l * s).sum::<u64>()) as usize);
                }
            }
        }
    }
}
