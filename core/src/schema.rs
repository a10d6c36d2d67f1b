//! The schema of an array: its dimensions, attributes and filters.
//!
//! A [`Schema`] has [`Dimension`]s, the axes, and [`Attribute`]s, the values in each cell. Its two orders decide how
//! cells lie in files: tiles in `tile_order`, and the cells of a tile in `cell_order`.
//!
//! ```text
//!          x: 0..=5, tiles of 3                  file of an attribute
//!        ┌─────────┬─────────┐
//!  y:    │ 0  1  2 │ 6  7  8 │                   ┌──────┬──────┬──────┬──────┐
//!  0..=3 │ 3  4  5 │ 9 10 11 │                   │ 0-5  │ 6-11 │12-17 │18-23 │
//!  tiles ├─────────┼─────────┤                   └──────┴──────┴──────┴──────┘
//!  of 2  │12 13 14 │18 19 20 │                   tiles, each filtered by itself
//!        │15 16 17 │21 22 23 │
//!        └─────────┴─────────┘
//! ```
//!
//! Tiles are the unit of reading and of compression. Larger tiles compress better; smaller ones read less for a small
//! slice. A tile of 64 KiB to a few MiB suits most arrays. In sparse arrays, `capacity` cells make a tile.
//!
//! A [`Pipeline`] lists the [`Filter`]s of a field, in the order of writing. For numbers, [`Filter::Byteshuffle`]
//! followed by [`Filter::Zstd`] is a good start. [`Filter::Sha256`] detects damage. Encryption is a property of
//! the whole array: see [`CreateOptions::key`](crate::CreateOptions::key).
//!
//! ```
//! use hyperslab::schema::{ArrayType, Attribute, Dimension, Filter, Pipeline, Schema};
//! use hyperslab::{CellCount, Datatype};
//!
//! let time = Dimension::new("time", Datatype::DatetimeMs, 0_i64, i64::MAX - 86_400_000, 86_400_000_i64);
//! let station = Dimension::string("station");
//! let mut temp = Attribute::new("temp", Datatype::Float32, CellCount::ONE);
//! temp.filters = Pipeline::new(vec![Filter::Byteshuffle, Filter::Zstd { level: 5 }]);
//! let mut note = Attribute::new("note", Datatype::StringUtf8, CellCount::Var);
//! note.nullable = true;
//! let schema = Schema::new(ArrayType::Sparse, vec![time, station], vec![temp, note]);
//! assert_eq!(schema.pipelines().count(), 7);
//! schema.check()?;
//! # Ok::<(), hyperslab::Error>(())
//! ```
//!
//! [`schema_json`](crate::schema_json) writes and reads schemas as JSON.

pub use crate::format::attribute::{Attribute, DataOrder};
pub use crate::format::current_domain::CurrentDomain;
pub use crate::format::dimension_label::DimensionLabel;
pub use crate::format::domain::Dimension;
pub use crate::format::enumeration::Enumeration;
pub use crate::format::field::Field;
pub use crate::format::fragment::slots::FieldId;
pub use crate::format::pipeline::{DEFAULT_LEVEL, Filter, MaxChunk, Pipeline, WebpFormat};
pub use crate::format::schema::{ArrayType, EnumerationRef, Layout, Schema};
pub use crate::format::version::Version;
