//! Metadata of arrays and groups: values by name.

pub use crate::format::metadata::{Entry, MetaValue};
