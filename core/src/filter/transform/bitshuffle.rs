//! Bit shuffle: transposes the bits of values, in blocks of 8 KiB.
//!
//! In each block, the values up to a multiple of 8 are transposed to one row per bit position. The first value is in
//! the lowest bit of the first byte of each row. The other values follow unchanged.

use super::{each_part, parts_header, shuffle};
use crate::error::Malformed;
use crate::filter::chunk::ChunkHeaders;
use crate::format::cursor::{Decoded, Reader};

/// Appends the shuffled bits of `data`. The bytes after the last multiple of 8 become a separate part.
///
/// # Errors
/// `data` is longer than 4 GiB.
pub(in crate::filter) fn encode(
    width: usize,
    headers: &mut ChunkHeaders,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let over = data.len() % 8;
    let (first, last) = data.split_at(data.len() - over);
    let lengths = [first.len(), last.len()];
    headers.put(parts_header(
        lengths.get(..1 + usize::from(over > 0)).unwrap_or(&lengths),
    )?);
    out.resize(data.len(), 0);
    let (to_first, to_last) = out.split_at_mut(first.len());
    each_block(width, first, to_first, shuffle::bits);
    to_last.copy_from_slice(last);
    Ok(())
}

/// Restores the original order of the bits in `data`.
///
/// # Errors
/// The parts have the wrong size.
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
    fn bits_are_ordered_like_libtiledb() {
        let data: Vec<u8> = (1_i32..=9).flat_map(i32::to_le_bytes).collect();
        let (mut headers, mut out) = (ChunkHeaders::default(), Vec::new());
        encode(4, &mut headers, &data, &mut out).unwrap();
        assert_eq!(
            headers.0,
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
