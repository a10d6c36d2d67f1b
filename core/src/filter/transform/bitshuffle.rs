//! Bits of equal weight side by side, in blocks of 8 KiB.
//!
//! Of the values in a block, as many as are a multiple of 8 give a row for each of their bits, the
//! first value in the lowest bit of the row's first byte; the others follow as they are.

use super::{byteshuffle, each_part, parts_header, transpose};
use crate::error::Malformed;
use crate::filter::chunk::Notes;
use crate::format::cursor::{Decoded, Reader};

/// Bytes that are shuffled among themselves.
const BLOCK: usize = 8192;

/// Appends the shuffled bits of `data`; bytes beyond a multiple of 8 become a part of their own.
///
/// # Errors
/// `data` is longer than 4 GiB.
pub(in crate::filter) fn encode(
    width: usize,
    notes: &mut Notes,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let over = data.len() % 8;
    let (first, last) = data.split_at(data.len() - over);
    let lengths = [first.len(), last.len()];
    notes.put(parts_header(
        lengths.get(..1 + usize::from(over > 0)).unwrap_or(&lengths),
    )?);
    out.resize(data.len(), 0);
    let (to_first, to_last) = out.split_at_mut(first.len());
    each_block(width, first, to_first, shuffle);
    to_last.copy_from_slice(last);
    Ok(())
}

/// Writes the bits of `data` in their old order.
///
/// # Errors
/// The parts do not fit.
pub(in crate::filter) fn decode(width: usize, r: &mut Reader<'_>, data: &[u8], out: &mut [u8]) -> Decoded<()> {
    each_part(r, data, out, |data, out| {
        each_block(width, data, out, unshuffle);
        Ok(())
    })
}

fn each_block(width: usize, data: &[u8], out: &mut [u8], kernel: impl Fn(usize, &[u8], &mut [u8])) {
    if !data.len().is_multiple_of(width) || !data.len().is_multiple_of(8) {
        out.copy_from_slice(data);
        return;
    }
    for (data, out) in data.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let shuffled = data.len() / width / 8 * 8 * width;
        let ((data, data_tail), (out, out_tail)) = (data.split_at(shuffled), out.split_at_mut(shuffled));
        out_tail.copy_from_slice(data_tail);
        kernel(width, data, out);
    }
}

/// Values to rows of bits, by way of rows of bytes.
fn shuffle(width: usize, data: &[u8], out: &mut [u8]) {
    let mut block = [0; BLOCK];
    let Some(planes) = block.get_mut(..data.len()) else {
        return;
    };
    byteshuffle::shuffle(width, data, planes);
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

/// Rows of bits to values, by way of rows of bytes.
fn unshuffle(width: usize, data: &[u8], out: &mut [u8]) {
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
    byteshuffle::unshuffle(width, planes, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_lie_as_libtiledb_lays_them() {
        let data: Vec<u8> = (1_i32..=9).flat_map(i32::to_le_bytes).collect();
        let (mut notes, mut out) = (Notes::default(), Vec::new());
        encode(4, &mut notes, &data, &mut out).unwrap();
        assert_eq!(
            notes.0,
            [[2_u32, 32, 4]
                .into_iter()
                .flat_map(u32::to_le_bytes)
                .collect::<Vec<_>>()]
        );
        let mut expect = vec![0x55, 0x66, 0x78, 0x80];
        expect.resize(32, 0);
        expect.extend([9, 0, 0, 0]);
        assert_eq!(out, expect);
    }
}
