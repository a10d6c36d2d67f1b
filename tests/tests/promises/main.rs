//! Tests the promises of `docs/guarantees.md` with real processes, including libtiledb, on a real file system.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod conditions;
mod copies;
mod kill;
mod maintainers;
mod memory;
mod sequences;
mod together;

/// A number from the environment: a duration or a number of repetitions.
fn setting(name: &str, otherwise: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(otherwise)
}
