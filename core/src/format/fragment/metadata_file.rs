//! The whole `__fragment_metadata.tdb` of a fragment that is being written.
//!
//! ```text
//! R-tree | tile offsets | var offsets | var sizes | validity offsets | minima | maxima | sums | null counts
//! | fragment statistics | processed conditions | footer | bytes of the footer u64
//! ```
//!
//! Each section but the footer is a generic tile, or one for each slot.

use std::collections::BTreeMap;

use super::rtree::RTree;
use super::slots::FieldId;
use super::stats::{FieldStats, TileValues};
use crate::error::Malformed;
use crate::filter::{Key, Nonces};
use crate::format::schema::Schema;
use crate::format::version::Version;
use crate::scalar::ScalarRange;

/// What is to be said about a fragment.
#[derive(Debug, Clone, PartialEq)]
pub struct FragmentMetadata {
    /// The fragment's format version.
    pub version: Version,
    /// The file name of its schema.
    pub schema_name: String,
    /// Whether its cells are dense.
    pub dense: bool,
    /// The smallest box around its cells, not rounded to tiles.
    pub non_empty_domain: Vec<ScalarRange>,
    /// How many tiles each field has.
    pub tiles: u64,
    /// Cells in the last tile of a sparse fragment, or in every tile of a dense one.
    pub last_tile_cells: u64,
    /// The tree over the tiles; [`RTree::dense`] if dense.
    pub rtree: RTree,
    /// The fields that have data files. The places of others are filled as libtiledb fills them.
    pub fields: BTreeMap<FieldId, FieldMetadata>,
    /// Paths of the delete commits taken account of, such as `__commits/…_22.del`, oldest first.
    pub processed_conditions: Vec<String>,
}

/// What is to be said about one field. Lists that do not apply are empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldMetadata {
    /// Where each tile starts in the field's file (of offsets, where cells vary in length).
    pub tile_offsets: Vec<u64>,
    /// Where each tile starts in the file of variable-length data.
    pub tile_var_offsets: Vec<u64>,
    /// Unfiltered bytes of each tile of variable-length data.
    pub tile_var_sizes: Vec<u64>,
    /// Where each tile starts in the validity file.
    pub tile_validity_offsets: Vec<u64>,
    /// The smallest cell of each tile.
    pub mins: TileValues,
    /// The greatest cell of each tile.
    pub maxs: TileValues,
    /// The bits of the sum of each tile: `i64`, `u64` or `f64`.
    pub sums: Vec<u64>,
    /// How many cells of each tile are null.
    pub null_counts: Vec<u64>,
    /// The same over the whole fragment.
    pub stats: FieldStats,
    /// Bytes of the field's file.
    pub file_bytes: u64,
    /// Bytes of the file of variable-length data.
    pub var_file_bytes: u64,
    /// Bytes of the validity file.
    pub validity_file_bytes: u64,
}

impl FragmentMetadata {
    /// The file's bytes.
    ///
    /// # Errors
    /// There is a key and no nonces.
    pub fn encode(&self, schema: &Schema, key: Option<&Key>, nonces: &Nonces) -> Result<Vec<u8>, Malformed> {
        let _ = (schema, key, nonces);
        unimplemented!()
    }
}
