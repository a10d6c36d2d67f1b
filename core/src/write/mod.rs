//! Writing cells: one write makes one fragment, visible as a whole or not at all.

pub(crate) mod boxes;
mod build;
mod cells;
mod check;
pub(crate) mod clock;
pub(crate) mod commit;
pub(crate) mod field;
mod files;
pub(crate) mod identity;
mod indexes;
mod number;
pub(crate) mod pack;
pub(crate) mod sort;
mod spare;
pub(crate) mod stats;
pub(crate) mod tiler;
pub(crate) mod writer;

pub use writer::FragmentWriter;

use crate::column::Column;
use crate::format::schema::Layout;
use crate::scalar::ScalarRange;

/// What a write needs beside its cells. The engine reads no clock and draws no randomness.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The time of the write, in milliseconds since 1970, such as [`Array::write_time`](crate::Array::write_time) gives.
    /// Of several writes at one time the last one that began is seen.
    pub timestamp_ms: u64,
    /// 32 random bytes, never used twice: names and initialisation vectors derive from them.
    pub seed: [u8; 32],
    /// Whether the write outlives a power cut once it has returned.
    pub sync: bool,
}

/// Cells to write.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// The box of a dense write, a closed range a dimension; `None` for the whole domain, and for
    /// sparse arrays.
    pub region: Option<Vec<ScalarRange>>,
    /// The order of the cells. Sparse cells are sorted unless they come in global order.
    pub layout: Layout,
    /// Every attribute once and, for sparse arrays, every dimension, by name.
    pub columns: Vec<(String, Column)>,
}
