//! The grid of space tiles, which maps cells to tiles and tiles to cells.
//!
//! The grid starts at the low end of each dimension's domain. The last tile may extend past the domain and is as large
//! as the others.

use std::ops::RangeInclusive;

use super::order::Order;
use super::region::Span;
use crate::datatype::{Datatype, Physical};
use crate::error::{Error, Result};
use crate::format::domain::Dimension;
use crate::format::schema::Schema;
use crate::key::{self, Keyed};
use crate::scalar::{Scalar, ScalarRange};

/// The grid of a dense array.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    /// Order of tiles in a fragment.
    pub tile_order: Order,
    /// Order of cells in a tile.
    pub cell_order: Order,
    /// One axis per dimension.
    pub axes: Vec<Axis>,
}

/// One dimension of a dense array.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    /// The dimension's name, for messages.
    pub name: String,
    /// The type of its coordinates.
    pub datatype: Datatype,
    /// Key of the first coordinate of the domain.
    pub low: u64,
    /// Offset of the last cell of the domain.
    pub last: u64,
    /// Number of cells in a tile along this dimension, at least 1.
    pub extent: u64,
}

impl Grid {
    /// The grid of a dense array's schema.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a dimension does not have an integer domain.
    pub(crate) fn new(schema: &Schema) -> Result<Self> {
        Ok(Self {
            tile_order: Order::of(schema.tile_order)?,
            cell_order: Order::of(schema.cell_order)?,
            axes: schema.dimensions.iter().map(Axis::new).collect::<Result<_>>()?,
        })
    }

    /// The offsets of a box of coordinates, one range per dimension. Ranges must be inside the domain.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the first range that does not fit.
    pub(crate) fn spans(&self, ranges: &[ScalarRange]) -> Result<Vec<Span>> {
        if ranges.len() != self.axes.len() {
            return Err(Error::invalid(format!(
                "{} ranges given for {} dimensions",
                ranges.len(),
                self.axes.len()
            )));
        }
        self.axes
            .iter()
            .zip(ranges)
            .map(|(axis, range)| axis.span(range))
            .collect()
    }

    /// The coordinates of a box of offsets.
    pub(crate) fn ranges(&self, spans: &[Span]) -> Vec<ScalarRange> {
        self.axes
            .iter()
            .zip(spans)
            .map(|(axis, span)| axis.range(*span))
            .collect()
    }

    /// The whole domain.
    pub(crate) fn domain(&self) -> Vec<Span> {
        self.axes
            .iter()
            .map(|axis| Span {
                first: 0,
                last: axis.last,
            })
            .collect()
    }

    /// The cells that may exist: the current domain, or the whole domain if there is no current domain.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the current domain is not inside the domain.
    pub(crate) fn limits(&self, schema: &Schema) -> Result<Vec<Span>> {
        match &schema.current_domain {
            Some(current) => self.spans(&current.ranges),
            None => Ok(self.domain()),
        }
    }

    /// Number of cells along each side of a tile.
    pub(crate) fn extents(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.extent).collect()
    }

    /// Number of cells in a tile; `None` if it overflows.
    pub(crate) fn tile_cells(&self) -> Option<u64> {
        self.axes.iter().try_fold(1_u64, |n, axis| n.checked_mul(axis.extent))
    }

    /// The layout of a tile in memory.
    pub(crate) fn tile_frame(&self) -> super::slab::Frame {
        super::slab::Frame {
            shape: self.extents(),
            order: self.cell_order,
        }
    }

    /// The tiles that overlap a box of cells.
    pub(crate) fn tiles(&self, spans: &[Span]) -> TileBox {
        let tile = |(axis, span): (&Axis, &Span)| Span {
            first: span.first / axis.extent,
            last: span.last / axis.extent,
        };
        TileBox {
            spans: self.axes.iter().zip(spans).map(tile).collect(),
            order: self.tile_order,
        }
    }

    /// The cells of the tile at these tile coordinates, including those outside the domain.
    pub(crate) fn tile_spans(&self, tile: &[u64]) -> Vec<Span> {
        let cells = |(axis, &t): (&Axis, &u64)| {
            let first = t.saturating_mul(axis.extent);
            Span {
                first,
                last: first.saturating_add(axis.extent - 1),
            }
        };
        self.axes.iter().zip(tile).map(cells).collect()
    }

    /// The smallest box around consecutive cells of the tile that starts at `origin`. `cells` is relative to the tile's
    /// first cell.
    pub(crate) fn around(&self, origin: &[Span], cells: RangeInclusive<u64>) -> Vec<Span> {
        let (extents, mut spans) = (self.extents(), origin.to_vec());
        let strides = self.cell_order.strides(&extents);
        for d in self.cell_order.slow_to_fast(extents.len()) {
            let along = |cell: &u64| origin[d].first.saturating_add(cell / strides[d] % extents[d]);
            spans[d] = Span {
                first: along(cells.start()),
                last: along(cells.end()),
            };
            if spans[d].first != spans[d].last {
                break;
            }
        }
        spans
    }

    /// Extends the box to whole tiles.
    pub(crate) fn rounded_out(&self, spans: &[Span]) -> Vec<Span> {
        let tiles = self.tiles(spans);
        let low: Vec<u64> = tiles.spans.iter().map(|s| s.first).collect();
        let high: Vec<u64> = tiles.spans.iter().map(|s| s.last).collect();
        super::region::union(&self.tile_spans(&low), &self.tile_spans(&high))
    }

    /// Whether the box consists of whole tiles.
    pub(crate) fn is_aligned(&self, spans: &[Span]) -> bool {
        self.rounded_out(spans) == spans
    }
}

/// Whether both schemas give every cell the same coordinates and, in dense arrays, the same tile.
pub(crate) fn same_space(a: &Schema, b: &Schema) -> bool {
    let types = |s: &Schema| s.dimensions.iter().map(|d| (d.datatype, d.cell)).collect::<Vec<_>>();
    let cut_alike = || !a.is_dense() || Grid::new(a).ok() == Grid::new(b).ok();
    a.array_type == b.array_type && types(a) == types(b) && cut_alike()
}

impl Axis {
    fn new(d: &Dimension) -> Result<Self> {
        let float = matches!(d.datatype.physical(), Physical::F32 | Physical::F64);
        let ends = d
            .domain
            .as_ref()
            .and_then(|r| Some((key::key(&r.lo)?, key::key(&r.hi)?)));
        let Some((low, high)) = ends.filter(|(low, high)| !float && low <= high) else {
            return Err(Error::invalid(format!(
                "dimension '{}' of a dense array needs an integer domain",
                d.name
            )));
        };
        let last = high - low;
        let extent = d.extent.as_ref().and_then(integer_extent);
        Ok(Self {
            name: d.name.clone(),
            datatype: d.datatype,
            low,
            last,
            extent: extent.unwrap_or_else(|| last.saturating_add(1)).max(1),
        })
    }

    /// The offset of an integer coordinate of any type; `None` if it is outside the domain.
    pub(crate) fn offset(&self, value: &Scalar) -> Option<u64> {
        let from_low = value.as_i128()? - self.coordinate(0).as_i128()?;
        u64::try_from(from_low).ok().filter(|&offset| offset <= self.last)
    }

    /// The coordinate at an offset.
    pub(crate) fn coordinate(&self, offset: u64) -> Scalar {
        key::scalar(self.datatype.physical(), self.low.saturating_add(offset))
    }

    /// The coordinates of an interval of offsets.
    pub(crate) fn range(&self, span: Span) -> ScalarRange {
        ScalarRange {
            lo: self.coordinate(span.first),
            hi: self.coordinate(span.last),
        }
    }

    /// The offsets of a range of coordinates.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the range is empty or not inside the domain.
    pub(crate) fn span(&self, range: &ScalarRange) -> Result<Span> {
        let ends = self.offset(&range.lo).zip(self.offset(&range.hi));
        ends.and_then(|(first, last)| Span::new(first, last)).ok_or_else(|| {
            if ends.is_some() {
                return self.refused(range, "is empty: its end is before its start");
            }
            let domain = self.range(Span {
                first: 0,
                last: self.last,
            });
            self.refused(
                range,
                &format!("is not inside the domain, {}", domain.shown(self.datatype)),
            )
        })
    }

    /// The error about a range of coordinates.
    pub(crate) fn refused(&self, range: &ScalarRange, why: &str) -> Error {
        Error::invalid(format!(
            "dimension '{}': the range {} {why}",
            self.name,
            range.shown(self.datatype)
        ))
    }
}

/// An extent as a number of cells. Extents are positive, and those of unsigned types may use all bits.
fn integer_extent(extent: &Scalar) -> Option<u64> {
    u64::try_from(extent.as_i128()?).ok().filter(|&n| n > 0)
}

/// A box of tiles, in tile coordinates, with the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TileBox {
    /// Tile coordinates, one interval per dimension.
    pub spans: Vec<Span>,
    /// Order of the numbers.
    pub order: Order,
}

impl TileBox {
    /// Number of tiles; `None` if it overflows.
    pub(crate) fn count(&self) -> Option<u64> {
        super::region::cells(&self.spans)
    }

    /// The number of the tile at these tile coordinates; `None` if it is outside the box.
    pub(crate) fn index(&self, tile: &[u64]) -> Option<u64> {
        let mut index = 0_u64;
        for d in self.order.slow_to_fast(self.spans.len()) {
            let (span, &t) = (self.spans.get(d)?, tile.get(d)?);
            if !span.contains(t) {
                return None;
            }
            index = index.checked_mul(span.len())?.checked_add(t - span.first)?;
        }
        Some(index)
    }

    /// The tile coordinates of the tile with this number, which must be less than the count.
    pub(crate) fn tile(&self, mut index: u64) -> Vec<u64> {
        let mut tile: Vec<u64> = self.spans.iter().map(|s| s.first).collect();
        for d in self.order.fast_to_slow(self.spans.len()) {
            let n = self.spans[d].len();
            tile[d] += index % n;
            index /= n;
        }
        tile
    }
}

/// Maps the coordinates of a dimension to space tiles, in dense and sparse arrays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tiling {
    /// Every coordinate is in tile 0. Applies to strings and to dimensions without an extent.
    None,
    /// `(key - low) / extent`.
    Integer {
        /// Key of the domain's low end.
        low: u64,
        /// Number of coordinates in a tile.
        extent: u64,
    },
    /// `floor((value - low) / extent)` in single precision, converted by [`counted`].
    F32 {
        /// The domain's low end.
        low: f32,
        /// Width of a tile.
        extent: f32,
    },
    /// The same in double precision.
    F64 {
        /// The domain's low end.
        low: f64,
        /// Width of a tile.
        extent: f64,
    },
}

impl Tiling {
    /// The tiling of a dimension.
    pub(crate) fn of(d: &Dimension) -> Self {
        match (d.domain.as_ref().map(|r| &r.lo), d.extent.as_ref()) {
            (Some(&Scalar::F32(low)), Some(&Scalar::F32(extent))) => Self::F32 { low, extent },
            (Some(&Scalar::F64(low)), Some(&Scalar::F64(extent))) => Self::F64 { low, extent },
            (Some(lo), Some(extent)) => match (key::key(lo), integer_extent(extent)) {
                (Some(low), Some(extent)) => Self::Integer { low, extent },
                _ => Self::None,
            },
            _ => Self::None,
        }
    }

    /// The tile coordinate of the coordinate with this key.
    pub(crate) fn tile(self, key: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::Integer { low, extent } => key.wrapping_sub(low) / extent,
            Self::F32 { low, extent } => counted(((f32::from_key(key) - low) / extent).into()),
            Self::F64 { low, extent } => counted((f64::from_key(key) - low) / extent),
        }
    }

    /// Replaces each key with its tile coordinate.
    pub(crate) fn tiles(self, keys: &mut [u64]) {
        let Self::Integer { low, extent } = self else {
            keys.iter_mut().for_each(|k| *k = self.tile(*k));
            return;
        };
        // Consecutive cells are mostly in the same tile, and divisions are slow.
        let (mut tile, mut start) = (0, 0);
        for key in keys {
            let offset = key.wrapping_sub(low);
            if offset < start || offset - start >= extent {
                tile = offset / extent;
                start = tile * extent;
            }
            *key = tile;
        }
    }

    /// Whether greater coordinates may be in tiles with lower numbers, because there are too many tiles to count.
    pub(crate) fn wraps(self, high: &Scalar) -> bool {
        let tiles = match (self, high) {
            (Self::F32 { low, extent }, Scalar::F32(high)) => f64::from((high - low) / extent),
            (Self::F64 { low, extent }, Scalar::F64(high)) => (high - low) / extent,
            _ => 0.0,
        };
        tiles >= TILES_MAX
    }

    /// Whether the dimension is divided into tiles.
    pub(crate) const fn is_tiled(self) -> bool {
        !matches!(self, Self::None)
    }
}

/// The number of tiles, 2^63, at which a float dimension can no longer count them.
const TILES_MAX: f64 = 9_223_372_036_854_775_808.0;

/// Converts a quotient to a whole number as libtiledb does. Quotients that do not fit follow the processor: NaN, which
/// occurs in a domain as wide as the type, becomes 2^63, and values beyond 2^64 become 0.
// Values outside the range of `i64` are handled before the cast.
fn counted(quotient: f64) -> u64 {
    let signed = |v: f64| {
        if (-TILES_MAX..TILES_MAX).contains(&v) {
            v.floor() as i64
        } else {
            i64::MIN
        }
    };
    if quotient >= TILES_MAX {
        (signed(quotient - TILES_MAX) ^ i64::MIN).cast_unsigned()
    } else {
        signed(quotient).cast_unsigned()
    }
}

#[cfg(test)]
mod tests;
