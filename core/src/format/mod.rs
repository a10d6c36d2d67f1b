//! Encoders and decoders of the file format, one module per page of its specification.

pub mod attribute;
pub(crate) mod check;
pub mod commits;
pub mod condition;
pub mod consolidated_metadata;
pub mod current_domain;
pub mod cursor;
pub mod data_file;
pub mod dimension_label;
pub mod domain;
pub mod enumeration;
pub mod envelope;
pub mod field;
pub mod folders;
pub mod fragment;
pub mod generic_tile;
pub mod group;
pub mod metadata;
pub mod name;
pub mod pipeline;
pub mod schema;
pub mod snapshot_token;
pub mod tile;
pub mod version;
