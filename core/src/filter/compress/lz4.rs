//! LZ4 blocks, without a frame or a length.

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

use super::{append, exactly};
use crate::error::Malformed;
use crate::format::cursor::Decoded;

/// Appends one block.
pub(super) fn pack(data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    append(out, get_maximum_output_size(data.len()), |room| {
        compress_into(data, room).map_err(|e| Malformed::unsupported("lz4", e.to_string()))
    })
}

/// Fills `out` from one block.
pub(super) fn unpack(data: &[u8], out: &mut [u8]) -> Decoded<()> {
    let bytes = decompress_into(data, out).map_err(|e| Malformed::new("lz4", 0, e.to_string()))?;
    exactly("lz4", bytes, out.len())
}
