//! Integer arithmetic on cells and tiles, without I/O.
//!
//! Cells of dense arrays are `u64` offsets from the low end of each dimension, so the same code serves every integer,
//! date and time type. Coordinates of sparse arrays become `u64` keys that sort like the values.

pub mod grid;
pub mod hilbert;
pub mod order;
pub mod region;
pub mod slab;

pub(crate) use grid::same_space;
pub use grid::{Grid, TileBox, Tiling};
pub use hilbert::Hilbert;
pub use order::{CellOrder, KeyColumn, Order};
pub(crate) use order::{number, numbers};
pub use region::Span;
pub use slab::{CopyPlan, CopyRun, Frame};
