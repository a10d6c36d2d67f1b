//! The website: the book in `docs/`, the reference of the npm package, and the viewer with sample arrays. Its links are
//! relative, so any static host serves it below any path.

use crate::demo;
use crate::run::{self, Outcome, cargo, made, root, target};
use crate::setup::{self, Need};

/// The command `site`: builds the website into `target/book` and checks its links. The viewer is in its folder `viewer`.
///
/// # Errors
/// If the website cannot be built, has a broken link, or lacks a doc comment.
pub(crate) fn run() -> Outcome {
    if let Some((_, why)) = setup::all(&[Need::Node]).into_iter().next() {
        return Err(why);
    }
    let viewer = demo::prepared()?;
    run::run(&mut command())?;
    let book = target().join("book");
    run::copy_into(&viewer, &made(&book.join("viewer"))?)?;
    // Else GitHub Pages leaves out files whose names begin with `_`, which most files of arrays do.
    std::fs::write(book.join(".nojekyll"), "").map_err(|e| format!(".nojekyll: {e}"))
}

/// The command that builds the website. The builder is a workspace of its own; see `xtask/site/Cargo.toml`.
pub(crate) fn command() -> std::process::Command {
    let mut c = cargo(&[
        "run",
        "--quiet",
        "--locked",
        "--manifest-path",
        "xtask/site/Cargo.toml",
        "--target-dir",
    ]);
    c.arg(target().join("site"))
        .arg("--")
        .arg(root())
        .arg(target().join("book"));
    c
}
