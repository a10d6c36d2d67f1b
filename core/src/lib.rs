//! Reads and writes TileDB arrays, dense and sparse, at any point in time: on disk, in memory, in remote stores, and in
//! the browser.
//!
//! Start with [`Context`], which holds a store, and [`Array`], a snapshot of an array. [`Query`] selects the cells to
//! read. [`Cells`] are written at once, and [`FragmentWriter`] takes them in batches.
//!
//! All code that knows the format is synchronous and converts between bytes and values. An async shell around it lists
//! folders, reads and writes files, and calls this code.

#![cfg_attr(
    not(feature = "internals"),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "some items are public for `internals` only"
    )
)]

mod array;
#[cfg(feature = "arrow")]
pub mod arrow;
pub mod blocking;
mod cache;
mod calendar;
mod column;
mod context;
mod cpu;
mod datatype;
mod error;
mod escape;
mod filter;
mod format;
mod geometry;
pub mod group;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod key;
mod limits;
pub mod maintain;
pub mod metadata;
mod printable;
mod query;
mod scalar;
pub mod schema;
pub mod schema_json;
mod sort;
mod suggest;
pub mod vfs;
pub mod view;
mod write;

pub use array::{Array, CreateOptions, Fragment, OpenOptions, Window};
pub use cache::Cache;
pub use column::Column;
pub use context::Context;
pub use cpu::Cpu;
pub use datatype::{CellCount, Datatype, Physical};
pub use error::{Error, Malformed, MalformedKind, Result};
pub use filter::Key;
pub use query::{Aggregate, Batch, Batches, CompareOp, Condition, Finding, Query, Region};
pub use scalar::{Scalar, ScalarRange};
pub use write::{Cells, FragmentWriter, WriteOptions};

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
