//! Orders of the cells of sparse arrays: in a tile, in a fragment, in a result.

use std::cmp::Ordering;
use std::ops::Range;

use super::grid::Tiling;
use super::hilbert::Hilbert;
use super::order::Order;
use crate::column::{Column, typed};
use crate::datatype::Physical;
use crate::error::{Error, Result};
use crate::format::schema::{Layout, Schema};
use crate::key;

/// An order of the cells of a sparse array, as a list of terms to compare, most significant first.
///
/// Strings are compared as unsigned bytes, as in libtiledb's readers. Libtiledb's writers compare them as `char`, which
/// is mostly signed, and its readers then return some cells twice. They read arrays in this order correctly.
#[derive(Debug, Clone)]
pub(crate) struct CellOrder {
    terms: Vec<Term>,
    places: usize,
    dimensions: usize,
}

#[derive(Debug, Clone)]
enum Term {
    /// Tile coordinate along a dimension.
    Tile(usize, Tiling),
    /// Coordinate along a dimension.
    Coordinate(usize),
    /// Position along the Hilbert curve.
    Hilbert(Hilbert),
    /// Whether a coordinate along a dimension is -0.0, which has the same place as 0.0 but is a different coordinate.
    NegativeZero(usize),
}

/// The keys of one term for many cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KeyColumn<'a> {
    /// Numbers. Empty if the key is 0 for every cell.
    Numbers(Vec<u64>),
    /// Strings: bytes, and the start of each cell with the end of the last one.
    Strings(&'a [u8], &'a [u64]),
}

impl KeyColumn<'_> {
    /// The bytes of string `i`; empty for numbers.
    pub(crate) fn string(&self, i: usize) -> &[u8] {
        match self {
            Self::Strings(data, offsets) => match (offsets.get(i), offsets.get(i + 1)) {
                (Some(&a), Some(&b)) => data.get(a as usize..b as usize).unwrap_or(&[]),
                _ => &[],
            },
            Self::Numbers(_) => &[],
        }
    }

    /// Compares cell `i` of this column with cell `j` of `other`.
    pub(crate) fn compare(&self, i: usize, other: &KeyColumn<'_>, j: usize) -> Ordering {
        match (self, other) {
            (Self::Numbers(a), KeyColumn::Numbers(b)) => number(a, i).cmp(&number(b, j)),
            (a, b) => a.string(i).cmp(b.string(j)),
        }
    }
}

/// Key `i` of a term. The keys of a term that is 0 for every cell may be empty.
pub(crate) fn number(keys: &[u64], i: usize) -> u64 {
    keys.get(i).copied().unwrap_or(0)
}

impl CellOrder {
    /// The order of `layout` in arrays of `schema`. Row-major and column-major order compare only coordinates. Global
    /// order is the order on disk: by space tile and then within the tile, or along the Hilbert curve.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for [`Layout::Unordered`], and for too many dimensions for the Hilbert curve.
    pub(crate) fn new(schema: &Schema, layout: Layout) -> Result<Self> {
        let n = schema.dimensions.len();
        let coordinates = |o: Order| o.slow_to_fast(n).map(Term::Coordinate);
        let mut terms: Vec<Term> = match (layout, schema.cell_order) {
            (Layout::Global, Layout::Hilbert) | (Layout::Hilbert, _) => {
                std::iter::once(Term::Hilbert(Hilbert::new(schema)?))
                    .chain(coordinates(Order::Row))
                    .collect()
            }
            (Layout::Global, cells) => {
                let tilings: Vec<Tiling> = schema.dimensions.iter().map(Tiling::of).collect();
                let tiles = Order::of(schema.tile_order)?
                    .slow_to_fast(n)
                    .map(|d| Term::Tile(d, tilings[d]));
                let tiles = tiles.filter(|t| matches!(t, Term::Tile(_, tiling) if tiling.is_tiled()));
                tiles.chain(coordinates(Order::of(cells)?)).collect()
            }
            (layout, _) => coordinates(Order::of(layout)?).collect(),
        };
        let places = terms.len();
        let floats = (0..n).filter(|&d| schema.dimensions[d].datatype.is_float());
        terms.extend(floats.map(Term::NegativeZero));
        Ok(Self {
            terms,
            places,
            dimensions: n,
        })
    }

    /// Number of terms that determine a cell's place. The later terms distinguish cells at the same place.
    pub(crate) const fn places(&self) -> usize {
        self.places
    }

    /// The keys of each term for the cells with coordinates `dims`, one column per dimension.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for NaN, and for columns that differ in length.
    pub(crate) fn keys<'a>(&self, dims: &[&'a Column]) -> Result<Vec<KeyColumn<'a>>> {
        let cells = dims.first().map_or(0, |c| c.len());
        (0..self.terms.len())
            .map(|t| self.term_keys(t, dims, 0..cells))
            .collect()
    }

    /// Number of terms.
    pub(crate) fn terms(&self) -> usize {
        self.terms.len()
    }

    /// The keys of one term for a range of the cells.
    ///
    /// # Errors
    /// Those of [`CellOrder::keys`].
    fn term_keys<'a>(&self, term: usize, dims: &[&'a Column], cells: Range<usize>) -> Result<KeyColumn<'a>> {
        let len = dims.first().map_or(0, |c| c.len());
        if dims.len() != self.dimensions || dims.iter().any(|c| c.len() != len) || cells.end > len {
            return Err(Error::invalid(
                "coordinates need one column per dimension, all of the same length",
            ));
        }
        let coordinates = |d: usize| match (dims[d], &dims[d].offsets) {
            (column, Some(offsets)) => Ok(KeyColumn::Strings(
                &column.data,
                offsets.get(cells.start..=cells.end).unwrap_or(&[]),
            )),
            (column, None) => key::keys(column.datatype.physical(), column.numbers(&cells))
                .map(KeyColumn::Numbers)
                .map_err(|i| {
                    Error::invalid(format!(
                        "cell {}, counted from 0: its coordinate along dimension {d} is NaN, which has no position",
                        cells.start + i
                    ))
                }),
        };
        match self.terms.get(term) {
            Some(Term::Coordinate(d)) => coordinates(*d),
            Some(Term::Hilbert(h)) => Ok(KeyColumn::Numbers(h.positions(dims, cells)?)),
            Some(Term::NegativeZero(d)) => Ok(KeyColumn::Numbers(negative_zeros(dims[*d], &cells))),
            Some(Term::Tile(d, tiling)) => Ok(match coordinates(*d)? {
                KeyColumn::Numbers(mut keys) => {
                    tiling.tiles(&mut keys);
                    KeyColumn::Numbers(keys)
                }
                strings => strings,
            }),
            None => Err(Error::invalid("the order has no such term")),
        }
    }

    /// The keys of a term for a range of the cells. If the order compares tiles first, coordinates are relative to the
    /// cell's tile. That makes them smaller and preserves the order within a tile.
    ///
    /// # Errors
    /// Those of [`CellOrder::keys`].
    pub(crate) fn narrow_keys<'a>(
        &self,
        term: usize,
        dims: &[&'a Column],
        cells: Range<usize>,
    ) -> Result<KeyColumn<'a>> {
        let mut keys = self.term_keys(term, dims, cells)?;
        let Some(&Term::Coordinate(d)) = self.terms.get(term) else {
            return Ok(keys);
        };
        let tiling = self.terms.iter().find_map(|t| match t {
            Term::Tile(tiled, tiling) if *tiled == d => Some(*tiling),
            _ => None,
        });
        if let (KeyColumn::Numbers(keys), Some(Tiling::Integer { low, extent })) = (&mut keys, tiling) {
            keys.iter_mut().for_each(|k| *k = k.wrapping_sub(low) % extent);
        }
        Ok(keys)
    }

    /// Like [`CellOrder::compare`], but compares only the cells' places.
    pub(crate) fn compare_places(&self, a: &[KeyColumn<'_>], i: usize, b: &[KeyColumn<'_>], j: usize) -> Ordering {
        Self::compare(a.get(..self.places).unwrap_or(a), i, b, j)
    }

    /// Compares cell `i` of `a` with cell `j` of `b`. Both must come from [`CellOrder::keys`].
    pub(crate) fn compare(a: &[KeyColumn<'_>], i: usize, b: &[KeyColumn<'_>], j: usize) -> Ordering {
        let differ = a.iter().zip(b).map(|(a, b)| a.compare(i, b, j)).find(|o| o.is_ne());
        differ.unwrap_or(Ordering::Equal)
    }
}

/// A column with 1 for each coordinate that is -0.0, else 0. Empty if no coordinate is -0.0.
fn negative_zeros(column: &Column, cells: &Range<usize>) -> Vec<u64> {
    fn of<T: bytemuck::Pod + PartialEq>(data: &[u8], zero: T) -> Vec<u64> {
        let values = typed::<T>(data);
        if !values.contains(&zero) {
            return Vec::new();
        }
        values.iter().map(|v| u64::from(*v == zero)).collect()
    }
    match column.datatype.physical() {
        Physical::F32 => of(column.numbers(cells), (-0.0_f32).to_bits()),
        Physical::F64 => of(column.numbers(cells), (-0.0_f64).to_bits()),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;
    use crate::format::domain::Dimension;
    use crate::format::schema::ArrayType;

    fn sorted(tile: Layout, cell: Layout, layout: Layout) -> Vec<(i32, i32)> {
        let dim = |n| Dimension::new(n, Datatype::Int32, 1, 4, 2);
        let mut schema = Schema::new(ArrayType::Sparse, vec![dim("y"), dim("x")], vec![]);
        (schema.tile_order, schema.cell_order) = (tile, cell);
        let cells: Vec<(i32, i32)> = (1..=4).flat_map(|y| (1..=4).map(move |x| (y, x))).collect();
        let y = Column::from_values(Datatype::Int32, &cells.iter().map(|c| c.0).collect::<Vec<_>>());
        let x = Column::from_values(Datatype::Int32, &cells.iter().map(|c| c.1).collect::<Vec<_>>());
        let keys = CellOrder::new(&schema, layout).unwrap().keys(&[&y, &x]).unwrap();
        let mut at: Vec<usize> = (0..cells.len()).collect();
        at.sort_by(|&i, &j| CellOrder::compare(&keys, i, &keys, j));
        at.into_iter().map(|i| cells[i]).collect()
    }

    #[test]
    fn global_order_goes_tile_by_tile() {
        use Layout::{ColMajor, Global, RowMajor};
        assert_eq!(
            sorted(RowMajor, RowMajor, Global)[..6],
            [(1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (1, 4)]
        );
        assert_eq!(
            sorted(ColMajor, RowMajor, Global)[..6],
            [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]
        );
        assert_eq!(
            sorted(RowMajor, ColMajor, Global)[..6],
            [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)]
        );
        assert_eq!(
            sorted(RowMajor, RowMajor, ColMajor)[..5],
            [(1, 1), (2, 1), (3, 1), (4, 1), (1, 2)]
        );
    }

    #[test]
    fn strings_compare_as_unsigned_bytes_and_prefixes_come_first() {
        let schema = Schema::new(ArrayType::Sparse, vec![Dimension::string("k")], vec![]);
        let k = Column::from_cells(Datatype::StringAscii, ["b", "", "\u{c3}", "aa", "a"]);
        let keys = CellOrder::new(&schema, Layout::Global).unwrap().keys(&[&k]).unwrap();
        let mut at = vec![0, 1, 2, 3, 4];
        at.sort_by(|&i, &j| CellOrder::compare(&keys, i, &keys, j));
        assert_eq!(at, [1, 4, 3, 0, 2]);
    }

    #[test]
    fn negative_zero_shares_the_place_of_zero_but_is_another_coordinate() {
        let schema = Schema::new(
            ArrayType::Sparse,
            vec![Dimension::new("x", Datatype::Float64, -1.0, 1.0, 0.5)],
            vec![],
        );
        let order = CellOrder::new(&schema, Layout::Global).unwrap();
        let zeros = Column::from_values(Datatype::Float64, &[0.0, -0.0, 0.5]);
        let plain = Column::from_values(Datatype::Float64, &[0.0, -0.5]);
        let (a, b) = (order.keys(&[&zeros]).unwrap(), order.keys(&[&plain]).unwrap());
        assert_eq!(order.compare_places(&a, 0, &a, 1), Ordering::Equal);
        assert_eq!(CellOrder::compare(&a, 0, &a, 1), Ordering::Less);
        assert_eq!(CellOrder::compare(&a, 0, &b, 0), Ordering::Equal);
        assert_eq!(CellOrder::compare(&a, 1, &b, 0), Ordering::Greater);
        assert_eq!(CellOrder::compare(&a, 1, &a, 2), Ordering::Less);
    }
}
