//! Limits for untrusted files.

use anyhow::{Result, ensure};

/// The most columns of a table, or arrays of an .npz file. Each has its own files in an array.
const COLUMNS_MAX: usize = 1 << 14;

/// The most bytes that a compressed file of `bytes` bytes may decompress to. Hardly any real file exceeds that.
pub(super) fn unfolded_max(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(16).max(1 << 30)
}

/// Returns an error if there are too many columns, before they are converted.
pub(super) fn check_columns(n: usize) -> Result<()> {
    ensure!(
        n <= COLUMNS_MAX,
        "it has {n} columns, but an import takes at most {COLUMNS_MAX}; store them as rows, or as the second axis of one \
         array"
    );
    Ok(())
}
