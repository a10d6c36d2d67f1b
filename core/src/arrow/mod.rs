//! Columns to and from Arrow arrays, without loss.
//!
//! | TileDB | Arrow |
//! | --- | --- |
//! | numbers, bool | the same type; bool is Boolean |
//! | dates of years, months, weeks, days | `Date32`, of the first day |
//! | dates of hours to ns | Timestamp without a zone, of seconds at the coarsest |
//! | times of hours to ns | Duration, of seconds at the coarsest |
//! | dates and times of ps, fs, as | Int64 |
//! | dates and times beyond the Arrow type | Int64 |
//! | strings, WKT | Utf8; Binary where some cell is not valid text |
//! | blobs, WKB | Binary |
//! | several values a cell | `FixedSizeList` |
//! | any number of values a cell | List |
//! | enumerated integers | Dictionary; plain integers where an index has no value |
//! | null, and dates and times that are none (NaT) | null |
//!
//! A field's metadata names its TileDB datatype and cell count, so that the way back is exact:
//! [`FieldType::infer`] reads them. Text of fixed length loses the NUL characters that pad it, and gets
//! them back on the way in. A null of a date or time that cannot be null is NaT again; one that can be null stays null,
//! whichever it was. What cannot be told before a whole column is seen, whether all strings are text, all indices have
//! values and all dates are within Arrow's, decides the [`Form`]; [`FieldType::is_natural`] says which one a column
//! needs. Time zones are lost on the way in: TileDB has none, and the values of Arrow are those of UTC.

mod export;
mod import;
mod ipc;
mod table;
mod text;
mod time;
mod types;

pub use ipc::IpcTable;
pub use table::Table;
pub use types::{FieldType, Form, Role};

#[cfg(test)]
mod tests;
