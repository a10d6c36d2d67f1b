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
//! [`VfsExt`] has the methods to read and write with. To add a store, implement [`Vfs`], which has fewer, and run the
//! conformance suite of the feature `test-util` on it. The suite checks what the engine relies on: files appear
//! completely or not at all, [`VfsExt::put`] never replaces a file, listings are sorted, and a missing folder is empty.

mod capabilities;
pub mod coalesce;
#[cfg(feature = "test-util")]
pub mod conformance;
mod ext;
#[cfg(feature = "test-util")]
pub mod faulty;
pub(crate) mod listing;
#[cfg(feature = "fs")]
pub(crate) mod local;
pub mod manifest;
mod mem;
pub(crate) mod path;
mod preloaded;
#[cfg(feature = "object-store")]
mod remote;
mod url;
mod walk;

use std::future::{Future, ready};
use std::ops::Range;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};

use crate::error::{Error, Result};
pub(crate) use capabilities::local_reads;
pub use capabilities::{Capabilities, LocalReads, Locations, Lock, Locks, Neighbours, ReadAt};
pub use ext::VfsExt;
#[cfg(feature = "fs")]
pub use local::LocalVfs;
pub use manifest::ManifestVfs;
pub use mem::MemVfs;
pub use path::{check_path, join, last_part, split};
pub(crate) use preloaded::PreloadedVfs;
#[cfg(feature = "object-store")]
pub use remote::{HttpVfs, ObjectVfs, PagedStore, Patience};
pub use url::{join_url, local_path, open_file_url, open_url, path_within, redact};
pub use walk::{Walked, walk};

/// The return type of store operations: a boxed `Send` future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// The number of concurrent requests. In web pages, the store itself has a limit.
pub(crate) const IN_FLIGHT: usize = if cfg!(target_family = "wasm") { 256 } else { 32 };

/// A store of immutable files.
///
/// [`VfsExt`] has the methods that callers use most, such as `read`, `read_all` and `put`. Every implementation passes
/// the conformance suite. A store that wraps another one also forwards the methods with a default: otherwise it reads
/// the files of a batch one by one, and keeps outdated answers.
pub trait Vfs: Send + Sync + 'static {
    /// Further abilities of the store.
    fn capabilities(&self) -> Capabilities<'_>;

    /// Reads bytes of a file, its size, or both.
    ///
    /// Fails with `NotFound` if the file does not exist, and with `Io` if it has too few bytes.
    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content>;

    /// Calls [`Vfs::fetch`] for each of `files` concurrently. The results are in the same order.
    fn fetch_many<'a>(&'a self, files: &'a [(&'a str, Extent<'a>)]) -> BoxStream<'a, Result<Content>> {
        fetch_each(self, files)
    }

    /// Lists the direct children of `dir`, sorted by name. An absent folder is empty, as on object stores.
    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>>;

    /// Writes a file atomically. If it fails, an existing file stays.
    fn write<'a>(&'a self, path: &'a str, parts: Vec<Bytes>, mode: WriteMode) -> BoxFuture<'a, ()>;

    /// Starts a file to be written in parts. The file exists once the writer has finished. A dropped writer leaves
    /// nothing that a reader would take for a finished file of a committed fragment.
    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>>;

    /// Creates a folder and its parents. Does nothing if the store has no folders.
    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()>;

    /// Removes a file, or a folder and everything in it. Succeeds if it does not exist.
    fn delete<'a>(&'a self, path: &'a str, what: Deletion) -> BoxFuture<'a, ()>;

    /// Syncs the file `dir`, or everything written below the folder `dir`, so that it survives a power loss. Does
    /// nothing if the store cannot lose writes.
    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()>;

    /// Forgets cached listings and other cached answers that may be out of date.
    fn invalidate(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(Ok(())))
    }
}

/// The bytes of a file to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent<'a> {
    /// The whole file.
    Whole,
    /// This many bytes at the end of the file, or all of it if it is shorter. For files with an index at the end.
    Tail(u64),
    /// Each of these ranges, in order. They are in bytes, with an exclusive end.
    Ranges(&'a [Range<u64>]),
    /// None: only the size.
    Size,
}

/// The result of [`Vfs::fetch`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// The size of the file in bytes. Only for [`Extent::Tail`] and [`Extent::Size`].
    pub size: u64,
    /// A part for each range, no part for [`Extent::Size`], and otherwise one.
    pub parts: Vec<Bytes>,
}

impl Content {
    /// The size of a file, without bytes.
    pub fn size(size: u64) -> Self {
        Self {
            size,
            parts: Vec::new(),
        }
    }

    /// Bytes of a file.
    pub fn parts(parts: Vec<Bytes>) -> Self {
        Self { size: 0, parts }
    }

    /// The bytes at the end of a file of `size` bytes.
    pub fn tail((size, bytes): (u64, Bytes)) -> Self {
        Self {
            size,
            parts: vec![bytes],
        }
    }

    /// The size of the file, and the only part.
    fn into_tail(mut self) -> (u64, Bytes) {
        (self.size, self.parts.pop().unwrap_or_default())
    }

    /// Selects `extent` of the file `path` with the bytes `whole`.
    ///
    /// # Errors
    /// [`Error::Io`] if the file has too few bytes.
    pub fn of(path: &str, whole: Bytes, extent: Extent<'_>) -> Result<Self> {
        let size = whole.len() as u64;
        let parts = match extent {
            Extent::Whole => vec![whole],
            Extent::Tail(bytes) => vec![slice(path, &whole, &(size.saturating_sub(bytes)..size))?],
            Extent::Ranges(ranges) => ranges.iter().map(|r| slice(path, &whole, r)).collect::<Result<_>>()?,
            Extent::Size => Vec::new(),
        };
        Ok(Self { size, parts })
    }
}

/// Whether a write may replace a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// Fails with `AlreadyExists`.
    Create,
    /// Replaces the file. Only for files that are not part of an array, whose files never change.
    Replace,
}

/// Selects the object to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// A file.
    File,
    /// A folder and everything in it.
    Folder,
}

/// Fetches each file with a call of its own, at most [`IN_FLIGHT`] at a time.
pub(crate) fn fetch_each<'a, V: Vfs + ?Sized>(
    vfs: &'a V,
    files: &'a [(&'a str, Extent<'a>)],
) -> BoxStream<'a, Result<Content>> {
    let one = move |(path, extent): &'a (&'a str, Extent<'a>)| vfs.fetch(path, *extent);
    stream::iter(files.iter().map(one)).buffered(IN_FLIGHT).boxed()
}

/// Runs `questions` concurrently, at most [`IN_FLIGHT`] at a time, so that one reader does not use up the sockets and
/// open files of the system. The results are in the same order.
pub(crate) async fn side_by_side<T>(questions: impl IntoIterator<Item: Future<Output = Result<T>>>) -> Result<Vec<T>> {
    stream::iter(questions).buffered(IN_FLIGHT).try_collect().await
}

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
