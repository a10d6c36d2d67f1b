//! The R-tree over the MBRs of a sparse fragment's tiles.

use crate::scalar::ScalarRange;

/// Minimum bounding rectangles of tiles, and of groups of them. Level 0 is the root.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RTree {
    /// Children of an inner entry.
    pub fanout: u32,
    /// Levels, root first; each entry has one range a dimension. Empty for dense fragments.
    pub levels: Vec<Vec<Vec<ScalarRange>>>,
}
