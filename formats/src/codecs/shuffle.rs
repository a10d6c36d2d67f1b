//! Shuffles: the bytes or bits of values, first all first ones, then all second ones.

/// Undoes a byte shuffle of values of `width` bytes. Bytes after the last whole value are as they were.
pub(crate) fn unshuffled(data: &[u8], width: usize) -> Vec<u8> {
    let cells = data.len() / width.max(1);
    if width < 2 || cells == 0 {
        return data.to_vec();
    }
    let (whole, rest) = data.split_at(cells * width);
    let mut out = vec![0; whole.len()];
    for (byte, plane) in whole.chunks_exact(cells).enumerate() {
        let targets = out.iter_mut().skip(byte).step_by(width);
        targets.zip(plane).for_each(|(to, from)| *to = *from);
    }
    out.extend_from_slice(rest);
    out
}

/// Undoes a bit shuffle of values of `width` bytes, whose number is a multiple of 8. Bytes after them are as they were.
pub(super) fn unshuffled_bits(data: &[u8], width: usize) -> Vec<u8> {
    let width = width.max(1);
    let row = data.len() / width / 8;
    let (whole, rest) = data.split_at(row * 8 * width);
    if row == 0 {
        return data.to_vec();
    }
    let mut out = vec![0; whole.len()];
    for (plane, bits) in whole.chunks_exact(row).enumerate() {
        let (byte, bit) = (plane / 8, plane % 8);
        for (group, bits) in bits.iter().enumerate() {
            let cells = out.iter_mut().skip(group * 8 * width + byte).step_by(width).take(8);
            cells.enumerate().for_each(|(n, to)| *to |= (bits >> n & 1) << bit);
        }
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_in_order() {
        assert_eq!(unshuffled(b"acegbdfh", 2), b"abcdefgh");
        assert_eq!(unshuffled(b"acbdX", 2), b"abcdX");
        assert_eq!(unshuffled(b"abc", 0), b"abc");
    }

    #[test]
    fn bits_come_back_in_order() {
        // Eight values of two bytes; value n is n + 256 * (n == 3).
        let mut planes = [0_u8; 16];
        planes[0] = 0b1010_1010;
        planes[1] = 0b1100_1100;
        planes[2] = 0b1111_0000;
        planes[8] = 0b0000_1000;
        let out = unshuffled_bits(&planes, 2);
        let values: Vec<u16> = out.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
        assert_eq!(values, [0, 1, 2, 259, 4, 5, 6, 7]);
        assert_eq!(unshuffled_bits(b"abc", 2), b"abc");
    }
}
