//! Folders that `mkdir` makes. They are only in the memory of the mount until `schema.json` is written into them: then they
//! are arrays.

use std::collections::BTreeMap;
use std::sync::Mutex;

use fuser::Errno;
use hyperslab::internals::view::dir_id;
use hyperslab::view::FileType;

use crate::errno::{FsError, Refusal};
use crate::filesystem::{Attributes, Listed, lock, now_ms};

/// The largest number of such folders.
const FOLDERS_MAX: usize = 1024;

/// The folders by their paths in the mount.
#[derive(Debug, Default)]
pub(crate) struct NewFolders(Mutex<BTreeMap<String, NewFolder>>);

/// A folder without an array.
#[derive(Debug, Clone)]
pub(crate) struct NewFolder {
    ino: u64,
    /// The path of its array in the store.
    pub(crate) in_store: String,
    /// The lookups that the kernel has not forgotten.
    pub(crate) known: u64,
    made_ms: u64,
}

impl NewFolder {
    const fn attributes(&self) -> Attributes {
        Attributes {
            ino: self.ino,
            size: 0,
            blocks: 0,
            file_type: FileType::Dir,
            modified_ms: self.made_ms,
            writable: true,
            has_name: true,
        }
    }
}

impl NewFolders {
    /// Adds a folder, and counts a lookup of it.
    ///
    /// # Errors
    /// The folder exists, or there are too many.
    pub(crate) fn add(&self, path: &str, in_store: String) -> Result<Attributes, FsError> {
        let mut folders = lock(&self.0);
        if folders.contains_key(path) {
            return Err(Refusal::new(Errno::EEXIST, "the folder exists").into());
        }
        if folders.len() >= FOLDERS_MAX {
            let why = format!("{FOLDERS_MAX} new folders are not arrays yet; write their schema.json, or remove some");
            return Err(Refusal::new(Errno::ENFILE, why).into());
        }
        let folder = NewFolder {
            ino: dir_id(path),
            in_store,
            known: 1,
            made_ms: now_ms(),
        };
        let attributes = folder.attributes();
        folders.insert(path.to_owned(), folder);
        Ok(attributes)
    }

    /// Finds a folder, and counts a lookup of it.
    pub(crate) fn look_up(&self, path: &str) -> Option<Attributes> {
        let mut folders = lock(&self.0);
        let folder = folders.get_mut(path)?;
        folder.known += 1;
        Some(folder.attributes())
    }

    /// The path of the folder with this inode.
    pub(crate) fn path(&self, ino: u64) -> Option<String> {
        let folders = lock(&self.0);
        let found = folders.iter().find(|(_, folder)| folder.ino == ino);
        found.map(|(path, _)| path.clone())
    }

    /// The folder at a path.
    pub(crate) fn get(&self, path: &str) -> Option<NewFolder> {
        lock(&self.0).get(path).cloned()
    }

    /// The attributes of the folder with this inode.
    pub(crate) fn attributes(&self, ino: u64) -> Option<Attributes> {
        let folders = lock(&self.0);
        folders.values().find(|f| f.ino == ino).map(NewFolder::attributes)
    }

    /// The folders in a folder.
    pub(crate) fn list(&self, parent: &str) -> Vec<Listed> {
        let folders = lock(&self.0);
        let listed = folders.iter().filter_map(|(path, folder)| {
            let (before, name) = path.rsplit_once('/').unwrap_or(("", path));
            (before == parent).then(|| Listed {
                ino: folder.ino,
                name: name.to_owned(),
                file_type: FileType::Dir,
            })
        });
        listed.collect()
    }

    /// Removes a folder.
    pub(crate) fn remove(&self, path: &str) -> Option<NewFolder> {
        lock(&self.0).remove(path)
    }

    /// Forgets `times` lookups. Returns false for other inodes.
    pub(crate) fn forget(&self, ino: u64, times: u64) -> bool {
        let mut folders = lock(&self.0);
        let Some(folder) = folders.values_mut().find(|folder| folder.ino == ino) else {
            return false;
        };
        folder.known = folder.known.saturating_sub(times);
        true
    }
}
