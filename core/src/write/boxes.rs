//! Cuts cells of dense arrays into tiles: a box in row- or column-major order, or a sequence of tiles.

use std::borrow::Cow;
use std::ops::Range;

use super::buffer_pool::BufferPool;
use super::cells::{TileCells, Values};
use super::pack::PackedTile;
use super::tiler::{Tiles, consecutive};
use crate::column::Column;
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::geometry::region::{self, Span};
use crate::geometry::{CopyPlan, Frame, Grid, TileBox};
use crate::limits;

/// A box of a dense array with its cells in row- or column-major order.
#[derive(Debug)]
pub(crate) struct DenseBox {
    grid: Grid,
    cells: BoxInColumn,
    tiles: TileBox,
    count: u64,
    tile_cells: u64,
    columns: Vec<Column>,
}

/// Tiles of a dense array in storage order. The columns hold the cells of the tiles that were read, one tile after
/// another, each in cell order.
#[derive(Debug)]
pub(crate) struct TileRun {
    grid: Grid,
    tile_cells: u64,
    tiles: Vec<RunTile>,
    columns: Vec<Column>,
}

/// A tile of a [`TileRun`].
#[derive(Debug)]
pub(crate) enum RunTile {
    /// The columns hold the intersection of a box and the tile with these coordinates, from cell `first` on.
    Cells {
        tile: Vec<u64>,
        spans: Vec<Span>,
        first: usize,
    },
    /// All fields as another fragment stores them. The tile has all of its cells.
    Stored(Vec<PackedTile>),
}

/// The position of a box's cells in a column: from cell `first` on, in the shape and order of a frame.
#[derive(Debug)]
struct BoxInColumn {
    spans: Vec<Span>,
    frame: Frame,
    first: usize,
}

impl DenseBox {
    /// Takes the cells of `spans`, in the order and shape of `frame`.
    pub(crate) fn new(grid: Grid, spans: Vec<Span>, frame: Frame, columns: Vec<Column>) -> Result<Self> {
        let tiles = grid.tiles(&spans);
        let count = tiles.count().ok_or_else(too_many)?;
        let tile_cells = grid.tile_cells().ok_or_else(too_many)?;
        Ok(Self {
            grid,
            cells: BoxInColumn { spans, frame, first: 0 },
            tiles,
            count,
            tile_cells,
            columns,
        })
    }
}

impl Tiles for DenseBox {
    fn count(&self) -> u64 {
        self.count
    }

    fn cells(&self, _: u64) -> u64 {
        self.tile_cells
    }

    fn cut(&self, field: &Field, number: usize, tile: u64, spare: &BufferPool) -> Result<TileCells<'_>> {
        let tile = self.tiles.tile(tile);
        self.cells.cut(&self.grid, &tile, field, &self.columns[number], spare)
    }

    fn capacity(&self, _: u64) -> u64 {
        self.tile_cells
    }

    fn live(&self, tile: u64) -> Vec<Range<usize>> {
        live(&self.grid, &self.tiles.tile(tile), &self.cells.spans)
    }
}

impl TileRun {
    /// Takes tiles whose cells are in `columns`, one column per field.
    pub(crate) fn new(grid: Grid, tiles: Vec<RunTile>, columns: Vec<Column>) -> Result<Self> {
        let tile_cells = grid.tile_cells().ok_or_else(too_many)?;
        Ok(Self {
            grid,
            tile_cells,
            tiles,
            columns,
        })
    }

    fn tile(&self, tile: u64) -> Option<&RunTile> {
        self.tiles.get(usize::try_from(tile).ok()?)
    }
}

impl Tiles for TileRun {
    fn count(&self) -> u64 {
        self.tiles.len() as u64
    }

    fn cells(&self, _: u64) -> u64 {
        self.tile_cells
    }

    fn is_stored(&self, tile: u64) -> bool {
        matches!(self.tile(tile), Some(RunTile::Stored(_)))
    }

    fn stored(&self, number: usize, tile: u64) -> Option<PackedTile> {
        match self.tile(tile)? {
            RunTile::Stored(fields) => fields.get(number).cloned(),
            RunTile::Cells { .. } => None,
        }
    }

    fn cut(&self, field: &Field, number: usize, tile: u64, spare: &BufferPool) -> Result<TileCells<'_>> {
        let (Some(RunTile::Cells { tile, spans, first }), Some(column)) = (self.tile(tile), self.columns.get(number))
        else {
            return Err(outside(field));
        };
        let frame = Frame {
            shape: region::shape(spans),
            order: self.grid.cell_order,
        };
        let placed = BoxInColumn {
            spans: spans.clone(),
            frame,
            first: *first,
        };
        placed.cut(&self.grid, tile, field, column, spare)
    }

    fn capacity(&self, _: u64) -> u64 {
        self.tile_cells
    }

    fn live(&self, tile: u64) -> Vec<Range<usize>> {
        match self.tile(tile) {
            Some(RunTile::Cells { tile, spans, .. }) => live(&self.grid, tile, spans),
            Some(RunTile::Stored(_)) | None => Vec::new(),
        }
    }
}

impl BoxInColumn {
    /// The cells of one tile.
    fn cut<'a>(
        &self,
        grid: &Grid,
        tile: &[u64],
        field: &Field,
        column: &'a Column,
        spare: &BufferPool,
    ) -> Result<TileCells<'a>> {
        let outside = || outside(field);
        let tile_cells = grid.tile_cells().ok_or_else(too_many)?;
        let plan = self.plan(grid, tile).ok_or_else(outside)?;
        let whole = plan
            .single()
            .filter(|run| run.cells == tile_cells)
            .map(|run| self.first + run.from as usize);
        let cells = checked_cells(tile_cells, field.cell_bytes().unwrap_or(8).max(1))?;
        if let Some(at) = whole {
            return Ok(consecutive(field, column, at..at + cells));
        }
        let picked = |from: &'a [u8], width: usize| {
            let from = from.get(self.first * width..).ok_or_else(outside)?;
            Values::picked(from, plan.clone(), width, cells, spare).ok_or_else(outside)
        };
        let validity = match &column.validity {
            None => None,
            Some(v) => Some(picked(v, 1)?.into_whole()),
        };
        Ok(match (&column.offsets, field.cell_bytes()) {
            (Some(offsets), _) => {
                let starts = offsets.get(self.first..).ok_or_else(outside)?;
                let (data, offsets) = gather_var(field, &column.data, starts, &plan, cells);
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

    /// The copy from the column to the tile, or `None` if the box does not meet the tile.
    fn plan(&self, grid: &Grid, tile: &[u64]) -> Option<CopyPlan> {
        let cells = grid.tile_spans(tile);
        let common = region::intersect(&self.spans, &cells)?;
        let from: Vec<u64> = common.iter().zip(&self.spans).map(|(c, s)| c.first - s.first).collect();
        let to: Vec<u64> = common.iter().zip(&cells).map(|(c, t)| c.first - t.first).collect();
        Some(CopyPlan::new(
            &self.frame,
            &from,
            &grid.tile_frame(),
            &to,
            &region::shape(&common),
        ))
    }
}

/// The cells of a tile that are in the box; the others are padding.
fn live(grid: &Grid, tile: &[u64], spans: &[Span]) -> Vec<Range<usize>> {
    let cells = grid.tile_spans(tile);
    let Some(common) = region::intersect(spans, &cells) else {
        return Vec::new();
    };
    let at: Vec<u64> = common.iter().zip(&cells).map(|(c, t)| c.first - t.first).collect();
    let frame = grid.tile_frame();
    let plan = CopyPlan::new(&frame, &at, &frame, &at, &region::shape(&common));
    plan.runs().map(|r| r.to as usize..(r.to + r.cells) as usize).collect()
}

fn outside(field: &Field) -> Error {
    Error::invalid(format!("field '{}' has fewer cells than its box", field.name))
}

fn too_many() -> Error {
    Error::invalid("the box has more tiles, or a tile more cells, than fit in 64 bits")
}

/// Gathers variable-length cells in tile order. Each padding cell holds one zero value.
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

/// Checks that a tile of this many cells fits in memory. Returns the number of cells.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::CellCount;
    use crate::datatype::Datatype;
    use crate::format::domain::Dimension;
    use crate::format::schema::{ArrayType, Layout, Schema};
    use crate::geometry::Order;
    use crate::write::tiler::tests::field;
    use proptest::prelude::*;

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
        /// Each cell of the box must be at its place in the format, and all others must be padding.
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
            // Cell i of the input is i + 1, or (i + 1) modulo 4 bytes.
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
                let numbers = tiles.cut(&fields[0], 0, t, &BufferPool::default()).unwrap();
                let strings = tiles.cut(&fields[1], 1, t, &BufferPool::default()).unwrap();
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
