//! Bits of equal weight side by side, in blocks of 8 KiB.
//!
//! Of the values in a block, as many as are a multiple of 8 give a row for each of their bits, the
//! first value in the lowest bit of the row's first byte; the others follow as they are.

use super::{each_part, parts_header, shuffle};
use crate::error::Malformed;
use crate::filter::chunk::Notes;
use crate::format::cursor::{Decoded, Reader};

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
    each_block(width, first, to_first, shuffle::bits);
    to_last.copy_from_slice(last);
    Ok(())
}

/// Writes the bits of `data` in their old order.
///
/// # Errors
/// The parts do not fit.
pub(in crate::filter) fn decode(width: usize, r: &mut Reader<'_>, data: &[u8], out: &mut [u8]) -> Decoded<()> {
    each_part(r, data, out, |data, out| {
        each_block(width, data, out, shuffle::unbits);
        Ok(())
    })
}

fn each_block(width: usize, data: &[u8], out: &mut [u8], kernel: impl Fn(usize, &[u8], &mut [u8])) {
    if !data.len().is_multiple_of(width) || !data.len().is_multiple_of(8) {
        out.copy_from_slice(data);
        return;
    }
    for (data, out) in data.chunks(shuffle::BLOCK).zip(out.chunks_mut(shuffle::BLOCK)) {
        let shuffled = data.len() / width / 8 * 8 * width;
        let ((data, data_tail), (out, out_tail)) = (data.split_at(shuffled), out.split_at_mut(shuffled));
        out_tail.copy_from_slice(data_tail);
        kernel(width, data, out);
    }
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
