//! The website: the book in `docs/`, and the reference of the npm package.

use crate::run::{self, Outcome, cargo, root, target};
use crate::setup::{self, Need};

/// The command `site`: builds the website into `target/book` and checks its links.
///
/// # Errors
/// If the website cannot be built, has a broken link, or lacks a doc comment.
pub(crate) fn run() -> Outcome {
    if let Some((_, why)) = setup::all(&[Need::Node]).into_iter().next() {
        return Err(why);
    }
    run::run(&mut command())
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
