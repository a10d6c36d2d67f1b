//! Stores of immutable files, behind the trait [`Vfs`].
//!
//! | store | holds | feature |
//! | --- | --- | --- |
//! | [`MemVfs`] | files in memory | |
//! | `LocalVfs` | the files of a folder on the local disk | `fs` |
//! | `ObjectVfs` | objects in S3, Google Cloud Storage or Azure | `object-store` |
//! | `HttpVfs` | the files of a web server, read-only | `object-store` |
//! | [`ManifestVfs`] | the files of another store that cannot list, as its manifest lists them | |
//!
//! [`open_url`] opens the store of a path or URL. Give the store to [`Context::new`](crate::Context::new).
//!
//! Paths are relative, `/`-separated, never start or end with `/` and never contain `..`. The empty path is the store's
//! root folder.
//!
//! To add a store, implement [`Vfs`] and run the conformance suite of the feature `test-util` on it. The suite checks
//! what the engine relies on: files appear completely or not at all, [`Vfs::put`] never replaces a file, listings are
//! sorted, and a missing folder is empty.

pub mod coalesce;
#[cfg(feature = "test-util")]
pub mod conformance;
#[cfg(feature = "test-util")]
pub mod faulty;
pub(crate) mod listing;
#[cfg(feature = "fs")]
pub(crate) mod local;
mod local_reads;
pub mod manifest;
mod mem;
pub(crate) mod path;
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
#[cfg(feature = "fs")]
pub use local::LocalVfs;
pub use local_reads::{LocalReads, ReadAt};
pub use manifest::ManifestVfs;
pub use mem::MemVfs;
pub use path::{check_path, join, last_part, split};
#[cfg(feature = "object-store")]
pub use remote::{HttpVfs, ObjectVfs, PagedStore, Patience};
pub use url::{join_url, local_path, open_url, path_within, redact};
pub use walk::{Walked, walk};

/// The return type of store operations: a boxed `Send` future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// The number of concurrent requests.
pub(crate) const IN_FLIGHT: usize = 32;

/// A store of immutable files.
///
/// Every implementation passes the conformance suite.
pub trait Vfs: Send + Sync + 'static {
    /// The store that this one wraps, if any. Methods with a default implementation delegate to it.
    fn inner(&self) -> Option<&dyn Vfs>;

    /// Reads each range, in order. Ranges are in bytes, with an exclusive end.
    ///
    /// Fails with `NotFound` if the file does not exist, and with `Io` if it has too few bytes.
    fn read<'a>(&'a self, path: &'a str, ranges: &'a [Range<u64>]) -> BoxFuture<'a, Vec<Bytes>>;

    /// Reads the whole file. Fails with `NotFound`.
    fn read_all<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Bytes>;

    /// The size of the file in bytes. Fails with `NotFound`.
    fn size<'a>(&'a self, path: &'a str) -> BoxFuture<'a, u64>;

    /// Reads the last `bytes` of the file, or all of it if it is shorter. Also returns the size of the file. For files
    /// with an index at the end. Fails with `NotFound`.
    fn read_tail<'a>(&'a self, path: &'a str, bytes: u64) -> BoxFuture<'a, (u64, Bytes)> {
        Box::pin(async move {
            let size = self.size(path).await?;
            let range = size.saturating_sub(bytes)..size;
            let read = self.read(path, std::slice::from_ref(&range)).await?;
            Ok((size, read.into_iter().next().unwrap_or_default()))
        })
    }

    /// Calls [`Vfs::read_tail`] for each of `paths` concurrently. The results are in the same order.
    fn read_tails<'a>(&'a self, paths: &'a [String], bytes: u64) -> BoxFuture<'a, Vec<Result<(u64, Bytes)>>> {
        let one = move |path: &'a String| async move { Ok(self.read_tail(path, bytes).await) };
        Box::pin(side_by_side(paths.iter().map(one)))
    }

    /// Calls [`Vfs::read`] for each file and its ranges concurrently. The results are in the same order.
    fn read_files<'a>(&'a self, files: &'a [(Arc<str>, Vec<Range<u64>>)]) -> BoxFuture<'a, Vec<Vec<Bytes>>> {
        let one = move |(path, ranges): &'a (Arc<str>, Vec<Range<u64>>)| self.read(path, ranges);
        Box::pin(side_by_side(files.iter().map(one)))
    }

    /// Lists the direct children of `dir`, sorted by name. An absent folder is empty, as on object stores.
    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>>;

    /// Creates the file atomically. Fails with `AlreadyExists`.
    fn put<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()>;

    /// Creates or replaces the file atomically. If it fails, the existing file stays. Only for files that are not part
    /// of an array, whose files never change.
    fn overwrite<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()>;

    /// Starts a file to be written in parts. The file exists once the writer has finished. A dropped writer leaves
    /// nothing that a reader would take for a finished file of a committed fragment.
    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>>;

    /// Creates a folder and its parents. Does nothing if the store has no folders.
    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()>;

    /// Removes a file. Succeeds if it does not exist.
    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, ()>;

    /// Removes a folder and everything in it. Succeeds if it does not exist.
    fn remove_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()>;

    /// Paths of unfinished files directly in `dir` whose writers have crashed. Listings hide them, and they may be
    /// removed.
    fn leftovers<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<String>> {
        match self.inner() {
            Some(inner) => inner.leftovers(dir),
            None => Box::pin(std::future::ready(Ok(Vec::new()))),
        }
    }

    /// Acquires the lock `name` of the folder `dir`, waiting for it if necessary. At most one task on this machine
    /// holds it, until it drops the lock or its process ends. Returns `None` if the store has no locks.
    fn lock<'a>(&'a self, dir: &'a str, name: &'a str) -> BoxFuture<'a, Option<Box<dyn Lock>>> {
        match self.inner() {
            Some(inner) => inner.lock(dir, name),
            None => Box::pin(std::future::ready(Ok(None))),
        }
    }

    /// Syncs the file `dir`, or everything written below the folder `dir`, so that it survives a power loss. Does
    /// nothing if the store cannot lose writes.
    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()>;

    /// Forgets cached listings and other cached answers that may be out of date.
    fn invalidate(&self) -> BoxFuture<'_, ()> {
        match self.inner() {
            Some(inner) => inner.invalidate(),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }

    /// The absolute URI of `path`, such as `file:///data/array` or `s3://bucket/array`, if known.
    fn location(&self, path: &str) -> Option<String> {
        self.inner()?.location(path)
    }

    /// Whether a failed call has no effect later. A request sent to a server may still arrive.
    fn failures_are_final(&self) -> bool {
        self.inner().is_some_and(|inner| inner.failures_are_final())
    }

    /// The blocking reads of this store, if it supports them. They bypass all other methods, so a wrapping store must
    /// opt in itself.
    fn local_reads(&self) -> Option<&dyn LocalReads> {
        None
    }
}

/// Runs `questions` concurrently, at most [`IN_FLIGHT`] at a time, so that one reader does not use up the sockets and
/// open files of the system. The results are in the same order.
pub(crate) async fn side_by_side<T>(questions: impl IntoIterator<Item: Future<Output = Result<T>>>) -> Result<Vec<T>> {
    stream::iter(questions).buffered(IN_FLIGHT).try_collect().await
}

/// The blocking reads of this store, if it supports them. Always `None` in web pages, so that the compiler drops the
/// code that only such stores need.
#[inline]
pub(crate) fn local_reads(vfs: &dyn Vfs) -> Option<&dyn LocalReads> {
    if cfg!(target_family = "wasm") {
        return None;
    }
    vfs.local_reads()
}

/// A lock, released when it is dropped.
pub trait Lock: Send + Sync {}

/// Writes a file from start to end.
pub trait FileWriter: Send {
    /// Appends bytes.
    fn append(&mut self, part: Bytes) -> BoxFuture<'_, ()>;
    /// Announces that [`Vfs::sync`] will follow, so that the store may start to sync what it has.
    fn start_sync(&mut self) {}
    /// Makes the file visible under its name.
    fn finish(self: Box<Self>) -> BoxFuture<'static, ()>;
    /// Abandons the file and returns when it is gone. Dropping a writer does the same, perhaps later.
    fn abort(self: Box<Self>) -> BoxFuture<'static, ()> {
        drop(self);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The last part of its path.
    pub name: String,
    /// Whether it is a file or a folder.
    pub kind: EntryKind,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A file, with its size in bytes if the listing includes it.
    File(Option<u64>),
    /// A folder.
    Dir,
}

/// Slices `range` out of the contents of a file.
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

/// The error for a range beyond the end of a file.
pub(crate) fn too_short(path: &str, range: &Range<u64>, size: u64) -> Error {
    Error::io(
        path,
        format!(
            "bytes {}..{} of a file of {size} bytes: the file is truncated, or the index that points to these bytes is damaged; restore the files from a backup",
            range.start, range.end
        ),
    )
}
