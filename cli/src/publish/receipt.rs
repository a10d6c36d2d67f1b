//! The list of what `publish` wrote, by which `--force` knows what it may replace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::vfs::join;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::DATA;
use crate::show;
use crate::viewer::CATALOG;

/// The file of the list. `serve` shows no names that begin with a dot.
const RECEIPT: &str = ".hyperslab-site.json";
/// The most names in an error.
const SHOWN_MAX: usize = 3;

/// What `publish` wrote: each file by its path.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Receipt {
    files: BTreeMap<String, Written>,
}

/// A file as it was written.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    bytes: u64,
    /// The hash of its bytes. Files of the data have none, because they may be large.
    sha256: Option<String>,
}

/// Lists what is in a new site. `catalog` is the list of arrays that `publish` made, even if the site has another one.
pub(super) fn write(site: &Path, catalog: &[u8]) -> Result<()> {
    let mut receipt = Receipt::default();
    for path in files(site)? {
        let written = match path == CATALOG {
            true => Written::of_bytes(catalog),
            false => Written::of_file(site, &path)?.context("a part of the new site is no file")?,
        };
        receipt.files.insert(path, written);
    }
    let json = serde_json::to_vec_pretty(&receipt)?;
    fs::write(site.join(RECEIPT), json).with_context(|| format!("cannot write {RECEIPT}"))
}

/// Checks that a folder may be replaced: that nothing in it would be lost but what `publish` wrote. Returns the list of
/// arrays if it was changed since, because the new site keeps it.
///
/// # Errors
/// Something else is there.
pub(super) fn check(site: &Path) -> Result<Option<Vec<u8>>> {
    let shown = site.display();
    let is_empty = site.is_dir() && fs::read_dir(site)?.next().is_none();
    if is_empty || !site.exists() {
        return Ok(None);
    }
    let receipt = fs::read(site.join(RECEIPT)).ok();
    let Some(receipt) = receipt.and_then(|json| serde_json::from_slice::<Receipt>(&json).ok()) else {
        bail!(
            "cannot replace {shown}: it is not a site that `publish` wrote, because it has no valid {RECEIPT}; choose \
             another folder or remove it first"
        );
    };
    let (mut kept, mut lost) = (None, BTreeSet::new());
    for path in files(site)?.into_iter().filter(|path| path != RECEIPT) {
        let known = receipt.files.get(&path);
        if known.is_some() && Written::of_file(site, &path)?.as_ref() == known {
            continue;
        }
        match path == CATALOG {
            true => kept = Some(fs::read(site.join(path))?),
            false => drop(lost.insert(receipt.shortest_unknown(&path).to_owned())),
        }
    }
    ensure!(
        lost.is_empty(),
        "cannot replace {shown}: {} would be lost, because `publish` did not write them as they are now; publish to a new \
         folder and copy its files over this one, or move them away first",
        quoted(&lost)
    );
    Ok(kept)
}

impl Receipt {
    /// A path, or the first folder around it that has no file of the list.
    fn shortest_unknown<'a>(&self, path: &'a str) -> &'a str {
        let has = |folder: &str| self.files.keys().any(|file| file.starts_with(folder));
        let mut ends = path.match_indices('/').map(|(at, _)| at);
        let end = ends.find(|at| path.get(..=*at).is_some_and(|folder| !has(folder)));
        end.and_then(|end| path.get(..end)).unwrap_or(path)
    }
}

impl Written {
    fn of_bytes(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.len() as u64,
            sha256: Some(show::hex(&Sha256::digest(bytes))),
        }
    }

    /// The file at a path of a site; `None` for links and the like, which `publish` does not write.
    fn of_file(site: &Path, path: &str) -> Result<Option<Self>> {
        let full = site.join(path);
        let about = full.symlink_metadata()?;
        let is_data = path.strip_prefix(DATA).is_some_and(|rest| rest.starts_with('/'));
        Ok(match (about.is_file(), is_data) {
            (false, _) => None,
            (true, true) => Some(Self {
                bytes: about.len(),
                sha256: None,
            }),
            (true, false) => Some(Self::of_bytes(&fs::read(full)?)),
        })
    }
}

/// The paths of everything in a site but its folders.
fn files(site: &Path) -> Result<Vec<String>> {
    let (mut found, mut folders) = (Vec::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(site.join(&folder)).with_context(|| format!("cannot list {}", site.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = join(&folder, &entry.file_name().to_string_lossy());
            match entry.file_type()?.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    Ok(found)
}

/// The first of some names in quotes, and how many more there are.
fn quoted(names: &BTreeSet<String>) -> String {
    let first: Vec<String> = names.iter().take(SHOWN_MAX).map(|name| format!("'{name}'")).collect();
    match names.len().saturating_sub(first.len()) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
