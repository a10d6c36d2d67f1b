//! The footer of a fragment's metadata: what the fragment holds and where its sections lie.

use std::ops::Range;

use crate::format::cursor::Decoded;
use crate::format::schema::Schema;
use crate::format::version::Version;
use crate::scalar::ScalarRange;

/// Footer of a fragment. Offsets are in bytes from the start of the metadata file; lists are by
/// field slot (see [`super::slots`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Footer {
    /// The fragment's format version.
    pub version: Version,
    /// The file name of the schema it was written with; `None` before version 10.
    pub schema_name: Option<String>,
    /// Whether its cells are dense.
    pub dense: bool,
    /// The bounding box of its cells; `None` where the fragment says it has none.
    pub non_empty_domain: Option<Vec<ScalarRange>>,
    /// Tiles of a sparse fragment; 0 for dense ones.
    pub sparse_tiles: u64,
    /// Cells in the last tile of a sparse fragment, or in every tile of a dense one.
    pub last_tile_cells: u64,
    /// Whether each cell has a timestamp.
    pub has_timestamps: bool,
    /// Whether each cell has a delete timestamp and condition.
    pub has_delete_metadata: bool,
    /// Bytes of each field's file (of the offsets where cells vary in length).
    pub file_sizes: Vec<u64>,
    /// Bytes of each field's file of variable-length data.
    pub file_var_sizes: Vec<u64>,
    /// Bytes of each field's validity file.
    pub file_validity_sizes: Vec<u64>,
    /// Where the sections lie.
    pub sections: SectionOffsets,
}

/// Offsets of the sections, which are generic tiles.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs, reason = "each is the offset of the section of its name")]
pub struct SectionOffsets {
    pub rtree: u64,
    pub tile_offsets: Vec<u64>,
    pub tile_var_offsets: Vec<u64>,
    pub tile_var_sizes: Vec<u64>,
    pub tile_validity_offsets: Vec<u64>,
    pub tile_mins: Vec<u64>,
    pub tile_maxs: Vec<u64>,
    pub tile_sums: Vec<u64>,
    pub tile_null_counts: Vec<u64>,
    pub fragment_stats: Option<u64>,
    pub processed_conditions: Option<u64>,
}

impl Footer {
    /// Where the footer lies in a metadata file of `file_bytes`, whose last bytes are `tail` (eight
    /// are enough). `schema` is looked at only before version 10, where an array has but one.
    ///
    /// # Errors
    /// The file is too short for a footer.
    pub fn locate(version: Version, schema: &Schema, file_bytes: u64, tail: &[u8]) -> Decoded<Range<u64>> {
        let _ = (version, schema, file_bytes, tail);
        unimplemented!()
    }

    /// The file name of the schema that the footer must be decoded with; `None` before version 10.
    ///
    /// # Errors
    /// The footer is damaged, or of another version.
    pub fn schema_name(bytes: &[u8], version: Version) -> Decoded<Option<&str>> {
        let _ = (bytes, version);
        unimplemented!()
    }

    /// Reads a footer, without the length behind it. `schema` is the one it names.
    ///
    /// # Errors
    /// The footer is damaged, or of another version.
    pub fn decode(bytes: &[u8], schema: &Schema, version: Version) -> Decoded<Self> {
        let _ = (bytes, schema, version);
        unimplemented!()
    }

    /// The footer's bytes, without the length behind it.
    pub fn encode(&self, schema: &Schema) -> Vec<u8> {
        let _ = schema;
        unimplemented!()
    }
}
