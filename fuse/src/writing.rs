//! Requests that write. Only the folder `put/` of an array takes them, and only in a writable mount.

use std::ffi::OsStr;
use std::path::PathBuf;

use hyperslab::blocking::block_on;
use hyperslab::view::FileType;

use crate::changing::Changing;
use crate::control;
use crate::errno::FsError;
use crate::filesystem::{Attributes, FileSystem, Listed, NAME_BYTES_MAX};
pub use crate::put::OpenMode;
use crate::put::{PUT, Put};
use crate::staged::StagingArea;

/// How a mount takes new cells.
#[derive(Debug, Clone)]
pub struct Writing {
    /// The folder whose disk holds files until they are complete.
    pub staging_folder: PathBuf,
    /// The most bytes of such files.
    pub staging_bytes_max: u64,
}

/// A request for new attributes. The others, such as the mode, stay as they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewAttributes {
    /// The size in bytes.
    pub size: Option<u64>,
    /// The time of the last change, in milliseconds since 1970.
    pub modified_ms: Option<u64>,
}

impl FileSystem {
    /// Adds a folder `put/` to each array.
    #[must_use]
    pub fn writable(mut self, writing: &Writing) -> Self {
        let area = StagingArea::new(&writing.staging_folder, writing.staging_bytes_max);
        self.put = Some(Put::new(area));
        self.changing = Some(Changing::default());
        self
    }

    /// Whether the mount takes new cells.
    pub fn is_writable(&self) -> bool {
        self.put.is_some()
    }

    /// The space for files that are not complete and the free space, in bytes.
    pub fn space(&self) -> (u64, u64) {
        self.put.as_ref().map_or((0, 0), Put::space)
    }

    /// Creates a file for writing, or replaces it. Returns its attributes, which count as a lookup, and a handle for
    /// [`FileSystem::close_put`].
    ///
    /// # Errors
    /// [`FsError::ReadOnly`] outside of `put/`; [`FsError::Refused`] with the reason.
    pub fn create(&self, parent: u64, name: &OsStr, process: u32) -> Result<(Attributes, u64), FsError> {
        if name.len() > NAME_BYTES_MAX {
            return Err(FsError::NameTooLong);
        }
        if self.put_with(parent).is_none()
            && let Some(created) = name
                .to_str()
                .and_then(|name| self.create_document(parent, name, process))
        {
            return created;
        }
        let (put, name) = self.writable_place(parent, name)?;
        let folder = put.folder_at(parent).ok_or(FsError::NoFolder)?;
        // A new attempt.
        self.reasons.withdraw(&folder.path_of(name), true);
        let created = put.create(&self.view, &folder, name, process);
        created.map_err(|e| self.complain_of(parent, Some(name), e))
    }

    /// Whether this is a `put/` folder or a file in one.
    pub fn is_put(&self, ino: u64) -> bool {
        self.put_with(ino).is_some()
    }

    /// Opens a file in `put/`, and returns a handle for [`FileSystem::close_put`].
    ///
    /// # Errors
    /// [`FsError::ReadOnly`] outside of `put/`; [`FsError::Refused`] with the reason.
    pub fn open_put(&self, ino: u64, mode: OpenMode) -> Result<u64, FsError> {
        let put = self.put_with(ino).ok_or(FsError::ReadOnly)?;
        put.open(ino, mode).map_err(|e| self.complain_put(ino, e))
    }

    /// Writes bytes to a file.
    ///
    /// # Errors
    /// [`FsError::Refused`], for example if the header of an `.npy` file does not fit the name of the file.
    pub fn write(&self, ino: u64, offset: u64, data: &[u8]) -> Result<(), FsError> {
        if control::has(ino) {
            return control::command(ino, data, self);
        }
        let put = self.put_with(ino).ok_or(FsError::ReadOnly)?;
        let written = put.write(&self.view, ino, offset, data);
        written.map_err(|e| self.complain_put(ino, e))
    }

    /// Changes the attributes of a file.
    ///
    /// # Errors
    /// [`FsError::ReadOnly`] outside of `put/`; [`FsError::Refused`] with the reason.
    pub fn set_attributes(&self, ino: u64, new: NewAttributes) -> Result<Attributes, FsError> {
        if new.size.is_none() && self.ignores_attributes(ino) {
            return self.attributes(ino);
        }
        let put = self.put_with(ino).ok_or(FsError::ReadOnly)?;
        let set = put.set(ino, new.size, new.modified_ms);
        set.map_err(|e| self.complain_put(ino, e))
    }

    /// Writes the cells of a file to the array if it is complete, because `process` closes a descriptor of it.
    ///
    /// # Errors
    /// [`FsError::Refused`] if the cells cannot be written.
    pub fn flush(&self, ino: u64, handle: u64, process: u32) -> Result<(), FsError> {
        if let Some(documents) = self.documents_with(handle) {
            let written = documents.take(handle, process);
            return written.map_or(Ok(()), |(purpose, bytes)| self.apply(&purpose, bytes));
        }
        // Other files have nothing to write.
        let Some(put) = self.put_with(ino) else { return Ok(()) };
        let flushed = put.flush(&self.view, ino, handle, process);
        flushed.map_err(|e| self.complain_put(ino, e))
    }

    /// Writes the cells of a file to the array if it is complete.
    ///
    /// # Errors
    /// [`FsError::Refused`] if the cells cannot be written.
    pub fn sync(&self, ino: u64) -> Result<(), FsError> {
        // Programs also sync files that they read.
        let Some(put) = self.put_with(ino) else { return Ok(()) };
        put.sync(&self.view, ino).map_err(|e| self.complain_put(ino, e))
    }

    /// Closes a handle. A file that is not complete after the last close is dropped, and the reason is recorded.
    pub fn close_put(&self, ino: u64, handle: u64) {
        if let Some(documents) = self.documents_with(handle) {
            if let Some((purpose, bytes)) = documents.close(handle) {
                // The failure is recorded. Nobody waits for the result.
                let _ = self.apply(&purpose, bytes);
            }
            return;
        }
        let Some(put) = self.put_with(ino) else { return };
        let place = put.place_of(ino);
        if let Err(refusal) = put.close(&self.view, handle)
            && let Some((folder, name)) = place
        {
            self.complain_of(folder.ino, Some(&name), refusal);
        }
    }

    /// Closes a handle that no program has. The file has no effect.
    pub(crate) fn abandon(&self, ino: u64, handle: u64) {
        match self.documents_with(handle) {
            Some(documents) => drop(documents.close(handle)),
            None => self.close_put(ino, handle),
        }
    }

    /// Renames a file within a `put/` folder. A file that gets a name with a selection is written to the array.
    ///
    /// # Errors
    /// [`FsError::ReadOnly`] outside of `put/`; [`FsError::OtherFolder`]; [`FsError::Refused`] with the reason.
    pub fn rename(&self, from: (u64, &OsStr), to: (u64, &OsStr), replace: bool) -> Result<(), FsError> {
        let (put, name) = self.writable_place(from.0, from.1)?;
        let (_, new_name) = self.writable_place(to.0, to.1)?;
        if from.0 != to.0 {
            return Err(FsError::OtherFolder);
        }
        let folder = put.folder_at(from.0).ok_or(FsError::NoFolder)?;
        let renamed = put.rename(&self.view, &folder, name, new_name, replace);
        renamed.map_err(|e| self.complain_of(from.0, Some(new_name), e))
    }

    /// Removes the name of a file in `put/`. Cells that were written stay in the array.
    ///
    /// # Errors
    /// [`FsError::ReadOnly`] outside of `put/`; [`FsError::Absent`].
    pub fn unlink(&self, parent: u64, name: &OsStr) -> Result<(), FsError> {
        if self.put_with(parent).is_none()
            && let Some(removed) = name.to_str().and_then(|name| self.remove_document(parent, name))
        {
            return removed;
        }
        let (put, name) = self.writable_place(parent, name)?;
        let folder = put.folder_at(parent).ok_or(FsError::NoFolder)?;
        let removed = put.unlink(&folder, name);
        removed.map_err(|e| self.complain_of(parent, Some(name), e))
    }

    /// The folders for new cells, if this inode is one or is in one.
    pub(crate) fn put_with(&self, ino: u64) -> Option<&Put> {
        self.put.as_ref().filter(|put| put.has(ino))
    }

    /// Looks up the folder `put` of an array, or a name in it; `None` for other names.
    pub(crate) fn look_up_put(&self, parent: u64, name: &str) -> Option<Result<Attributes, FsError>> {
        let put = self.put.as_ref()?;
        if let Some(folder) = put.folder_at(parent) {
            return Some(put.lookup(&self.view, &folder, name));
        }
        if name != PUT {
            return None;
        }
        let path = self.inode(parent).ok()?.path;
        match block_on(self.view.array(&path)) {
            Ok(array) => array.map(|_| Ok(put.folder(&path))),
            Err(error) => Some(Err(self.complain_of(parent, Some(name), error.into()))),
        }
    }

    /// The name `put` in the listing of an array.
    pub(crate) fn listed_put(&self, path: &str) -> Option<Listed> {
        self.put.as_ref()?;
        block_on(self.view.array(path)).ok().flatten()?;
        Some(Listed {
            ino: Put::folder_id(path),
            name: PUT.to_owned(),
            file_type: FileType::Dir,
        })
    }

    fn writable_place<'a>(&self, parent: u64, name: &'a OsStr) -> Result<(&Put, &'a str), FsError> {
        let put = self.put_with(parent).ok_or(FsError::ReadOnly)?;
        let name = name.to_str().ok_or(FsError::Absent)?;
        Ok((put, name))
    }

    /// Records a failure for the folder of a file.
    fn complain_put(&self, ino: u64, refusal: FsError) -> FsError {
        match self.put.as_ref().and_then(|put| put.place_of(ino)) {
            Some((folder, name)) => self.complain_of(folder.ino, Some(&name), refusal),
            None => refusal,
        }
    }
}
