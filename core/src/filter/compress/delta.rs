//! First differences: `number of values u64 | first value | differences`, modulo the width of the type.

use super::exactly;
use crate::datatype::Physical;
use crate::error::Malformed;
use crate::filter::chunk::whole;
use crate::filter::word::{Word, with_width};
use crate::format::cursor::{Decoded, Reader};

/// Appends the differences of the values in `data`.
pub(super) fn pack(kind: Physical, data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    whole(data.len(), kind.size(), "delta")?;
    out.extend_from_slice(&((data.len() / kind.size()) as u64).to_le_bytes());
    let start = out.len();
    out.resize(start + data.len(), 0);
    with_width!(unsigned kind.size(), T => differences::<T>(data, out.get_mut(start..).unwrap_or_default()));
    Ok(())
}

/// Restores the values from their differences in `data`.
pub(super) fn unpack(kind: Physical, data: &[u8], out: &mut [u8]) -> Decoded<()> {
    let mut r = Reader::new(data);
    all_stored(count(&mut r, kind, out.len(), "delta")?, out.len(), "delta")?;
    // libtiledb 2.16 writes one extra value at the end, which is ignored.
    let stored = r.take(out.len(), "differences")?;
    with_width!(unsigned kind.size(), T => sums::<T>(stored, out));
    Ok(())
}

/// Reads the number of values and returns it as a number of bytes. It must match the whole values in `bytes`.
pub(super) fn count(r: &mut Reader<'_>, kind: Physical, bytes: usize, what: &str) -> Decoded<usize> {
    let n = r.u64("number of values")?.saturating_mul(kind.size() as u64);
    let whole = bytes - bytes % kind.size();
    exactly(what, usize::try_from(n).unwrap_or(usize::MAX), whole)?;
    Ok(whole)
}

/// Checks that no bytes follow the `whole` values in `bytes`; libtiledb loses such a remainder.
pub(super) fn all_stored(whole: usize, bytes: usize, what: &str) -> Decoded<()> {
    if whole == bytes {
        return Ok(());
    }
    let why = format!(
        "the last {} of {bytes} bytes are lost: libtiledb does not store them if this filter comes after a \
         compressor; write the cells again with this filter first",
        bytes - whole
    );
    Err(Malformed::unsupported(what, why))
}

fn differences<T: Word>(data: &[u8], out: &mut [u8]) {
    let mut last = T::narrow(0);
    for (from, to) in data.chunks_exact(T::BYTES).zip(out.chunks_exact_mut(T::BYTES)) {
        let value = T::load(from);
        value.minus(last).store(to);
        last = value;
    }
}

fn sums<T: Word>(data: &[u8], out: &mut [u8]) {
    let mut last = T::narrow(0);
    for (from, to) in data.chunks_exact(T::BYTES).zip(out.chunks_exact_mut(T::BYTES)) {
        last = last.plus(T::load(from));
        last.store(to);
    }
}
