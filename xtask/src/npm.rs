//! The npm package: builds the wasm crate, its bindings and its TypeScript shell.

use crate::run::{self, Outcome, command, root};
use crate::setup::{Need, all};

/// The command `npm`: builds `wasm/npm` with its own build script.
///
/// # Errors
/// If a tool is missing or the build fails.
pub(crate) fn run() -> Outcome {
    if let Some((need, why)) = all(&[Need::Wasm, Need::Node]).into_iter().next() {
        return Err(format!("{need:?} is missing: {why}"));
    }
    build()
}

/// Builds the package, without checking for tools.
///
/// # Errors
/// If the build fails.
pub(crate) fn build() -> Outcome {
    run::run(
        command("npm")
            .args(["run", "build"])
            .current_dir(root().join("wasm/npm")),
    )
}
