//! Locks between the processes of a machine, held while they change a folder.

use std::fs::{File, TryLockError};
use std::thread;

use cap_std::fs::{Dir, OpenOptions};
use futures_channel::oneshot;

use crate::vfs::Lock;

/// A locked file. Dropping it removes the file and releases the lock. The lock is also released when the process ends.
struct Held {
    folder: Dir,
    name: String,
    _file: File,
}

impl Lock for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        // Waiters notice that the file was removed, and open the next one. On Windows the file stays.
        if cfg!(unix) {
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

/// Whether `name` is the name of a lock file.
pub(super) fn is_lock(name: &str) -> bool {
    name.starts_with(".hyperslab-") && name.ends_with(".lock")
}

/// Acquires the lock `name` of `folder`. Returns `None` if its file cannot be created or locked.
pub(super) async fn acquire(folder: Dir, name: &str) -> Option<Box<dyn Lock>> {
    let name = format!(".hyperslab-{name}.lock");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    loop {
        let file = folder.open_with(&name, &options).ok()?.into_std();
        let file = match file.try_lock() {
            Ok(()) => file,
            Err(TryLockError::WouldBlock) => wait(file).await?,
            Err(TryLockError::Error(_)) => return None,
        };
        if is_at(&file, &folder, &name) {
            return Some(Box::new(Held {
                folder,
                name,
                _file: file,
            }));
        }
    }
}

/// Waits on a separate thread, because the holder may be another task of this thread.
async fn wait(file: File) -> Option<File> {
    let (tell, told) = oneshot::channel();
    let lock = move || {
        let locked = file.lock().is_ok();
        // Fails only if the receiver was dropped.
        let _ = tell.send(locked.then_some(file));
    };
    thread::Builder::new().spawn(lock).ok()?;
    told.await.ok().flatten()
}

/// Whether the file still has this name.
#[cfg(unix)]
fn is_at(file: &File, folder: &Dir, name: &str) -> bool {
    use cap_std::fs::MetadataExt as _;
    use std::os::unix::fs::MetadataExt;
    let (Ok(own), Ok(there)) = (file.metadata(), folder.metadata(name)) else {
        return false;
    };
    (MetadataExt::dev(&own), MetadataExt::ino(&own)) == (there.dev(), there.ino())
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Dir, _: &str) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use cap_std::ambient_authority;

    use super::*;
    use crate::blocking::block_on;

    #[test]
    fn a_lock_has_one_holder_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
        let (holders, rounds) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let held = block_on(acquire(folder.try_clone().unwrap(), "test")).unwrap();
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        rounds.fetch_add(1, Ordering::SeqCst);
                        thread::yield_now();
                        holders.fetch_sub(1, Ordering::SeqCst);
                        drop(held);
                    }
                });
            }
        });
        assert_eq!(rounds.into_inner(), 160);
        let left = std::fs::read_dir(dir.path()).unwrap().count();
        assert!(left == 0 || cfg!(not(unix)));
    }
}
