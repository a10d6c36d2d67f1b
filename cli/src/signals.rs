//! What has to be undone when a command is interrupted.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::leftovers;
use crate::staging::Staging;
use crate::undo::Undo;

/// What is half made. A signal takes the lock and keeps it to the end: what is being removed is not finished
/// meanwhile, and nobody complains that it is gone.
static PENDING: Mutex<Vec<Half>> = Mutex::new(Vec::new());

enum Half {
    /// A file or folder on the local disk.
    Local(PathBuf),
    /// What is in the making in another store.
    Remote(Staging),
    /// What is being written into an array.
    Write(Undo),
}

/// How often the removal of a folder that is written to is tried.
const ATTEMPTS: u32 = 100;

static ENDLESS: AtomicBool = AtomicBool::new(false);

/// SIGINT and SIGTERM remove what is half made, and end the program with the shell's code for it.
pub(crate) fn install() {
    let end = || {
        let mut pending = lock();
        let mut stays = false;
        for half in pending.drain(..) {
            match half {
                // Other threads go on writing.
                Half::Local(path) => (0..ATTEMPTS).take_while(|_| path.exists()).for_each(|_| remove(&path)),
                Half::Remote(staging) => staging.abandon(),
                Half::Write(undo) => stays |= undo.abandon(),
            }
        }
        if stays {
            crate::progress::clear();
            crate::show::complaint(format_args!(
                "hyperslab: interrupted, when all or some of the change had been made; `hyperslab info` shows what there is"
            ));
        }
        std::process::exit(if ENDLESS.load(Ordering::Relaxed) { 0 } else { 130 });
    };
    // A second handler is refused; the first serves as well.
    let _ = ctrlc::set_handler(end);
}

/// The command goes on until it is told to end, so that a signal is no failure.
pub(crate) fn end_well() {
    ENDLESS.store(true, Ordering::Relaxed);
}

/// A path that is removed unless it is kept: on an error, and on a signal.
#[derive(Debug)]
pub(crate) struct Pending {
    path: PathBuf,
    /// Tells other processes that this one lives.
    lock: Option<File>,
}

impl Pending {
    /// Marks `path` as half made.
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        lock().push(Half::Local(path.clone()));
        Self { path, lock: None }
    }

    /// There is something at the path now: other processes are to leave it alone as long as this one lives.
    pub(crate) fn hold(&mut self) {
        self.lock = leftovers::lock(&self.path);
    }

    /// The path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path is whole: gives it this name.
    pub(crate) fn keep_as(mut self, name: &Path) -> std::io::Result<()> {
        let mut pending = lock();
        std::fs::rename(&self.path, name)?;
        forget(&mut pending, &self.path);
        drop(self.lock.take());
        Ok(())
    }
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

/// Until [`end_remote`], a signal abandons what is made there. There is one at a time.
pub(crate) fn begin_remote(staging: &Staging) {
    lock().push(Half::Remote(staging.clone()));
}

/// What was made in another store is whole, or removed.
pub(crate) fn end_remote() {
    lock().retain(|half| !matches!(half, Half::Remote(_)));
}

/// From here on, a signal takes back what is written there and not seen yet.
pub(crate) fn begin_write(undo: &Undo) {
    lock().push(Half::Write(undo.clone()));
}

/// A name beside `path`, never given twice, for what is not finished yet. It is short, for `path` may have the
/// longest name there is, and drawn, for other machines may write into the same folder.
pub(crate) fn beside(path: &Path) -> anyhow::Result<PathBuf> {
    let drawn: String = crate::store::seed()?
        .iter()
        .take(8)
        .map(|b| format!("{b:02x}"))
        .collect();
    Ok(path.with_file_name(format!("{}{drawn}{}", leftovers::PREFIX, leftovers::SUFFIX)))
}

/// Starts a new line of standard error if a progress bar is on this one. Does not return once a signal has come.
pub(crate) fn clear_line() {
    drop(lock());
    crate::progress::clear();
}

fn remove(path: &Path) {
    // Gone already is fine, and there is nobody to tell of a failure.
    let _ = if path.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
}

fn lock() -> MutexGuard<'static, Vec<Half>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}
