//! Vacuum: removes what consolidation has replaced.

use super::Mode;
use crate::array::Array;
use crate::error::Result;
use crate::write::WriteOptions;

/// Removes what was replaced within the array's window and returns the paths below the array, in the
/// order of removal. With `dry_run` nothing is removed.
///
/// Readers that opened the array before may fail afterwards.
///
/// # Errors
/// [`crate::Error::Io`].
pub async fn vacuum(array: &Array, mode: Mode, dry_run: bool, write: &WriteOptions) -> Result<Vec<String>> {
    let _ = (array, mode, dry_run, write);
    unimplemented!()
}
