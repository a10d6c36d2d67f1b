//! Reads and writes TileDB arrays: dense and sparse, through time, on disk, in memory, in the browser.
//!
//! Everything that understands the format is a synchronous function from bytes to values. Around it
//! lies one async shell that lists, fetches, calls those functions and puts.

pub mod array;
#[cfg(feature = "arrow")]
pub mod arrow;
pub mod blocking;
pub mod cache;
pub mod calendar;
pub mod column;
pub mod context;
pub mod cpu;
pub mod datatype;
pub mod error;
pub mod escape;
pub mod filter;
pub mod format;
pub mod geometry;
pub mod key;
pub mod limits;
pub mod maintain;
mod printable;
pub mod query;
pub mod scalar;
pub mod schema_json;
mod sort;
pub mod vfs;
pub mod view;
pub mod write;

pub use array::{Array, Fragment, OpenOptions, Window};
pub use column::Column;
pub use context::Context;
pub use cpu::Cpu;
pub use datatype::{CellCount, Datatype, Physical};
pub use error::{AtPath, Error, Malformed, MalformedKind, Result};
pub use printable::printable;
pub use query::{Batch, Condition, Query, Region};
pub use scalar::{Scalar, ScalarRange};
pub use write::{Cells, FragmentWriter, WriteOptions};

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
