//! Reads and writes TileDB arrays, dense and sparse, at any point in time: on disk, in memory, in remote stores, and in
//! the browser.
//!
//! Start with [`Context`], which holds a store, and [`Array`], a snapshot of an array. [`Query`] selects the cells to
//! read. [`Cells`] are written at once, and [`FragmentWriter`] takes them in batches.
//!
//! All code that knows the format is synchronous and converts between bytes and values. An async shell around it lists
//! folders, reads and writes files, and calls this code.

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
pub mod suggest;
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
