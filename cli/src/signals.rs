//! Cleans up when a command is interrupted.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyperslab::Transaction;
use hyperslab::blocking::{block_on, sleep};
use hyperslab::internals::Report;

use crate::{leftovers, progress};

/// Unfinished files and writes. A signal takes the lock and keeps it until the program ends, so that other threads
/// neither complete the files that it removes nor report that they are gone.
static PENDING: Mutex<Vec<Half>> = Mutex::new(Vec::new());

enum Half {
    /// A file or folder on the local disk.
    Local(PathBuf),
    /// A change to an array, or a creation in a store without renames.
    Change(Transaction),
}

/// How often to try to remove a folder while other threads write to it.
const ATTEMPTS: u32 = 100;

/// How long a signal waits for writes in progress.
const GRACE: Duration = Duration::from_secs(3);

static ENDLESS: AtomicBool = AtomicBool::new(false);

/// Handles SIGINT and SIGTERM: removes unfinished files, and ends the program with the shell's exit code for a signal.
pub(crate) fn install() {
    let end = || {
        let mut pending = lock();
        let mut stays = false;
        for half in pending.drain(..) {
            match half {
                // Other threads may still be writing.
                Half::Local(path) => (0..ATTEMPTS).take_while(|_| path.exists()).for_each(|_| remove(&path)),
                Half::Change(transaction) => stays |= block_on(transaction.abort(sleep(GRACE))),
            }
        }
        if stays {
            progress::clear();
            crate::show::styled(
                Report::from("interrupted: the change may be partly or fully applied; check with `hyperslab info`")
                    .coloured(),
            );
        }
        std::process::exit(if ENDLESS.load(Ordering::Relaxed) { 0 } else { 130 });
    };
    // A second handler is refused, but the first one is enough.
    let _ = ctrlc::set_handler(end);
}

/// Marks the command as one that runs until a signal, so that a signal is not an error.
pub(crate) fn end_well() {
    ENDLESS.store(true, Ordering::Relaxed);
}

/// A path that is removed on an error or a signal, unless it is kept.
#[derive(Debug)]
pub(crate) struct Pending {
    path: PathBuf,
    /// Shows other processes that this one is alive.
    lock: Option<File>,
}

impl Pending {
    /// Marks `path` as unfinished.
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        lock().push(Half::Local(path.clone()));
        Self { path, lock: None }
    }

    /// Locks the path, which now exists, so that other processes keep it while this one is alive.
    pub(crate) fn hold(&mut self) {
        self.lock = leftovers::lock(&self.path);
    }

    /// The path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the complete file or folder to `name`.
    pub(crate) fn keep_as(mut self, name: &Path) -> std::io::Result<()> {
        let mut pending = lock();
        std::fs::rename(&self.path, name)?;
        forget(&mut pending, &self.path);
        drop(self.lock.take());
        Ok(())
    }

    /// Gives the complete folder the name of another one, which is removed.
    pub(crate) fn replace(self, name: &Path) -> std::io::Result<()> {
        if !name.exists() {
            return self.keep_as(name);
        }
        let pending = lock();
        exchange(&self.path, name)?;
        drop(pending);
        // The old folder now has the temporary name, and goes with it.
        Ok(())
    }
}

/// Lets two folders change places at once, so that readers find one of them at any time.
#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
        // The file system cannot.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => exchange_in_steps(a, b),
        done => Ok(done?),
    }
}

#[cfg(not(target_os = "linux"))]
fn exchange(a: &Path, b: &Path) -> std::io::Result<()> {
    exchange_in_steps(a, b)
}

/// The same with three renames. If the second fails, the first is undone.
fn exchange_in_steps(a: &Path, b: &Path) -> std::io::Result<()> {
    let aside = temporary_path(a).map_err(std::io::Error::other)?;
    std::fs::rename(b, &aside)?;
    if let Err(error) = std::fs::rename(a, b) {
        std::fs::rename(&aside, b)?;
        return Err(error);
    }
    std::fs::rename(&aside, a)
}

impl Drop for Pending {
    fn drop(&mut self) {
        forget(&mut lock(), &self.path);
        remove(&self.path);
    }
}

fn forget(pending: &mut Vec<Half>, path: &Path) {
    pending.retain(|half| !matches!(half, Half::Local(p) if p == path));
}

/// From here on, a signal aborts `transaction`, and the progress bar counts its writes.
pub(crate) fn begin(transaction: &Transaction) {
    transaction.on_append(progress::written);
    lock().push(Half::Change(transaction.clone()));
}

/// A unique temporary name in the folder of `path`. It is short, because `path` may have the longest possible name, and
/// random, because other machines may write to the same folder.
pub(crate) fn temporary_path(path: &Path) -> anyhow::Result<PathBuf> {
    let drawn: String = crate::store::seed()?
        .iter()
        .take(8)
        .map(|b| format!("{b:02x}"))
        .collect();
    Ok(path.with_file_name(format!("{}{drawn}{}", leftovers::PREFIX, leftovers::SUFFIX)))
}

/// Does not return after a signal.
pub(crate) fn stop_here() {
    drop(lock());
}

/// Removes the progress bar from standard error. Does not return after a signal.
pub(crate) fn clear_line() {
    stop_here();
    progress::clear();
}

fn remove(path: &Path) {
    // It may be gone already, and an error cannot be reported here.
    let _ = if path.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
}

fn lock() -> MutexGuard<'static, Vec<Half>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}
