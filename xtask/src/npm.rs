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
    build(Engines::All)
}

/// The engines in the package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engines {
    All,
    /// Not the one for browsers without SIMD, which takes as long to build as the other.
    WithSimd,
}

/// Builds the package, without checking for tools.
///
/// # Errors
/// If the build fails.
pub(crate) fn build(engines: Engines) -> Outcome {
    let mut npm = command("npm");
    npm.args(["run", "build"]).current_dir(root().join("wasm/npm"));
    if engines == Engines::WithSimd {
        npm.env("HYPERSLAB_SIMD_ONLY", "1");
    }
    run::run(&mut npm)
}
