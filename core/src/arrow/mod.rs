//! Columns to and from Arrow arrays, without loss.
//!
//! | TileDB | Arrow |
//! | --- | --- |
//! | numbers, bool | the same type; bool is Boolean |
//! | dates of s, ms, us, ns | Timestamp without a zone; other units Int64 |
//! | times of s, ms, us, ns | Duration; other units Int64 |
//! | strings, WKT | Utf8; Binary where some cell is not valid text |
//! | blobs, WKB | Binary |
//! | several values a cell | `FixedSizeList` |
//! | any number of values a cell | List |
//! | enumerated integers | Dictionary; plain integers where an index has no value |
//! | null | null |
//!
//! A field's metadata names its TileDB datatype and cell count, so that the way back is exact:
//! [`FieldType::infer`] reads them. Text of fixed length loses the NUL characters that pad it, and gets
//! them back on the way in. What cannot be told from a whole column at once, whether all strings
//! are text and all indices have values, decides the [`Form`]; [`FieldType::is_natural`] says
//! which one a column needs.

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
