//! Compares the two sets of kernels.

use super::*;

type Kernel = fn(usize, &[u8], &mut [u8]);

/// Tests lengths up to a block, in steps that produce all remainders of a vector. `step` is a number of values.
fn same(plain: Kernel, fast: Kernel, width: usize, step: usize) {
    let noise = (0_u32..).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8);
    let data: Vec<u8> = noise.take(BLOCK).collect();
    for n in (0..BLOCK).step_by(width * step * 7).chain([BLOCK]) {
        let (mut expect, mut found) = (vec![0; n], vec![0xaa; n]);
        plain(width, &data[..n], &mut expect);
        fast(width, &data[..n], &mut found);
        assert_eq!(found, expect, "{n} bytes of values of {width}");
    }
}

#[test]
fn both_sets_agree() {
    for width in [1, 2, 4, 8] {
        same(squares::bits, lanes::bits, width, 8);
        same(squares::unbits, lanes::unbits, width, 8);
        same(squares::bytes, lanes::bytes, width, 1);
        same(squares::unbytes, lanes::unbytes, width, 1);
    }
}

#[test]
fn trailing_bytes_are_copied() {
    for n in 0..100 {
        let data: Vec<u8> = (0..n).collect();
        for width in [1, 2, 3, 4, 8] {
            let (mut expect, mut found) = (vec![0; data.len()], vec![0; data.len()]);
            squares::bytes(width, &data, &mut expect);
            lanes::bytes(width, &data, &mut found);
            assert_eq!(found, expect, "{n} bytes of values of {width}");
            lanes::unbytes(width, &expect, &mut found);
            assert_eq!(found, data, "{n} bytes of values of {width}");
        }
    }
}
