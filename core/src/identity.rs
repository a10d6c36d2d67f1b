//! Unique ids for new files, derived from a seed, and fingerprints of what exists.

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::filter::{Key, Nonces};

/// A fingerprint of these parts, in this order.
pub(crate) fn fingerprint<'a>(parts: impl Iterator<Item = &'a [u8]>) -> [u8; 16] {
    let add = |sha: Sha256, part: &[u8]| sha.chain_update((part.len() as u64).to_le_bytes()).chain_update(part);
    let digest = parts.fold(Sha256::new(), add).finalize();
    let mut out = [0; 16];
    out.copy_from_slice(&digest[..16]);
    out
}

/// Draws unique ids from one seed.
///
/// An id is a 31-bit counter, which starts at the first four bytes of the seed, followed by 96 bits of a digest of the
/// seed. As in libtiledb, the ids of one seed sort in the order they were drawn.
#[derive(Debug, Clone)]
pub(crate) struct Ids {
    seed: [u8; 32],
    next: u32,
}

impl Ids {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        let [a, b, c, d, ..] = seed;
        Self {
            seed,
            next: u32::from_be_bytes([a & 0x7f, b, c, d]),
        }
    }

    /// Makes all further ids sort after `id`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if no id sorts after it, because `id` starts with the greatest counter.
    pub(crate) fn rise_above(&mut self, id: [u8; 16]) -> Result<()> {
        let [a, b, c, d, ..] = id;
        let least = u32::from_be_bytes([a, b, c, d]).checked_add(1);
        let least = least.ok_or_else(|| {
            Error::invalid("no new name with this timestamp sorts after the last one; use a later timestamp")
        })?;
        self.next = self.next.max(least);
        Ok(())
    }

    pub(crate) fn draw(&mut self) -> [u8; 16] {
        let counter = self.next.to_be_bytes();
        self.next = self.next.wrapping_add(1);
        let digest = Sha256::new()
            .chain_update(b"name")
            .chain_update(self.seed)
            .chain_update(counter)
            .finalize();
        let mut id = [0; 16];
        id[..4].copy_from_slice(&counter);
        id[4..].copy_from_slice(&digest[..12]);
        id
    }

    /// Draws a seed for the initialisation vectors of another file.
    pub(crate) fn draw_seed(&mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        seed.copy_from_slice(
            &Sha256::new()
                .chain_update(b"seed")
                .chain_update(self.seed)
                .chain_update(self.draw())
                .finalize(),
        );
        seed
    }

    /// Nonces for the initialisation vectors of a small file, if there is a key.
    pub(crate) fn nonces(&mut self, key: Option<&Key>) -> Nonces {
        key.map_or_else(Nonces::none, |_| Nonces::new(self.draw_seed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_above_those_that_are_there() {
        let mut ids = Ids::new([1; 32]);
        let own = ids.clone().draw();
        ids.rise_above([0; 16]).unwrap();
        assert_eq!(ids.clone().draw(), own, "they do anyway");
        let there = [0xfe; 16];
        ids.rise_above(there).unwrap();
        assert!(ids.draw() > there);
        assert!(ids.rise_above([0xff; 16]).is_err());
    }

    #[test]
    fn ids_of_one_seed_rise_and_differ_from_those_of_another() {
        let (mut a, mut b) = (Ids::new([0xff; 32]), Ids::new([0xfe; 32]));
        let (first, second) = (a.draw(), a.draw());
        assert_eq!(first[..4], [0x7f, 0xff, 0xff, 0xff]);
        assert!(first < second);
        assert_ne!(first[4..], b.draw()[4..]);
        assert_eq!(Ids::new([0xff; 32]).draw(), first);
    }
}
