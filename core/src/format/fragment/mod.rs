//! Fragment metadata: footer, R-tree, tile index, statistics.

pub mod conditions;
pub mod footer;
pub mod legacy;
pub mod metadata_file;
pub mod rtree;
pub mod slots;
pub mod stats;
pub mod tile_index;
