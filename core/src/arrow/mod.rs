//! Lossless conversion between columns and Arrow arrays.
//!
//! | TileDB | Arrow |
//! | --- | --- |
//! | numbers, bool | the same type; bool is Boolean |
//! | dates in years, months, weeks, days | `Date32` of the first day |
//! | dates in hours to ns | Timestamp without a zone, in seconds or finer |
//! | times in hours to ns | Duration, in seconds or finer |
//! | dates and times in ps, fs, as | Int64 |
//! | dates and times outside the range of the Arrow type | Int64 |
//! | strings, WKT | Utf8; Binary if some cell is not valid text |
//! | blobs, WKB | Binary |
//! | several values per cell | `FixedSizeList` |
//! | any number of values per cell | List |
//! | enumerated integers | Dictionary; plain integers if an index has no value |
//! | null, and not-a-time (NaT) | null |
//!
//! The metadata of each Arrow field names the TileDB datatype and cell count. [`FieldType::infer`] reads them, so the
//! conversion back is exact:
//!
//! - Fixed-length text loses its NUL padding in Arrow and is padded again on import.
//! - A null date or time becomes NaT again if the field is not nullable. In a nullable field it stays null, even if it
//!   was NaT.
//!
//! The [`Form`] of a column depends on all its cells: whether all strings are text, all indices have values, and all
//! dates are in Arrow's range. [`FieldType::is_natural`] returns which form a column needs. Time zones are lost on
//! import: TileDB has none, and Arrow's timestamps are in UTC.

mod export;
mod import;
mod ipc;
mod table;
mod text;
mod time;
mod types;

pub use ipc::{IpcBatch, IpcReader};
pub use table::Table;
pub use types::{FieldType, Form, Role};

#[cfg(test)]
mod tests;
