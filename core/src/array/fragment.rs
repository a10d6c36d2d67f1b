//! One write: its time, its cells, and the sections of its metadata, loaded when they are needed.

use std::sync::Arc;

use crate::format::schema::Schema;
use crate::format::version::Version;
use crate::scalar::ScalarRange;

/// A visible fragment of an array.
#[derive(Debug)]
pub struct Fragment {
    /// Its folder's name.
    pub name: String,
    /// Its folder, from the root of the store.
    pub path: String,
    /// The time of its first write, in milliseconds since 1970.
    pub start_ms: u64,
    /// The time of its last write, in milliseconds since 1970.
    pub end_ms: u64,
    /// Its format version.
    pub version: Version,
    /// Whether it stores whole tiles rather than coordinates.
    pub dense: bool,
    /// Cells written: those of the non-empty domain if dense, stored cells if sparse.
    pub cells: u64,
    /// The smallest box around its cells.
    pub non_empty_domain: Option<Vec<ScalarRange>>,
    /// Bytes of its data files.
    pub bytes: u64,
    /// The schema it was written with.
    pub schema: Arc<Schema>,
}
