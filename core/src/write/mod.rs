//! Writing cells. One write makes one fragment, which becomes visible atomically.

pub(crate) mod boxes;
mod buffer_pool;
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
pub(crate) mod stats;
pub(crate) mod tiler;
pub(crate) mod writer;

pub use writer::FragmentWriter;

use crate::column::Column;
use crate::format::schema::Layout;
use crate::scalar::ScalarRange;

/// Options of a write. The caller supplies the time and the random seed; the engine reads neither itself.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The timestamp of the write, in milliseconds since 1970; see [`Array::write_time`](crate::Array::write_time). If
    /// several writes have the same timestamp, the one that started last wins.
    pub timestamp_ms: u64,
    /// 32 random bytes, never reused. File names and initialisation vectors are derived from them.
    pub seed: [u8; 32],
    /// Whether the data is synced to disk before the write returns.
    pub sync: bool,
}

/// Cells to write.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// The box of a dense write, one closed range per dimension. `None` means the whole domain; always `None` for
    /// sparse arrays.
    pub region: Option<Vec<ScalarRange>>,
    /// The order of the cells. Sparse cells are sorted unless this is the global order.
    pub layout: Layout,
    /// Every attribute exactly once, by name; for sparse arrays every dimension too.
    pub columns: Vec<(String, Column)>,
}
