//! The names and inodes of `put/` folders.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyperslab::Array;
use hyperslab::blocking::block_on;
use hyperslab::view::{FileType, View};

use crate::errno::FsError;
use crate::filesystem::{Attributes, join, lock, now_ms};
use crate::put::PUT;
use crate::put_file::PutFile;

/// How long `stat` finds a written file, for programs that set its time and mode after they close it.
const WRITTEN_FOR: Duration = Duration::from_secs(60);
/// How long a closed file with a temporary name is kept for its rename.
const TEMPORARY_FOR: Duration = Duration::from_secs(600);

/// All names and inodes.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) inodes: HashMap<u64, Inode>,
    /// Files by folder and name.
    pub(crate) names: BTreeMap<(u64, String), u64>,
    pub(crate) handles: HashMap<u64, Handle>,
}

/// An inode that the kernel knows or that has a name.
#[derive(Debug)]
pub(crate) struct Inode {
    /// The number of lookups that the kernel has not forgotten.
    pub(crate) known: u64,
    pub(crate) object: Object,
}

/// The kinds of inodes.
#[derive(Debug, Clone)]
pub(crate) enum Object {
    Folder(Arc<Folder>),
    Readme(Arc<Folder>),
    File(Entry),
}

/// The folder of an array.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) ino: u64,
    /// The array's path in the view.
    pub(crate) array_path: String,
    /// Held during a write, so that each one gets a later timestamp than the one before.
    pub(crate) writes: Mutex<()>,
    pub(crate) readme: Mutex<Bytes>,
    /// The last name that was looked up.
    pub(crate) asked: Mutex<Option<String>>,
}

/// A file with a name, or an open one without.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) file: Arc<PutFile>,
    /// `None` after it was removed.
    pub(crate) name: Option<String>,
    /// The number of handles.
    pub(crate) opened: u64,
    /// The time of the last close.
    pub(crate) closed: Instant,
}

/// An open file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handle {
    pub(crate) ino: u64,
    /// The process that opened it.
    pub(crate) process: u32,
}

impl Folder {
    /// Opens the array as the view shows it.
    pub(crate) fn array(&self, view: &View) -> Result<Array, FsError> {
        block_on(view.array(&self.array_path))?.ok_or(FsError::Stale)
    }

    /// The path of a file in the mount.
    pub(crate) fn path_of(&self, name: &str) -> String {
        join(&join(&self.array_path, PUT), name)
    }
}

impl State {
    /// Whether a file was closed long ago.
    pub(crate) fn is_old(&self, ino: u64) -> bool {
        let Some(Object::File(entry)) = self.inodes.get(&ino).map(|i| &i.object) else {
            return false;
        };
        let keep = if entry.file.is_written() {
            WRITTEN_FOR
        } else {
            TEMPORARY_FOR
        };
        entry.opened == 0 && entry.closed.elapsed() > keep
    }

    /// Removes the name of a file.
    pub(crate) fn unlink(&mut self, ino: u64) {
        if let Some(Object::File(entry)) = self.inodes.get_mut(&ino).map(|i| &mut i.object)
            && let Some(name) = entry.name.take()
        {
            self.names.remove(&(entry.file.folder.ino, name));
        }
    }

    /// Removes an inode that nothing refers to.
    pub(crate) fn remove_if_unused(&mut self, ino: u64) {
        let Some(inode) = self.inodes.get(&ino) else { return };
        let is_used = inode.known > 0
            || match &inode.object {
                Object::Readme(_) => false,
                Object::File(entry) => entry.opened > 0 || entry.name.is_some(),
                Object::Folder(folder) => {
                    let mut names = self.names.range((folder.ino, String::new())..);
                    names.next().is_some_and(|((dir, _), _)| *dir == folder.ino)
                }
            };
        if !is_used {
            self.inodes.remove(&ino);
        }
    }
}

/// The attributes of a folder.
pub(crate) fn folder_attributes(ino: u64) -> Attributes {
    Attributes {
        ino,
        size: 0,
        blocks: 0,
        file_type: FileType::Dir,
        modified_ms: now_ms(),
        writable: true,
        has_name: true,
    }
}

/// The attributes of a folder or file.
pub(crate) fn attributes_of(ino: u64, object: &Object) -> Result<Attributes, FsError> {
    let (size, modified_ms, writable) = match object {
        Object::Folder(_) => return Ok(folder_attributes(ino)),
        Object::Readme(folder) => (lock(&folder.readme).len() as u64, 0, false),
        Object::File(entry) => {
            let (size, modified_ms) = entry.file.size_and_time();
            (size, modified_ms, true)
        }
    };
    Ok(Attributes {
        ino,
        size,
        blocks: size.div_ceil(512),
        file_type: FileType::File,
        modified_ms,
        writable,
        has_name: !matches!(object, Object::File(entry) if entry.name.is_none()),
    })
}
