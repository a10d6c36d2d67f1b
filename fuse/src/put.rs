//! The folder `put/` of an array, which takes new cells as files.
//!
//! A file is staged until it is complete, and then written to the array as one fragment:
//!
//! ```text
//! create ──► receiving ──► written     close, fsync, or a rename to a name that selects cells
//!                │
//!                └───────► failed      the reason is an error of write, close, fsync or rename
//! ```
//!
//! An `.npy` file is complete when it has as many bytes as its header states. Other formats do not state their size, so they
//! are complete when the process that opened the file closes it. Processes that inherited the file do not count. Names
//! such as `.x.npy.AbCdEf` are temporary: programs rename them when they are complete.
//!
//! [`Put`] serves all folders: [`State`] has their names and inodes, and [`PutFile`] is a file and its state.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use fuser::Errno;
use hyperslab::internals::view::dir_id;
use hyperslab::view::{FileType, View};

use crate::errno::{FsError, Refusal};
use crate::filesystem::{Attributes, Listed, join, lock};
use crate::put_file::{Closing, Outcome, PutFile};
use crate::put_names::{destination, is_temporary};
use crate::put_readme::{expected, readme};
use crate::put_state::{Entry, Folder, Handle, Inode, Object, State, attributes_of, folder_attributes};
use crate::staged::StagingArea;

/// The name of the folder.
pub(crate) const PUT: &str = "put";
const README: &str = "README.md";
/// The largest number of files in all folders.
const FILES_MAX: usize = 4096;

/// All `put/` folders of a mount.
#[derive(Debug)]
pub(crate) struct Put {
    area: Arc<StagingArea>,
    state: Mutex<State>,
    next: AtomicU64,
}

/// How to open a file.
#[derive(Debug, Clone, Copy)]
pub struct OpenMode {
    /// For writing, perhaps also for reading.
    pub write: bool,
    /// Discard the contents.
    pub truncate: bool,
    /// The process that opens it.
    pub process: u32,
}

impl Put {
    /// Folders without files, which stage them in `area`.
    pub(crate) fn new(area: Arc<StagingArea>) -> Self {
        Self {
            area,
            state: Mutex::default(),
            next: AtomicU64::new(1),
        }
    }

    /// The whole space for staged files and the free space, in bytes.
    pub(crate) fn space(&self) -> (u64, u64) {
        self.area.space()
    }

    /// The inode of the folder of the array at this path.
    pub(crate) fn folder_id(array_path: &str) -> u64 {
        dir_id(&format!("{array_path}/{PUT}"))
    }

    /// Looks up the folder of an array.
    pub(crate) fn folder(&self, array_path: &str) -> Attributes {
        let ino = Self::folder_id(array_path);
        let mut state = lock(&self.state);
        let inode = state.inodes.entry(ino).or_insert_with(|| Inode {
            known: 0,
            object: Object::Folder(Arc::new(Folder {
                ino,
                array_path: array_path.to_owned(),
                writes: Mutex::default(),
                readme: Mutex::default(),
                asked: Mutex::default(),
            })),
        });
        inode.known += 1;
        folder_attributes(ino)
    }

    /// The folder with this inode, if it is one.
    pub(crate) fn folder_at(&self, ino: u64) -> Option<Arc<Folder>> {
        match &lock(&self.state).inodes.get(&ino)?.object {
            Object::Folder(folder) => Some(Arc::clone(folder)),
            Object::Readme(_) | Object::File(_) => None,
        }
    }

    /// Whether this is an inode of a folder or of a file in one.
    pub(crate) fn has(&self, ino: u64) -> bool {
        lock(&self.state).inodes.contains_key(&ino)
    }

    /// The folder of a file, and the file's name.
    pub(crate) fn place_of(&self, ino: u64) -> Option<(Arc<Folder>, String)> {
        let entry = self.entry(ino).ok()?;
        Some((Arc::clone(&entry.file.folder), entry.name.unwrap_or_default()))
    }

    /// The path of a folder or file in the mount.
    pub(crate) fn path(&self, ino: u64) -> String {
        match self.object(ino) {
            Ok(Object::Folder(folder)) => join(&folder.array_path, PUT),
            Ok(Object::Readme(folder)) => folder.path_of(README),
            Ok(Object::File(entry)) => entry.file.folder.path_of(entry.name.as_deref().unwrap_or_default()),
            Err(_) => String::new(),
        }
    }

    /// Looks up a file in a folder.
    pub(crate) fn lookup(&self, view: &View, folder: &Arc<Folder>, name: &str) -> Result<Attributes, FsError> {
        self.expire();
        if name == README {
            return self.look_up_readme(view, folder);
        }
        let mut state = lock(&self.state);
        let Some(ino) = state.names.get(&(folder.ino, name.to_owned())).copied() else {
            drop(state);
            if !is_temporary(name) {
                *lock(&folder.asked) = Some(name.to_owned());
            }
            return Err(FsError::Absent);
        };
        let inode = state.inodes.get_mut(&ino).ok_or(FsError::Stale)?;
        inode.known += 1;
        attributes_of(ino, &inode.object)
    }

    fn look_up_readme(&self, view: &View, folder: &Arc<Folder>) -> Result<Attributes, FsError> {
        *lock(&folder.readme) = readme(&folder.array(view)?).into();
        let ino = dir_id(&folder.path_of(README));
        let object = Object::Readme(Arc::clone(folder));
        let attributes = attributes_of(ino, &object);
        let mut state = lock(&self.state);
        state.inodes.entry(ino).or_insert(Inode { known: 0, object }).known += 1;
        attributes
    }

    /// The attributes of a folder or file.
    pub(crate) fn attributes(&self, ino: u64) -> Result<Attributes, FsError> {
        let object = self.object(ino)?;
        attributes_of(ino, &object)
    }

    /// Lists a folder: its README, and the files that are not written yet.
    pub(crate) fn list(&self, folder: &Folder) -> Vec<Listed> {
        self.expire();
        let entry = |ino, name: &str| Listed {
            ino,
            name: name.to_owned(),
            file_type: FileType::File,
        };
        let mut listed = vec![entry(dir_id(&folder.path_of(README)), README)];
        let state = lock(&self.state);
        let of_folder = state.names.range((folder.ino, String::new())..);
        for ((_, name), ino) in of_folder.take_while(|((dir, _), _)| *dir == folder.ino) {
            if let Some(Object::File(entry_of)) = state.inodes.get(ino).map(|i| &i.object)
                && !entry_of.file.is_written()
            {
                listed.push(entry(*ino, name));
            }
        }
        listed
    }

    /// Creates a file and opens it. Returns its attributes and a handle.
    pub(crate) fn create(
        &self,
        view: &View,
        folder: &Arc<Folder>,
        name: &str,
        process: u32,
    ) -> Result<(Attributes, u64), FsError> {
        self.expire();
        if name == README {
            return Err(Refusal::not_permitted("README.md cannot be replaced; choose another name").into());
        }
        let existing = lock(&self.state).names.get(&(folder.ino, name.to_owned())).copied();
        let ino = if let Some(ino) = existing {
            ino
        } else {
            let destination = destination(view, folder, name)?;
            let file = PutFile::new(Arc::clone(folder), &self.area, destination)?;
            self.add(folder, name, file)?
        };
        let mode = OpenMode {
            write: true,
            truncate: existing.is_some(),
            process,
        };
        let handle = self.open(ino, mode)?;
        let mut state = lock(&self.state);
        let inode = state.inodes.get_mut(&ino).ok_or(FsError::Stale)?;
        inode.known += 1;
        Ok((attributes_of(ino, &inode.object)?, handle))
    }

    fn add(&self, folder: &Folder, name: &str, file: PutFile) -> Result<u64, FsError> {
        let ino = dir_id(&format!(
            "{}\0{}",
            folder.path_of(name),
            self.next.fetch_add(1, Ordering::Relaxed)
        ));
        let mut state = lock(&self.state);
        if state.names.len() >= FILES_MAX {
            return Err(Refusal::new(
                Errno::ENFILE,
                format!("put/ has {FILES_MAX} files; rename or remove the temporary ones"),
            )
            .into());
        }
        let entry = Entry {
            file: Arc::new(file),
            name: Some(name.to_owned()),
            opened: 0,
            closed: Instant::now(),
        };
        state.names.insert((folder.ino, name.to_owned()), ino);
        state.inodes.insert(
            ino,
            Inode {
                known: 0,
                object: Object::File(entry),
            },
        );
        Ok(ino)
    }

    /// Opens a file and returns a handle.
    pub(crate) fn open(&self, ino: u64, mode: OpenMode) -> Result<u64, FsError> {
        match self.object(ino)? {
            Object::Folder(_) => return Err(FsError::IsFolder),
            Object::Readme(_) if mode.write => {
                return Err(Refusal::not_permitted("README.md cannot be changed").into());
            }
            Object::Readme(_) => {}
            Object::File(entry) => {
                // Two programs that write one file would mix their cells.
                if mode.truncate && entry.opened > 0 && !entry.file.is_written() {
                    return Err(Refusal::new(
                        Errno::EBUSY,
                        "another program is writing this file; wait until it closes the file",
                    )
                    .into());
                }
                entry.file.open(&self.area, mode)?;
            }
        }
        let mut state = lock(&self.state);
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        let process = mode.process;
        state.handles.insert(handle, Handle { ino, process });
        if let Some(Object::File(entry)) = state.inodes.get_mut(&ino).map(|i| &mut i.object) {
            entry.opened += 1;
        }
        Ok(handle)
    }

    /// Reads a byte range of a file.
    pub(crate) fn read(&self, ino: u64, offset: u64, size: u32) -> Result<Bytes, FsError> {
        match self.object(ino)? {
            Object::Folder(_) => Err(FsError::IsFolder),
            Object::Readme(folder) => {
                let whole = lock(&folder.readme).clone();
                let at = |v: u64| usize::try_from(v).map_or(whole.len(), |v| v.min(whole.len()));
                Ok(whole.slice(at(offset)..at(offset.saturating_add(u64::from(size)))))
            }
            Object::File(entry) => entry.file.read(offset, size),
        }
    }

    /// Writes to a file.
    pub(crate) fn write(&self, view: &View, ino: u64, offset: u64, data: &[u8]) -> Result<(), FsError> {
        self.entry(ino)?.file.write(view, offset, data)
    }

    /// Sets the size, or the time of the last change in milliseconds since 1970.
    pub(crate) fn set(&self, ino: u64, size: Option<u64>, modified_ms: Option<u64>) -> Result<Attributes, FsError> {
        if let Object::File(entry) = self.object(ino)? {
            if let Some(size) = size {
                entry.file.set_size(size)?;
            }
            if let Some(time) = modified_ms {
                entry.file.set_modified(time);
            }
        }
        self.attributes(ino)
    }

    /// Writes a complete file to its array, because `process` closes a descriptor of it.
    pub(crate) fn flush(&self, view: &View, ino: u64, handle: u64, process: u32) -> Result<(), FsError> {
        let opened_by = lock(&self.state).handles.get(&handle).map(|h| h.process);
        let how = if opened_by == Some(process) {
            Closing::ByOpener
        } else {
            Closing::ByOther
        };
        self.finish(view, ino, how).map(drop)
    }

    /// Writes a complete file to its array.
    pub(crate) fn sync(&self, view: &View, ino: u64) -> Result<(), FsError> {
        self.finish(view, ino, Closing::ByOpener).map(drop)
    }

    fn finish(&self, view: &View, ino: u64, how: Closing) -> Result<Outcome, FsError> {
        match self.object(ino)? {
            Object::File(entry) if entry.name.is_some() => entry.file.finish(view, how),
            _ => Ok(Outcome::Waiting),
        }
    }

    /// Closes a handle. After the last one, a file that is not complete is dropped, which is an error.
    pub(crate) fn close(&self, view: &View, handle: u64) -> Result<(), FsError> {
        let mut state = lock(&self.state);
        let Some(closed) = state.handles.remove(&handle) else {
            return Ok(());
        };
        let Some(Object::File(entry)) = state.inodes.get_mut(&closed.ino).map(|i| &mut i.object) else {
            return Ok(());
        };
        entry.opened = entry.opened.saturating_sub(1);
        entry.closed = Instant::now();
        let entry = entry.clone();
        drop(state);
        let is_last = entry.opened == 0;
        let ended = if is_last && entry.name.is_some() {
            entry.file.finish_closed(view)
        } else {
            Ok(Outcome::Waiting)
        };
        let mut state = lock(&self.state);
        if let Err(_) | Ok(Outcome::Dropped) = ended {
            state.unlink(closed.ino);
        }
        state.remove_if_unused(closed.ino);
        ended.map(drop)
    }

    /// Renames a file. If the new name selects cells, the file must be complete, and is written to the array.
    pub(crate) fn rename(
        &self,
        view: &View,
        folder: &Arc<Folder>,
        name: &str,
        new_name: &str,
        replace: bool,
    ) -> Result<(), FsError> {
        let key = (folder.ino, name.to_owned());
        let new_key = (folder.ino, new_name.to_owned());
        let (ino, target) = {
            let state = lock(&self.state);
            (
                state.names.get(&key).copied().ok_or(FsError::Absent)?,
                state.names.get(&new_key).copied(),
            )
        };
        if new_name == README {
            return Err(Refusal::not_permitted("README.md cannot be replaced; choose another name").into());
        }
        if ino == target.unwrap_or(0) {
            return Ok(());
        }
        if let Some(target) = target {
            let target = self.entry(target)?;
            if !replace {
                return Err(Refusal::new(Errno::EEXIST, "the new name exists").into());
            }
            if target.opened > 0 && !target.file.is_written() {
                return Err(Refusal::new(
                    Errno::EBUSY,
                    "another program is writing the file with the new name; wait until it closes the file",
                )
                .into());
            }
        }
        let destination = destination(view, folder, new_name)?;
        self.entry(ino)?.file.renamed(view, destination)?;
        let mut state = lock(&self.state);
        if let Some(target) = target {
            state.unlink(target);
            state.remove_if_unused(target);
        }
        state.names.remove(&key);
        state.names.insert(new_key, ino);
        if let Some(Object::File(entry)) = state.inodes.get_mut(&ino).map(|i| &mut i.object) {
            entry.name = Some(new_name.to_owned());
            entry.closed = Instant::now();
        }
        Ok(())
    }

    /// Removes a name. Cells that were written stay in the array.
    pub(crate) fn unlink(&self, folder: &Folder, name: &str) -> Result<(), FsError> {
        if name == README {
            return Err(Refusal::not_permitted("README.md cannot be removed").into());
        }
        let mut state = lock(&self.state);
        let ino = state.names.get(&(folder.ino, name.to_owned())).copied();
        let ino = ino.ok_or(FsError::Absent)?;
        state.unlink(ino);
        state.remove_if_unused(ino);
        Ok(())
    }

    /// Facts about the folder: what a file must hold.
    pub(crate) fn facts(&self, view: &View, ino: u64) -> Vec<(&'static str, String)> {
        let Some(folder) = self.folder_at(ino) else {
            return Vec::new();
        };
        let asked = lock(&folder.asked).clone();
        let text = folder
            .array(view)
            .map(|array| expected(view, &folder.array_path, &array, asked.as_deref()));
        text.map(|text| vec![("expected", text)]).unwrap_or_default()
    }

    /// Forgets `times` lookups of an inode.
    pub(crate) fn forget(&self, ino: u64, times: u64) {
        let mut state = lock(&self.state);
        if let Some(inode) = state.inodes.get_mut(&ino) {
            inode.known = inode.known.saturating_sub(times);
            state.remove_if_unused(ino);
        }
    }

    /// Whether a file is open.
    pub(crate) fn has_open_files(&self) -> bool {
        !lock(&self.state).handles.is_empty()
    }

    /// The number of inodes.
    pub(crate) fn known(&self) -> usize {
        lock(&self.state).inodes.len()
    }

    /// Removes the names of files that were closed long ago.
    fn expire(&self) {
        let mut state = lock(&self.state);
        let old: Vec<u64> = state.names.values().copied().filter(|ino| state.is_old(*ino)).collect();
        for ino in old {
            state.unlink(ino);
            state.remove_if_unused(ino);
        }
    }

    fn object(&self, ino: u64) -> Result<Object, FsError> {
        let state = lock(&self.state);
        state.inodes.get(&ino).map(|i| i.object.clone()).ok_or(FsError::Stale)
    }

    fn entry(&self, ino: u64) -> Result<Entry, FsError> {
        match self.object(ino)? {
            Object::File(entry) => Ok(entry),
            Object::Folder(_) => Err(FsError::IsFolder),
            Object::Readme(_) => Err(Refusal::not_permitted("README.md cannot be changed").into()),
        }
    }
}
