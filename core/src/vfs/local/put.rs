//! Making files that appear whole, and making them last.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;

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

/// A file that is being written under a temporary name; dropped unfinished, it is removed.
pub(super) struct Pending {
    file: File,
    temporary: PathBuf,
    place: PathBuf,
}

impl Pending {
    pub(super) fn new(root: &Path, place: &Path) -> io::Result<Self> {
        let temporary = temporary(root, place)?;
        let file = in_folder(place, || File::create_new(&temporary))?;
        // The lock goes with the process, however it ends, and so tells who comes to clean up that
        // this writer lives. Without it, age has to tell.
        let _ = file.try_lock();
        let pending = Self {
            file,
            temporary,
            place: place.to_owned(),
        };
        // Better found out now rather than after gigabytes.
        if place.symlink_metadata().is_ok() {
            Err(ErrorKind::AlreadyExists.into())
        } else {
            Ok(pending)
        }
    }

    pub(super) fn append(&mut self, part: &[u8]) -> io::Result<()> {
        self.file.write_all(part)
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match in_folder(&self.place, || fs::hard_link(&self.temporary, &self.place)) {
            Err(e) if cannot_link(&e) => rename_where_free(&self.temporary, &self.place),
            done => done,
        }
        // Dropping removes the temporary name.
    }
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
        for child in fs::read_dir(place)? {
            sync_tree(&child?.path())?;
        }
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
