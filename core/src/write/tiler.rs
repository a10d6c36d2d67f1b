//! Cells cut into tiles: dense boxes in row- or column-major order, cells that come in global order,
//! and cells that come in any order with the permutation that sorts them.

use std::borrow::Cow;
use std::ops::Range;

use super::cells::{TileCells, Values};
use super::field::{Field, Fields};
use super::pack::{self, PackedTile};
use super::spare::Spare;
use crate::column::Column;
use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::geometry::region::{self, Span};
use crate::geometry::{CopyPlan, Frame, Grid, TileBox};
use crate::limits;

/// Cells that can be cut into tiles, for any tile and field apart.
pub(crate) trait Tiles: Send + Sync {
    /// How many tiles.
    fn count(&self) -> u64;

    /// Cells of tile `tile`, padding included.
    fn cells(&self, tile: u64) -> u64;

    /// The tile's cells of field number `number`, in memory of `spare` where they are brought together.
    fn cut(&self, field: &Field, number: usize, tile: u64, spare: &Spare) -> Result<TileCells<'_>>;

    /// Cells that the tile has room for: the last one of cells written in global order may have fewer.
    fn capacity(&self, tile: u64) -> u64;

    /// Which of the tile's cells are not padding.
    fn live(&self, tile: u64) -> Vec<Range<usize>>;
}

/// Packs a range of tiles, all fields of each, spread over the cores. The result is by tile, then by field.
pub(crate) fn pack_range(
    tiles: &dyn Tiles,
    fields: &Fields,
    cpu: Cpu,
    range: Range<u64>,
) -> Result<Vec<Vec<PackedTile>>> {
    let jobs: Vec<(u64, usize)> = range
        .clone()
        .flat_map(|t| (0..fields.list.len()).map(move |f| (t, f)))
        .collect();
    let packed = cpu.try_map(&jobs, |&(tile, number)| {
        let field = &fields.list[number];
        let cells = tiles.cut(field, number, tile, &fields.spare)?;
        let packed = pack::pack(fields, field, &cells, &tiles.live(tile), tiles.capacity(tile));
        cells.values.recycle(&fields.spare);
        packed
    })?;
    let mut packed = packed.into_iter();
    Ok(range
        .map(|_| packed.by_ref().take(fields.list.len()).collect())
        .collect())
}

/// A box of a dense array, its cells in row- or column-major order.
#[derive(Debug)]
pub(crate) struct DenseBox {
    grid: Grid,
    spans: Vec<Span>,
    /// The buffers of the columns.
    frame: Frame,
    tiles: TileBox,
    count: u64,
    tile_cells: u64,
    columns: Vec<Column>,
}

impl DenseBox {
    /// The cells of `spans`, in the order and shape of `frame`.
    pub(crate) fn new(grid: Grid, spans: Vec<Span>, frame: Frame, columns: Vec<Column>) -> Result<Self> {
        let tiles = grid.tiles(&spans);
        let too_many = || Error::invalid("the box has more tiles, or a tile more cells, than fit in 64 bits");
        let count = tiles.count().ok_or_else(too_many)?;
        let tile_cells = grid.tile_cells().ok_or_else(too_many)?;
        Ok(Self {
            grid,
            spans,
            frame,
            tiles,
            count,
            tile_cells,
            columns,
        })
    }

    /// From the columns' buffers to the tile's; and whether the tile has no padding.
    fn plan(&self, tile: u64) -> Option<CopyPlan> {
        let cells = self.grid.tile_spans(&self.tiles.tile(tile));
        let common = region::intersect(&self.spans, &cells)?;
        let from: Vec<u64> = common.iter().zip(&self.spans).map(|(c, s)| c.first - s.first).collect();
        let to: Vec<u64> = common.iter().zip(&cells).map(|(c, t)| c.first - t.first).collect();
        Some(CopyPlan::new(
            &self.frame,
            &from,
            &self.grid.tile_frame(),
            &to,
            &region::shape(&common),
        ))
    }
}

impl Tiles for DenseBox {
    fn count(&self) -> u64 {
        self.count
    }

    fn cells(&self, _: u64) -> u64 {
        self.tile_cells
    }

    fn cut(&self, field: &Field, number: usize, tile: u64, spare: &Spare) -> Result<TileCells<'_>> {
        let column = &self.columns[number];
        let outside = || Error::invalid(format!("field '{}' has fewer cells than its box", field.name));
        let plan = self.plan(tile).ok_or_else(outside)?;
        let whole = plan
            .single()
            .filter(|run| run.cells == self.tile_cells)
            .map(|run| run.from as usize);
        let cells = checked_cells(self.tile_cells, field.cell_bytes().unwrap_or(8).max(1))?;
        if let Some(at) = whole {
            return Ok(consecutive(field, column, at..at + cells));
        }
        let picked = |from, width| Values::picked(from, plan.clone(), width, cells, spare).ok_or_else(outside);
        let validity = match &column.validity {
            None => None,
            Some(v) => Some(picked(v, 1)?.into_whole()),
        };
        Ok(match (&column.offsets, field.cell_bytes()) {
            (Some(offsets), _) => {
                let (data, offsets) = gather_var(field, &column.data, offsets, &plan, cells);
                TileCells {
                    values: Values::Whole(Cow::Owned(data)),
                    offsets: Some(Cow::Owned(offsets)),
                    validity,
                }
            }
            (None, width) => TileCells {
                values: picked(&column.data, width.unwrap_or(1))?,
                offsets: None,
                validity,
            },
        })
    }

    fn capacity(&self, _: u64) -> u64 {
        self.tile_cells
    }

    fn live(&self, tile: u64) -> Vec<Range<usize>> {
        let cells = self.grid.tile_spans(&self.tiles.tile(tile));
        let Some(common) = region::intersect(&self.spans, &cells) else {
            return Vec::new();
        };
        let at: Vec<u64> = common.iter().zip(&cells).map(|(c, t)| c.first - t.first).collect();
        let frame = self.grid.tile_frame();
        let plan = CopyPlan::new(&frame, &at, &frame, &at, &region::shape(&common));
        plan.runs().map(|r| r.to as usize..(r.to + r.cells) as usize).collect()
    }
}

/// Cells of variable length in the order of a tile; padding cells hold one zero value each.
fn gather_var(field: &Field, data: &[u8], starts: &[u64], plan: &CopyPlan, cells: usize) -> (Vec<u8>, Vec<u64>) {
    let padding = field.datatype.size();
    let (mut out, mut offsets) = (Vec::new(), Vec::with_capacity(cells + 1));
    let pad = |out: &mut Vec<u8>, offsets: &mut Vec<u64>, to: usize| {
        while offsets.len() < to {
            offsets.push(out.len() as u64);
            out.resize(out.len() + padding, 0);
        }
    };
    for run in plan.runs() {
        pad(&mut out, &mut offsets, run.to as usize);
        let from = run.from as usize..(run.from + run.cells) as usize;
        let base = starts[from.start];
        let shift = out.len() as u64;
        offsets.extend(starts[from.clone()].iter().map(|s| s - base + shift));
        out.extend_from_slice(&data[base as usize..starts[from.end] as usize]);
    }
    pad(&mut out, &mut offsets, cells);
    offsets.push(out.len() as u64);
    (out, offsets)
}

/// A tile's cells as a size in memory.
fn checked_cells(cells: u64, cell_bytes: usize) -> Result<usize> {
    let bytes = cells.saturating_mul(cell_bytes as u64);
    let found = usize::try_from(bytes).ok().filter(|_| bytes <= limits::TILE_BYTES_MAX);
    let limit = || Error::LimitExceeded {
        what: "bytes of a tile (make the array with smaller tiles)".into(),
        found: bytes,
        limit: limits::TILE_BYTES_MAX,
    };
    Ok(found.ok_or_else(limit)? / cell_bytes)
}

/// Cells `range` of a column, without a copy of the values.
fn consecutive<'a>(field: &Field, column: &'a Column, range: Range<usize>) -> TileCells<'a> {
    let validity = column.validity.as_ref().map(|v| Cow::Borrowed(&v[range.clone()]));
    match (&column.offsets, field.cell_bytes()) {
        (Some(offsets), _) => {
            let (start, end) = (offsets[range.start], offsets[range.end]);
            let rebased = match start {
                0 => Cow::Borrowed(&offsets[range.start..=range.end]),
                _ => Cow::Owned(offsets[range.start..=range.end].iter().map(|o| o - start).collect()),
            };
            TileCells {
                values: Values::Whole(Cow::Borrowed(&column.data[start as usize..end as usize])),
                offsets: Some(rebased),
                validity,
            }
        }
        (None, width) => {
            let n = width.unwrap_or(1);
            TileCells {
                values: Values::Whole(Cow::Borrowed(&column.data[range.start * n..range.end * n])),
                offsets: None,
                validity,
            }
        }
    }
}

/// Cells in the order they are stored, cut every so many cells.
#[derive(Debug)]
pub(crate) struct InOrder {
    pub(crate) columns: Vec<Column>,
    /// Cells to cut into tiles, from the first on.
    pub(crate) cells: usize,
    /// Cells of a tile; the last one may have fewer.
    pub(crate) tile_cells: u64,
}

impl InOrder {
    fn range(&self, tile: u64) -> Range<usize> {
        let start = (tile * self.tile_cells) as usize;
        start..(start as u64).saturating_add(self.tile_cells).min(self.cells as u64) as usize
    }
}

impl Tiles for InOrder {
    fn count(&self) -> u64 {
        (self.cells as u64).div_ceil(self.tile_cells)
    }

    fn cells(&self, tile: u64) -> u64 {
        self.range(tile).len() as u64
    }

    fn cut(&self, field: &Field, number: usize, tile: u64, _: &Spare) -> Result<TileCells<'_>> {
        Ok(consecutive(field, &self.columns[number], self.range(tile)))
    }

    fn capacity(&self, _: u64) -> u64 {
        self.tile_cells
    }

    fn live(&self, tile: u64) -> Vec<Range<usize>> {
        std::iter::once(0..self.range(tile).len()).collect()
    }
}

/// Cells in any order, with the order they are stored in.
#[derive(Debug)]
pub(crate) struct Permuted {
    pub(crate) columns: Vec<Column>,
    /// The cell that comes first, the cell that comes next, …
    pub(crate) order: Vec<u32>,
    /// Cells of a tile; the last one may have fewer.
    pub(crate) tile_cells: u64,
}

impl Permuted {
    fn range(&self, tile: u64) -> Range<usize> {
        let start = (tile * self.tile_cells) as usize;
        start
            ..(start as u64)
                .saturating_add(self.tile_cells)
                .min(self.order.len() as u64) as usize
    }
}

impl Tiles for Permuted {
    fn count(&self) -> u64 {
        (self.order.len() as u64).div_ceil(self.tile_cells)
    }

    fn cells(&self, tile: u64) -> u64 {
        self.range(tile).len() as u64
    }

    fn cut(&self, _: &Field, number: usize, tile: u64, _: &Spare) -> Result<TileCells<'_>> {
        let cells = gather_column(&self.columns[number], &self.order[self.range(tile)]);
        let offsets = cells.offsets.map(Cow::Owned);
        Ok(TileCells {
            values: Values::Whole(Cow::Owned(cells.data)),
            offsets,
            validity: cells.validity.map(Cow::Owned),
        })
    }

    fn capacity(&self, tile: u64) -> u64 {
        self.cells(tile)
    }

    fn live(&self, tile: u64) -> Vec<Range<usize>> {
        std::iter::once(0..self.range(tile).len()).collect()
    }
}

/// The cells of a column in this order.
pub(crate) fn gather_column(column: &Column, order: &[u32]) -> Column {
    let validity = column
        .validity
        .as_ref()
        .map(|v| order.iter().map(|&i| v[i as usize]).collect());
    let Some(starts) = &column.offsets else {
        let width = column.cell.cell_bytes(column.datatype).unwrap_or(1);
        let data = gather(&column.data, order, width);
        return Column {
            data,
            validity,
            offsets: None,
            ..Column::empty(column.datatype, column.cell, false)
        };
    };
    let cell = |i: u32| starts[i as usize] as usize..starts[i as usize + 1] as usize;
    let mut data = Vec::with_capacity(order.iter().map(|&i| cell(i).len()).sum());
    let mut offsets = Vec::with_capacity(order.len() + 1);
    for &i in order {
        offsets.push(data.len() as u64);
        data.extend_from_slice(&column.data[cell(i)]);
    }
    offsets.push(data.len() as u64);
    Column {
        datatype: column.datatype,
        cell: column.cell,
        data,
        offsets: Some(offsets),
        validity,
    }
}

/// Cells of `width` bytes in this order.
fn gather(data: &[u8], order: &[u32], width: usize) -> Vec<u8> {
    fn wide<const N: usize>(data: &[u8], order: &[u32]) -> Vec<u8> {
        let cells = data.as_chunks::<N>().0;
        let mut out = Vec::with_capacity(order.len() * N);
        order.iter().for_each(|&i| out.extend_from_slice(&cells[i as usize]));
        out
    }
    match width {
        1 => wide::<1>(data, order),
        2 => wide::<2>(data, order),
        4 => wide::<4>(data, order),
        8 => wide::<8>(data, order),
        _ => {
            let mut out = Vec::with_capacity(order.len() * width);
            order
                .iter()
                .for_each(|&i| out.extend_from_slice(&data[i as usize * width..(i as usize + 1) * width]));
            out
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::domain::Dimension;
    use crate::format::fragment::slots::FieldId;
    use crate::format::pipeline::Pipeline;
    use crate::format::schema::{ArrayType, Layout, Schema};
    use crate::geometry::Order;
    use proptest::prelude::*;

    fn field(datatype: Datatype, cell: CellCount, nullable: bool) -> Field {
        Field {
            id: FieldId::Attribute(0),
            name: "a".into(),
            datatype,
            cell,
            nullable,
            filters: Pipeline::default(),
        }
    }

    #[test]
    fn a_tile_behind_empty_cells_has_its_own_offsets_only() {
        let columns = vec![Column::from_cells(Datatype::StringAscii, ["", "", "ab", "c"])];
        let tiles = InOrder {
            columns,
            cells: 4,
            tile_cells: 2,
        };
        let field = field(Datatype::StringAscii, CellCount::Var, false);
        assert_eq!(
            tiles.cut(&field, 0, 0, &Spare::default()).unwrap().offsets.unwrap()[..],
            [0, 0, 0]
        );
        assert_eq!(
            tiles.cut(&field, 0, 1, &Spare::default()).unwrap().offsets.unwrap()[..],
            [0, 2, 3]
        );
    }

    fn value<'a>(field: &Field, cells: &'a TileCells<'_>, i: usize) -> Cow<'a, [u8]> {
        let range = match (&cells.offsets, field.cell_bytes()) {
            (Some(o), _) => o[i] as usize..o[i + 1] as usize,
            (None, n) => i * n.unwrap()..(i + 1) * n.unwrap(),
        };
        Cow::Owned(cells.values.whole()[range].to_vec())
    }

    fn is_null(cells: &TileCells<'_>, i: usize) -> bool {
        cells.validity.as_ref().is_some_and(|v| v[i] == 0)
    }

    fn layout() -> impl Strategy<Value = Layout> {
        prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor)]
    }

    proptest! {
        /// Each cell of the box must be where the format says, and all others must be padding.
        #[test]
        fn boxes_are_cut_into_tiles_in_any_order(
            sides in prop::collection::vec((1_u64..5, 0_u64..7, 1_u64..6), 1..4),
            (tile_order, cell_order, input) in (layout(), layout(), layout()),
        ) {
            let dim = |(i, s): (usize, &(u64, u64, u64))| Dimension::new(&i.to_string(), Datatype::Int64, -3_i64, 20_i64, s.0 as i64);
            let mut schema = Schema::new(ArrayType::Dense, sides.iter().enumerate().map(dim).collect(), vec![]);
            (schema.tile_order, schema.cell_order) = (tile_order, cell_order);
            let grid = Grid::new(&schema).unwrap();
            let spans: Vec<Span> = sides.iter().map(|s| Span { first: s.1, last: s.1 + s.2 - 1 }).collect();
            let frame = Frame { shape: region::shape(&spans), order: Order::of(input).unwrap() };
            let cells = frame.cells().unwrap();
            // Cell i of the input is i + 1, or i + 1 bytes modulo 4.
            let texts = |i: u64| vec![b'x'; (i % 4) as usize];
            let columns = vec![
                Column::from_values(Datatype::Uint64, &(1..=cells).collect::<Vec<_>>()).with_validity(vec![1; cells as usize]),
                Column::from_cells(Datatype::StringAscii, (0..cells).map(texts)),
            ];
            let fields = [field(Datatype::Uint64, CellCount::ONE, true), field(Datatype::StringAscii, CellCount::Var, false)];
            let tiles = DenseBox::new(grid.clone(), spans.clone(), frame.clone(), columns).unwrap();
            let mut seen = 0;
            for t in 0..tiles.count() {
                let of_tile = grid.tile_spans(&grid.tiles(&spans).tile(t));
                let numbers = tiles.cut(&fields[0], 0, t, &Spare::default()).unwrap();
                let strings = tiles.cut(&fields[1], 1, t, &Spare::default()).unwrap();
                let live = tiles.live(t);
                let shape = grid.extents();
                let strides = grid.cell_order.strides(&shape);
                prop_assert_eq!(strings.offsets.as_ref().unwrap().len() as u64, tiles.cells(t) + 1);
                for c in 0..tiles.cells(t) {
                    let at: Vec<u64> = of_tile.iter().zip(strides.iter().zip(&shape)).map(|(s, (stride, side))| s.first + c / stride % side).collect();
                    let inside = at.iter().zip(&spans).all(|(a, s)| s.contains(*a));
                    let c = c as usize;
                    prop_assert_eq!(live.iter().any(|r| r.contains(&c)), inside);
                    let number = u64::from_le_bytes(value(&fields[0], &numbers, c)[..].try_into().unwrap());
                    if inside {
                        let local: Vec<u64> = at.iter().zip(&spans).map(|(a, s)| a - s.first).collect();
                        let i = frame.position(&local);
                        prop_assert_eq!((number, is_null(&numbers, c)), (i + 1, false));
                        prop_assert_eq!(value(&fields[1], &strings, c), texts(i));
                        seen += 1;
                    } else {
                        prop_assert_eq!((number, is_null(&numbers, c), value(&fields[1], &strings, c)), (0, true, Cow::Borrowed(&[0][..])));
                    }
                }
            }
            prop_assert_eq!(seen, cells);
        }
    }
}
