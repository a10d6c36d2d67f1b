//! Filters that reorder or recode data to make it easier to compress. They keep its size, at least roughly.

pub(super) mod bit_width;
pub(super) mod bitshuffle;
pub(super) mod byteshuffle;
pub(super) mod float_scale;
pub(super) mod positive_delta;
mod shuffle;
pub(super) mod webp;
pub(super) mod xor;

use super::chunk::{filled, len32, split, split_mut};
use crate::error::Malformed;
use crate::format::cursor::{Decoded, Reader, Writer};

/// The header of filters that store the length of each part: `number of parts u32 | length u32 ...`.
///
/// # Errors
/// A part is longer than 4 GiB.
fn parts_header(lengths: &[usize]) -> Result<Vec<u8>, Malformed> {
    let mut w = Writer::new();
    w.u32(len32(lengths.len())?);
    for &length in lengths {
        w.u32(len32(length)?);
    }
    Ok(w.into_bytes())
}

/// Reads such a header and calls `undo` for each part. Parts have the same length before and after.
///
/// # Errors
/// The parts do not span `data` and `out`, or `undo` fails.
fn each_part(
    r: &mut Reader<'_>,
    mut data: &[u8],
    mut out: &mut [u8],
    mut undo: impl FnMut(&[u8], &mut [u8]) -> Decoded<()>,
) -> Decoded<()> {
    let n = r.u32("number of parts")?;
    let n = r.count(u64::from(n), 4, "parts")?;
    for _ in 0..n {
        let length = u64::from(r.u32("length of a part")?);
        undo(split(&mut data, length, "part")?, split_mut(&mut out, length, "part")?)?;
    }
    filled(data, "parts")?;
    filled(out, "parts")
}

/// Checks that a part has a whole number of values when decoding.
///
/// # Errors
/// `bytes` is not a multiple of `width`.
fn all_whole(bytes: usize, width: usize, what: &str) -> Decoded<()> {
    if bytes.is_multiple_of(width) {
        return Ok(());
    }
    Err(Malformed::new(
        what,
        0,
        format!("{bytes} bytes are not a whole number of {width}-byte values"),
    ))
}
