//! Stores of immutable files, behind one narrow trait.
//!
//! Paths are relative, `/`-separated, never start or end with `/` and never contain `..`. The empty
//! path is the store's root folder.

pub mod coalesce;
#[cfg(feature = "test-util")]
pub mod conformance;
mod direct;
#[cfg(feature = "test-util")]
pub mod faulty;
pub mod listing;
#[cfg(feature = "fs")]
mod local;
pub mod manifest;
mod mem;
mod path;
#[cfg(feature = "object-store")]
mod remote;
mod url;
mod walk;

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::error::{Error, Result};
pub use direct::{Direct, ReadAt};
#[cfg(feature = "fs")]
pub use local::{LocalEntry, LocalKind, LocalRoot, LocalVfs, readable_by_everyone};
pub use manifest::ManifestVfs;
pub use mem::MemVfs;
pub use path::{check_path, join, last_part, split};
#[cfg(feature = "object-store")]
pub use remote::{HttpVfs, ObjectVfs, PagedStore, Patience};
pub use url::{join_url, local_path, open_url, path_within, redact};
pub use walk::{Walked, walk};

/// What every store operation returns: a boxed future that may cross threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Requests in flight at once.
pub(crate) const IN_FLIGHT: usize = 32;

/// A store of immutable files.
///
/// Every implementation passes the conformance suite.
pub trait Vfs: Send + Sync + 'static {
    /// The store that this one wraps, if it does. What that one says of itself goes for this one too, where it does not
    /// speak for itself.
    fn inner(&self) -> Option<&dyn Vfs>;

    /// Bytes of each range, in order. Ranges are in bytes and end-exclusive.
    ///
    /// Fails with `NotFound` if there is no such file, and with `Io` if fewer bytes exist than asked for.
    fn read<'a>(&'a self, path: &'a str, ranges: &'a [Range<u64>]) -> BoxFuture<'a, Vec<Bytes>>;

    /// The whole file. Fails with `NotFound`.
    fn read_all<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Bytes>;

    /// Bytes of the file. Fails with `NotFound`.
    fn size<'a>(&'a self, path: &'a str) -> BoxFuture<'a, u64>;

    /// The last `bytes` of the file, or all of it if it is shorter, and the size of the whole file:
    /// what is needed of a file whose index stands at its end. Fails with `NotFound`.
    fn read_tail<'a>(&'a self, path: &'a str, bytes: u64) -> BoxFuture<'a, (u64, Bytes)> {
        Box::pin(async move {
            let size = self.size(path).await?;
            let range = size.saturating_sub(bytes)..size;
            let read = self.read(path, std::slice::from_ref(&range)).await?;
            Ok((size, read.into_iter().next().unwrap_or_default()))
        })
    }

    /// What [`Vfs::read_tail`] gives for each of `paths`, in their order, read side by side.
    fn read_tails<'a>(&'a self, paths: &'a [String], bytes: u64) -> BoxFuture<'a, Vec<Result<(u64, Bytes)>>> {
        let one = move |path: &'a String| async move { Ok(self.read_tail(path, bytes).await) };
        Box::pin(side_by_side(paths.iter().map(one)))
    }

    /// What [`Vfs::read`] gives for each of these files and their ranges, in their order, read side by side.
    fn read_files<'a>(&'a self, files: &'a [(Arc<str>, Vec<Range<u64>>)]) -> BoxFuture<'a, Vec<Vec<Bytes>>> {
        let one = move |(path, ranges): &'a (Arc<str>, Vec<Range<u64>>)| self.read(path, ranges);
        Box::pin(side_by_side(files.iter().map(one)))
    }

    /// Direct children of `dir`, sorted by name. An absent folder is empty, as on object stores.
    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>>;

    /// Creates the whole file or nothing. Fails with `AlreadyExists`.
    fn put<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()>;

    /// Puts the whole file in place of one that is there, if any: who fails leaves that one. For files that are no part
    /// of an array, of which none changes.
    fn put_over<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()>;

    /// Starts a file that arrives in parts; it exists once the writer has finished. A writer that is
    /// dropped leaves nothing that a reader would see as the finished file of a committed fragment.
    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>>;

    /// Creates a folder and its parents, where the store has folders; otherwise does nothing.
    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()>;

    /// Removes a file. Absent is fine.
    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, ()>;

    /// Removes a folder and everything in it. Absent is fine.
    fn remove_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()>;

    /// Paths of the files directly in `dir` that writers which died left there unfinished. Listings
    /// hide them, and they may be removed.
    fn leftovers<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<String>> {
        match self.inner() {
            Some(inner) => inner.leftovers(dir),
            None => Box::pin(std::future::ready(Ok(Vec::new()))),
        }
    }

    /// Waits for the lock `name` of the folder `dir`, which one task of one process on this machine holds at a time, until
    /// it drops it or ends. `None` if the store has no locks.
    fn lock<'a>(&'a self, dir: &'a str, name: &'a str) -> BoxFuture<'a, Option<Box<dyn Lock>>> {
        match self.inner() {
            Some(inner) => inner.lock(dir, name),
            None => Box::pin(std::future::ready(Ok(None))),
        }
    }

    /// Makes the file `dir`, or what was written below the folder `dir`, outlive a power cut, where the store can lose writes.
    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()>;

    /// Forgets what earlier answers told of things that change, so that the next ones are of now.
    fn renew(&self) -> BoxFuture<'_, ()> {
        match self.inner() {
            Some(inner) => inner.renew(),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }

    /// The absolute URI of `path`, such as `file:///data/array` or `s3://bucket/array`, if the store knows it.
    fn location(&self, path: &str) -> Option<String> {
        self.inner()?.location(path)
    }

    /// Whether a call that failed has no effect later: what was sent to a server may still arrive.
    fn failures_are_final(&self) -> bool {
        self.inner().is_some_and(|inner| inner.failures_are_final())
    }

    /// The store as one that threads may read on their own, if it is such a one. Such reads pass by all others, so a store
    /// that wraps one is so only if it says it.
    fn direct(&self) -> Option<&dyn Direct> {
        None
    }
}

/// What each of `questions` gives, in their order. [`IN_FLIGHT`] of them are under way at a time: the sockets and open
/// files that a system has are not for one reader alone.
pub(crate) async fn side_by_side<T>(questions: impl IntoIterator<Item: Future<Output = Result<T>>>) -> Result<Vec<T>> {
    stream::iter(questions).buffered(IN_FLIGHT).try_collect().await
}

/// The store as one that threads may read on their own, if it is such a one.
// Pages have none, and by this the compiler knows, and leaves out of their download what only those need.
#[inline]
pub(crate) fn direct(vfs: &dyn Vfs) -> Option<&dyn Direct> {
    if cfg!(target_family = "wasm") {
        return None;
    }
    vfs.direct()
}

/// A lock, released when it is dropped.
pub trait Lock: Send + Sync {}

/// A file that is being written front to back.
pub trait FileWriter: Send {
    /// Appends bytes.
    fn append(&mut self, part: Bytes) -> BoxFuture<'_, ()>;
    /// Says that a [`Vfs::sync`] will follow, so that a store that can may begin with what it has.
    fn settle(&mut self) {}
    /// Makes the file visible under its name.
    fn finish(self: Box<Self>) -> BoxFuture<'static, ()>;
    /// Gives the file up, and returns when nothing of it is left. Dropping a writer does the same, perhaps later.
    fn abort(self: Box<Self>) -> BoxFuture<'static, ()> {
        drop(self);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A child of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The last component of its path.
    pub name: String,
    /// File or folder.
    pub kind: EntryKind,
}

/// What a child of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A file of this many bytes, where the listing says so.
    File(Option<u64>),
    /// A folder.
    Dir,
}

/// The bytes `range` of the whole file `bytes`.
pub(crate) fn slice(path: &str, bytes: &Bytes, range: &Range<u64>) -> Result<Bytes> {
    let short = || too_short(path, range, bytes.len() as u64);
    let start = usize::try_from(range.start).map_err(|_| short())?;
    let end = usize::try_from(range.end).map_err(|_| short())?;
    if start > end || end > bytes.len() {
        Err(short())
    } else {
        Ok(bytes.slice(start..end))
    }
}

/// Bytes were asked for that the file does not have.
pub(crate) fn too_short(path: &str, range: &Range<u64>, size: u64) -> Error {
    Error::io(
        path,
        format!(
            "bytes {}..{} of a file of {size} bytes: it is cut off, or what says where they are is damaged; restore the files from a backup",
            range.start, range.end
        ),
    )
}
