//! XORs each value with the previous one. The first value is unchanged.

use super::{all_whole, each_part, parts_header};
use crate::datatype::Physical;
use crate::error::Malformed;
use crate::filter::chunk::{ChunkHeaders, whole};
use crate::filter::word::{Word, with_width};
use crate::format::cursor::{Decoded, Reader};

/// Appends the XORed values of `data`.
///
/// # Errors
/// `data` is not a whole number of values.
pub(in crate::filter) fn encode(
    kind: Physical,
    headers: &mut ChunkHeaders,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    whole(data.len(), kind.size(), "xor")?;
    headers.put(parts_header(&[data.len()])?);
    out.resize(data.len(), 0);
    with_width!(unsigned kind.size(), T => differences::<T>(data, out));
    Ok(())
}

/// Restores the values from their XORed form in `data`.
///
/// # Errors
/// The parts have the wrong size.
pub(in crate::filter) fn decode(kind: Physical, r: &mut Reader<'_>, data: &[u8], out: &mut [u8]) -> Decoded<()> {
    each_part(r, data, out, |data, out| {
        all_whole(data.len(), kind.size(), "xor")?;
        with_width!(unsigned kind.size(), T => values::<T>(data, out));
        Ok(())
    })
}

fn differences<T: Word>(data: &[u8], out: &mut [u8]) {
    let mut last = T::narrow(0);
    for (from, to) in data.chunks_exact(T::BYTES).zip(out.chunks_exact_mut(T::BYTES)) {
        let value = T::load(from);
        value.xor(last).store(to);
        last = value;
    }
}

fn values<T: Word>(data: &[u8], out: &mut [u8]) {
    let mut last = T::narrow(0);
    for (from, to) in data.chunks_exact(T::BYTES).zip(out.chunks_exact_mut(T::BYTES)) {
        last = last.xor(T::load(from));
        last.store(to);
    }
}
