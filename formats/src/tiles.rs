//! Default extents of tiles.

/// The approximate cells of a tile: large enough to compress well and to read in one request, small enough to skip.
const TILE_CELLS: u64 = 1 << 16;
/// Tiles of the chunks of a file have at least this many bytes, if the array is that large.
const CHUNK_BYTES_MIN: u64 = 1 << 16;
/// Tiles of the chunks of a file have at most this many bytes.
const CHUNK_BYTES_MAX: u64 = 16 << 20;

/// Extents of tiles of about 65536 cells, as square as the array allows.
///
/// ```
/// assert_eq!(hyperslab_formats::tiles::extents(&[21600, 43200]), [256, 256]);
/// ```
pub fn extents(lengths: &[u64]) -> Vec<u64> {
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

/// Extents of tiles for a file with chunks of these lengths. Small chunks are multiplied to about 64 KiB, along the
/// last axes first. Large ones are halved until they have at most 16 MiB. No extent is longer than its axis.
///
/// ```
/// use hyperslab_formats::tiles;
/// assert_eq!(tiles::of_chunks(&[1, 73, 144], &[480, 73, 144], 4), [2, 73, 144]);
/// assert_eq!(tiles::of_chunks(&[1], &[1_000_000], 8), [8192]);
/// ```
pub fn of_chunks(chunk: &[u64], lengths: &[u64], cell_bytes: u64) -> Vec<u64> {
    let mut extents: Vec<u64> = chunk
        .iter()
        .zip(lengths)
        .map(|(chunk, length)| (*chunk).clamp(1, (*length).max(1)))
        .collect();
    let bytes = |extents: &[u64]| extents.iter().fold(cell_bytes.max(1), |n, e| n.saturating_mul(*e));
    while bytes(&extents) > CHUNK_BYTES_MAX {
        let Some(longest) = extents.iter_mut().max().filter(|e| **e > 1) else {
            break;
        };
        *longest = longest.div_ceil(2);
    }
    for axis in (0..extents.len()).rev() {
        let wanted = CHUNK_BYTES_MIN.div_ceil(bytes(&extents));
        let (Some(extent), Some(length)) = (extents.get_mut(axis), lengths.get(axis)) else {
            break;
        };
        if wanted > 1 && *extent < *length {
            *extent = extent.saturating_mul(wanted).min(*length);
        }
    }
    extents
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
    fn chunks_become_tiles_of_bearable_sizes() {
        assert_eq!(of_chunks(&[1, 181, 360], &[12, 181, 360], 4), [1, 181, 360]);
        assert_eq!(of_chunks(&[1, 1, 10], &[12, 9, 10], 8), [12, 9, 10]);
        assert_eq!(of_chunks(&[4096, 4096], &[9000, 9000], 4), [2048, 2048]);
        assert_eq!(of_chunks(&[1000], &[3], 4), [3]);
        assert_eq!(of_chunks(&[1], &[0], 4), [1]);
        assert_eq!(of_chunks(&[1], &[u64::MAX], u64::MAX), [1]);
    }
}
