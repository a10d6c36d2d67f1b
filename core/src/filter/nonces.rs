//! Initialisation vectors of encrypted chunks, derived from a seed of the caller.

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

/// A source of distinct 12-byte initialisation vectors: SHA-256 of the seed and a counter.
///
/// Each write needs its own seed of 32 random bytes. The engine has no source of randomness.
#[derive(Debug)]
pub struct Nonces(Option<NonceSource>);

struct NonceSource {
    seed: [u8; 32],
    next: AtomicU64,
}

impl std::fmt::Debug for NonceSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NonceSource(..)")
    }
}

impl Nonces {
    /// Vectors derived from `seed`, which must never be used for two writes with the same key.
    pub const fn new(seed: [u8; 32]) -> Self {
        Self(Some(NonceSource {
            seed,
            next: AtomicU64::new(0),
        }))
    }

    /// No vectors, for arrays that are not encrypted.
    pub const fn none() -> Self {
        Self(None)
    }

    /// The next vector; `None` without a seed.
    pub(crate) fn next(&self) -> Option<[u8; 12]> {
        let source = self.0.as_ref()?;
        let count = source.next.fetch_add(1, Ordering::Relaxed);
        let digest = Sha256::new()
            .chain_update(source.seed)
            .chain_update(count.to_le_bytes())
            .finalize();
        digest.first_chunk::<12>().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_distinct_and_depend_only_on_the_seed() {
        let (a, b, other) = (Nonces::new([1; 32]), Nonces::new([1; 32]), Nonces::new([2; 32]));
        let first = a.next().unwrap();
        assert_eq!(Some(first), b.next());
        assert_ne!(Some(first), other.next());
        assert_ne!(Some(first), a.next());
        assert_eq!(Nonces::none().next(), None);
    }
}
