//! Blocking reads from any thread, without a future, into memory of the caller.

use std::io::IoSliceMut;
use std::ops::Range;

use bytes::Bytes;

use crate::error::Result;

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
