//! What a file of a stranger may ask for.

use anyhow::{Result, ensure};

/// Columns of a table, or arrays of an .npz file. Each is a file of its own in an array.
const COLUMNS_MAX: usize = 1 << 14;

/// Bytes that a compressed file of so many may unfold to; next to no real file is beyond that.
pub(super) fn unfolded_max(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(16).max(1 << 30)
}

/// Refuses so many columns before anything is made of them.
pub(super) fn check_columns(n: usize) -> Result<()> {
    ensure!(
        n <= COLUMNS_MAX,
        "it has {n} columns, and an import takes at most {COLUMNS_MAX}; store them as the rows or the second axis of one array"
    );
    Ok(())
}
