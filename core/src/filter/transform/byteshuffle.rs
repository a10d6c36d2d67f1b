//! Byte shuffle: transposes the bytes of values, first the low bytes of all values, then the next ones.

use super::{each_part, parts_header, shuffle};
use crate::error::Malformed;
use crate::filter::chunk::ChunkHeaders;
use crate::format::cursor::{Decoded, Reader};

/// Appends the shuffled bytes of `data`.
///
/// # Errors
/// `data` is longer than 4 GiB.
pub(in crate::filter) fn encode(
    width: usize,
    headers: &mut ChunkHeaders,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    headers.put(parts_header(&[data.len()])?);
    out.resize(data.len(), 0);
    shuffle::bytes(width, data, out);
    Ok(())
}

/// Restores the original order of the bytes in `data`.
///
/// # Errors
/// The parts have the wrong size.
pub(in crate::filter) fn decode(width: usize, r: &mut Reader<'_>, data: &[u8], out: &mut [u8]) -> Decoded<()> {
    each_part(r, data, out, |data, out| {
        shuffle::unbytes(width, data, out);
        Ok(())
    })
}
