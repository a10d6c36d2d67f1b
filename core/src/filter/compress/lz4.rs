//! LZ4 blocks, without a frame or a length.

use lz4::block::{compress_bound, compress_to_buffer, decompress_to_buffer};

use super::{append, exactly};
use crate::error::Malformed;
use crate::format::cursor::Decoded;

/// Appends an LZ4 block.
pub(super) fn pack(data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let unsupported = |e: std::io::Error| Malformed::unsupported("lz4", e.to_string());
    let most = compress_bound(data.len()).map_err(unsupported)?;
    append(out, most, |room| {
        compress_to_buffer(data, None, false, room).map_err(unsupported)
    })
}

/// Decompresses an LZ4 block into `out`.
pub(super) fn unpack(data: &[u8], out: &mut [u8]) -> Decoded<()> {
    // The library's sizes have 31 bits.
    let (Ok(_), Ok(expected)) = (i32::try_from(data.len()), i32::try_from(out.len())) else {
        let why = format!(
            "{} bytes exceed the maximum size of an LZ4 block",
            data.len().max(out.len())
        );
        return Err(Malformed::new("lz4", 0, why));
    };
    let bytes = decompress_to_buffer(data, Some(expected), out).map_err(|e| Malformed::new("lz4", 0, e.to_string()))?;
    exactly("lz4", bytes, out.len())
}
