//! zlib streams (RFC 1950), which the format calls gzip.

use std::cell::RefCell;

use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

use super::{append, exactly};
use crate::error::Malformed;
use crate::format::cursor::Decoded;

thread_local! {
    static COMPRESS: RefCell<Option<(i32, Compressor)>> = const { RefCell::new(None) };
    static DECOMPRESS: RefCell<Decompressor> = RefCell::new(Decompressor::new());
}

/// The default level of zlib.
const DEFAULT_LEVEL: i32 = 6;
/// The highest level of zlib; this library has levels up to 12.
const LEVEL_MAX: i32 = 9;

/// Appends a zlib stream. Levels below 0 mean zlib's default, levels above 9 mean 9.
pub(super) fn pack(level: i32, data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let level = if level < 0 { DEFAULT_LEVEL } else { level.min(LEVEL_MAX) };
    let refused = |_| Malformed::unsupported("gzip", format!("there is no level {level}"));
    let known = CompressionLvl::new(level).map_err(refused)?;
    COMPRESS.with_borrow_mut(|cached| {
        let compressor = match cached {
            Some((of, compressor)) if *of == level => compressor,
            _ => &mut cached.insert((level, Compressor::new(known))).1,
        };
        let most = compressor.zlib_compress_bound(data.len());
        append(out, most, |room| {
            let packed = compressor.zlib_compress(data, room);
            packed.map_err(|e| Malformed::unsupported("gzip", e.to_string()))
        })
    })
}

/// Decompresses a zlib stream into `out`.
pub(super) fn unpack(data: &[u8], out: &mut [u8]) -> Decoded<()> {
    let unpacked = DECOMPRESS.with_borrow_mut(|stream| match unpack_usual(stream, data, out) {
        Some(bytes) => Ok(bytes),
        None => stream.zlib_decompress(data, out),
    });
    match unpacked {
        Ok(bytes) => exactly("gzip", bytes, out.len()),
        Err(DecompressionError::InsufficientSpace) => Err(Malformed::new(
            "gzip",
            0,
            format!("unpacks to more than {} bytes", out.len()),
        )),
        Err(DecompressionError::BadData) => Err(Malformed::new("gzip", 0, "is not a zlib stream, or is damaged")),
    }
}

/// Decompresses a plain zlib stream that spans all of `data`, and returns the number of bytes. `None` for anything
/// else.
///
/// Without SIMD, as in the browser, the library computes the checksum byte by byte, which takes a quarter of its time.
/// This function uses a faster implementation.
fn unpack_usual(stream: &mut Decompressor, data: &[u8], out: &mut [u8]) -> Option<usize> {
    let (&[method, flags], rest) = data.split_first_chunk()?;
    let (body, sum) = rest.split_last_chunk()?;
    let (deflate, dictionary) = (8, 0x20);
    let is_plain = method & 0xf == deflate && method >> 4 <= 7 && flags & dictionary == 0;
    if !is_plain || u16::from_be_bytes([method, flags]) % 31 != 0 {
        return None;
    }
    let bytes = stream.deflate_decompress(body, out).ok()?;
    let found = simd_adler32::adler32(&out.get(..bytes)?);
    (found == u32::from_be_bytes(*sum)).then_some(bytes)
}
