//! Stores across a network, against a real S3 server (which is Google's store too) and an emulator of Azure: what arrays
//! live through there, and how many requests that takes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod azure;
mod azurite;
mod bucket;
mod buckets;
mod halfway;
mod lives;
mod program;
mod requests;
