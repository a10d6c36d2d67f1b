//! What an array looks like as files: the slice grammar, the tree of names, and the formats.
//!
//! A [`View`] answers three questions about a path: what is it ([`View::lookup`]), what is in it
//! ([`View::list`]), which bytes are at this range of it ([`View::read`]). Mounts and browsers only
//! pass the answers on. Everything but the reading itself is pure.

mod attributes;
mod blocks;
mod chunk;
mod contents;
mod docs;
pub mod encode;
mod fill;
mod markdown;
mod missing;
mod node;
pub mod selection;
mod shard;
mod shell;
mod slice;
mod tiles;
mod tree;
mod window;
mod zarr;

pub use node::{DirEntry, Node, NodeKind, dir_id};
pub use selection::{Axis, Selection};
pub use shell::{Source, View};
pub use tree::time as parse_time;
