//! Default tile extents and domains.

/// The approximate cells of a tile: large enough to compress well and to read in one request, small enough to skip.
const TILE_CELLS: u64 = 1 << 16;

/// Extents of tiles of about [`TILE_CELLS`] cells, as square as the array allows.
pub(super) fn extents(lengths: &[u64]) -> Vec<u64> {
    let mut extents = vec![0; lengths.len()];
    let mut open: Vec<usize> = (0..lengths.len()).collect();
    let mut budget = TILE_CELLS;
    // A tile spans short axes completely, and the other axes share the remaining cells.
    while !open.is_empty() {
        let side = root(budget, open.len());
        let short = open
            .iter()
            .copied()
            .find(|i| lengths.get(*i).is_some_and(|n| *n <= side));
        let set = |i: usize, n: u64, extents: &mut Vec<u64>| extents.iter_mut().skip(i).take(1).for_each(|e| *e = n);
        match short {
            Some(i) => {
                let n = lengths.get(i).copied().unwrap_or(1).max(1);
                set(i, n, &mut extents);
                budget = (budget / n).max(1);
                open.retain(|j| *j != i);
            }
            // If there are too many axes, only the last ones get two cells, because cells are adjacent along them.
            None if side == 1 => {
                let single = open.len().saturating_sub(budget.ilog2() as usize);
                open.drain(..)
                    .enumerate()
                    .for_each(|(n, i)| set(i, 1 + u64::from(n >= single), &mut extents));
            }
            None => open.drain(..).for_each(|i| set(i, side, &mut extents)),
        }
    }
    extents
}

/// The largest power of two up to the `n`-th root, at least 1.
fn root(budget: u64, n: usize) -> u64 {
    let bits = budget.max(1).ilog2() / u32::try_from(n).unwrap_or(u32::MAX).max(1);
    1 << bits
}

/// A round interval around `lo..=hi`: multiples of the power of ten just below its width.
pub(super) fn round_out(lo: f64, hi: f64) -> (f64, f64) {
    let width = if hi > lo { hi - lo } else { lo.abs().max(1.0) };
    let step = 10_f64.powf(width.log10().floor());
    if !step.is_finite() || step == 0.0 {
        return (lo, hi);
    }
    (
        ((lo / step).floor() * step).min(lo),
        ((hi / step).ceil() * step).max(hi),
    )
}

/// The same for integers, within `min..=max`. A domain cannot include every value of its type, so the result omits an
/// end that no cell has.
pub(super) fn round_out_integer(lo: i128, hi: i128, min: i128, max: i128) -> (i128, i128) {
    let width = (hi - lo).max(1);
    let step = 10_i128.pow(width.ilog10());
    let up = |v: i128| v.div_euclid(step) * step + if v.rem_euclid(step) == 0 { 0 } else { step };
    match ((lo.div_euclid(step) * step).clamp(min, lo), up(hi).clamp(hi, max)) {
        (first, last) if (first, last) != (min, max) => (first, last),
        (first, last) if hi < max => (first, last - 1),
        (first, last) => ((first + 1).min(lo), last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_square_if_possible() {
        assert_eq!(extents(&[21600, 43200]), [256, 256]);
        assert_eq!(extents(&[1_000_000]), [65536]);
        assert_eq!(extents(&[10]), [10]);
        assert_eq!(extents(&[3, 5000, 5000]), [3, 128, 128]);
        assert_eq!(extents(&[1000, 1000, 1000]), [32, 32, 32]);
        assert_eq!(extents(&[1, 1, 9]), [1, 1, 9]);
        assert_eq!(extents(&[2; 16]), [2; 16]);
        assert_eq!(extents(&[2; 18]), [&[1; 2][..], &[2; 16]].concat());
        assert_eq!(extents(&[3; 20]), [&[1; 4][..], &[2; 16]].concat());
    }

    #[test]
    fn domains_are_round() {
        assert_eq!(round_out(-179.2, 178.4), (-200.0, 200.0));
        assert_eq!(round_out(0.0, 0.5), (0.0, 0.5));
        assert_eq!(round_out(7.0, 7.0), (7.0, 7.0));
        assert_eq!(round_out_integer(13, 987, i128::MIN, i128::MAX), (0, 1000));
        assert_eq!(round_out_integer(-5, 250, -128, 255), (-100, 255));
        assert_eq!(round_out_integer(20, 230, 0, 255), (0, 254));
        assert_eq!(round_out_integer(20, 255, 0, 255), (1, 255));
        assert_eq!(round_out_integer(0, 255, 0, 255), (0, 255));
    }
}
