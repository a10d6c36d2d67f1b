//! The R-tree over the MBRs (minimum bounding rectangles) of a sparse fragment's tiles.
//!
//! ```text
//! before version 5: dimensions u32 | fanout u32 | before version 5: datatype u8 | levels u32
//! per level, root first: count u64 | per MBR, per dimension: lo, hi
//!                        (strings: total bytes u64 | bytes of lo u64 | lo | hi)
//! ```

use crate::datatype::Physical;
use crate::format::cursor::Decoded;
use crate::format::schema::Schema;
use crate::format::version::Version;
use crate::scalar::{Scalar, ScalarRange};

/// Children of an inner entry, as written.
pub const FANOUT: u32 = 10;

/// MBRs of tiles, and of groups of them. Level 0 is the root, the last level has one MBR a tile.
#[derive(Debug, Clone, PartialEq)]
pub struct RTree {
    /// Children of an inner entry: entry `i` of a level covers `i * fanout..` of the next.
    pub fanout: u32,
    /// Levels, root first. Empty for dense fragments.
    pub levels: Vec<Level>,
}

/// The MBRs of one level, a column a dimension.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Level {
    /// How many MBRs there are.
    pub len: usize,
    /// Their bounds along each dimension.
    pub dimensions: Vec<Bounds>,
}

/// Closed ranges along one dimension: lows and highs apart, so that a test runs over plain slices.
#[derive(Debug, Clone, PartialEq)]
pub enum Bounds {
    /// Of fixed-size coordinates, as keys in the order of the coordinates: see [`Scalar::order_key`].
    Keys {
        /// What the coordinates are.
        physical: Physical,
        /// The lows.
        lo: Vec<u64>,
        /// The highs.
        hi: Vec<u64>,
    },
    /// Of strings.
    Strings {
        /// The lows.
        lo: Strings,
        /// The highs.
        hi: Strings,
    },
}

/// Strings one after another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strings {
    ends: Vec<usize>,
    data: Vec<u8>,
}

impl Strings {
    /// String `i`; empty where there is none.
    pub fn get(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(i).copied()).map(|(start, end)| start..end);
        range.and_then(|range| self.data.get(range)).unwrap_or(&[])
    }

    /// Appends a string.
    pub fn push(&mut self, string: &[u8]) {
        self.data.extend_from_slice(string);
        self.ends.push(self.data.len());
    }
}

impl RTree {
    /// Reads the section's payload.
    ///
    /// # Errors
    /// The payload is damaged.
    pub fn decode(payload: &[u8], schema: &Schema, version: Version) -> Decoded<Self> {
        let _ = (payload, schema, version);
        unimplemented!()
    }

    /// The tree over these MBRs, one a tile in tile order.
    pub fn build(leaves: Level) -> Self {
        let _ = leaves;
        unimplemented!()
    }

    /// The tree of a dense fragment: none.
    pub const fn dense() -> Self {
        Self { fanout: FANOUT, levels: Vec::new() }
    }

    /// The section's payload, in the layout of `version`.
    pub fn encode(&self, schema: &Schema, version: Version) -> Vec<u8> {
        let _ = (schema, version);
        unimplemented!()
    }

    /// The MBR of each tile; `None` for dense fragments.
    pub fn leaves(&self) -> Option<&Level> {
        self.levels.last()
    }
}

impl Level {
    /// No MBRs yet, in the dimensions of `schema`.
    pub fn new(schema: &Schema) -> Self {
        let _ = schema;
        unimplemented!()
    }

    /// Appends an MBR: one range a dimension. A range of another kind than the dimension's counts as 0.
    pub fn push(&mut self, mbr: &[ScalarRange]) {
        let _ = mbr;
        unimplemented!()
    }

    /// MBR `i`, one range a dimension; `None` where there is none.
    pub fn mbr(&self, i: usize) -> Option<Vec<ScalarRange>> {
        let _ = i;
        unimplemented!()
    }
}

#[allow(dead_code, reason = "used by the bodies to come")]
type Value = Scalar;
