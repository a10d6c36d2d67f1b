//! The manifest `__manifest.json`: the listing of a folder, for hosts that cannot list.
//!
//! ```json
//! {"version": 1, "files": {"__schema/__1_1_0a": {"size": 216}}, "inline": {"__schema/__1_1_0a": "base64…"}}
//! ```
//!
//! The manifest lists every file below its folder with its size. It also holds the contents of the small files that are
//! read to open an array, so that opening takes one request. For a small array it holds the cells too. Programs that
//! change the array through this crate rewrite it. Other readers of the format ignore it, because its name has a dot.
//! Manifests come from servers, so their paths are checked before use.

mod store;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

pub use self::store::ManifestVfs;
use super::walk::check_depth;
use super::{Vfs, VfsExt, check_path, join, last_part, split, walk};
use crate::error::{Error, Malformed, Result};
use crate::limits::{ENTRIES_MAX, MANIFEST_BYTES_MAX};
use crate::sort::sort_by;

/// The file name of the manifest.
pub const MANIFEST: &str = "__manifest.json";
/// The only version so far.
const VERSION: u32 = 1;
/// The largest file to include in the manifest, in bytes.
const INLINE_FILE_BYTES_MAX: u64 = 64 << 10;
/// The most bytes of file contents to include in total.
const INLINE_BYTES_MAX: u64 = 512 << 10;
/// How often to rewrite a manifest because files were added or removed meanwhile.
const REWRITES: u32 = 16;

/// All files below a folder, and the contents of the small ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    #[serde(deserialize_with = "by_path")]
    files: BTreeMap<String, File>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "by_path")]
    inline: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    size: u64,
}

impl Manifest {
    /// Builds the manifest of these files, and reads the small ones.
    async fn build(vfs: &dyn Vfs, root: &str, files: BTreeMap<String, File>) -> Result<Self> {
        let sizes = files.iter().map(|(path, file)| (path, file.size));
        let (mut wanted, data): (Vec<_>, Vec<_>) = sizes
            .filter(|(_, size)| *size > 0)
            .partition(|(path, size)| *size <= INLINE_FILE_BYTES_MAX && rank(path).is_some());
        // Include cells only if all fit. With some missing, a reader needs as many requests as before.
        if files.values().fold(0, |sum: u64, file| sum.saturating_add(file.size)) <= INLINE_BYTES_MAX {
            wanted.extend(data);
        }
        // First the files that every reader needs, then the newest. Their names start with their timestamps.
        let order = |path: &str| rank(path).unwrap_or(u8::MAX);
        sort_by(&mut wanted, |(a, _), (b, _)| order(a).cmp(&order(b)).then(b.cmp(a)));
        let mut inline = BTreeMap::new();
        let mut budget = INLINE_BYTES_MAX;
        for (path, size) in wanted {
            if size <= budget {
                budget -= size;
                inline.insert(path.clone(), BASE64.encode(vfs.read_all(&join(root, path)).await?));
            }
        }
        Ok(Self {
            version: VERSION,
            files,
            inline,
        })
    }

    /// Decodes a manifest that was read from `path`.
    ///
    /// # Errors
    /// - `Corrupt` if it is not a manifest, or names files with invalid paths.
    /// - `LimitExceeded` if it is larger than the limit for writers.
    /// - `UnsupportedVersion` if its version is newer.
    pub fn decode(json: &[u8], path: &str) -> Result<Self> {
        let corrupt = |why: &dyn fmt::Display| Error::Corrupt {
            path: path.to_owned(),
            malformed: Malformed::new("manifest", 0, format!("{why}; write it again with `hyperslab index`")),
        };
        check_bytes(json, path)?;
        let manifest: Self = serde_json::from_slice(json).map_err(|e| corrupt(&e))?;
        if manifest.version != VERSION {
            return Err(Error::UnsupportedVersion {
                path: path.to_owned(),
                found: manifest.version,
                supported: VERSION,
            });
        }
        match manifest.file_as_folder() {
            Some(both) => Err(corrupt(&format_args!("{both:?} is both a file and a folder"))),
            None => Ok(manifest),
        }
    }

    /// Returns a file that other paths use as a folder, if any.
    fn file_as_folder(&self) -> Option<&str> {
        let folders = |path| std::iter::successors(Some(split(path).0), |folder| Some(split(folder).0));
        let above = |path| folders(path).take_while(|folder: &&str| !folder.is_empty());
        let mut all = self.files.keys().flat_map(|path| above(path.as_str()));
        all.find(|folder| self.files.contains_key(*folder))
    }

    /// Encodes the manifest as JSON.
    ///
    /// # Errors
    /// `LimitExceeded` if it is larger than readers accept.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let json = serde_json::to_vec(self).map_err(|e| Error::io(MANIFEST, e))?;
        check_bytes(&json, MANIFEST)?;
        Ok(json)
    }

    fn inlined(&self, path: &str) -> Option<Bytes> {
        let bytes = BASE64.decode(self.inline.get(path)?).ok()?;
        // If the contents do not have the stated size, the file itself is read instead.
        (self.files.get(path)?.size == bytes.len() as u64).then(|| bytes.into())
    }
}

fn check_bytes(json: &[u8], path: &str) -> Result<()> {
    match json.len() as u64 {
        0..=MANIFEST_BYTES_MAX => Ok(()),
        found => Err(Error::LimitExceeded {
            what: format!("bytes of the manifest {path}; consolidate and vacuum the array, or index smaller folders"),
            found,
            limit: MANIFEST_BYTES_MAX,
        }),
    }
}

/// Deserializes a map whose keys are file paths in a store.
fn by_path<'de, D: Deserializer<'de>, T: Deserialize<'de>>(json: D) -> Result<BTreeMap<String, T>, D::Error> {
    json.deserialize_map(ByPath(PhantomData))
}

struct ByPath<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ByPath<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from file paths")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut files = BTreeMap::new();
        while let Some((path, file)) = entries.next_entry::<String, T>()? {
            if path.is_empty() {
                return Err(A::Error::custom("it lists a file without a name"));
            }
            check_path(&path)
                .and_then(|()| check_depth(split(&path).0))
                .map_err(A::Error::custom)?;
            files.insert(path, file);
            if files.len() > ENTRIES_MAX {
                return Err(A::Error::custom(format_args!("it lists more than {ENTRIES_MAX} files")));
            }
        }
        Ok(files)
    }
}

/// Writes or replaces the manifest of the folder `root` of `vfs`.
///
/// # Errors
/// Errors of the store; `NotFound` if the folder has no files.
pub async fn write(vfs: &dyn Vfs, root: &str) -> Result<Manifest> {
    let path = join(root, MANIFEST);
    let mut files = list(vfs, root).await?;
    for _ in 0..REWRITES {
        let manifest = match Manifest::build(vfs, root, files).await {
            // A listed file was removed meanwhile.
            Err(Error::NotFound { .. }) => {
                files = list(vfs, root).await?;
                continue;
            }
            built => built?,
        };
        if manifest.files.is_empty() {
            return Err(Error::not_found(root, "there are no files to index"));
        }
        vfs.overwrite(&path, vec![manifest.encode()?.into()]).await?;
        // Another program may have changed files since the listing, and this manifest may have replaced its newer one.
        files = list(vfs, root).await?;
        if files == manifest.files {
            return Ok(manifest);
        }
    }
    let why = "files change there faster than they can be listed; write the manifest again with `hyperslab index`";
    Err(Error::io(path, why))
}

/// All files below the folder `root`, with their sizes.
async fn list(vfs: &dyn Vfs, root: &str) -> Result<BTreeMap<String, File>> {
    let skips = |path: &str| path == MANIFEST || last_part(path).starts_with('.');
    let found = walk(vfs, root, skips).await?.into_iter();
    Ok(found
        .filter_map(|found| Some((found.path, File { size: found.size? })))
        .collect())
}

/// Rewrites the manifests of the folder `root` and of the folders above it, if they exist. Call it after changing files
/// below `root`.
///
/// # Errors
/// Errors of the store.
pub async fn refresh(vfs: &dyn Vfs, root: &str) -> Result<()> {
    let mut folder = root;
    loop {
        match vfs.size(&join(folder, MANIFEST)).await {
            Err(Error::NotFound { .. }) => {}
            Err(e) => return Err(e),
            Ok(_) => drop(write(vfs, folder).await?),
        }
        if folder.is_empty() {
            return Ok(());
        }
        folder = split(folder).0;
    }
}

/// The rank of a file by how early a reader needs it; `None` for data, which comes last.
fn rank(path: &str) -> Option<u8> {
    let folder = path.split('/').rev().find(|part| {
        matches!(
            *part,
            "__schema" | "__commits" | "__fragment_meta" | "__meta" | "__group"
        )
    });
    match folder {
        Some(_) => Some(0),
        None if path.ends_with("__fragment_metadata.tdb") => Some(1),
        None => None,
    }
}

#[cfg(test)]
mod tests;
