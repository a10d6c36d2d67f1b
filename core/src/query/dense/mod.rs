//! Reads dense arrays. This module does no I/O: plans say what to fetch, and fetched bytes become cells.

pub(crate) mod assemble;
pub(crate) mod boxes;
pub(crate) mod fetch;
mod overlay;
pub(crate) mod pieces;
pub(crate) mod plan;
pub(crate) mod points;
pub(crate) mod result;
pub(crate) mod written;

use std::sync::Arc;

use self::boxes::{Boxes, Cuts, DenseBox, DenseOrder};
use self::fetch::StoredFields;
pub(crate) use self::overlay::OverlayMask;
use self::pieces::length;
use self::plan::{DenseLayer, Plan};
use super::{Query, Region};
use crate::array::index::Section;
use crate::array::{Array, Fragment};
use crate::column::Column;
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::format::schema::{Layout, Schema};
use crate::geometry::grid::Axis;
use crate::geometry::{Grid, Order, Span, region};
use crate::key::keys;
use crate::query::condition::{Bound, fails, statistics};
use crate::query::tile::StoredField;

/// Approximate size of a plan per tile, in bytes.
pub(crate) const PLAN_BYTES_PER_TILE: u64 = 1024;

/// A resolved query of a dense array.
#[derive(Debug)]
pub(crate) struct DenseQuery {
    pub(crate) grid: Grid,
    /// The dimensions as fields, in the schema's order.
    pub(crate) dimensions: Vec<Field>,
    pub(crate) order: DenseOrder,
    /// The ranges of each dimension.
    pub(crate) spans: Vec<Vec<Span>>,
    /// The fields of the result.
    pub(crate) fields: Vec<Field>,
    /// The attributes of the result, then those that only the condition needs.
    pub(crate) attributes: Vec<Field>,
    pub(crate) condition: Option<Bound>,
    /// Dense fragments that overlap the region, oldest first.
    pub(crate) layers: Vec<DenseLayer>,
    pub(crate) stored: StoredFields,
    /// Sparse fragments, whose cells are written over the layers, and what later dense fragments hide of them.
    pub(crate) overlays: Vec<(Arc<Fragment>, Arc<OverlayMask>)>,
}

impl DenseQuery {
    /// Resolves `query`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the query does not fit the schema.
    pub(crate) fn new(array: &Array, query: &Query, condition: Option<Bound>) -> Result<Self> {
        let schema = array.schema();
        let grid = Grid::new(schema)?;
        let spans = spans(&query.region, schema, &grid)?;
        let order = match query.order {
            Layout::Unordered => DenseOrder::Major(Order::Row),
            Layout::Global if spans.iter().any(|s| s.len() != 1) => {
                return Err(Error::invalid(
                    "global order allows one range per dimension; read the ranges one by one, or use row-major order",
                ));
            }
            Layout::Global => DenseOrder::Global,
            layout => DenseOrder::Major(Order::of(layout)?),
        };
        let fields = Field::resolve(schema, query.fields.as_deref())?;
        let mut attributes: Vec<Field> = fields.iter().filter(|f| !f.is_dimension()).cloned().collect();
        for name in condition.iter().flat_map(Bound::fields) {
            let field = Field::named(schema, name)?;
            if !field.is_dimension() && !attributes.contains(&field) {
                attributes.push(field);
            }
        }
        let (mut layers, mut stored, mut overlays) = (Vec::new(), Vec::new(), Vec::new());
        let bounding: Option<Vec<Span>> = spans.iter().map(|s| s.iter().copied().reduce(Span::union)).collect();
        for (i, fragment) in array.fragments().iter().enumerate() {
            if !fragment.dense {
                let ranges = region_of(&grid, &spans);
                let mask = OverlayMask::new(array.fragments().get(i + 1..).unwrap_or(&[]), &ranges, schema)?;
                overlays.push((Arc::clone(fragment), Arc::new(mask)));
                continue;
            }
            let Some(mut layer) = DenseLayer::new(fragment, &grid)? else {
                continue;
            };
            if bounding
                .as_ref()
                .is_none_or(|b| region::intersect(b, &layer.spans).is_none())
            {
                continue;
            }
            let own = |f: &Field| StoredField::of_attribute(fragment, &f.name, f.datatype, f.cell).map(Arc::new);
            let own: Vec<_> = attributes.iter().map(own).collect();
            layer.whole = own.iter().enumerate().all(|(i, f)| {
                f.is_some()
                    || stored
                        .iter()
                        .all(|older: &Vec<_>| older.get(i).is_none_or(Option::is_none))
            });
            stored.push(own);
            layers.push(layer);
        }
        let dimensions = schema
            .dimensions
            .iter()
            .map(|d| Field::named(schema, &d.name))
            .collect::<Result<_>>()?;
        Ok(Self {
            grid,
            dimensions,
            order,
            spans,
            fields,
            attributes,
            condition,
            layers,
            stored,
            overlays,
        })
    }

    /// The sections of each fragment's index that the query needs.
    pub(crate) fn index(&self) -> Vec<(Arc<Fragment>, Vec<Section>)> {
        let sections = |(layer, stored): (&DenseLayer, &Vec<Option<Arc<StoredField>>>)| {
            let ids: Vec<_> = stored.iter().flatten().map(|s| s.id).collect();
            let mut sections = layer.fragment.sections(&ids);
            sections.extend(self.statistics(&layer.fragment));
            (Arc::clone(&layer.fragment), sections)
        };
        self.layers.iter().zip(&self.stored).map(sections).collect()
    }

    /// The sections that exclude tiles by the condition.
    pub(crate) fn tests(&self) -> Vec<(Arc<Fragment>, Vec<Section>)> {
        let fragments = self.layers.iter().map(|layer| &layer.fragment);
        fragments.map(|f| (Arc::clone(f), self.statistics(f))).collect()
    }

    fn statistics(&self, fragment: &Fragment) -> Vec<Section> {
        let condition = self.condition.iter().filter(|_| self.overlays.is_empty());
        condition
            .flat_map(|c| statistics(c, &self.attributes, fragment))
            .collect()
    }

    /// The dimensions whose coordinates are part of the result or tested by the condition.
    pub(crate) fn dimensions_wanted(&self) -> Vec<(usize, &Field)> {
        let tested: Vec<&str> = self.condition.iter().flat_map(Bound::fields).collect();
        let wanted = |f: &Field| self.fields.iter().any(|g| g.id == f.id) || tested.contains(&f.name.as_str());
        self.dimensions.iter().enumerate().filter(|(_, f)| wanted(f)).collect()
    }

    /// Converts the coordinates of single cells to offsets into the domain, one list per dimension.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the coordinates do not fit the schema or are outside the domain.
    pub(crate) fn offsets(&self, coordinates: &[Column]) -> Result<Vec<Vec<u64>>> {
        let wanted = self.dimensions.len();
        if coordinates.len() != wanted || coordinates.iter().any(|c| c.len() != coordinates[0].len()) {
            return Err(Error::invalid(format!(
                "coordinates need a column for each of the {wanted} dimensions, all of the same length"
            )));
        }
        let offsets = |((column, axis), field): ((&Column, &Axis), &Field)| {
            let fail = |why: String| Error::invalid(format!("dimension '{}': {why}", field.name));
            if column.datatype.physical() != axis.datatype.physical() || column.cell != field.cell {
                return Err(fail(format!(
                    "the coordinates have type {}, not {}",
                    column.datatype, field.datatype
                )));
            }
            let outside = |i: usize| fail(format!("coordinate {i} is outside the domain"));
            let mut keys = keys(axis.datatype.physical(), &column.data).map_err(outside)?;
            for (i, key) in keys.iter_mut().enumerate() {
                *key = key
                    .checked_sub(axis.low)
                    .filter(|k| *k <= axis.last)
                    .ok_or_else(|| outside(i))?;
            }
            Ok(keys)
        };
        coordinates
            .iter()
            .zip(&self.grid.axes)
            .zip(&self.dimensions)
            .map(offsets)
            .collect()
    }

    /// Number of cells along each dimension.
    pub(crate) fn shape(&self) -> Vec<u64> {
        self.spans.iter().map(|s| length(s)).collect()
    }

    /// Number of cells in the region; `None` if it overflows.
    pub(crate) fn cells(&self) -> Option<u64> {
        self.shape().iter().try_fold(1_u64, |n, &len| n.checked_mul(len))
    }

    /// Size of a cell of the result in bytes; an estimate if cells vary in length.
    pub(crate) fn row_bytes(&self) -> u64 {
        let fields = self
            .attributes
            .iter()
            .chain(self.fields.iter().filter(|f| f.is_dimension()));
        let fixed: u64 = fields.map(Field::row_bytes).sum();
        let var = |layer: &DenseLayer, stored: &[Option<Arc<StoredField>>]| {
            let bytes = stored.iter().flatten().map(|s| s.var_bytes_total());
            bytes.fold(0, u64::saturating_add).div_ceil(layer.fragment.cells.max(1))
        };
        let var = self.layers.iter().zip(&self.stored).map(|(l, s)| var(l, s)).max();
        fixed.saturating_add(var.unwrap_or(0)).max(1)
    }

    /// The boxes in which the region is read, each of about `bytes_max` bytes. With `whole_tiles`, no box is smaller
    /// than a row of tiles, so no tile is decoded twice.
    pub(crate) fn boxes(&self, bytes_max: u64, whole_tiles: bool) -> Boxes {
        // A plan takes memory for each tile, which matters if tiles are tiny.
        let overhead = PLAN_BYTES_PER_TILE / self.grid.tile_cells().unwrap_or(u64::MAX).max(1);
        let cells_max = (bytes_max / self.row_bytes().saturating_add(overhead)).max(1);
        match self.order {
            DenseOrder::Major(order) => Boxes::Cuts(
                Cuts::new(self.spans.clone(), &self.grid, order, cells_max, whole_tiles),
                order,
            ),
            DenseOrder::Global => {
                let region: Vec<Span> = self.spans.iter().filter_map(|s| s.first().copied()).collect();
                Boxes::Tiles {
                    tiles: self.grid.tiles(&region),
                    region,
                    next: 0,
                    cells_max,
                }
            }
        }
    }

    /// The fragment tile, as layer and tile number, that alone holds all cells of a tile of the array. Returns `None`
    /// if the region does not contain the whole tile, or if there is a condition.
    pub(crate) fn only_source(&self, tile: &[u64]) -> Option<(usize, u64)> {
        let cells = self.grid.tile_spans(tile);
        let wanted = self
            .spans
            .iter()
            .zip(&cells)
            .all(|(spans, tile)| matches!(spans[..], [span] if span.covers(*tile)));
        self.source(tile, &cells).filter(|_| wanted && self.condition.is_none())
    }

    /// Whether statistics show that no cell of a tile of the array satisfies the condition. Requires that a single
    /// fragment tile holds all its cells. The index must be loaded.
    pub(crate) fn excludes(&self, tile: &[u64]) -> bool {
        let (Some(condition), Some(cells)) = (&self.condition, self.grid.tile_cells()) else {
            return false;
        };
        let source = self.source(tile, &self.grid.tile_spans(tile));
        source.is_some_and(|(layer, number)| {
            let layer = self.layers.get(layer);
            layer.is_some_and(|l| fails(condition, &self.attributes, &l.fragment, number, cells))
        })
    }

    /// The fragment tile that alone holds all these `cells` of a tile of the array.
    fn source(&self, tile: &[u64], cells: &[Span]) -> Option<(usize, u64)> {
        let meets = |(_, l): &(usize, &DenseLayer)| region::intersect(&l.spans, cells).is_some();
        let (i, newest) = self.layers.iter().enumerate().rev().find(meets)?;
        let alone = self.overlays.is_empty() && newest.whole && region::covers(&newest.spans, cells);
        Some((i, newest.tiles.index(tile).filter(|_| alone)?))
    }

    /// The box of some tiles of a region that is read in global order, in the given order.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if there are more cells than fit into memory.
    pub(crate) fn box_of(&self, tiles: &[Vec<u64>]) -> Result<DenseBox> {
        let region: Vec<Span> = self.spans.iter().filter_map(|s| s.first().copied()).collect();
        let plan = Plan::tile_by_tile(&self.grid, &region, tiles, &self.layers)?;
        Ok(self.planned(plan, region.into_iter().map(|s| vec![s]).collect()))
    }

    /// A box without the tiles that cannot satisfy the condition.
    fn planned(&self, mut plan: Plan, spans: Vec<Vec<Span>>) -> DenseBox {
        if self.condition.is_some() {
            plan.exclude(|tile| self.excludes(tile));
        }
        let plan = Arc::new(plan);
        DenseBox { plan, spans }
    }

    /// The ranges that contain all cells of a box. Sparse fragments are read only within them.
    pub(crate) fn bounds(&self, dense: &DenseBox) -> Vec<Vec<Span>> {
        match self.order {
            DenseOrder::Major(_) => dense.spans.clone(),
            DenseOrder::Global => {
                let tiles = dense.plan.tiles.iter().map(|t| self.grid.tile_spans(&t.tile));
                let Some(tiles) = tiles.reduce(|a, b| region::union(&a, &b)) else {
                    return dense.spans.clone();
                };
                let region: Vec<Span> = dense.spans.iter().filter_map(|s| s.first().copied()).collect();
                let within = region::intersect(&tiles, &region).unwrap_or(region);
                within.into_iter().map(|s| vec![s]).collect()
            }
        }
    }

    /// The coordinate ranges of a box.
    pub(crate) fn region(&self, spans: &[Vec<Span>]) -> Region {
        region_of(&self.grid, spans)
    }

    /// The index of a field among the query's attributes.
    pub(crate) fn attribute_place(&self, field: &Field) -> Option<usize> {
        self.attributes.iter().position(|a| a.id == field.id)
    }
}

fn region_of(grid: &Grid, spans: &[Vec<Span>]) -> Region {
    let ranges = |(spans, axis): (&Vec<Span>, &Axis)| spans.iter().map(|s| axis.range(*s)).collect();
    Region(spans.iter().zip(&grid.axes).map(ranges).collect())
}

/// The ranges of each dimension as offsets. Without ranges, a dimension is read within its current domain.
fn spans(region: &Region, schema: &Schema, grid: &Grid) -> Result<Vec<Vec<Span>>> {
    let n = grid.axes.len();
    if !region.0.is_empty() && region.0.len() != n {
        return Err(Error::invalid(format!(
            "ranges are given for {} dimensions; the array has {n}",
            region.0.len()
        )));
    }
    let mut out = Vec::with_capacity(n);
    for (d, (axis, whole)) in grid.axes.iter().zip(grid.limits(schema)?).enumerate() {
        let ranges = region.0.get(d).map_or(&[][..], Vec::as_slice);
        if ranges.is_empty() {
            out.push(vec![whole]);
            continue;
        }
        let mut dim = Vec::with_capacity(ranges.len());
        for range in ranges {
            let span = axis.span(range)?;
            if !whole.covers(span) {
                let current = axis.range(whole).shown(axis.datatype);
                return Err(axis.refused(range, &format!("is not inside the current domain, {current}")));
            }
            dim.push(span);
        }
        out.push(dim);
    }
    Ok(out)
}
