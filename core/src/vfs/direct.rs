//! Reads that any thread may do where it stands, without a future and into memory it already has.

use std::io::IoSliceMut;

use crate::error::Result;

/// A store whose files can be read so: a local disk. What is read is then not copied a second time,
/// and each core reads what it is about to decode.
pub trait Direct: Send + Sync {
    /// The file `path`. Fails with `NotFound`.
    ///
    /// # Errors
    /// Those of the store; they name the file.
    fn open<'a>(&'a self, path: &'a str) -> Result<Box<dyn ReadAt + 'a>>;
}

/// An open file.
pub trait ReadAt: Send + Sync {
    /// Its bytes.
    fn size(&self) -> u64;

    /// Fills `out` with the bytes from `at` on.
    ///
    /// # Errors
    /// The file has fewer, or cannot be read.
    fn read_at(&self, out: &mut [u8], at: u64) -> Result<()>;

    /// Fills these parts, one after the other, with the bytes from `at` on.
    ///
    /// # Errors
    /// As [`ReadAt::read_at`].
    fn read_parts_at(&self, parts: &mut [IoSliceMut<'_>], at: u64) -> Result<()>;

    /// Whether [`ReadAt::read_parts_at`] is one call of the system, however many parts there are.
    fn reads_parts_at_once(&self) -> bool;
}
