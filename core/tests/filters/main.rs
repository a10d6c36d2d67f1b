//! Filters against tiles that libtiledb wrote, against themselves, and against hostile bytes.

mod hostile;
mod roundtrip;
mod vectors;
