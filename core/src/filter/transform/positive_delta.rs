//! First differences of non-decreasing values, in independent windows.
//!
//! Header: `windows u32 | per window: first value, size u32`. A window that is not a whole number of values is copied.

use crate::datatype::Physical;
use crate::error::Malformed;
use crate::filter::chunk::{ChunkHeaders, filled, len32, split, split_mut};
use crate::filter::word::{Word, with_width, with_word};
use crate::format::cursor::{Decoded, Reader, Writer};

/// Appends the differences of the values in `data`.
///
/// # Errors
/// A value is smaller than its predecessor in the window.
pub(in crate::filter) fn encode(
    kind: Physical,
    window: u32,
    headers: &mut ChunkHeaders,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let window = super::bit_width::window_bytes(window, kind.size());
    out.resize(data.len(), 0);
    let mut w = Writer::new();
    w.u32(len32(data.len().div_ceil(window))?);
    for (from, to) in data.chunks(window).zip(out.chunks_mut(window)) {
        with_word!(kind, T => differences::<T>(from, to, &mut w))?;
    }
    headers.put(w.into_bytes());
    Ok(())
}

/// Restores the values from their differences in `data`.
///
/// # Errors
/// The windows have the wrong size.
pub(in crate::filter) fn decode(
    kind: Physical,
    r: &mut Reader<'_>,
    mut data: &[u8],
    mut out: &mut [u8],
) -> Decoded<()> {
    let n = r.u32("number of windows")?;
    let n = r.count(u64::from(n), kind.size() + 4, "windows")?;
    for _ in 0..n {
        let first = r.take(kind.size(), "first value of a window")?;
        let bytes = u64::from(r.u32("bytes of a window")?);
        let (from, to) = (
            split(&mut data, bytes, "window")?,
            split_mut(&mut out, bytes, "window")?,
        );
        with_width!(unsigned kind.size(), T => values::<T>(first, from, to));
    }
    filled(data, "positive delta")?;
    filled(out, "positive delta")
}

fn differences<T: Word>(from: &[u8], to: &mut [u8], w: &mut Writer) -> Result<(), Malformed> {
    let mut last = from.get(..T::BYTES).map_or(T::narrow(0), T::load);
    let mut first = [0; 8];
    let first = first.get_mut(..T::BYTES).unwrap_or_default();
    last.store(first);
    w.put(first).u32(len32(from.len())?);
    if !from.len().is_multiple_of(T::BYTES) {
        to.copy_from_slice(from);
        return Ok(());
    }
    for (from, to) in from.chunks_exact(T::BYTES).zip(to.chunks_exact_mut(T::BYTES)) {
        let value = T::load(from);
        if value < last {
            let why = format!(
                "{} follows {}, but this filter needs values that never decrease",
                value.wide(),
                last.wide()
            );
            return Err(Malformed::unsupported("positive delta", why));
        }
        value.minus(last).store(to);
        last = value;
    }
    Ok(())
}

fn values<T: Word>(first: &[u8], from: &[u8], to: &mut [u8]) {
    if !from.len().is_multiple_of(T::BYTES) {
        to.copy_from_slice(from);
        return;
    }
    let mut last = T::load(first);
    for (from, to) in from.chunks_exact(T::BYTES).zip(to.chunks_exact_mut(T::BYTES)) {
        last = last.plus(T::load(from));
        last.store(to);
    }
}
