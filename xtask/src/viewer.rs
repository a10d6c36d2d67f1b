//! The viewer as a folder of static files, and the program that holds it.

use std::path::PathBuf;

use crate::npm::{self, Engines};
use crate::run::{self, Outcome, cargo, command, root, target};
use crate::setup::{Need, all};

/// Builds the npm package and the viewer over it. Returns the folder of the viewer.
///
/// # Errors
/// If a tool is missing, or something cannot be built.
pub(crate) fn build(engines: Engines) -> Outcome<PathBuf> {
    if let Some((need, why)) = all(&[Need::Wasm, Need::Node]).into_iter().next() {
        return Err(format!("{need:?} is missing: {why}"));
    }
    npm::build(engines)?;
    let folder = root().join("web-demo");
    run::run(command("npm").args(["run", "--silent", "build"]).current_dir(&folder))?;
    Ok(folder.join("dist"))
}

/// The command `program`: builds the released program `hyperslab`, with the viewer inside.
///
/// # Errors
/// If something cannot be built.
pub(crate) fn program() -> Outcome {
    build(Engines::All)?;
    // Where `cli/build.rs` finds the viewer.
    let options = ["--release", "--locked", "--features", "viewer"];
    run::run(cargo(&["build", "--package", "hyperslab-cli"]).args(options))?;
    println!("{}", target().join("release/hyperslab").display());
    Ok(())
}
