//! The viewer: a page that shows arrays in a browser. This module has its files and the list of arrays that it reads,
//! `arrays.json`.

mod catalog;
mod neighbours;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bytes::Bytes;

pub(crate) use self::catalog::{CATALOG, json, list};
pub(crate) use self::neighbours::{name_of, neighbours};

/// The page of the viewer.
const PAGE: &str = "index.html";

/// The files of the built viewer.
#[derive(Debug, Clone)]
pub(crate) enum Viewer {
    /// In a folder, with all links resolved.
    Folder(PathBuf),
    /// In this program.
    Built(BTreeMap<String, Bytes>),
}

impl Viewer {
    /// The viewer in `folder`, or else the one inside this program, if it has one.
    ///
    /// # Errors
    /// The folder has no viewer.
    pub(crate) fn find(folder: Option<&Path>) -> Result<Option<Self>> {
        let Some(folder) = folder else {
            let files = built()?;
            return Ok(files.contains_key(PAGE).then_some(Self::Built(files)));
        };
        let shown = folder.display();
        if !folder.join(PAGE).is_file() {
            bail!(
                "cannot use {shown} as the viewer: it has no {PAGE}; build the viewer with `cargo xtask program` in a \
                 checkout of Hyperslab, and name its folder web-demo/dist"
            );
        }
        Ok(Some(Self::Folder(folder.canonicalize()?)))
    }

    /// The viewer in `folder` or inside this program.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn require(folder: Option<&Path>) -> Result<Self> {
        match Self::find(folder)? {
            Some(viewer) => Ok(viewer),
            None => bail!(
                "this program was built without the viewer; run `cargo xtask program` in a checkout of Hyperslab to build \
                 one with it, or name the folder of a built viewer with --viewer FOLDER"
            ),
        }
    }

    /// Writes the files into a folder that exists.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub(crate) fn write_to(&self, folder: &Path) -> Result<()> {
        match self {
            Self::Built(files) => {
                for (name, bytes) in files {
                    let path = folder.join(name);
                    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                    std::fs::write(path, bytes)?;
                }
                Ok(())
            }
            Self::Folder(from) => copy_folder(from, folder),
        }
    }
}

/// Copies the files of a folder, without those that begin with a dot.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        let target = to.join(&name);
        if entry.file_type()?.is_dir() {
            std::fs::create_dir_all(&target)?;
            copy_folder(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The viewer that `build.rs` has packed.
#[cfg(feature = "viewer")]
fn built() -> Result<BTreeMap<String, Bytes>> {
    use std::io::{Cursor, Read as _};
    let mut zip = zip::ZipArchive::new(Cursor::new(include_bytes!(concat!(env!("OUT_DIR"), "/viewer.zip"))))?;
    let mut files = BTreeMap::new();
    for i in 0..zip.len() {
        let mut file = zip.by_index(i)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        files.insert(file.name().to_owned(), bytes.into());
    }
    Ok(files)
}

/// This program has no viewer.
#[cfg(not(feature = "viewer"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature, unpacking may fail")]
fn built() -> Result<BTreeMap<String, Bytes>> {
    Ok(BTreeMap::new())
}
