//! Hashes that identify files.

use sha2::{Digest as _, Sha256};

/// A 64-bit hash of the parts, the same on all platforms.
pub(super) fn hash(parts: &[&[u8]]) -> u64 {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_le_bytes());
        sha.update(part);
    }
    let digest = sha.finalize();
    let first: [u8; 8] = std::array::from_fn(|i| digest.get(i).copied().unwrap_or(0));
    // The kernel reserves 0 for a missing file and 1 for the root folder.
    u64::from_le_bytes(first).max(2)
}
