//! What `docs/guarantees.md` promises, with real processes on a real file system, libtiledb among them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod conditions;
mod copies;
mod kill;
mod maintainers;
mod memory;
mod sequences;
mod together;

/// A number from the environment: how long or how often a test is to run.
fn setting(name: &str, otherwise: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(otherwise)
}
