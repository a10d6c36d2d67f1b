//! Names of what is written, drawn from a seed.

use sha2::{Digest, Sha256};

/// Unique ids from one seed.
///
/// An id is a counter of 31 bits, which starts at the seed's first four bytes, and 96 bits of the
/// seed's digest: as libtiledb's ids, those of one seed sort in the order they were drawn.
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

    /// A seed for the initialisation vectors of one more fragment.
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
