//! Shows arrays as files: the slice grammar, the tree of names and the file formats.
//!
//! A [`View`] finds a path ([`View::lookup`]), lists a folder ([`View::list`]) and reads a byte range of a file
//! ([`View::read`]). Mounts and browsers only pass on the results. Only [`View`] and its contents do I/O; the other
//! modules are pure.

mod attributes;
mod chunk;
mod contents;
pub(crate) mod encode;
mod fill;
mod markdown;
mod missing;
pub(crate) mod node;
mod part_cache;
mod readme;
mod resolver;
pub(crate) mod selection;
mod shard;
mod slice;
mod tiles;
mod tree;
mod window;
mod zarr;

pub use node::{DirEntry, Node, NodeKind};
pub use resolver::{Source, View};
pub use tree::time as parse_time;
