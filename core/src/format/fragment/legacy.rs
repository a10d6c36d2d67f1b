//! Fragment metadata of versions 1 and 2: one generic tile with everything in it.
//!
//! ```text
//! version u32 | non-empty domain: bytes u64, per dimension lo, hi (no bytes: none)
//! | MBRs: count u64, per MBR per dimension lo, hi | bounding coordinates: count u64, per tile first and last cell
//! | tile offsets: per attribute and __coords: count u64, u64s | var offsets: per attribute: count u64, u64s
//! | var sizes: per attribute: count u64, u64s | cells in the last tile u64
//! | file sizes: per attribute and __coords u64 | var file sizes: per attribute u64
//! ```

use super::footer::Footer;
use super::rtree::RTree;
use crate::format::cursor::Decoded;
use crate::format::schema::Schema;

/// Everything such a file says, in the terms of later versions.
#[derive(Debug, Clone, PartialEq)]
pub struct LegacyMetadata {
    /// What a footer would say; its section offsets are empty.
    pub footer: Footer,
    /// The MBRs, as a tree of one level or none.
    pub rtree: RTree,
    /// By slot, the offset of each tile.
    pub tile_offsets: Vec<Vec<u64>>,
    /// By attribute, the offset of each tile of variable-length data.
    pub tile_var_offsets: Vec<Vec<u64>>,
    /// By attribute, the unfiltered bytes of each tile of variable-length data.
    pub tile_var_sizes: Vec<Vec<u64>>,
}

impl LegacyMetadata {
    /// Reads the payload. `dense`: the fragment's folder holds no `__coords.tdb`.
    ///
    /// # Errors
    /// The payload is damaged.
    pub fn decode(payload: &[u8], schema: &Schema, dense: bool) -> Decoded<Self> {
        let _ = (payload, schema, dense);
        unimplemented!()
    }
}
