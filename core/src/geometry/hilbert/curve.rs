//! Computes positions of points from their buckets with Skilling's transform.
//!
//! The transform goes from the highest bit of the coordinates to the lowest. Each bit determines how the lower bits are
//! swapped and mirrored. This module transforms a block of points at once, bit by bit, and so avoids branches that the
//! processor could not predict.

use super::machine::{CUBE, SQUARE};

/// Points per block.
const BLOCK: usize = 32;

/// A coordinate of each point of a block.
type Lane = [u64; BLOCK];

/// Number of bits of each coordinate.
pub(super) const fn bits(dimensions: usize) -> u32 {
    // At most 63.
    63 / dimensions as u32
}

/// The positions of points. `coordinates` holds those along the first dimension, then those along the second, and so
/// on.
pub(super) fn positions(coordinates: Vec<u64>, dimensions: usize) -> Vec<u64> {
    let points = coordinates.len() / dimensions.max(1);
    match dimensions {
        0 | 1 => coordinates,
        2 => SQUARE.positions(&coordinates, points),
        3 => CUBE.positions(&coordinates, points),
        _ => bit_by_bit(&coordinates, points, dimensions),
    }
}

/// The same with the transform itself, for two or more dimensions.
fn bit_by_bit(coordinates: &[u64], points: usize, dimensions: usize) -> Vec<u64> {
    let bits = bits(dimensions);
    let mut lanes = vec![[0; BLOCK]; dimensions];
    let mut positions = Vec::with_capacity(points);
    for start in (0..points).step_by(BLOCK) {
        let n = BLOCK.min(points - start);
        for (lane, along) in lanes.iter_mut().zip(coordinates.chunks_exact(points)) {
            lane[..n].copy_from_slice(&along[start..start + n]);
        }
        if let Some((first, rest)) = lanes.split_first_mut() {
            transform(first, rest, bits);
        }
        positions.extend_from_slice(&interleave(&lanes, bits)[..n]);
    }
    positions
}

/// Turns the coordinates of a block of points into the bits of their positions.
fn transform(first: &mut Lane, rest: &mut [Lane], bits: u32) {
    for bit in (1..bits).rev() {
        let lower = (1_u64 << bit) - 1;
        // All ones if the bit is set.
        let set = |v: u64| ((v >> bit) & 1).wrapping_neg();
        first.iter_mut().for_each(|a| *a ^= set(*a) & lower);
        for lane in rest.iter_mut() {
            for (a, b) in first.iter_mut().zip(lane) {
                let mirror = set(*b) & lower;
                let swap = (*a ^ *b) & (lower ^ mirror);
                *a ^= mirror | swap;
                *b ^= swap;
            }
        }
    }
    let mut before = *first;
    for lane in rest.iter_mut() {
        lane.iter_mut().zip(&before).for_each(|(b, a)| *b ^= a);
        before = *lane;
    }
    // Whether an odd number of higher bits of the last coordinate is set.
    let mut odd = before.map(|v| v >> 1);
    for shift in (0..6).map(|i| 1 << i).filter(|shift| *shift < bits) {
        odd.iter_mut().for_each(|v| *v ^= *v >> shift);
    }
    for lane in std::iter::once(first).chain(rest) {
        lane.iter_mut().zip(&odd).for_each(|(v, odd)| *v ^= odd);
    }
}

/// Interleaves the bits of each point's coordinates, starting with the highest bit of the first coordinate.
fn interleave(lanes: &[Lane], bits: u32) -> Lane {
    let mut all = [0; BLOCK];
    for bit in (0..bits).rev() {
        for lane in lanes {
            all.iter_mut()
                .zip(lane)
                .for_each(|(all, v)| *all = (*all << 1) | ((v >> bit) & 1));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::check::HILBERT_DIMENSIONS_MAX;
    use proptest::prelude::*;

    /// Skilling's original transform. It overwrites the point.
    fn plain(x: &mut [u64], bits: u32) -> u64 {
        let n = x.len();
        let mut q = 1_u64 << (bits - 1);
        while q > 1 {
            let p = q - 1;
            for i in 0..n {
                if x[i] & q != 0 {
                    x[0] ^= p;
                } else {
                    let t = (x[0] ^ x[i]) & p;
                    x[0] ^= t;
                    x[i] ^= t;
                }
            }
            q >>= 1;
        }
        for i in 1..n {
            x[i] ^= x[i - 1];
        }
        let before = x[n - 1];
        let mut s = 1;
        while s < bits {
            x[n - 1] ^= x[n - 1] >> s;
            s *= 2;
        }
        let t = before ^ x[n - 1];
        for v in &mut x[..n - 1] {
            *v ^= t;
        }
        let mut h = 0;
        for b in (0..bits).rev() {
            for v in x.iter() {
                h = (h << 1) | ((v >> b) & 1);
            }
        }
        h
    }

    #[track_caller]
    fn check(points: &[Vec<u64>], dimensions: usize) {
        let bits = bits(dimensions);
        let along = |d: usize| points.iter().map(move |p| p[d]);
        let coordinates: Vec<u64> = (0..dimensions).flat_map(along).collect();
        let expect: Vec<u64> = points.iter().map(|p| plain(&mut p.clone(), bits)).collect();
        if dimensions > 1 {
            assert_eq!(
                bit_by_bit(&coordinates, points.len(), dimensions),
                expect,
                "{dimensions} dimensions"
            );
        }
        assert_eq!(positions(coordinates, dimensions), expect, "{dimensions} dimensions");
    }

    #[test]
    fn positions_match_the_reference() {
        let check = |point: &[u64], expect| {
            assert_eq!(positions(point.to_vec(), point.len()), [expect], "{point:?}");
        };
        check(&[0, 0], 0);
        check(&[1, 0], 3);
        check(&[1, 1], 2);
        check(&[0, 1], 1);
        check(&[1, 2_147_483_647], 1_537_228_672_809_129_302);
        check(&[123_456_789, 987_654_321], 1_140_363_655_028_362_418);
        check(&[1, 2, 3], 48);
        check(&[2_097_151, 0, 1_048_576], 8_070_450_532_247_928_831);
    }

    #[test]
    fn corners_and_single_bits_match_the_plain_transform() {
        for dimensions in 1..=HILBERT_DIMENSIONS_MAX {
            let bits = bits(dimensions);
            let max = (1_u64 << bits) - 1;
            // Each corner of the domain, and its neighbours.
            let corners = (0..1_usize << dimensions).flat_map(|corner| {
                let at = move |d: usize, inset: u64| if (corner >> d) & 1 == 1 { max - inset } else { inset };
                [0, 1].map(|inset| (0..dimensions).map(|d| at(d, inset)).collect())
            });
            let single = (0..dimensions)
                .flat_map(|d| (0..bits).map(move |b| (0..dimensions).map(|e| u64::from(d == e) << b).collect()));
            check(&corners.chain(single).collect::<Vec<_>>(), dimensions);
            check(&[], dimensions);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn points_match_the_plain_transform(words in prop::collection::vec(any::<u64>(), 1..2000)) {
            for dimensions in 1..=HILBERT_DIMENSIONS_MAX {
                let max = (1 << bits(dimensions)) - 1;
                let points: Vec<Vec<u64>> = words
                    .chunks_exact(dimensions)
                    .map(|p| p.iter().map(|w| w & max).collect())
                    .collect();
                check(&points, dimensions);
            }
        }
    }
}
