//! What to read, and what comes back.

mod aggregate;
pub(crate) mod condition;
pub(crate) mod dense;
pub(crate) mod field;
mod read;
mod sparse;
pub(crate) mod summary;
mod tally;
pub(crate) mod tile;

pub use aggregate::Aggregate;
pub use condition::{CompareOp, Condition};
pub use read::{Batches, Finding};
pub(crate) use read::{Coordinates, Effect};

use crate::column::Column;
use crate::format::schema::Layout;
use crate::limits;
use crate::scalar::ScalarRange;

/// A read: which cells, which fields, in which order.
#[derive(Debug, Clone)]
pub struct Query {
    /// Names of attributes and dimensions, in the order of the result's columns. `None` for every
    /// attribute, after every dimension where the array is sparse.
    pub fields: Option<Vec<String>>,
    /// The cells.
    pub region: Region,
    /// The order of the result. A dense result in global order has the cells of one tile after another.
    pub order: Layout,
    /// Which of those cells. In dense results the others hold the fill value.
    pub condition: Option<Condition>,
    /// Bytes that one batch of a streamed read may hold.
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

/// Cells by coordinates: the product of one list of closed ranges for each dimension.
///
/// An empty list stands for the whole (current) domain. In dense arrays the ranges count in the
/// order given, and overlapping ones give cells twice; in sparse arrays they are merged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Region(pub Vec<Vec<ScalarRange>>);

impl Region {
    /// Every cell.
    pub const fn all() -> Self {
        Self(Vec::new())
    }

    /// The cells of one box.
    pub fn from_box(ranges: Vec<ScalarRange>) -> Self {
        Self(ranges.into_iter().map(|r| vec![r]).collect())
    }
}

/// Cells that were read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// The fields asked for, each with its name.
    pub columns: Vec<(String, Column)>,
    /// How many cells each column has.
    pub cells: u64,
    /// Cells along each dimension, for dense results in row-major and column-major order.
    pub shape: Option<Vec<u64>>,
    /// The part of the query's region this is, for dense results.
    pub region: Option<Region>,
}

impl Batch {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(n, _)| n == name).map(|(_, c)| c)
    }
}

/// A whole result.
pub type ReadResult = Batch;
