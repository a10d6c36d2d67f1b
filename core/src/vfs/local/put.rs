//! Making files that appear whole, and making them last.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;

use crate::cpu::Cpu;

/// Bytes that are worth a thread of their own on their way to the disk.
const SETTLED_BYTES: u64 = 32 << 20;

/// A temporary file touched later than this may be one that its writer has not locked yet.
const FRESH: Duration = Duration::from_mins(1);
/// Where files cannot be locked, one that was not touched for so long has no writer any more.
const ABANDONED: Duration = Duration::from_hours(24);

/// Creates `place`, which is below `root`, and its folder with the concatenated `parts`, or nothing.
pub(super) fn put(root: &Path, place: &Path, parts: &[Bytes]) -> io::Result<()> {
    if parts.iter().all(Bytes::is_empty) {
        // An empty file (a commit marker) is whole as soon as its name is there.
        return in_folder(place, || File::create_new(place).map(drop));
    }
    let mut pending = Pending::new(root, place)?;
    for part in parts {
        pending.append(part)?;
    }
    pending.finish()
}

/// The same in place of a file that is there, if any.
pub(super) fn put_over(root: &Path, place: &Path, parts: &[Bytes]) -> io::Result<()> {
    let mut pending = Pending::begun(root, place)?;
    for part in parts {
        pending.append(part)?;
    }
    fs::rename(&pending.temporary, place)
}

/// A file that is being written under a temporary name; dropped unfinished, it is removed.
pub(super) struct Pending {
    file: File,
    temporary: PathBuf,
    place: PathBuf,
    /// Bytes that no thread was asked to bring to the disk yet.
    unsettled: u64,
    settling: Option<JoinHandle<io::Result<()>>>,
}

impl Pending {
    pub(super) fn new(root: &Path, place: &Path) -> io::Result<Self> {
        let pending = Self::begun(root, place)?;
        // Better found out now rather than after gigabytes.
        if place.symlink_metadata().is_ok() {
            Err(ErrorKind::AlreadyExists.into())
        } else {
            Ok(pending)
        }
    }

    fn begun(root: &Path, place: &Path) -> io::Result<Self> {
        let temporary = temporary(root, place)?;
        let file = in_folder(place, || File::create_new(&temporary))?;
        // The lock goes with the process, however it ends, and so tells who comes to clean up that
        // this writer lives. Without it, age has to tell.
        let _ = file.try_lock();
        Ok(Self {
            file,
            temporary,
            place: place.to_owned(),
            unsettled: 0,
            settling: None,
        })
    }

    pub(super) fn append(&mut self, part: &[u8]) -> io::Result<()> {
        self.unsettled += part.len() as u64;
        self.file.write_all(part)
    }

    /// Lets another thread bring to the disk what is here, if that is much and none is at it.
    pub(super) fn settle(&mut self) {
        if self.unsettled < SETTLED_BYTES || self.settling.as_ref().is_some_and(|s| !s.is_finished()) {
            return;
        }
        let before = self.settling.take();
        // Where there is no thread to be had, the sync in the end does it all.
        self.settling = self.file.try_clone().ok().and_then(|file| {
            let settle = move || before.map_or(Ok(()), joined).and_then(|()| file.sync_data());
            thread::Builder::new().spawn(settle).ok()
        });
        self.unsettled = 0;
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        // The system tells of a failure once: whoever syncs later would not hear of it.
        self.settling.take().map_or(Ok(()), joined)?;
        match in_folder(&self.place, || fs::hard_link(&self.temporary, &self.place)) {
            // In the folder too: where that cannot be made, this is what to tell.
            Err(e) if cannot_link(&e) => in_folder(&self.place, || rename_where_free(&self.temporary, &self.place)),
            done => done,
        }
        // Dropping removes the temporary name.
    }
}

fn joined(settling: JoinHandle<io::Result<()>>) -> io::Result<()> {
    let panicked = |_| Err(io::Error::other("a thread that synced the file panicked"));
    settling.join().unwrap_or_else(panicked)
}

impl Drop for Pending {
    fn drop(&mut self) {
        // Already gone after a rename; if it cannot be removed, listings hide it.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Whether `name` is one that [`Pending`] uses; such a file is nobody's yet.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(".hyperslab-") && name.ends_with(".tmp")
}

/// Names of the temporary files in `folder` whose writers are dead.
pub(super) fn leftovers(folder: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // A file that cannot be looked at may have been finished meanwhile.
        if is_temporary(&name) && is_left_over(&entry.path()).unwrap_or(false) {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

fn is_left_over(place: &Path) -> io::Result<bool> {
    let file = File::open(place)?;
    // A time in the future is a clock gone wrong: nothing is known then.
    let age = file.metadata()?.modified()?.elapsed().unwrap_or_default();
    Ok(age > FRESH
        && match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => age > ABANDONED,
        })
}

/// Makes the content of `place`, and if it is a folder of everything below it, outlive a power cut.
pub(super) fn sync_tree(place: &Path) -> io::Result<()> {
    if place.is_dir() {
        let children: Vec<PathBuf> = fs::read_dir(place)?
            .map(|child| Ok(child?.path()))
            .collect::<io::Result<_>>()?;
        // Side by side: a disk writes many files in the time of a few.
        Cpu::default().try_map(&children, |child| sync_tree(child))?;
    }
    sync_one(place)
}

/// Makes one file's bytes, or one folder's names, outlive a power cut.
pub(super) fn sync_one(place: &Path) -> io::Result<()> {
    match File::open(place).and_then(|file| file.sync_all()) {
        // Folders cannot be opened on Windows; there names are durable with their files.
        Err(_) if cfg!(windows) && place.is_dir() => Ok(()),
        done => done,
    }
}

/// A name of this process's own, near `place`.
///
/// Not beside it where it lies in one of an array's own folders: libtiledb takes every name it finds
/// in `__schema`, `__meta` and `__fragment_meta` for one of its files, and would fail on ours. In the
/// array's folder itself it skips names with a dot.
fn temporary(root: &Path, place: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut folder = place.parent().ok_or(ErrorKind::InvalidInput)?;
    while folder != root
        && folder
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"__"))
    {
        folder = folder.parent().ok_or(ErrorKind::InvalidInput)?;
    }
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    // Two machines that share the disk may share a process number; they hardly share the address of
    // a static under address randomisation, and `create_new` catches what is left.
    let here = std::ptr::from_ref(&NEXT) as usize;
    Ok(folder.join(format!(".hyperslab-{process}-{here:x}-{number}.tmp")))
}

/// Runs `make`; if the folder of `place` is missing, creates it and tries again.
fn in_folder<T>(place: &Path, make: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match make() {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(place.parent().ok_or(ErrorKind::InvalidInput)?)?;
            make()
        }
        made => made,
    }
}

/// Some file systems have no hard links.
fn cannot_link(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported)
}

/// Not atomic against another writer of the same name; names in arrays are unique.
fn rename_where_free(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        Err(ErrorKind::AlreadyExists.into())
    } else {
        fs::rename(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_settled_while_it_grows_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("f");
        let mut pending = Pending::new(dir.path(), &place).unwrap();
        let part: Vec<u8> = (0..SETTLED_BYTES / 4 + 1).map(|i| (i % 251) as u8).collect();
        let mut begun = 0;
        for _ in 0..12 {
            pending.append(&part).unwrap();
            pending.settle();
            begun += u32::from(pending.unsettled == 0);
        }
        assert!(begun > 0 && pending.settling.is_some());
        pending.finish().unwrap();
        assert!(fs::read(&place).unwrap() == part.repeat(12));
    }

    /// The system tells of bytes that it could not keep only once.
    #[test]
    fn what_failed_to_settle_is_no_file() {
        for later in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let place = dir.path().join("f");
            let mut pending = Pending::new(dir.path(), &place).unwrap();
            let failing = thread::spawn(|| Err(io::Error::other("the disk is gone")));
            while !failing.is_finished() {
                thread::yield_now();
            }
            pending.settling = Some(failing);
            if later {
                pending.unsettled = SETTLED_BYTES;
                pending.settle();
                assert_eq!(pending.unsettled, 0);
            }
            assert_eq!(pending.finish().unwrap_err().to_string(), "the disk is gone");
            assert!(!place.exists());
        }
    }
}
