//! The npm package: the wasm crate built, bound and laid beside its TypeScript shell.

use crate::run::{self, Outcome, command, root};
use crate::setup::{Need, all};

/// The command `npm`: builds `wasm/npm` by its own build script.
///
/// # Errors
/// A tool is missing, or the build failed.
pub(crate) fn run() -> Outcome {
    if let Some((need, why)) = all(&[Need::Wasm, Need::Node, Need::WasmBindgen]).into_iter().next() {
        return Err(format!("{need:?} is missing: {why}"));
    }
    build()
}

/// Builds the package; the tools are there.
///
/// # Errors
/// The build failed.
pub(crate) fn build() -> Outcome {
    run::run(
        command("npm")
            .args(["run", "build"])
            .current_dir(root().join("wasm/npm")),
    )
}
