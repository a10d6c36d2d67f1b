//! Creates files atomically and syncs them.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use cap_std::fs::{Dir, OpenOptions};

use super::root::{LocalRoot, reading, regular};
use crate::cpu::Cpu;
use crate::vfs::path::{join, last_part, split};

/// The number of unsynced bytes from which a thread is started to sync them.
const SETTLED_BYTES: u64 = 32 << 20;

/// A temporary file modified more recently than this may belong to a writer that has not locked it yet.
const FRESH: Duration = Duration::from_mins(1);
/// If files cannot be locked, a temporary file that was not modified for this long is abandoned.
const ABANDONED: Duration = Duration::from_hours(24);

/// Atomically creates the file `name`, and its folder, with the concatenated `parts`.
pub(super) fn put(root: &LocalRoot, name: &str, parts: &[Bytes]) -> io::Result<()> {
    if parts.iter().all(Bytes::is_empty) {
        // An empty file (a commit marker) is complete once its name exists.
        return root.in_folder(name, |dir, own| create_new(dir, own).map(drop));
    }
    let mut pending = Pending::new(root, name)?;
    for part in parts {
        pending.append(part)?;
    }
    pending.finish()
}

/// Like [`put`], but replaces an existing file.
pub(super) fn overwrite(root: &LocalRoot, name: &str, parts: &[Bytes]) -> io::Result<()> {
    let mut pending = Pending::begun(root, name)?;
    for part in parts {
        pending.append(part)?;
    }
    root.in_folder(name, |dir, own| pending.folder.rename(&pending.temporary, dir, own))
}

fn create_new(dir: &Dir, own: &str) -> io::Result<File> {
    let created = dir.open_with(own, OpenOptions::new().write(true).create_new(true))?;
    Ok(created.into_std())
}

/// A file being written under a temporary name. It is removed if dropped unfinished.
pub(super) struct Pending {
    file: File,
    root: LocalRoot,
    /// The folder of the temporary file.
    folder: Dir,
    temporary: String,
    name: String,
    /// Bytes that no thread has been started to sync yet.
    unsettled: u64,
    settling: Option<JoinHandle<io::Result<()>>>,
}

impl Pending {
    pub(super) fn new(root: &LocalRoot, name: &str) -> io::Result<Self> {
        let pending = Self::begun(root, name)?;
        // Fail now rather than after writing gigabytes.
        let (folder, own) = split(name);
        if root.folder(folder).is_ok_and(|dir| dir.symlink_metadata(own).is_ok()) {
            Err(ErrorKind::AlreadyExists.into())
        } else {
            Ok(pending)
        }
    }

    fn begun(root: &LocalRoot, name: &str) -> io::Result<Self> {
        let (file, folder, temporary) = root.in_folder(&temporary(name), |dir, own| {
            Ok((create_new(dir, own)?, dir.try_clone()?, own.to_owned()))
        })?;
        // The lock is released when the process ends, however it ends. It shows a cleanup that this writer is alive.
        // Without a lock, the cleanup goes by the age of the file.
        let _ = file.try_lock();
        Ok(Self {
            file,
            root: root.clone(),
            folder,
            temporary,
            name: name.to_owned(),
            unsettled: 0,
            settling: None,
        })
    }

    pub(super) fn append(&mut self, part: &[u8]) -> io::Result<()> {
        self.unsettled += part.len() as u64;
        self.file.write_all(part)
    }

    /// Starts a thread to sync the bytes so far, if there are enough and no such thread is running.
    pub(super) fn start_sync(&mut self) {
        if self.unsettled < SETTLED_BYTES || self.settling.as_ref().is_some_and(|s| !s.is_finished()) {
            return;
        }
        let before = self.settling.take();
        // If no thread can be started, the final sync does it all.
        self.settling = self.file.try_clone().ok().and_then(|file| {
            let start_sync = move || before.map_or(Ok(()), joined).and_then(|()| file.sync_data());
            thread::Builder::new().spawn(start_sync).ok()
        });
        self.unsettled = 0;
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        // The system reports a failed sync only once; a later sync would not report it.
        self.settling.take().map_or(Ok(()), joined)?;
        self.root.in_folder(&self.name, |dir, own| {
            match self.folder.hard_link(&self.temporary, dir, own) {
                Err(e) if cannot_link(&e) => self.rename_where_free(dir, own),
                done => done,
            }
        })
        // Dropping removes the temporary name.
    }

    /// Not atomic if another writer uses the same name, but names in arrays are unique.
    fn rename_where_free(&self, dir: &Dir, own: &str) -> io::Result<()> {
        if dir.symlink_metadata(own).is_ok() {
            Err(ErrorKind::AlreadyExists.into())
        } else {
            self.folder.rename(&self.temporary, dir, own)
        }
    }
}

fn joined(settling: JoinHandle<io::Result<()>>) -> io::Result<()> {
    let panicked = |_| Err(io::Error::other("a thread that synced the file panicked"));
    settling.join().unwrap_or_else(panicked)
}

impl Drop for Pending {
    fn drop(&mut self) {
        // After a rename it is gone already. If it cannot be removed, listings hide it.
        let _ = self.folder.remove_file(&self.temporary);
    }
}

/// Whether `name` is a temporary name of [`Pending`].
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(".hyperslab-") && name.ends_with(".tmp")
}

/// The names of temporary files in `folder` whose writers are dead.
pub(super) fn leftovers(folder: &Dir) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in folder.entries()? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // Skip a file that cannot be inspected; its writer may have finished it meanwhile.
        if is_temporary(&name)
            && entry.file_type().is_ok_and(|t| t.is_file())
            && is_left_over(folder, &name).unwrap_or(false)
        {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

fn is_left_over(folder: &Dir, name: &str) -> io::Result<bool> {
    let (file, _) = regular(folder.open_with(name, &reading())?.into_std())?;
    // A modification time in the future means a wrong clock, so treat the file as fresh.
    let age = file.metadata()?.modified()?.elapsed().unwrap_or_default();
    Ok(age > FRESH
        && match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => age > ABANDONED,
        })
}

/// Syncs the file `name`, or the folder `name` and everything in it. Links are not followed.
pub(super) fn sync_tree(root: &LocalRoot, name: &str) -> io::Result<()> {
    match root.folder(name) {
        Ok(dir) => sync_folder(&dir),
        Err(e) if e.kind() == ErrorKind::NotADirectory => {
            let (folder, own) = split(name);
            sync_one(&root.folder(folder)?, own)
        }
        Err(e) => Err(e),
    }
}

fn sync_folder(dir: &Dir) -> io::Result<()> {
    let mut children = Vec::new();
    for child in dir.entries()? {
        let child = child?;
        let kind = child.file_type()?;
        if kind.is_dir() || kind.is_file() {
            children.push((child.file_name(), kind.is_dir()));
        }
    }
    // In parallel: a disk syncs many files in the time of a few.
    Cpu::default().try_map(&children, |(name, is_dir)| {
        if *is_dir {
            sync_folder(&dir.open_dir(name)?)
        } else {
            sync_one(dir, name)
        }
    })?;
    sync_one(dir, ".")
}

/// Syncs a file in `dir`, or the names in the folder if `name` is `.`.
pub(super) fn sync_one(dir: &Dir, name: impl AsRef<Path>) -> io::Result<()> {
    let name = name.as_ref();
    match dir.open_with(name, &reading()).and_then(|file| file.sync_all()) {
        // Windows cannot open folders; there, syncing a file makes its name durable.
        Err(_) if cfg!(windows) && dir.is_dir(name) => Ok(()),
        done => done,
    }
}

/// A temporary name near `name`, unique to this process.
///
/// It is never inside one of an array's own folders. libtiledb takes every name in `__schema`, `__meta` and
/// `__fragment_meta` for one of its own files and would fail. In the array's root it skips names that start with a dot.
fn temporary(name: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut folder = split(name).0;
    while last_part(folder).starts_with("__") {
        folder = split(folder).0;
    }
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    // Two machines that share the disk may use the same process number. With address randomisation, a static rarely has
    // the same address in both, and `create_new` catches the remaining cases.
    let here = std::ptr::from_ref(&NEXT) as usize;
    join(folder, &format!(".hyperslab-{process}-{here:x}-{number}.tmp"))
}

/// Whether the file system has no hard links.
fn cannot_link(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_synced_while_it_grows_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let mut pending = Pending::new(&LocalRoot::new(dir.path()), "f").unwrap();
        let part: Vec<u8> = (0..SETTLED_BYTES / 4 + 1).map(|i| (i % 251) as u8).collect();
        let mut begun = 0;
        for _ in 0..12 {
            pending.append(&part).unwrap();
            pending.start_sync();
            begun += u32::from(pending.unsettled == 0);
        }
        assert!(begun > 0 && pending.settling.is_some());
        pending.finish().unwrap();
        assert!(std::fs::read(dir.path().join("f")).unwrap() == part.repeat(12));
    }

    /// The system reports bytes that it could not write only once.
    #[test]
    fn a_failed_sync_leaves_no_file() {
        for later in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let mut pending = Pending::new(&LocalRoot::new(dir.path()), "f").unwrap();
            let failing = thread::spawn(|| Err(io::Error::other("the disk is gone")));
            while !failing.is_finished() {
                thread::yield_now();
            }
            pending.settling = Some(failing);
            if later {
                pending.unsettled = SETTLED_BYTES;
                pending.start_sync();
                assert_eq!(pending.unsettled, 0);
            }
            assert_eq!(pending.finish().unwrap_err().to_string(), "the disk is gone");
            assert!(!dir.path().join("f").exists());
        }
    }
}
