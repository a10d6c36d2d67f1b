//! Compares imports of real files with the library of each format, and writes the table of `docs/imported-files.md`.

use std::path::Path;

use crate::run::{self, Outcome, cargo, command, root, target};
use crate::setup;

/// The libraries of a format.
#[derive(Clone, Copy, PartialEq)]
enum Libraries {
    /// Those of all formats but AnnData.
    Common,
    /// `tiledbsoma`, which excludes newer versions of the others.
    Soma,
}

/// The formats: the folder of their files, which is also the end of the script's name.
const FORMATS: [(&str, Libraries); 8] = [
    ("h5ad", Libraries::Soma),
    ("hdf5", Libraries::Common),
    ("las", Libraries::Common),
    ("netcdf", Libraries::Common),
    ("nifti", Libraries::Common),
    ("parquet", Libraries::Common),
    ("tiff", Libraries::Common),
    ("zarr", Libraries::Common),
];

/// The command `compare-files FOLDER [FORMAT…]`. FOLDER has a folder for each format, and these a folder for each
/// package that files are from. Formats without a folder keep their results.
///
/// # Errors
/// If something cannot be set up or run, or if an import differs from its file.
pub(crate) fn run(args: &[String]) -> Outcome {
    let usage = || {
        let names: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
        format!(
            "usage: cargo xtask compare-files FOLDER [FORMAT…]; formats are {}",
            names.join(", ")
        )
    };
    let (folder, asked) = args.split_first().ok_or_else(usage)?;
    let is_known = |name: &String| FORMATS.iter().any(|(known, _)| known == name);
    if let Some(unknown) = asked.iter().find(|name| !is_known(name)) {
        return Err(format!("there is no format '{unknown}'; {}", usage()));
    }
    let wanted: Vec<_> = FORMATS
        .iter()
        .filter(|(name, _)| asked.is_empty() || asked.iter().any(|a| a == name))
        .filter(|(name, _)| Path::new(folder).join(name).is_dir())
        .collect();
    if wanted.is_empty() {
        return Err(format!("{folder} has no folder of a format; {}", usage()));
    }
    run::run(&mut cargo(&["build", "--package", "hyperslab-cli"]))?;
    let mut failed = Vec::new();
    for (name, libraries) in wanted {
        if compare(folder, name, *libraries).is_err() {
            failed.push(*name);
        }
    }
    run::run(command("python3").args([
        "tests/formats/render.py",
        "tests/formats/results",
        "docs/imported-files.md",
    ]))?;
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(format!("these comparisons failed: {}", failed.join(", "))),
    }
}

/// Runs the script of a format.
fn compare(folder: &str, name: &str, libraries: Libraries) -> Outcome {
    let python = match libraries {
        Libraries::Common => setup::venv("compare-python", "tests/formats/requirements.txt")?,
        Libraries::Soma => setup::venv("compare-soma-python", "tests/formats/requirements-soma.txt")?,
    };
    let mut script = command(&python.to_string_lossy());
    script.arg(format!("tests/formats/compare_{name}.py"));
    script
        .arg(target().join("debug/hyperslab"))
        .arg(Path::new(folder).join(name));
    run::run(script.arg(root().join(format!("tests/formats/results/{name}.jsonl"))))
}
