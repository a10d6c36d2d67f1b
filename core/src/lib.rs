//! Reads and writes [TileDB](https://tiledb.com) arrays, dense and sparse, at any point in time: on disk, in memory, in
//! object stores, over HTTP and in the browser.
//!
//! An array is a folder of files that never change. Each write adds a *fragment*, a folder with the cells of that write
//! and its time. So readers and writers need no locks and no server, and the array can be read as of any earlier time.
//! The format is TileDB's, byte for byte: libtiledb reads what this crate writes, and this crate reads what libtiledb
//! wrote, from release 1.4 on.
//!
//! # Example
//!
//! ```
//! use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
//! use hyperslab::{
//!     Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Region, ScalarRange,
//!     Window, WriteOptions,
//! };
//!
//! # fn main() -> hyperslab::Result<()> {
//! # hyperslab::blocking::block_on(async {
//! // A store in memory. Context::local("folder") is one on disk.
//! let context = Context::memory();
//!
//! // Create: eight temperatures along x, in tiles of four.
//! let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
//! let temp = Attribute::new("temp", Datatype::Float64, CellCount::ONE);
//! let schema = Schema::new(ArrayType::Dense, vec![x], vec![temp]);
//! let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
//! Array::create(&context, "line", &schema, &[], &options).await?;
//!
//! // Write all cells at time 1000, and two of them again at time 2000. Use random seeds: see WriteOptions.
//! let array = Array::open(&context, "line", &OpenOptions::default()).await?;
//! let cells = |lo: i32, hi: i32, values: &[f64]| Cells {
//!     region: Some(vec![ScalarRange::new(lo, hi)]),
//!     layout: Layout::RowMajor,
//!     columns: vec![("temp".into(), Column::from_values(Datatype::Float64, values))],
//! };
//! let at = |timestamp_ms, seed| WriteOptions { timestamp_ms, seed: [seed; 32], sync: false };
//! array.write(cells(0, 7, &[0., 1., 2., 3., 4., 5., 6., 7.]), &at(1000, 2)).await?;
//! array.write(cells(2, 3, &[20., 30.]), &at(2000, 3)).await?;
//!
//! // Read the cells 1 to 4. An open array never changes, so open it again to see the writes.
//! let array = array.at(Window::ALL).await?;
//! let query = Query { region: Region::from_box(vec![ScalarRange::new(1, 4)]), ..Query::default() };
//! let batch = array.read(&query).await?;
//! assert_eq!(*batch.column("temp").unwrap().values::<f64>()?, [1., 20., 30., 4.]);
//!
//! // Travel in time: the same cells as of time 1500.
//! let past = array.at(Window::at(1500)).await?;
//! assert_eq!(*past.read(&query).await?.column("temp").unwrap().values::<f64>()?, [1., 2., 3., 4.]);
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! The folder `examples` has programs that stream large arrays, read sparse arrays with conditions, consolidate, use
//! object stores, and show arrays as files.
//!
//! # The model
//!
//! ```text
//!  Context ──── store ──┬── line/                              an array: a folder
//!  threads, cache       │    ├── __schema/                      dimensions, attributes, filters
//!                       │    ├── __fragments/
//!                       │    │    ├── __1000_1000_<id>_22/      the write at time 1000
//!                       │    │    │    ├── a0.tdb                  values of the first attribute, in tiles
//!                       │    │    │    └── __fragment_metadata.tdb index, statistics, bounding boxes
//!                       │    │    └── __2000_2000_<id>_22/      the write at time 2000
//!                       │    ├── __commits/                     one empty file per visible fragment
//!                       │    └── __meta/                        keys and values
//!                       └── other arrays and groups
//!
//!                 x    0    1    2    3    4    5    6    7
//!                    ┌───────────────────┬───────────────────┐
//!  fragment at 1000  │ 0    1    2    3  │ 4    5    6    7  │   two tiles of four cells
//!                    └───────────────────┴───────────────────┘
//!                              ┌─────────┐
//!  fragment at 2000            │ 20   30 │                       later fragments win
//!                              └─────────┘
//!  Window::ALL         0    1    20   30   4    5    6    7
//!  Window::at(1500)    0    1    2    3    4    5    6    7
//! ```
//!
//! | type | is |
//! | --- | --- |
//! | [`Context`] | a store, threads and a cache: every operation starts from one |
//! | [`Schema`](schema::Schema) | the [dimensions](schema::Dimension), [attributes](schema::Attribute), orders and filters of an array |
//! | [`Array`] | a snapshot: the fragments in a [`Window`] of time. It never changes |
//! | [`Fragment`] | one write, or several that were consolidated |
//! | [`Query`] | the cells to read: a [`Region`], fields, an order and a [`Condition`] |
//! | [`Batch`] | the cells that were read: a [`Column`] per field |
//! | [`Cells`] | the cells to write: a [`Column`] per field |
//! | [`Column`] | the values of a field: bytes, offsets if cells have variable length, validity if they may be null |
//!
//! **Dense** arrays have a value in every cell of their domain. A write fills a box, and cells that were never written
//! read as the attribute's fill value. **Sparse** arrays store coordinates with each cell. A dimension may then also be
//! a float or a string, and cells may share coordinates if the schema allows duplicates.
//!
//! # Where to go
//!
//! | to | use |
//! | --- | --- |
//! | create an array | [`Array::create`], or [`schema_json::from_json`] for schemas as JSON |
//! | open it, now or in the past | [`Array::open`], [`Array::at`] |
//! | open it in other processes without listing it again | [`Array::snapshot`], [`Array::from_snapshot`] |
//! | read a region at once | [`Array::read`] |
//! | read more than fits in memory | [`Array::batches`] |
//! | divide a query among threads or processes | [`Array::plan_splits`], [`Array::part`] |
//! | filter cells by value | [`Condition`], parsed from text such as `"temp > 30 and place != 'here'"` |
//! | count, sum, find extremes | [`Array::count`], [`Array::aggregate`] |
//! | read scattered cells of a dense array | [`Array::read_points`] |
//! | write at once | [`Array::write`], [`Array::write_points`] |
//! | write more than fits in memory | [`Array::box_writer`] for a box in parts, [`Array::writer`] for global order |
//! | compress, checksum, encrypt | [`schema::Filter`], [`schema::Pipeline`], [`Key`] |
//! | merge fragments | [`maintain::consolidate`], then [`maintain::vacuum`] |
//! | delete cells, or periods of time | [`maintain::delete`], [`maintain::delete_fragments`] |
//! | change the schema | [`maintain::evolve`] |
//! | check for damage | [`Array::verify`] |
//! | store keys and values | [`Array::metadata`], [`Array::write_metadata`] |
//! | put arrays in groups | [`group`] |
//! | know axes, units, coordinates and missing values | [`conventions::of`] |
//! | open a disk, a bucket or a web server | [`vfs`], [`vfs::open_url`] |
//! | convert to and from Arrow | [`arrow`](https://docs.rs/hyperslab/latest/hyperslab/arrow/), with the feature `arrow` |
//! | show slices as CSV, npy, PNG, Zarr… | [`view::View`] |
//!
//! # Async, blocking and threads
//!
//! Functions that touch a store are async. They need no particular runtime: any executor can poll them. A program
//! without one calls [`blocking::block_on`]. Network stores run on a runtime of their own. Tiles are compressed and
//! decompressed on rayon's threads, outside the thread that polls; see [`Cpu`].
//!
//! The crate reads neither the clock nor random numbers. Callers give the time and the seed of each write:
//! [`WriteOptions`] says how to choose them. Times are `u64` milliseconds since 1970 in UTC, ranges are closed, and
//! sizes are in bytes unless a name says otherwise.
//!
//! # Guarantees
//!
//! - **Atomic.** Readers see all of a write or none of it. A crash leaves nothing half-visible.
//! - **Isolated.** An open array never changes. Any number of readers and writers work at the same time, as threads or
//!   processes, without locks.
//! - **Ordered.** The write with the later time wins. Consolidation never changes which cells a read returns.
//! - **Durable.** With [`WriteOptions::sync`], a write is on disk when it returns.
//! - **Safe with hostile bytes.** Damaged files are errors that name the file, never panics. Memory is bounded by the
//!   size of the data and by limits.
//!
//! The page [guarantees](https://github.com/hyperslab/hyperslab/blob/main/docs/guarantees.md) has the exact promises,
//! their exceptions, and the tests that prove them.
//!
//! # Errors
//!
//! Every fallible function returns [`Result`] with an [`Error`]. Its variants are grouped by what the caller can do:
//! check a name, restore a file, pass a key, update the crate, or try again. [`Error::code`] names the variant.
//!
//! # Features
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `fs` | yes | the store on the local disk: [`Context::local`] |
//! | `rayon` | yes | compression and sorting on all cores |
//! | `arrow` | no | the module `arrow` |
//! | `object-store` | no | S3, Google Cloud Storage, Azure and HTTP |
//! | `test-util` | no | for authors of stores: a conformance suite and a store that injects faults, in [`vfs`] |
//!
//! Without features, the crate builds for `wasm32-unknown-unknown`. The feature `internals` is for this project's own
//! programs and is not covered by semantic versioning. The minimum Rust version is the `rust-version` of the manifest;
//! raising it is a minor change.

#![deny(missing_docs)]
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
pub mod conventions;
mod cpu;
mod datatype;
mod error;
mod escape;
mod filter;
mod format;
mod geometry;
pub mod group;
mod identity;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod key;
mod limits;
pub mod maintain;
pub mod metadata;
mod printable;
mod query;
#[cfg(feature = "internals")]
mod report;
mod scalar;
pub mod schema;
pub mod schema_json;
mod sort;
mod suggest;
pub mod vfs;
pub mod view;
mod write;
mod xml;

pub use array::{Array, AxisValues, CreateOptions, Fragment, OpenOptions, SnapshotOptions, Window};
pub use cache::Cache;
pub use column::Column;
pub use context::{Context, Transaction};
pub use cpu::Cpu;
pub use datatype::{CellCount, Datatype, Physical};
pub use error::{Error, Malformed, MalformedKind, Result};
pub use filter::Key;
pub use query::{
    Aggregate, Batch, Batches, CompareOp, Condition, Finding, PlannedRequest, PlannedTile, Query, ReadPlan, Region,
    Split,
};
pub use scalar::{Scalar, ScalarRange};
pub use write::{BoxWriter, Cells, FragmentWriter, SealedFragment, WriteOptions, commit_together};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
