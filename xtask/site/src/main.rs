//! Builds the book in `docs/` and the reference of the npm package as a website, and checks its links:
//! `hyperslab-site ROOT FOLDER`.

mod check;
mod outside;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use mdbook_driver::MDBook;

fn main() -> anyhow::Result<()> {
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [root, folder] = args.as_slice() else {
        bail!("usage: hyperslab-site ROOT FOLDER");
    };
    build(&root.join("docs"), folder)?;
    reference(&root.join("wasm/npm"), &folder.join("api"))?;
    let broken = check::broken_links(folder)?;
    if !broken.is_empty() {
        bail!("broken links in the website:\n{}", broken.join("\n"));
    }
    println!("the website is in {}", folder.display());
    Ok(())
}

/// Writes the reference of the npm package to `folder`, from its types and doc comments. Undocumented items are errors.
fn reference(package: &Path, folder: &Path) -> anyhow::Result<()> {
    let mut typedoc = Command::new("node");
    typedoc.arg("node_modules/typedoc/bin/typedoc").arg("--out").arg(folder);
    let status = typedoc
        .current_dir(package)
        .status()
        .context("cannot run node; install Node 20 or later")?;
    anyhow::ensure!(
        status.success(),
        "the reference of the npm package has errors; see above"
    );
    Ok(())
}

/// Renders the book to `folder`.
fn build(docs: &Path, folder: &Path) -> anyhow::Result<()> {
    let mut book = MDBook::load(docs).context("cannot read the book in docs/")?;
    book.config.build.build_dir = folder.to_path_buf();
    book.with_preprocessor(outside::OutsideLinks);
    book.build().context("cannot build the book")
}
