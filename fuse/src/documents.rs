//! Small files that change an array as a whole: `metadata/KEY`, and `schema.json` in a new folder.
//!
//! Each open file has its own bytes in memory, so that two programs do not mix theirs. They take effect when the process
//! that opened the file closes it. A close by a process that inherited the file has no effect, and neither has one of an
//! empty file, except for the last one: a shell closes a copy of the file before it writes. [`Documents`] has the open
//! files; `changing.rs` decides which names they may have.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use fuser::Errno;
use hyperslab::view::FileType;

use crate::errno::{FsError, Refusal};
use crate::filesystem::{Attributes, join, lock, now_ms};

/// The largest size of such a file, in bytes.
const BYTES_MAX: u64 = 16 << 20;
/// The largest size of all of them, in bytes.
const ALL_BYTES_MAX: u64 = 64 << 20;
/// The largest number of open files.
const FILES_MAX: usize = 256;
/// The first inode of files that did not exist. The inodes of the control folder follow.
const FIRST_INODE: u64 = u64::MAX - (1 << 32);
/// The first handle. Other files have lower ones.
const FIRST_HANDLE: u64 = 1 << 63;

/// The object that a file changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The metadata key of a file name, of the array at this path in the mount.
    Metadata { array: String, name: String },
    /// The schema of a new array at this path in the mount.
    Schema { folder: String },
}

impl Purpose {
    /// The path of the file in the mount.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Metadata { array, name } => join(&join(array, METADATA), name),
            Self::Schema { folder } => join(folder, SCHEMA),
        }
    }
}

/// The folder of an array with a file for each key of its metadata.
pub(crate) const METADATA: &str = "metadata";
/// The file that makes a new folder an array.
pub(crate) const SCHEMA: &str = "schema.json";

/// The open files, by handle.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    state: Mutex<State>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<u64, Document>,
    /// Files that did not exist: their handles and the lookups that the kernel has not forgotten, by inode.
    created: HashMap<u64, (u64, u64)>,
}

/// An open file. Its bytes are what its name will lead to.
#[derive(Debug)]
pub(crate) struct Document {
    purpose: Purpose,
    bytes: Vec<u8>,
    /// Whether the bytes have not taken effect.
    is_new: bool,
    /// Whether bytes are missing. Then it has no effect.
    is_cut: bool,
    /// The process that opened it.
    process: u32,
    modified_ms: u64,
}

impl Document {
    /// A file with these contents. `is_new` says that they take effect even without a write.
    pub(crate) fn new(purpose: Purpose, bytes: Vec<u8>, is_new: bool, process: u32) -> Self {
        Self {
            purpose,
            bytes,
            is_new,
            is_cut: false,
            process,
            modified_ms: now_ms(),
        }
    }

    fn take(&mut self) -> Option<(Purpose, Vec<u8>)> {
        let is_new = std::mem::take(&mut self.is_new);
        (is_new && !self.is_cut).then(|| (self.purpose.clone(), self.bytes.clone()))
    }
}

/// Whether a handle is one of such a file.
pub(crate) const fn has(handle: u64) -> bool {
    handle >= FIRST_HANDLE
}

impl Documents {
    /// Opens a file that does not exist, and returns its attributes, which count as a lookup, and a handle.
    pub(crate) fn create(&self, document: Document) -> Result<(Attributes, u64), FsError> {
        let handle = self.open(document)?;
        let ino = FIRST_INODE + handle % (1 << 31);
        let mut state = lock(&self.state);
        state.created.insert(ino, (handle, 1));
        let attributes = state.attributes(ino).ok_or(FsError::Stale)?;
        Ok((attributes, handle))
    }

    /// Opens a file, and returns a handle.
    pub(crate) fn open(&self, document: Document) -> Result<u64, FsError> {
        let mut state = lock(&self.state);
        if state.open.len() >= FILES_MAX {
            let why = format!("{FILES_MAX} files that change arrays are open; close one");
            return Err(Refusal::new(Errno::ENFILE, why).into());
        }
        let handle = FIRST_HANDLE + self.next.fetch_add(1, Ordering::Relaxed);
        state.open.insert(handle, document);
        Ok(handle)
    }

    /// Whether any file is open.
    pub(crate) fn has_open_files(&self) -> bool {
        !lock(&self.state).open.is_empty()
    }

    /// The attributes of a file that did not exist when it was opened.
    pub(crate) fn attributes(&self, ino: u64) -> Option<Attributes> {
        lock(&self.state).attributes(ino)
    }

    /// The path in the mount and the size in bytes of an open file.
    pub(crate) fn path_and_size(&self, handle: u64) -> Option<(String, u64)> {
        let state = lock(&self.state);
        let file = state.open.get(&handle)?;
        Some((file.purpose.path(), file.bytes.len() as u64))
    }

    /// Reads a part of a file.
    pub(crate) fn read(&self, handle: u64, offset: u64, size: u32) -> Result<Bytes, FsError> {
        let state = lock(&self.state);
        let bytes = &state.open.get(&handle).ok_or(FsError::Stale)?.bytes;
        let at = |v: u64| usize::try_from(v).map_or(bytes.len(), |v| v.min(bytes.len()));
        let range = at(offset)..at(offset.saturating_add(u64::from(size)));
        Ok(bytes.get(range).map(Bytes::copy_from_slice).unwrap_or_default())
    }

    /// Writes bytes to a file, at its end without an offset.
    pub(crate) fn write(&self, handle: u64, offset: Option<u64>, data: &[u8]) -> Result<(), FsError> {
        self.change(handle, |bytes| {
            let start = offset.unwrap_or(bytes.len() as u64);
            (
                start.saturating_add(data.len() as u64),
                move |bytes: &mut Vec<u8>, end| {
                    if bytes.len() < end {
                        bytes.resize(end, 0);
                    }
                    if let Some(place) = bytes.get_mut(end.saturating_sub(data.len())..end) {
                        place.copy_from_slice(data);
                    }
                },
            )
        })
    }

    /// Cuts a file off, or extends it with zeros.
    pub(crate) fn set_size(&self, handle: u64, size: u64) -> Result<(), FsError> {
        self.change(handle, |_| (size, |bytes: &mut Vec<u8>, size| bytes.resize(size, 0)))
    }

    /// Changes a file. `plan` returns the end of the change in bytes, and the change itself.
    fn change<C: FnOnce(&mut Vec<u8>, usize)>(
        &self,
        handle: u64,
        plan: impl FnOnce(&[u8]) -> (u64, C),
    ) -> Result<(), FsError> {
        let mut state = lock(&self.state);
        let others = state.open.iter().filter(|(other, _)| **other != handle);
        let others: u64 = others.map(|(_, file)| file.bytes.len() as u64).sum();
        let file = state.open.get_mut(&handle).ok_or(FsError::Stale)?;
        let (end, change) = plan(&file.bytes);
        let most = BYTES_MAX.min(ALL_BYTES_MAX.saturating_sub(others));
        file.is_cut |= end > most;
        let end = usize::try_from(end).ok().filter(|_| !file.is_cut).ok_or_else(|| {
            let why = format!(
                "the file has more than {BYTES_MAX} bytes, or all files that are being written have more than \
                 {ALL_BYTES_MAX}"
            );
            FsError::from(Refusal::new(Errno::EFBIG, why))
        })?;
        change(&mut file.bytes, end);
        (file.is_new, file.modified_ms) = (true, now_ms());
        Ok(())
    }

    /// The bytes that take effect now, because `process` closes a descriptor; `None` if there are none.
    pub(crate) fn take(&self, handle: u64, process: u32) -> Option<(Purpose, Vec<u8>)> {
        let mut state = lock(&self.state);
        let file = state.open.get_mut(&handle)?;
        (file.process == process && !file.bytes.is_empty())
            .then(|| file.take())
            .flatten()
    }

    /// The bytes that take effect now, because a process asks for it; `None` if there are none.
    pub(crate) fn take_written(&self, handle: u64) -> Option<(Purpose, Vec<u8>)> {
        let mut state = lock(&self.state);
        let file = state.open.get_mut(&handle)?;
        (!file.bytes.is_empty()).then(|| file.take()).flatten()
    }

    /// Closes a file. Returns the bytes that take effect now; `None` if they have.
    pub(crate) fn close(&self, handle: u64) -> Option<(Purpose, Vec<u8>)> {
        lock(&self.state).open.remove(&handle)?.take()
    }

    /// Forgets `times` lookups of a file that did not exist. Returns false for other inodes.
    pub(crate) fn forget(&self, ino: u64, times: u64) -> bool {
        let mut state = lock(&self.state);
        let Some((_, known)) = state.created.get_mut(&ino) else {
            return false;
        };
        *known = known.saturating_sub(times);
        if *known == 0 {
            state.created.remove(&ino);
        }
        true
    }
}

impl State {
    fn attributes(&self, ino: u64) -> Option<Attributes> {
        let (handle, _) = self.created.get(&ino)?;
        let file = self.open.get(handle);
        let size = file.map_or(0, |file| file.bytes.len() as u64);
        Some(Attributes {
            ino,
            size,
            blocks: size.div_ceil(512),
            file_type: FileType::File,
            modified_ms: file.map_or(0, |file| file.modified_ms),
            writable: true,
            has_name: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHELL: u32 = 7;

    fn opened(documents: &Documents, bytes: &[u8], is_new: bool) -> u64 {
        let purpose = Purpose::Schema { folder: "a".into() };
        let document = Document::new(purpose, bytes.to_vec(), is_new, SHELL);
        documents.open(document).unwrap()
    }

    fn text(taken: Option<(Purpose, Vec<u8>)>) -> Option<String> {
        taken.map(|(_, bytes)| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn bytes_take_effect_once_when_the_opener_closes_the_file() {
        let documents = Documents::default();
        let file = opened(&documents, b"", true);
        assert_eq!(
            text(documents.take(file, SHELL)),
            None,
            "a shell closes a copy before it writes"
        );
        documents.write(file, Some(0), b"one").unwrap();
        assert_eq!(text(documents.take(file, 8)), None, "a process that inherited the file");
        assert_eq!(text(documents.take(file, SHELL)).as_deref(), Some("one"));
        assert_eq!(text(documents.take_written(file)), None);
        documents.write(file, None, b"two").unwrap();
        assert_eq!(text(documents.take_written(file)).as_deref(), Some("onetwo"));
        assert_eq!(text(documents.close(file)), None);
        assert!(!documents.has_open_files());
        let empty = opened(&documents, b"", true);
        assert_eq!(text(documents.close(empty)).as_deref(), Some(""));
        let read = opened(&documents, b"old", false);
        assert_eq!(text(documents.close(read)), None, "nothing was written");
    }

    #[test]
    fn two_programs_do_not_mix_their_bytes() {
        let documents = Documents::default();
        let (a, b) = (opened(&documents, b"", true), opened(&documents, b"old", false));
        documents.write(a, Some(0), b"aaaa").unwrap();
        documents.write(b, None, b"er").unwrap();
        documents.set_size(a, 2).unwrap();
        assert_eq!(documents.read(b, 1, 9).unwrap(), "lder");
        assert_eq!(text(documents.close(a)).as_deref(), Some("aa"));
        assert_eq!(text(documents.close(b)).as_deref(), Some("older"));
    }

    #[test]
    fn memory_is_bounded_and_a_file_that_is_too_large_has_no_effect() {
        let documents = Documents::default();
        let file = opened(&documents, b"x", true);
        documents.set_size(file, u64::MAX).unwrap_err();
        documents.write(file, Some(0), b"rest").unwrap_err();
        assert_eq!(text(documents.close(file)), None);
        let files: Vec<u64> = (0..FILES_MAX).map(|_| opened(&documents, b"", true)).collect();
        let purpose = Purpose::Schema { folder: "b".into() };
        documents
            .open(Document::new(purpose, Vec::new(), true, SHELL))
            .unwrap_err();
        let fit = files.iter().filter(|f| documents.set_size(**f, BYTES_MAX).is_ok());
        assert_eq!(fit.count() as u64, ALL_BYTES_MAX / BYTES_MAX);
    }
}
