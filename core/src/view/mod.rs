//! Arrays as trees of files, for mounts, servers and browsers.
//!
//! A [`View`] finds a path ([`View::lookup`]), lists a folder ([`View::list`]) and reads a byte range of a file
//! ([`View::read`]). Mounts and browsers only pass on the results.
//!
//! ```text
//! README.md                  what the array holds, and how to name slices
//! schema.json  metadata.json
//! slices/temp@0:100,5:20.npy the attribute temp of the rows 0 to 99 and the columns 5 to 19
//! slices/all.csv             everything; also .json, .arrow, .bin, .png
//! tiles/temp/0/3.npy         one tile of a dense array
//! thumb.png  metadata/KEY    a small image, and a file for each metadata key
//! at/2026-03-01/             the same tree as of a time; the times of writes are listed as links
//! fragments/                 what each write added
//! zarr/                      a dense array as Zarr v3
//! ```
//!
//! Any slice has a name and an exact size, but listings are finite: only small whole attributes are listed in `slices`. A group or
//! a folder of arrays is a folder with one such tree for each array.

mod attributes;
mod chunk;
mod contents;
mod documents;
pub(crate) mod encode;
pub(crate) mod file_names;
mod fill;
mod fixed_layout;
mod folder;
mod fragment_names;
mod georeference;
mod hash;
mod levels;
mod listed;
mod markdown;
mod meaning;
pub(crate) mod members;
pub(crate) mod missing;
pub(crate) mod node;
mod options;
mod pyramid;
mod readers;
mod readme;
mod resolver;
pub(crate) mod selection;
mod shard;
mod slice;
mod snapshot;
#[cfg(feature = "fs")]
mod source;
mod tiles;
mod tree;
mod window;
mod zarr;

pub use node::{DirEntry, FileType, Node, NodeKind};
pub use resolver::{Source, View};
pub use tree::time as parse_time;
