//! A case: an array described as plain data, with its schema, the steps performed on it, the queries and the expected
//! results. `interop/README.md` describes the fields.

mod build;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::aggregates::Said;
use crate::hex::Hex;

pub use build::{condition, layout, scalar};

/// One array.
#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields are described in interop/README.md")]
pub struct Case {
    pub name: String,
    #[serde(default)]
    pub tags: Vec<String>,
    pub schema: SchemaSpec,
    pub ops: Vec<Op>,
    #[serde(default)]
    pub key: Option<Hex>,
    #[serde(default)]
    pub files: BTreeMap<String, Hex>,
    #[serde(default)]
    pub queries: Vec<QuerySpec>,
    #[serde(default)]
    pub metadata: Option<BTreeMap<String, (String, u32, Hex)>>,
    /// Why only one side reads or writes this case. For bugs of libtiledb.
    #[serde(default)]
    pub only: Option<String>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields are described in interop/README.md")]
pub struct SchemaSpec {
    pub kind: String,
    pub dims: Vec<DimSpec>,
    pub attrs: Vec<AttrSpec>,
    #[serde(default)]
    pub tile: Option<String>,
    #[serde(default)]
    pub order: Option<String>,
    #[serde(default)]
    pub capacity: Option<u64>,
    #[serde(default)]
    pub dups: bool,
    #[serde(default)]
    pub coords_filters: Option<Vec<FilterSpec>>,
    #[serde(default)]
    pub offsets_filters: Option<Vec<FilterSpec>>,
    #[serde(default)]
    pub validity_filters: Option<Vec<FilterSpec>>,
    #[serde(default)]
    pub enums: Vec<EnumSpec>,
    #[serde(default)]
    pub current_domain: Option<Vec<(Hex, Hex)>>,
    #[serde(default)]
    pub labels: Vec<LabelSpec>,
}

/// A filter's name and options.
pub type FilterSpec = (String, BTreeMap<String, Value>);

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields are described in interop/README.md")]
pub struct DimSpec {
    pub name: String,
    #[serde(rename = "type")]
    pub datatype: String,
    pub domain: Option<(Hex, Hex)>,
    pub extent: Option<Hex>,
    #[serde(default)]
    pub filters: Vec<FilterSpec>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields are described in interop/README.md")]
pub struct AttrSpec {
    pub name: String,
    #[serde(rename = "type")]
    pub datatype: String,
    pub cell: Value,
    #[serde(default)]
    pub filters: Vec<FilterSpec>,
    #[serde(default)]
    pub nullable: bool,
    #[serde(default)]
    pub fill: Option<Hex>,
    #[serde(default)]
    pub fill_valid: bool,
    #[serde(default, rename = "enum")]
    pub enumeration: Option<String>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields are described in interop/README.md")]
pub struct EnumSpec {
    pub name: String,
    #[serde(default, rename = "type")]
    pub datatype: String,
    #[serde(default)]
    pub ordered: bool,
    pub data: Hex,
    #[serde(default)]
    pub off: Option<Vec<u64>>,
    #[serde(default)]
    pub cell: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields are described in interop/README.md")]
pub struct LabelSpec {
    pub dim: u32,
    pub name: String,
    pub order: String,
    #[serde(rename = "type")]
    pub datatype: String,
}

/// The cells of one field.
#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields are described in interop/README.md")]
pub struct ColSpec {
    pub data: Hex,
    #[serde(default)]
    pub off: Option<Vec<u64>>,
    #[serde(default)]
    pub valid: Option<Hex>,
}

/// A step performed on an array.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
#[allow(missing_docs, reason = "the fields are described in interop/README.md")]
pub enum Op {
    Write {
        t: Option<u64>,
        layout: String,
        r#box: Option<Vec<(Hex, Hex)>>,
        cols: BTreeMap<String, ColSpec>,
    },
    Delete {
        t: u64,
        cond: Value,
    },
    Evolve {
        t: Option<u64>,
        #[serde(default)]
        drop: Vec<String>,
        #[serde(default)]
        add: Vec<AttrSpec>,
        #[serde(default)]
        add_enums: Vec<EnumSpec>,
        #[serde(default)]
        extend: Vec<EnumSpec>,
        #[serde(default)]
        expand: Option<Vec<(Hex, Hex)>>,
    },
    Meta {
        t: Option<u64>,
        #[serde(default)]
        put: BTreeMap<String, (String, u32, Hex)>,
        #[serde(default)]
        del: Vec<String>,
    },
    Consolidate {
        mode: String,
        #[serde(default)]
        config: BTreeMap<String, String>,
    },
    Vacuum {
        mode: String,
    },
}

/// A query and, if libtiledb has answered it, the answer.
#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields are described in interop/README.md")]
pub struct QuerySpec {
    pub layout: String,
    pub ranges: Option<Vec<Vec<(Hex, Hex)>>>,
    pub window: Option<(u64, u64)>,
    pub fields: Vec<(String, String, Value, bool)>,
    #[serde(default)]
    pub cond: Option<Value>,
    pub expect: Answer,
    /// The aggregates that libtiledb computed, by field.
    #[serde(default)]
    pub aggregates: Option<BTreeMap<String, Said>>,
}

/// Cells by field.
#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields are described in interop/README.md")]
pub struct Answer {
    pub cells: u64,
    pub cols: BTreeMap<String, ColSpec>,
}
