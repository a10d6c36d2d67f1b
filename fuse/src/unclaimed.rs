//! Handles that the kernel has not received yet.

use std::ffi::OsStr;
use std::sync::Arc;

use crate::errno::FsError;
use crate::filesystem::{Attributes, FileSystem};
use crate::writing::OpenMode;

/// The handle of a file that was opened for a program. If the program got an error instead, because the request took too
/// long, nobody closes the handle. Then it is closed on drop.
#[derive(Debug)]
pub(crate) struct Unclaimed {
    files: Arc<FileSystem>,
    ino: u64,
    handle: Option<u64>,
    /// Whether the attributes of the file counted as a lookup.
    is_created: bool,
}

impl Unclaimed {
    /// Opens a file that changes an array.
    pub(crate) fn document(files: Arc<FileSystem>, ino: u64, mode: OpenMode) -> Result<Self, FsError> {
        let handle = Some(files.open_document(ino, mode)?);
        Ok(Self {
            files,
            ino,
            handle,
            is_created: false,
        })
    }

    /// Creates a file, and returns its attributes, too.
    pub(crate) fn created(
        files: Arc<FileSystem>,
        parent: u64,
        name: &OsStr,
        process: u32,
    ) -> Result<(Attributes, Self), FsError> {
        let (file, handle) = files.create(parent, name, process)?;
        let opened = Self {
            files,
            ino: file.ino,
            handle: Some(handle),
            is_created: true,
        };
        Ok((file, opened))
    }

    /// The handle, for a program that will close it.
    pub(crate) fn claim(mut self) -> u64 {
        self.handle.take().unwrap_or_default()
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        let Some(handle) = self.handle else { return };
        self.files.abandon(self.ino, handle);
        if self.is_created {
            self.files.forget(self.ino, 1);
        }
    }
}
