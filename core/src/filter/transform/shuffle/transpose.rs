//! Transposition of 8 x 8 bytes and 8 x 8 bits with 64-bit arithmetic. Each function is its own inverse.

/// Byte `j` of word `i` becomes byte `i` of word `j`.
#[inline]
pub(super) fn bytes(mut x: [u64; 8]) -> [u64; 8] {
    swap::<4>(&mut x, 0x0000_0000_ffff_ffff);
    swap::<2>(&mut x, 0x0000_ffff_0000_ffff);
    swap::<1>(&mut x, 0x00ff_00ff_00ff_00ff);
    x
}

/// Exchanges the high half of each group of `2 D` bytes in a word with the low half in the word `D` later.
#[inline]
fn swap<const D: usize>(x: &mut [u64; 8], low: u64) {
    for pairs in x.chunks_exact_mut(2 * D) {
        let (a, b) = pairs.split_at_mut(D);
        for (a, b) in a.iter_mut().zip(b) {
            let t = ((*a >> (8 * D)) ^ *b) & low;
            *b ^= t;
            *a ^= t << (8 * D);
        }
    }
}

/// Bit `j` of byte `i` becomes bit `i` of byte `j`.
#[inline]
pub(super) const fn bits(mut x: u64) -> u64 {
    let t = (x ^ (x >> 7)) & 0x00aa_00aa_00aa_00aa;
    x ^= t ^ (t << 7);
    let t = (x ^ (x >> 14)) & 0x0000_cccc_0000_cccc;
    x ^= t ^ (t << 14);
    let t = (x ^ (x >> 28)) & 0x0000_0000_f0f0_f0f0;
    x ^ t ^ (t << 28)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_transposed() {
        let x = std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| (i * 8 + j) as u8)));
        for (j, y) in bytes(x).into_iter().enumerate() {
            assert_eq!(y.to_le_bytes(), std::array::from_fn(|i| (i * 8 + j) as u8));
        }
    }

    #[test]
    fn bits_are_transposed() {
        for i in 0..8 {
            for j in 0..8 {
                assert_eq!(bits(1 << (8 * i + j)), 1 << (8 * j + i), "byte {i}, bit {j}");
            }
        }
    }
}
