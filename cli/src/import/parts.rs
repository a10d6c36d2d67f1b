//! Cuts a box into parts of whole tiles, in the order of the tiles.

use std::ops::Range;

/// A part of a box: a range of cells along each axis.
pub(super) type Part = Vec<Range<u64>>;

/// Cuts a box with these lengths into parts of at most `cells` cells, but at least one tile each. In the order of tiles,
/// the first axis is the slowest, unless `reversed`.
pub(super) fn parts(
    lengths: &[u64],
    extents: &[u64],
    reversed: bool,
    cells: u64,
) -> impl Iterator<Item = Part> + Clone + Send + use<> {
    let mut axes: Vec<usize> = (0..lengths.len()).collect();
    if reversed {
        axes.reverse();
    }
    let thick = |axis: usize| extents[axis].min(lengths[axis]).max(1);
    // One tile thick along the axes before the cut, whole along those after it.
    let slab = |cut: usize| -> u64 {
        let before: u64 = axes[..cut].iter().map(|a| thick(*a)).fold(1, u64::saturating_mul);
        axes[cut + 1..]
            .iter()
            .map(|a| lengths[*a])
            .fold(before, u64::saturating_mul)
    };
    let fits = |cut: &usize| slab(*cut).saturating_mul(thick(axes[*cut])) <= cells;
    let cut = (0..axes.len()).find(fits).unwrap_or(axes.len().saturating_sub(1));
    let steps: Vec<u64> = (0..axes.len())
        .map(|at| {
            let axis = axes[at];
            match at.cmp(&cut) {
                std::cmp::Ordering::Less => thick(axis),
                std::cmp::Ordering::Equal => {
                    let most = cells / slab(cut).max(1);
                    (most - most % extents[axis].max(1)).max(extents[axis].max(1))
                }
                std::cmp::Ordering::Greater => lengths[axis].max(1),
            }
        })
        .collect();
    let counts: Vec<u64> = axes
        .iter()
        .zip(&steps)
        .map(|(a, step)| lengths[*a].div_ceil(*step))
        .collect();
    let lengths = lengths.to_vec();
    let all = counts.iter().copied().fold(1, u64::saturating_mul);
    (0..all).map(move |mut number| {
        let mut part = vec![0..0; lengths.len()];
        for ((axis, step), count) in axes.iter().zip(&steps).zip(&counts).rev() {
            let start = number % count * step;
            part[*axis] = start..start.saturating_add(*step).min(lengths[*axis]);
            number /= count;
        }
        part
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_the_tiles_and_hold_all_cells() {
        let (lengths, extents) = ([5_u64, 7, 4], [2_u64, 3, 4]);
        for reversed in [false, true] {
            for most in [0, 8, 24, 56, 100, 1000] {
                let list: Vec<Part> = parts(&lengths, &extents, reversed, most).collect();
                let cells = |p: &Part| p.iter().map(|r| r.end - r.start).product::<u64>();
                assert_eq!(list.iter().map(cells).sum::<u64>(), 140, "{most}");
                let tile = |p: &Part| -> Vec<u64> {
                    let mut at: Vec<u64> = p.iter().zip(extents).map(|(r, e)| r.start / e).collect();
                    if reversed {
                        at.reverse();
                    }
                    at
                };
                assert!(list.windows(2).all(|w| tile(&w[0]) < tile(&w[1])), "{most}: {list:?}");
                assert!(list.iter().all(|p| cells(p) <= most.max(24)), "{most}: {list:?}");
                let whole = |p: &Part| p.iter().zip(extents).all(|(r, e)| r.start.is_multiple_of(e));
                assert!(list.iter().all(whole), "{most}: {list:?}");
            }
        }
        assert_eq!(parts(&lengths, &extents, false, 1000).count(), 1);
        // Nobody makes a list of the parts of a huge box.
        let huge = parts(&[1 << 62, 1 << 20], &[1, 1], false, 1 << 20);
        assert_eq!(huge.take(2).last(), Some(vec![1..2, 0..1 << 20]));
    }
}
