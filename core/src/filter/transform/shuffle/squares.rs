//! Shuffle kernels with 64-bit arithmetic, for processors without 16-byte vectors. They move squares of 8 x 8 bytes or
//! bits.

use super::{BLOCK, transpose};

/// Shuffles the bytes of whole values and copies the remainder. Both slices must have the same length.
pub(in crate::filter::transform) fn bytes(width: usize, data: &[u8], out: &mut [u8]) {
    by_width!(width, [2, 4, 8], shuffle_words, data, out);
}

/// Undoes [`bytes`].
pub(in crate::filter::transform) fn unbytes(width: usize, data: &[u8], out: &mut [u8]) {
    by_width!(width, [2, 4, 8], unshuffle_words, data, out);
}

/// Size of an 8 x 8 square of bytes, which holds `64 / W` values.
const SQUARE: usize = 64;

fn shuffle_words<const W: usize>(data: &[u8], out: &mut [u8]) {
    let n = data.len() / W;
    let (values, tail) = data.split_at(n * W);
    let (rows, out_tail) = out.split_at_mut(n * W);
    out_tail.copy_from_slice(tail);
    let mut rows = rows.chunks_exact_mut(n.max(1));
    let mut rows: [&mut [u8]; W] = std::array::from_fn(|_| rows.next().unwrap_or_default());
    let (squares, rest) = values.as_chunks::<SQUARE>();
    for (s, square) in squares.iter().enumerate() {
        // Word i gets value i of each group of eight, so word j then holds eight bytes of row j mod W.
        let (values, _) = square.as_chunks::<W>();
        let mut x = [0; 8];
        for (i, x) in x.iter_mut().enumerate() {
            let mut word = [0; 8];
            for (to, from) in word
                .as_chunks_mut::<W>()
                .0
                .iter_mut()
                .zip(values.iter().skip(i).step_by(8))
            {
                *to = *from;
            }
            *x = u64::from_le_bytes(word);
        }
        for (j, y) in transpose::bytes(x).into_iter().enumerate() {
            let row = rows.get_mut(j % W).map(|row| row.as_chunks_mut::<8>().0);
            if let Some(to) = row.and_then(|row| row.get_mut(s * (8 / W) + j / W)) {
                *to = y.to_le_bytes();
            }
        }
    }
    let done = squares.len() * SQUARE / W;
    for (i, value) in rest.as_chunks::<W>().0.iter().enumerate() {
        for (row, &byte) in rows.iter_mut().zip(value) {
            if let Some(to) = row.get_mut(done + i) {
                *to = byte;
            }
        }
    }
}

fn unshuffle_words<const W: usize>(data: &[u8], out: &mut [u8]) {
    let n = data.len() / W;
    let (rows, tail) = data.split_at(n * W);
    let (values, out_tail) = out.split_at_mut(n * W);
    out_tail.copy_from_slice(tail);
    let mut rows = rows.chunks_exact(n.max(1));
    let rows: [&[u8]; W] = std::array::from_fn(|_| rows.next().unwrap_or_default());
    let (squares, rest) = values.as_chunks_mut::<SQUARE>();
    let done = squares.len() * SQUARE / W;
    for (s, square) in squares.iter_mut().enumerate() {
        let mut x = [0; 8];
        for (j, x) in x.iter_mut().enumerate() {
            let row = rows.get(j % W).map(|row| row.as_chunks::<8>().0);
            *x = u64::from_le_bytes(
                row.and_then(|row| row.get(s * (8 / W) + j / W))
                    .copied()
                    .unwrap_or_default(),
            );
        }
        let (values, _) = square.as_chunks_mut::<W>();
        for (i, y) in transpose::bytes(x).into_iter().enumerate() {
            let word = y.to_le_bytes();
            for (to, from) in values.iter_mut().skip(i).step_by(8).zip(word.as_chunks::<W>().0) {
                *to = *from;
            }
        }
    }
    for (i, value) in rest.as_chunks_mut::<W>().0.iter_mut().enumerate() {
        for (to, row) in value.iter_mut().zip(rows) {
            *to = row.get(done + i).copied().unwrap_or_default();
        }
    }
}

/// Shuffles the bits of values, by way of rows of bytes.
pub(in crate::filter::transform) fn bits(width: usize, data: &[u8], out: &mut [u8]) {
    let mut block = [0; BLOCK];
    let Some(planes) = block.get_mut(..data.len()) else {
        return;
    };
    bytes(width, data, planes);
    let n = data.len() / width;
    for (plane, rows) in planes.chunks_exact(n.max(8)).zip(out.chunks_exact_mut(n.max(8))) {
        let (words, _) = plane.as_chunks::<8>();
        let mut rows = rows.chunks_exact_mut(words.len());
        let mut rows: [&mut [u8]; 8] = std::array::from_fn(|_| rows.next().unwrap_or_default());
        let (squares, singles) = words.as_chunks::<8>();
        for (s, square) in squares.iter().enumerate() {
            let x = square.map(|word| transpose::bits(u64::from_le_bytes(word)));
            for (row, y) in rows.iter_mut().zip(transpose::bytes(x)) {
                if let Some(to) = row.as_chunks_mut::<8>().0.get_mut(s) {
                    *to = y.to_le_bytes();
                }
            }
        }
        for (i, &word) in singles.iter().enumerate() {
            for (row, byte) in rows
                .iter_mut()
                .zip(transpose::bits(u64::from_le_bytes(word)).to_le_bytes())
            {
                if let Some(to) = row.get_mut(squares.len() * 8 + i) {
                    *to = byte;
                }
            }
        }
    }
}

/// Undoes [`bits`], by way of rows of bytes.
pub(in crate::filter::transform) fn unbits(width: usize, data: &[u8], out: &mut [u8]) {
    let mut block = [0; BLOCK];
    let Some(planes) = block.get_mut(..data.len()) else {
        return;
    };
    let n = data.len() / width;
    for (rows, plane) in data.chunks_exact(n.max(8)).zip(planes.chunks_exact_mut(n.max(8))) {
        let (words, _) = plane.as_chunks_mut::<8>();
        let mut rows = rows.chunks_exact(words.len());
        let rows: [&[u8]; 8] = std::array::from_fn(|_| rows.next().unwrap_or_default());
        let (squares, singles) = words.as_chunks_mut::<8>();
        let done = squares.len() * 8;
        for (s, square) in squares.iter_mut().enumerate() {
            let x = rows.map(|row| u64::from_le_bytes(row.as_chunks::<8>().0.get(s).copied().unwrap_or_default()));
            for (to, y) in square.iter_mut().zip(transpose::bytes(x)) {
                *to = transpose::bits(y).to_le_bytes();
            }
        }
        for (i, to) in singles.iter_mut().enumerate() {
            let word = rows.map(|row| row.get(done + i).copied().unwrap_or_default());
            *to = transpose::bits(u64::from_le_bytes(word)).to_le_bytes();
        }
    }
    unbytes(width, planes, out);
}
