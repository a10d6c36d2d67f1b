//! Fragment metadata: footer, R-tree, tile index, statistics.

pub mod footer;
pub mod rtree;
