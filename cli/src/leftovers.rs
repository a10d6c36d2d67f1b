//! What killed commands leave on the local disk: arrays and exports that were being made, under names of their own
//! (`.hyperslab-….part`). Their makers hold a lock on them, which goes with the process however it ends.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::show;

/// The maker of what is younger may not have locked it yet.
const FRESH: Duration = Duration::from_mins(1);

/// The end of a name drawn for what is being made.
pub(crate) const SUFFIX: &str = ".part";
/// The beginning of it.
pub(crate) const PREFIX: &str = ".hyperslab-";

/// Locks the file or folder that this process is making. Where that cannot be done nobody takes it for a leftover.
pub(crate) fn lock(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// What in this folder was being made by processes that are gone.
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

/// Removes what [`find`] finds, and says so.
pub(crate) fn remove(folder: &Path) {
    for path in find(folder) {
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        let path = path.display();
        show::complaint(match removed {
            Ok(()) => format!("hyperslab: removed {path}, which a killed command left"),
            Err(error) => format!("hyperslab: cannot remove {path}, which a killed command left: {error}"),
        });
    }
}

fn is_left_over(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let modified = file.metadata().and_then(|m| m.modified());
    // A time in the future is a clock gone wrong: nothing is known then.
    let age = modified.ok().and_then(|then| then.elapsed().ok()).unwrap_or_default();
    age > FRESH && !matches!(file.try_lock(), Err(TryLockError::WouldBlock | TryLockError::Error(_)))
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_a_living_process_makes_is_no_leftover() {
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
