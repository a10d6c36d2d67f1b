//! Integer arithmetic on cells and tiles, without I/O.
//!
//! Cells of dense arrays are `u64` offsets from the low end of each dimension, so the same code serves every integer,
//! date and time type. Coordinates of sparse arrays become `u64` keys that sort like the values.

pub(crate) mod cell_order;
pub(crate) mod grid;
pub(crate) mod hilbert;
pub(crate) mod order;
pub(crate) mod region;
pub(crate) mod slab;

pub(crate) use cell_order::{CellOrder, KeyColumn, number};
pub(crate) use grid::same_space;
pub(crate) use grid::{Grid, TileBox, Tiling};
pub(crate) use order::Order;
pub(crate) use region::Span;
pub(crate) use slab::{CopyPlan, Frame};
