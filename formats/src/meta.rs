//! Short ways to write metadata entries.

use hyperslab::Datatype;
use hyperslab::metadata::{Entry, MetaValue};

/// A text.
pub(crate) fn text(key: impl Into<String>, value: &str) -> Entry {
    entry(key, MetaValue::text(value))
}

/// A `float64`.
pub(crate) fn float(key: impl Into<String>, value: f64) -> Entry {
    entry(key, MetaValue::bytes(Datatype::Float64, &value.to_le_bytes()))
}

/// An `int64`.
pub(crate) fn integer(key: impl Into<String>, value: i64) -> Entry {
    entry(key, MetaValue::bytes(Datatype::Int64, &value.to_le_bytes()))
}

/// Any value.
pub(crate) fn entry(key: impl Into<String>, value: MetaValue) -> Entry {
    Entry {
        key: key.into(),
        value: Some(value),
    }
}
