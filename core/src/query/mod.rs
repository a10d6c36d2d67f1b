//! Queries and their results.

mod aggregate;
pub(crate) mod condition;
pub(crate) mod dense;
mod fill;
pub(crate) mod merge;
mod read;
mod region;
mod splits;
pub(crate) mod summary;
mod tally;
pub(crate) mod tile;

pub use aggregate::Aggregate;
pub(crate) use aggregate::Summary;
pub use condition::{CompareOp, Condition};
pub use read::{Batches, Finding, PlannedRequest, PlannedTile, ReadPlan};
pub(crate) use read::{Coordinates, DeleteEffect};
pub use splits::Split;

use crate::column::Column;
use crate::format::schema::Layout;
use crate::limits;
use crate::scalar::ScalarRange;

/// A read query: which cells and fields to read, and in which order.
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
/// // The cells with x from 0 to 99 or from 500 on, and a > 0, in row-major order.
/// let query = Query {
///     fields: Some(vec!["a".to_owned()]),
///     region: Region(vec![vec![ScalarRange::new(0, 99), ScalarRange::new(500, 999)]]),
///     condition: Some("a > 0".parse()?),
///     ..Query::default()
/// };
/// let batch = array.read(&query).await?;
/// assert_eq!(*batch.column("a").unwrap().values::<i32>()?, [4, 7]);
/// # Ok(()) }) }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Names of attributes and dimensions, in the order of the result's columns. `None` reads every attribute; in
    /// sparse arrays it reads every dimension first.
    pub fields: Option<Vec<String>>,
    /// The coordinates to read.
    pub region: Region,
    /// The order of the result. In global order, a dense result lists the cells tile by tile.
    pub order: Layout,
    /// Filters the cells of the region. In dense results, cells that fail the condition hold the fill value.
    pub condition: Option<Condition>,
    /// Maximum size of one batch of a streamed read, in bytes.
    pub batch_bytes: u64,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            fields: None,
            region: Region::all(),
            order: Layout::RowMajor,
            condition: None,
            batch_bytes: limits::BATCH_BYTES,
        }
    }
}

/// Cells by coordinates: the Cartesian product of a list of closed ranges per dimension.
///
/// An empty list selects the whole current domain. In dense arrays, ranges keep the given order, and overlapping ranges
/// return cells twice. In sparse arrays, overlapping ranges are merged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Region(pub Vec<Vec<ScalarRange>>);

impl Region {
    /// Selects every cell.
    pub const fn all() -> Self {
        Self(Vec::new())
    }

    /// Selects the cells of one box.
    pub fn from_box(ranges: Vec<ScalarRange>) -> Self {
        Self(ranges.into_iter().map(|r| vec![r]).collect())
    }
}

/// Cells returned by a read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// The columns of the query's fields, each with its field's name.
    pub columns: Vec<(String, Column)>,
    /// Number of cells in each column.
    pub cells: u64,
    /// Number of cells along each dimension, for dense results in row-major or column-major order.
    pub shape: Option<Vec<u64>>,
    /// The part of the query's region that this batch covers, for dense results.
    pub region: Option<Region>,
}

impl Batch {
    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(n, _)| n == name).map(|(_, c)| c)
    }

    /// The columns without their names.
    pub(crate) fn into_columns(self) -> Vec<Column> {
        self.columns.into_iter().map(|(_, c)| c).collect()
    }
}
