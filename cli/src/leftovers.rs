//! Finds what killed commands leave on the local disk: unfinished arrays and exports, named `.hyperslab-….part`. The
//! process that writes one holds a lock on it, which the system releases when the process ends.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::show;

/// Younger files do not count as leftovers, because their process may not have locked them yet.
const FRESH: Duration = Duration::from_mins(1);

/// The end of the random names of unfinished files.
pub(crate) const SUFFIX: &str = ".part";
/// The start of these names.
pub(crate) const PREFIX: &str = ".hyperslab-";

/// Locks the file or folder that this process is writing. If it cannot be locked, no process removes it as a leftover.
pub(crate) fn lock(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// The unfinished files and folders in this folder whose process is gone.
pub(crate) fn find(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_ours = |name: &str| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours));
    let mut found: Vec<_> = ours
        .map(|entry| entry.path())
        .filter(|path| is_left_over(path))
        .collect();
    found.sort();
    found
}

/// Removes what [`find`] finds, with a message for each.
pub(crate) fn remove(folder: &Path) {
    for path in find(folder) {
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        let path = path.display();
        match removed {
            Ok(()) => show::note(format_args!("removed {path}, which a killed command left")),
            Err(error) => show::warning(format_args!(
                "cannot remove {path}, which a killed command left: {error}"
            )),
        }
    }
}

fn is_left_over(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let modified = file.metadata().and_then(|m| m.modified());
    // A time in the future means a wrong clock, so the age is unknown.
    let age = modified.ok().and_then(|then| then.elapsed().ok()).unwrap_or_default();
    age > FRESH && !matches!(file.try_lock(), Err(TryLockError::WouldBlock | TryLockError::Error(_)))
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn files_of_a_running_process_are_no_leftovers() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let then = SystemTime::now() - 2 * FRESH;
        for name in [
            ".hyperslab-1.part",
            ".hyperslab-2.part",
            ".hyperslab-3.part",
            "other.part",
        ] {
            fs::create_dir(path(name)).unwrap();
            File::open(path(name)).unwrap().set_modified(then).unwrap();
        }
        fs::write(path(".hyperslab-4.part"), "half").unwrap();
        let file = File::options().write(true).open(path(".hyperslab-4.part")).unwrap();
        file.set_modified(then).unwrap();
        fs::create_dir(path(".hyperslab-5.part")).unwrap();
        let held = lock(&path(".hyperslab-2.part"));
        assert!(held.is_some());
        let left = [1, 3, 4].map(|n| path(&format!(".hyperslab-{n}.part")));
        assert_eq!(find(dir.path()), left);
        drop(held);
        remove(dir.path());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
