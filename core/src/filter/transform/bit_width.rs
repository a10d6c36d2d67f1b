//! Bit width reduction: windows of integers, stored as differences from the minimum in as few bytes as possible.
//!
//! Header: `unfiltered size u32 | windows u32 | per window: minimum, bits u8, unfiltered size u32`. A window is copied
//! if it needs its full width or is not a whole number of values.

use crate::datatype::Physical;
use crate::error::Malformed;
use crate::filter::chunk::{ChunkHeaders, filled, len32, split, split_mut};
use crate::filter::word::{Word, with_width, with_word};
use crate::format::cursor::{Decoded, Reader, Writer};

/// Size of a full window in bytes: a whole number of values, at least one.
pub(in crate::filter) fn window_bytes(window: u32, width: usize) -> usize {
    let window = usize::try_from(window).unwrap_or(usize::MAX);
    (window - window % width).max(width)
}

/// Appends the reduced windows of `data`.
///
/// # Errors
/// `data` is longer than 4 GiB.
pub(in crate::filter) fn encode(
    kind: Physical,
    window: u32,
    headers: &mut ChunkHeaders,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let window = window_bytes(window, kind.size());
    let mut w = Writer::new();
    w.u32(len32(data.len())?).u32(len32(data.len().div_ceil(window))?);
    for values in data.chunks(window) {
        with_word!(kind, T => reduce::<T>(values, &mut w, out))?;
    }
    headers.put(w.into_bytes());
    Ok(())
}

/// The number of bytes that [`decode`] will produce, according to the header at `r`.
///
/// # Errors
/// The header is missing.
pub(in crate::filter) fn plain_bytes(r: &mut Reader<'_>) -> Decoded<u64> {
    Ok(u64::from(r.u32("plain bytes")?))
}

/// Restores the values of the windows in `data`.
///
/// # Errors
/// The windows are damaged or have the wrong size.
pub(in crate::filter) fn decode(
    kind: Physical,
    r: &mut Reader<'_>,
    mut data: &[u8],
    mut out: &mut [u8],
) -> Decoded<()> {
    r.u32("plain bytes")?;
    let n = r.u32("number of windows")?;
    let n = r.count(u64::from(n), kind.size() + 5, "windows")?;
    for _ in 0..n {
        let minimum = r.take(kind.size(), "minimum of a window")?;
        let bits = r.u8("bits of a window")?;
        let bytes = u64::from(r.u32("bytes of a window")?);
        let to = split_mut(&mut out, bytes, "window")?;
        let stored_bytes = usize::from(bits) / 8;
        if stored_bytes >= kind.size() || !to.len().is_multiple_of(kind.size()) {
            to.copy_from_slice(split(&mut data, bytes, "window")?);
            continue;
        }
        let from = split(&mut data, (to.len() / kind.size() * stored_bytes) as u64, "window")?;
        match bits {
            8 | 16 | 32 => with_width!(unsigned kind.size(), T => restore::<T>(kind, minimum, bits, from, to)),
            _ => {
                return Err(Malformed::new(
                    "window",
                    0,
                    format!("{bits} bits are not 8, 16, 32 or 64"),
                ));
            }
        }
    }
    filled(data, "bit width reduction")?;
    filled(out, "bit width reduction")
}

fn reduce<T: Word>(values: &[u8], w: &mut Writer, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let (minimum, bits) = minimum_and_bits::<T>(values);
    let mut stored = [0; 8];
    let stored = stored.get_mut(..T::BYTES).unwrap_or_default();
    minimum.store(stored);
    w.put(stored).u8(bits).u32(len32(values.len())?);
    let full = usize::from(bits) == T::BYTES * 8;
    match bits {
        _ if full => out.extend_from_slice(values),
        8 => shorten::<T, u8>(minimum, values, out),
        16 => shorten::<T, u16>(minimum, values, out),
        _ => shorten::<T, u32>(minimum, values, out),
    }
    Ok(())
}

// The differences fit, so only their low bits are stored.
fn shorten<T: Word, S: Word>(minimum: T, values: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + values.len() / T::BYTES * S::BYTES, 0);
    let to = out.get_mut(start..).unwrap_or_default();
    for (from, to) in values.chunks_exact(T::BYTES).zip(to.chunks_exact_mut(S::BYTES)) {
        S::narrow(T::load(from).minus(minimum).wide() as u64).store(to);
    }
}

/// The minimum of a window, and the number of bits for its range.
///
/// Like in libtiledb, a range equal to the greatest value of a class already needs the next class, and classes of signed
/// types hold half as many values.
fn minimum_and_bits<T: Word>(values: &[u8]) -> (T, u8) {
    let whole = (T::narrow(0), (T::BYTES * 8) as u8);
    if !values.len().is_multiple_of(T::BYTES) {
        return whole;
    }
    let values = values.chunks_exact(T::BYTES).map(T::load);
    let Some((lo, hi)) = values.map(|v| (v, v)).reduce(|(lo, hi), (v, _)| (lo.min(v), hi.max(v))) else {
        return whole;
    };
    let range = hi.wide() - lo.wide() + 1;
    let signed = T::narrow(u64::MAX) < T::narrow(0);
    let greatest = |bits: u32| (1_i128 << (bits - u32::from(signed))) - 1;
    match [8, 16, 32, 64].into_iter().find(|&bits| range <= greatest(bits)) {
        // If all bits are needed, the minimum is not used, but it is still stored.
        Some(bits) if bits as usize <= T::BYTES * 8 => (lo, bits as u8),
        _ => whole,
    }
}

fn restore<T: Word>(kind: Physical, minimum: &[u8], bits: u8, from: &[u8], to: &mut [u8]) {
    let minimum = T::load(minimum);
    // Floats are treated as signed integers.
    match (bits, kind.is_signed() || matches!(kind, Physical::F32 | Physical::F64)) {
        (8, false) => widen::<u8, T>(minimum, from, to),
        (8, true) => widen::<i8, T>(minimum, from, to),
        (16, false) => widen::<u16, T>(minimum, from, to),
        (16, true) => widen::<i16, T>(minimum, from, to),
        (_, false) => widen::<u32, T>(minimum, from, to),
        (_, true) => widen::<i32, T>(minimum, from, to),
    }
}

// Sign-extends to 64 bits, then truncates to the width.
fn widen<S: Word, T: Word>(minimum: T, from: &[u8], to: &mut [u8]) {
    for (from, to) in from.chunks_exact(S::BYTES).zip(to.chunks_exact_mut(T::BYTES)) {
        T::narrow(S::load(from).wide() as u64).plus(minimum).store(to);
    }
}
