//! Stores across a network, against a real S3 server: what arrays live through there, and how many
//! requests that takes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod bucket;
mod program;
mod requests;
mod s3;
