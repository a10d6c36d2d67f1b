//! Remote stores: an S3 server, which also speaks Google's API, and an emulator of Azure. Tests how arrays behave
//! there, and how many requests that takes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod azure;
mod azurite;
mod bucket;
mod buckets;
#[path = "../../../core/examples/object_store.rs"]
mod example;
mod halfway;
mod program;
mod requests;
mod sequences;
