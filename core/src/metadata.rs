//! Metadata of arrays and groups: values by name.
//!
//! [`Array::metadata`](crate::Array::metadata) and [`Group::metadata`](crate::group::Group::metadata) read it.
//! [`Array::write_metadata`](crate::Array::write_metadata) and
//! [`write_group_metadata`](crate::group::write_group_metadata) change it: several keys at once, atomically, and with a
//! time, like a write. Values have a datatype and a number of values, as attributes have.

pub use crate::format::metadata::{Entry, MetaValue};
