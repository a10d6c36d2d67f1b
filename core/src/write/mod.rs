//! Writing cells. One write makes one fragment, which becomes visible atomically.

mod adopt;
mod box_writer;
pub(crate) mod boxes;
mod buffer_pool;
mod build;
mod cells;
mod check;
pub(crate) mod clock;
pub(crate) mod commit;
pub(crate) mod field;
mod files;
mod indexes;
mod number;
pub(crate) mod pack;
pub(crate) mod sort;
pub(crate) mod stats;
pub(crate) mod tiler;
mod together;
pub(crate) mod writer;

pub use box_writer::BoxWriter;
pub use together::{SealedFragment, commit_together};
pub use writer::FragmentWriter;

use crate::column::Column;
use crate::format::schema::Layout;
use crate::scalar::ScalarRange;

/// Options of a write. The caller supplies the time and the random seed; the engine reads neither itself.
///
/// ```
/// use std::time::{SystemTime, UNIX_EPOCH};
/// # fn random() -> [u8; 32] { [7; 32] }
/// let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
/// let options = hyperslab::WriteOptions {
///     timestamp_ms: now.as_millis() as u64, // or what Array::write_time returns for it
///     seed: random(),                       // for example getrandom::fill
///     sync: true,
/// };
/// ```
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
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
/// # use hyperslab::*;
/// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
/// # let context = Context::memory();
/// # let x = Dimension::new("x", Datatype::Int32, 0, 999, 100);
/// # let schema = Schema::new(ArrayType::Sparse, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
/// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
/// # Array::create(&context, "points", &schema, &[], &options).await?;
/// # let array = Array::open(&context, "points", &OpenOptions::default()).await?;
/// # let columns = |x: &[i32], a: &[i32]| vec![
/// #     ("x".to_owned(), Column::from_values(Datatype::Int32, x)),
/// #     ("a".to_owned(), Column::from_values(Datatype::Int32, a)),
/// # ];
/// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
/// # let cells = Cells { region: None, layout: Layout::RowMajor, columns: columns(&[700, 5, 42], &[7, 0, 4]) };
/// # array.write(cells, &at(10)).await?;
/// # let array = array.at(Window::ALL).await?;
/// // Three cells of a sparse array, in any order.
/// let cells = Cells {
///     region: None,
///     layout: Layout::Unordered,
///     columns: vec![
///         ("x".into(), Column::from_values(Datatype::Int32, &[30, 10, 20])),
///         ("a".into(), Column::from_values(Datatype::Int32, &[3, 1, 2])),
///     ],
/// };
/// array.write(cells, &WriteOptions { timestamp_ms: 2000, seed: [2; 32], sync: false }).await?;
/// assert_eq!(array.at(Window::ALL).await?.count(&Query::default()).await?, 6);
/// # Ok(()) }) }
/// ```
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
