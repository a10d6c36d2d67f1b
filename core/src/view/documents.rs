//! The JSON files of a view. Does no I/O.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::encode::cell_text;
use crate::array::Fragment;
use crate::calendar;
use crate::column::Column;
use crate::datatype::Datatype;
use crate::escape;
use crate::format::metadata::MetaValue;
use crate::format::schema::Schema;
use crate::scalar::{Scalar, json_word};

/// The contents of `metadata.json`: one value or a list of values per key.
pub(super) fn metadata(entries: &BTreeMap<String, MetaValue>) -> String {
    let object: Map<String, Value> = entries.iter().map(|(k, v)| (k.clone(), meta_value(v))).collect();
    pretty(&Value::Object(object))
}

/// The contents of the file of a metadata key: text as it is, other values as JSON.
pub(super) fn metadata_file(value: &MetaValue) -> String {
    match meta_value(value) {
        Value::String(text) => text,
        value => pretty(&value),
    }
}

/// A metadata entry as one JSON value or a list.
pub(super) fn meta_value(value: &MetaValue) -> Value {
    let t = value.datatype;
    if t.is_string() || t == Datatype::Blob {
        let column = Column::from_cells(t, [&value.data]);
        return json!(cell_text(&column, 0));
    }
    let one = |bytes: &[u8]| match Scalar::from_le_bytes(t.physical(), bytes) {
        Some(Scalar::U8(v)) if t == Datatype::Bool => json!(v != 0),
        Some(v) => json_value(&v, t),
        None => Value::Null,
    };
    let mut values: Vec<Value> = value.data.chunks_exact(t.size()).map(one).collect();
    if values.len() == 1 {
        values.swap_remove(0)
    } else {
        Value::Array(values)
    }
}

/// The JSON description of a fragment.
pub(super) fn fragment(f: &Fragment, schema: &Schema) -> String {
    let domain = f.non_empty_domain().map(|box_| {
        let axes = schema.dimensions.iter().zip(box_);
        Value::Object(
            axes.map(|(d, r)| {
                (
                    d.name.clone(),
                    json!([json_value(&r.lo, d.datatype), json_value(&r.hi, d.datatype)]),
                )
            })
            .collect(),
        )
    });
    pretty(&json!({
        "name": f.name,
        "start_ms": f.start_ms,
        "end_ms": f.end_ms,
        "time": i64::try_from(f.end_ms).ok().map(|t| calendar::format(t, Datatype::DatetimeMs) + "Z"),
        "type": if f.dense { "dense" } else { "sparse" },
        "format_version": f.version.number(),
        "cells": f.cells,
        "bytes": f.bytes,
        "non_empty_domain": domain,
    }))
}

fn json_value(v: &Scalar, datatype: Datatype) -> Value {
    if let Some(text) = v.date_text(datatype) {
        return Value::from(text);
    }
    match v {
        Scalar::F32(v) => json_word(f64::from(*v)).map_or_else(|| json!(v), Value::from),
        Scalar::F64(v) => json_word(*v).map_or_else(|| json!(v), Value::from),
        Scalar::Bytes(v) => json!(escape::text(v)),
        Scalar::U64(v) => json!(v),
        other => json!(other.as_i128().and_then(|v| i64::try_from(v).ok())),
    }
}

/// Indented JSON with a newline at the end.
pub(super) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
