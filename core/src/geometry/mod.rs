//! Integer arithmetic on cells and tiles; no bytes of files, no I/O.
//!
//! Cells of dense arrays are counted as `u64` offsets from the low end of each dimension, so one
//! copy of this code serves every integer type, every date and every time. Coordinates of sparse
//! arrays become `u64` keys that sort as the values do.

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
pub use slab::{CopyPlan, Frame, Run};
