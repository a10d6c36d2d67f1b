//! The files of a Zarr store: a folder on the local disk, or below an address.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use hyperslab::Error;
use hyperslab::blocking::block_on;
use hyperslab::vfs::{EntryKind, Vfs, VfsExt as _, join, local_path, open_url};

/// The most bytes of a file with metadata.
const METADATA_BYTES_MAX: u64 = 64 << 20;

/// A folder of a store.
#[derive(Clone)]
pub(super) struct Store {
    vfs: Arc<dyn Vfs>,
    root: String,
    /// The folder, if it is on the local disk.
    folder: Option<PathBuf>,
}

impl Store {
    /// The folder at a path or URL.
    pub(super) fn open(url: &str) -> Result<Self> {
        let (vfs, root) = open_url(url)?;
        Ok(Self {
            vfs,
            root,
            folder: local_path(url).map(Path::to_owned),
        })
    }

    /// A file of at most `limit` bytes; `None` if there is no such file.
    pub(super) fn read(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let Some((size, bytes)) = self.tail(path, limit)? else {
            return Ok(None);
        };
        ensure!(
            size <= limit,
            "{path} has {size} bytes, more than the {limit} that it can hold"
        );
        Ok(Some(bytes))
    }

    /// The size of a file and its last bytes; `None` if there is no such file.
    pub(super) fn tail(&self, path: &str, bytes: u64) -> Result<Option<(u64, Vec<u8>)>> {
        match block_on(self.vfs.read_tail(&join(&self.root, path), bytes)) {
            Ok((size, bytes)) => Ok(Some((size, bytes.to_vec()))),
            Err(Error::NotFound { .. }) => self.absent(path),
            Err(why) => Err(why).with_context(|| format!("cannot read {path}")),
        }
    }

    /// Bytes of a file; `None` if there is no such file.
    pub(super) fn range(&self, path: &str, start: u64, bytes: u64) -> Result<Option<Vec<u8>>> {
        let end = start.checked_add(bytes).context("a range of a shard is too large")?;
        match block_on(self.vfs.read(&join(&self.root, path), &[start..end])) {
            Ok(parts) => Ok(parts.into_iter().next().map(|part| part.to_vec())),
            Err(Error::NotFound { .. }) => self.absent(path),
            Err(why) => Err(why).with_context(|| format!("cannot read {path}")),
        }
    }

    /// `None` for a file that does not exist.
    ///
    /// # Errors
    /// A folder has its name, so that the file was lost. Only the local disk has folders of their own.
    fn absent<T>(&self, path: &str) -> Result<Option<T>> {
        let is_folder = self.folder.as_ref().is_some_and(|folder| folder.join(path).is_dir());
        ensure!(
            !is_folder,
            "cannot read {path}: it is a folder, where the store should have a file"
        );
        Ok(None)
    }

    /// A file of JSON; `None` if there is no such file.
    pub(super) fn json(&self, path: &str) -> Result<Option<serde_json::Value>> {
        let Some(bytes) = self.read(path, METADATA_BYTES_MAX)? else {
            return Ok(None);
        };
        let value = serde_json::from_slice(&bytes);
        value.map(Some).with_context(|| format!("{path} is not JSON"))
    }

    /// The names of the folders in a folder.
    pub(super) fn folders(&self, path: &str) -> Result<Vec<String>> {
        let entries = block_on(self.vfs.list(&join(&self.root, path))).context(
            "the store cannot be listed; add consolidated metadata with `zarr.consolidate_metadata` of zarr-python",
        )?;
        let folders = entries.into_iter().filter(|e| e.kind == EntryKind::Dir);
        Ok(folders.map(|e| e.name).collect())
    }
}
