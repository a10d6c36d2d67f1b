//! Records the files of a write, so that a signal removes a write that is not committed.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyperslab::internals::format::name::TimestampedName;
use hyperslab::vfs::{BoxFuture, Entry, FileWriter, LocalReads, Lock, Vfs, split};

use crate::gate::Gate;

/// A store that records which fragments are unfinished.
#[derive(Clone)]
pub(crate) struct Undo {
    inner: Arc<dyn Vfs>,
    /// The array's own folder.
    array: Arc<str>,
    gate: Arc<Gate>,
    made: Arc<Mutex<Made>>,
    /// Whether a commit replaces fragments. A `.vac` file that is written after it lists them.
    merges: bool,
    locks: Arc<Mutex<Vec<Arc<Held>>>>,
}

/// A lock of the store, until its holder or a signal releases it.
struct Held(Mutex<Option<Box<dyn Lock>>>);

impl Held {
    fn release(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// The holder of a lock.
struct Holder(Arc<Held>);

impl Lock for Holder {}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.release();
    }
}

#[derive(Default)]
struct Made {
    /// The folders of the fragments that were begun since the last commit.
    folders: Vec<String>,
    /// Whether their commit file is being written.
    committing: bool,
    /// Whether something was committed before.
    shown: bool,
}

impl Undo {
    /// Wraps the store `inner` for a write to the array at `path`, or for a merge of its fragments.
    pub(crate) fn new(inner: Arc<dyn Vfs>, path: &str, merges: bool) -> Self {
        Self {
            merges,
            inner,
            array: path.into(),
            gate: Arc::default(),
            made: Arc::default(),
            locks: Arc::default(),
        }
    }

    /// Stops all writes, and removes the fragments that were begun. Keeps them if their commit is still in progress or
    /// has failed, because the store may have written it. Returns whether something is or may be committed.
    pub(crate) fn abandon(&self) -> bool {
        self.gate.close();
        let made = std::mem::take(&mut *self.made());
        if !made.committing {
            for folder in made.folders {
                // An error cannot be reported here.
                let _ = pollster::block_on(self.inner.remove_dir(&folder));
            }
        }
        for lock in self.locks().drain(..) {
            lock.release();
        }
        made.committing || made.shown
    }

    fn locks(&self) -> MutexGuard<'_, Vec<Arc<Held>>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the fragment of a file. A file outside of all fragments is complete by itself, or commits the fragments
    /// that were begun before.
    fn begin(&self, path: &str) {
        let (folder, _) = split(path);
        let mut made = self.made();
        // The array's own folder may have a fragment's name, and it has files too.
        if *folder == *self.array || TimestampedName::parse(split(folder).1).is_err() {
            made.committing = true;
        } else if !made.folders.iter().any(|f| f == folder) {
            made.folders.push(folder.to_owned());
        }
    }

    /// Records that a file was written.
    fn end(&self) {
        let mut made = self.made();
        if made.committing {
            *made = Made {
                shown: true,
                ..Made::default()
            };
        }
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vfs for Undo {
    fn inner(&self) -> Option<&dyn Vfs> {
        Some(&*self.inner)
    }

    fn read<'a>(&'a self, path: &'a str, ranges: &'a [Range<u64>]) -> BoxFuture<'a, Vec<Bytes>> {
        self.inner.read(path, ranges)
    }

    fn read_all<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Bytes> {
        self.inner.read_all(path)
    }

    fn size<'a>(&'a self, path: &'a str) -> BoxFuture<'a, u64> {
        self.inner.size(path)
    }

    fn read_tail<'a>(&'a self, path: &'a str, bytes: u64) -> BoxFuture<'a, (u64, Bytes)> {
        self.inner.read_tail(path, bytes)
    }

    fn read_tails<'a>(
        &'a self,
        paths: &'a [String],
        bytes: u64,
    ) -> BoxFuture<'a, Vec<hyperslab::Result<(u64, Bytes)>>> {
        self.inner.read_tails(paths, bytes)
    }

    fn read_files<'a>(&'a self, files: &'a [(Arc<str>, Vec<Range<u64>>)]) -> BoxFuture<'a, Vec<Vec<Bytes>>> {
        self.inner.read_files(files)
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        self.inner.list(dir)
    }

    fn lock<'a>(&'a self, dir: &'a str, name: &'a str) -> BoxFuture<'a, Option<Box<dyn Lock>>> {
        Box::pin(async move {
            let Some(lock) = self.inner.lock(dir, name).await? else {
                return Ok(None);
            };
            let held = Arc::new(Held(Mutex::new(Some(lock))));
            self.locks().push(Arc::clone(&held));
            let holder: Box<dyn Lock> = Box::new(Holder(held));
            Ok(Some(holder))
        })
    }

    fn put<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _passed = self.gate.pass().await;
            // A `.merge` file announces a commit, but is not one.
            if path.ends_with(".merge") {
                return self.inner.put(path, parts).await;
            }
            self.begin(path);
            // Between a merge and its `.vac` file, readers of an array with duplicates would see cells twice.
            let commits = self.merges && matches!(path.rsplit_once('.'), Some((_, "wrt" | "ok")));
            if commits {
                self.gate.hold();
            }
            let done = self.inner.put(path, parts).await;
            if path.ends_with(".vac") || (commits && done.is_err()) {
                self.gate.release();
            }
            done?;
            self.end();
            Ok(())
        })
    }

    fn overwrite<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _passed = self.gate.pass().await;
            self.inner.overwrite(path, parts).await
        })
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        Box::pin(async move {
            let _passed = self.gate.pass().await;
            self.begin(path);
            Ok(self.gate.guard(self.inner.create(path).await?))
        })
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.inner.create_dir(dir)
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, ()> {
        self.inner.remove(path)
    }

    fn remove_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.inner.remove_dir(dir)
    }

    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.inner.sync(dir)
    }

    fn local_reads(&self) -> Option<&dyn LocalReads> {
        self.inner.local_reads()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab::vfs::MemVfs;

    #[test]
    fn a_signal_removes_the_fragment_and_never_the_array() {
        let name = |t| format!("__{t}_{t}_0123456789abcdef0123456789abcdef_11");
        let array = name(1);
        let files = MemVfs::new();
        let put = |undo: &Undo, path: &str| pollster::block_on(undo.put(path, vec![])).unwrap();
        let undo = || Undo::new(Arc::new(files.clone()), &array, false);
        let writing = undo();
        put(&writing, &format!("{array}/{}.ok", name(2)));
        put(&writing, &format!("{array}/{}/a.tdb", name(3)));
        assert!(writing.abandon());
        let left: Vec<String> = files.files().into_iter().map(|(path, _)| path).collect();
        assert_eq!(left, [format!("{array}/{}.ok", name(2))]);

        let committed = undo();
        put(&committed, &format!("{array}/{}/a.tdb", name(4)));
        put(&committed, &format!("{array}/{}.ok", name(4)));
        assert!(committed.abandon());
        assert_eq!(files.files().len(), 3);

        let begun = undo();
        put(&begun, &format!("{array}/{}/a.tdb", name(5)));
        assert!(!begun.abandon());
        assert_eq!(files.files().len(), 3);
    }

    #[test]
    fn the_wrapper_forwards_the_properties_of_its_store() {
        let local = Arc::new(hyperslab::vfs::LocalVfs::new("/data"));
        let undo = Undo::new(Arc::clone(&local) as Arc<dyn Vfs>, "a", true);
        assert_eq!(undo.location("a"), local.location("a"));
        assert!(undo.location("a").is_some() && undo.failures_are_final() && undo.local_reads().is_some());
    }

    #[test]
    fn a_signal_does_not_separate_a_merge_from_its_vacuum_file() {
        let name = "__1_2_0123456789abcdef0123456789abcdef_22";
        let files = MemVfs::new();
        let undo = Undo::new(Arc::new(files.clone()), "a", true);
        pollster::block_on(undo.put(&format!("a/__fragments/{name}/a0.tdb"), vec![])).unwrap();
        pollster::block_on(undo.put(&format!("a/__commits/{name}.wrt"), vec![])).unwrap();
        let signal = std::thread::spawn({
            let undo = undo.clone();
            move || undo.abandon()
        });
        while !undo.gate.is_closed() {
            std::thread::yield_now();
        }
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(pollster::block_on(undo.put(&format!("a/__commits/{name}.vac"), vec![]))));
        told.recv_timeout(std::time::Duration::from_secs(60)).unwrap().unwrap();
        signal.join().unwrap();
        assert_eq!(files.files().len(), 3);
    }
}
