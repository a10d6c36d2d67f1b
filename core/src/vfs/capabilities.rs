//! Abilities that only some stores have.

use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{BoxFuture, Vfs};
use crate::error::Result;

/// The abilities of a store beyond the methods of [`Vfs`]. By default there are none. A store that wraps another one
/// passes on those that it keeps:
///
/// ```
/// # use hyperslab::vfs::{Capabilities, Vfs};
/// # fn capabilities(inner: &dyn Vfs) -> Capabilities<'_> {
/// Capabilities { local_reads: None, ..inner.capabilities() }
/// # }
/// ```
#[derive(Clone, Copy, Default)]
pub struct Capabilities<'a> {
    /// Whether a failed call has no effect later. A request sent to a server may still arrive.
    pub failures_are_final: bool,
    /// Blocking reads. They bypass all other methods of the store.
    pub local_reads: Option<&'a dyn LocalReads>,
    /// Locks between the processes of this machine.
    pub locks: Option<&'a dyn Locks>,
    /// The URIs of files and folders.
    pub locations: Option<&'a dyn Locations>,
    /// The folders next to the store's root.
    pub neighbours: Option<&'a dyn Neighbours>,
}

/// The blocking reads of this store, if it supports them. Always `None` in web pages, so that the compiler drops the
/// code that only such stores need.
#[inline]
pub(crate) fn local_reads(vfs: &dyn Vfs) -> Option<&dyn LocalReads> {
    if cfg!(target_family = "wasm") {
        return None;
    }
    vfs.capabilities().local_reads
}

/// A store that knows where it is.
pub trait Locations: Send + Sync {
    /// The absolute URI of `path`, such as `file:///data/array` or `s3://bucket/array`, if known.
    fn uri(&self, path: &str) -> Option<String>;
}

/// A store that can reach the folders next to its root. An array that was opened by its own URL finds the coordinates of
/// its axes there.
pub trait Neighbours: Send + Sync {
    /// The store whose root is the folder `name` next to the root of this store; `None` if the root is in no folder.
    /// Reads nothing, so the folder may not exist.
    fn beside(&self, name: &str) -> Option<Arc<dyn Vfs>>;
}

/// A store whose folders can be locked.
pub trait Locks: Send + Sync {
    /// Acquires the lock `name` of the folder `dir`, waiting for it if necessary. At most one task on this machine
    /// holds it, until it drops the lock or its process ends. Returns `None` if the folder cannot be locked.
    fn acquire<'a>(&'a self, dir: &'a str, name: &'a str) -> BoxFuture<'a, Option<Box<dyn Lock>>>;

    /// Paths of unfinished files directly in `dir` whose writers have crashed, which their locks show. Listings hide
    /// them, and they may be removed.
    fn find_leftovers<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<String>>;
}

/// A lock, released when it is dropped.
pub trait Lock: Send + Sync {}

/// A store with blocking reads, such as a local disk. They avoid a copy, and each core reads the bytes it is about to
/// decode.
pub trait LocalReads: Send + Sync {
    /// Opens the file `path`. Fails with `NotFound`.
    ///
    /// # Errors
    /// Errors of the store, which name the file.
    fn open<'a>(&'a self, path: &'a str) -> Result<Box<dyn ReadAt + 'a>>;
}

/// An open file.
pub trait ReadAt: Send + Sync {
    /// The size of the file in bytes.
    fn size(&self) -> u64;

    /// Fills `out` with the bytes from `at` on.
    ///
    /// # Errors
    /// Fails if the file has fewer bytes or cannot be read.
    fn read_at(&self, out: &mut [u8], at: u64) -> Result<()>;

    /// Fills the buffers `parts`, one after another, with the bytes from `at` on.
    ///
    /// # Errors
    /// The errors of [`ReadAt::read_at`].
    fn read_parts_at(&self, parts: &mut [IoSliceMut<'_>], at: u64) -> Result<()>;

    /// Whether [`ReadAt::read_parts_at`] takes a single system call for any number of parts.
    fn reads_parts_at_once(&self) -> bool;

    /// The bytes of this range, if they are in memory.
    fn held(&self, range: Range<u64>) -> Option<Bytes> {
        let _ = range;
        None
    }
}
