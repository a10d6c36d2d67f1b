//! The website of the book in `docs/`.

use crate::run::{self, Outcome, cargo, root, target};

/// The command `site`: builds the website into `target/book` and checks its links.
///
/// # Errors
/// If the website cannot be built, or has a broken link.
pub(crate) fn run() -> Outcome {
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
