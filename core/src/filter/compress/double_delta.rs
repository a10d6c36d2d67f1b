//! Second differences, bit-packed: `bits u8 | number of values u64 | first value | second value | stream`.
//!
//! In the stream, each value is a sign bit and `bits` bits of magnitude, highest first, in little-endian 64-bit words.
//! If that would save nothing, all values are copied instead.

use super::delta::{all_stored, count};
use crate::datatype::Physical;
use crate::error::Malformed;
use crate::filter::chunk::whole;
use crate::filter::word::{Word, with_width, with_word};
use crate::format::cursor::{Decoded, Reader};

/// Appends the second differences of the values in `data`.
pub(super) fn pack(kind: Physical, data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    whole(data.len(), kind.size(), "double delta")?;
    with_word!(kind, T => pack_words::<T>(data, out));
    Ok(())
}

/// Restores the values from their second differences in `data`.
pub(super) fn unpack(kind: Physical, data: &[u8], out: &mut [u8]) -> Decoded<()> {
    let mut r = Reader::new(data);
    let bits = u32::from(r.u8("bits of a second difference")?);
    let stored = count(&mut r, kind, out.len(), "double delta")?;
    let width = kind.size();
    if is_copied(bits, width) {
        // If values are copied, so is a remainder after the last whole value.
        out.copy_from_slice(r.take(out.len(), "values")?);
        return r.finish("double delta");
    }
    all_stored(stored, out.len(), "double delta")?;
    let head = out.len().min(2 * width);
    let first = r.take(head, "first two values")?;
    let words = r.rest();
    let n = (out.len() - head) / width;
    // Checked once here, so that the loop does not have to.
    if ((words.len() / 8) as u64) * 64 < n as u64 * u64::from(bits + 1) {
        return Err(Malformed::new(
            "double delta",
            0,
            format!("{n} values of {} bits do not fit in {} bytes", bits + 1, words.len()),
        ));
    }
    if let Some(to) = out.get_mut(..head) {
        to.copy_from_slice(first);
    }
    with_width!(unsigned width, T => unpack_words::<T>(bits, words, out));
    Ok(())
}

const fn is_copied(bits: u32, width: usize) -> bool {
    bits as usize + 1 >= width * 8
}

fn pack_words<T: Word>(data: &[u8], out: &mut Vec<u8>) {
    let n = data.len() / T::BYTES;
    let bits = magnitude_bits::<T>(data);
    out.push(u8::try_from(bits).unwrap_or(u8::MAX));
    out.extend_from_slice(&(n as u64).to_le_bytes());
    if is_copied(bits, T::BYTES) {
        out.extend_from_slice(data);
        return;
    }
    out.extend_from_slice(data.get(..2 * T::BYTES).unwrap_or(data));
    let mut stream = BitWriter { out, word: 0, free: 64 };
    for dd in second_differences::<T>(data) {
        let magnitude = u64::try_from(dd.unsigned_abs()).unwrap_or(u64::MAX);
        stream.put(u64::from(dd < 0) << bits | magnitude, bits + 1);
    }
    stream.finish();
}

fn second_differences<T: Word>(data: &[u8]) -> impl Iterator<Item = i128> {
    let load = |v: &[u8]| T::load(v).wide();
    let values = data.chunks_exact(T::BYTES);
    let mut before = values.clone().map(load);
    let (mut a, mut b) = (before.next().unwrap_or_default(), before.next().unwrap_or_default());
    before.map(move |c| {
        let dd = c - 2 * b + a;
        (a, b) = (b, c);
        dd
    })
}

/// Number of bits for the largest second difference, or for the first difference if that is larger, like libtiledb. 0
/// if there are no second differences.
fn magnitude_bits<T: Word>(data: &[u8]) -> u32 {
    let mut values = data.chunks_exact(T::BYTES).map(|v| T::load(v).wide());
    let (Some(a), Some(b)) = (values.next(), values.next()) else {
        return 0;
    };
    let most = second_differences::<T>(data)
        .map(i128::unsigned_abs)
        .reduce(|a, b| a | b);
    // Only the highest bit matters, so bitwise or replaces the maximum.
    most.map_or(0, |most| 128 - (most | (b - a).unsigned_abs() | 1).leading_zeros())
}

fn unpack_words<T: Word>(bits: u32, words: &[u8], out: &mut [u8]) {
    let (words, _) = words.as_chunks::<8>();
    let word = |i: usize| words.get(i).map_or(0, |w| u64::from_le_bytes(*w));
    let load = |v: Option<&[u8]>| v.map_or(T::narrow(0), T::load);
    let (mut a, mut b) = (load(out.get(..T::BYTES)), load(out.get(T::BYTES..2 * T::BYTES)));
    let (mut at, taken) = (0_usize, bits + 1);
    let (mut current, mut left) = (word(0), 64_u32);
    for to in out.chunks_exact_mut(T::BYTES).skip(2) {
        let mut value = current >> (64 - taken);
        if left > taken {
            current <<= taken;
            left -= taken;
        } else {
            at += 1;
            let (next, missing) = (word(at), taken - left);
            value |= next.checked_shr(64 - missing).unwrap_or(0);
            current = next << missing;
            left = 64 - missing;
        }
        let magnitude = value & ((1 << bits) - 1);
        let dd = if value >> bits == 0 {
            magnitude
        } else {
            magnitude.wrapping_neg()
        };
        let c = T::narrow(dd).plus(b).plus(b.minus(a));
        c.store(to);
        (a, b) = (b, c);
    }
}

struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    word: u64,
    free: u32,
}

impl BitWriter<'_> {
    /// Appends the low `n` bits of `value`. `n` is 1 to 63; the other bits must be 0.
    fn put(&mut self, value: u64, n: u32) {
        if n < self.free {
            self.free -= n;
            self.word |= value << self.free;
            return;
        }
        let over = n - self.free;
        self.out.extend_from_slice(&(self.word | value >> over).to_le_bytes());
        self.free = 64 - over;
        self.word = value.checked_shl(self.free).unwrap_or(0);
    }

    fn finish(self) {
        if self.free < 64 {
            self.out.extend_from_slice(&self.word.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed<T: Word>(kind: Physical, values: &[T]) -> Vec<u8> {
        let mut data = vec![0; values.len() * T::BYTES];
        data.chunks_exact_mut(T::BYTES)
            .zip(values)
            .for_each(|(to, v)| v.store(to));
        let mut out = Vec::new();
        pack(kind, &data, &mut out).unwrap();
        let mut back = vec![0; data.len()];
        unpack(kind, &out, &mut back).unwrap();
        assert_eq!(back, data);
        out
    }

    #[test]
    fn streams_match_libtiledb() {
        assert_eq!(
            packed(Physical::I32, &[1, 2, 3, 5, 8]),
            b"\x01\x05\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\x14"
        );
        assert_eq!(
            packed(Physical::I32, &[0, i32::MAX, 0]),
            b"\x20\x03\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\x7f\0\0\0\0"
        );
        assert_eq!(packed(Physical::I32, &[7]), b"\0\x01\0\0\0\0\0\0\0\x07\0\0\0");
    }

    #[test]
    fn all_bit_widths_round_trip() {
        for bits in 0..62 {
            let step = 1_i64 << bits;
            let values: Vec<i64> = (0..200).map(|i| if i % 3 == 0 { step } else { i % 7 }).collect();
            packed(Physical::I64, &values);
        }
        packed(Physical::U64, &[0, u64::MAX, 0, u64::MAX]);
        packed(Physical::I64, &[i64::MIN, i64::MAX, i64::MIN, 0]);
    }

    #[test]
    fn a_truncated_stream_is_an_error() {
        let mut data = packed(Physical::I32, &[1, 2, 3, 5, 8]);
        data.truncate(20);
        assert!(unpack(Physical::I32, &data, &mut [0; 20]).is_err());
    }

    /// There can only be a remainder if another filter comes before this one. libtiledb stores it only if the values
    /// are copied.
    #[test]
    fn a_remainder_is_read_only_if_values_were_copied() {
        let copied = b"\x20\x01\0\0\0\0\0\0\0\x07\0\0\0\xab";
        let mut out = [0; 5];
        unpack(Physical::I32, copied, &mut out).unwrap();
        assert_eq!(out, *b"\x07\0\0\0\xab");
        let coded = b"\0\x01\0\0\0\0\0\0\0\x07\0\0\0";
        let lost = unpack(Physical::I32, coded, &mut out).unwrap_err();
        assert!(lost.why.starts_with("the last 1 of 5 bytes are lost"), "{}", lost.why);
    }
}
