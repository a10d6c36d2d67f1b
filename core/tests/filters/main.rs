//! Filters against tiles that libtiledb wrote, against themselves, and against hostile bytes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod roundtrip;
mod vectors;
