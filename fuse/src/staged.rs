//! Files that programs are writing, before they become part of an array.
//!
//! A staged file has no name on the disk, so nothing of it is left if this program is killed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

/// The disk space for staged files.
#[derive(Debug)]
pub(crate) struct StagingArea {
    folder: PathBuf,
    bytes_max: u64,
    bytes: AtomicU64,
}

impl StagingArea {
    /// Stages at most `bytes_max` bytes at a time on the disk of `folder`.
    pub(crate) fn new(folder: &Path, bytes_max: u64) -> Arc<Self> {
        Arc::new(Self {
            folder: folder.to_owned(),
            bytes_max,
            bytes: AtomicU64::new(0),
        })
    }

    /// The whole space and the free space, in bytes.
    pub(crate) fn space(&self) -> (u64, u64) {
        (
            self.bytes_max,
            self.bytes_max.saturating_sub(self.bytes.load(Ordering::Relaxed)),
        )
    }

    /// Reserves the growth of a file from `old` to `new` bytes, or frees what it shrinks by.
    fn resize(&self, old: u64, new: u64) -> io::Result<()> {
        let resized = |bytes: u64| Some(bytes.saturating_sub(old).saturating_add(new)).filter(|b| *b <= self.bytes_max);
        match self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, resized) {
            Ok(_) => Ok(()),
            Err(_) => Err(io::Error::new(
                io::ErrorKind::StorageFull,
                format!(
                    "no space for files that are not complete yet: the limit is {} bytes; close other files in put/, \
                     write the file in parts, or mount with a larger --staging-size",
                    self.bytes_max
                ),
            )),
        }
    }
}

/// A file without a name.
#[derive(Debug)]
pub(crate) struct Staged {
    file: File,
    size: u64,
    area: Arc<StagingArea>,
}

impl Staged {
    /// Creates an empty file.
    ///
    /// # Errors
    /// The folder for temporary files cannot be written to.
    pub(crate) fn new(area: &Arc<StagingArea>) -> io::Result<Self> {
        Ok(Self {
            file: tempfile::tempfile_in(&area.folder)?,
            size: 0,
            area: Arc::clone(area),
        })
    }

    /// The size in bytes.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// The file. Only its contents are of use, not its position.
    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// Writes at an offset. A gap before it is filled with zeros.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] if the staging area or the disk is full.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let end = offset.checked_add(data.len() as u64);
        let end = end.ok_or(io::ErrorKind::FileTooLarge)?.max(self.size);
        self.area.resize(self.size, end)?;
        let before = std::mem::replace(&mut self.size, end);
        self.file.write_all_at(data, offset).inspect_err(|_| {
            let written = self.file.metadata().map_or(end, |m| m.len());
            self.size = written.clamp(before, end);
            // A file that shrinks always fits.
            let _ = self.area.resize(end, self.size);
        })
    }

    /// Cuts the file off, or extends it with zeros.
    ///
    /// # Errors
    /// Same as [`Staged::write`].
    pub(crate) fn set_size(&mut self, size: u64) -> io::Result<()> {
        self.area.resize(self.size, size)?;
        let before = std::mem::replace(&mut self.size, size);
        self.file.set_len(size).inspect_err(|_| {
            let _ = self.area.resize(size, before);
            self.size = before;
        })
    }

    /// Reads a byte range. The result is shorter only at the end of the file.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(crate) fn read(&self, offset: u64, size: u64) -> io::Result<Bytes> {
        let size = size.min(self.size.saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes.into())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let _ = self.area.resize(self.size, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(bytes_max: u64) -> Arc<StagingArea> {
        StagingArea::new(&std::env::temp_dir(), bytes_max)
    }

    #[test]
    fn parts_are_written_in_any_order() {
        let mut staged = Staged::new(&area(100)).unwrap();
        staged.write(4, b"end").unwrap();
        staged.write(0, b"st").unwrap();
        assert_eq!(staged.read(0, 100).unwrap()[..], b"st\0\0end"[..]);
        staged.set_size(3).unwrap();
        assert_eq!((staged.size(), &staged.read(1, 9).unwrap()[..]), (3, &b"t\0"[..]));
        assert!(staged.read(7, 1).unwrap().is_empty());
    }

    #[test]
    fn all_files_together_stay_within_the_limit() {
        let area = area(10);
        let (mut one, mut other) = (Staged::new(&area).unwrap(), Staged::new(&area).unwrap());
        one.write(0, b"sixsix").unwrap();
        let full = other.write(0, b"fivef").unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        assert!(full.to_string().contains("--staging-size"), "{full}");
        assert_eq!((other.size(), area.space()), (0, (10, 4)));
        assert!(other.set_size(u64::MAX).is_err());
        one.set_size(5).unwrap();
        other.write(0, b"fivef").unwrap();
        drop((one, other));
        assert_eq!(area.space(), (10, 10));
    }
}
