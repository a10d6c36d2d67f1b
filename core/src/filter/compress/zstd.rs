//! Zstandard frames. No other module uses the zstd library.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::compress_bound;

use super::{append, exactly};
use crate::error::Malformed;
use crate::format::cursor::Decoded;

thread_local! {
    static COMPRESSOR: RefCell<Option<(i32, Compressor<'static>)>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Decompressor<'static>> = RefCell::new(Decompressor::default());
}

/// The lowest level; anything below means [`LEVEL_DEFAULT`].
const LEVEL_MIN: i32 = -7;
const LEVEL_DEFAULT: i32 = 3;
const LEVEL_MAX: i32 = 22;

/// Appends a zstd frame. Levels above 22 mean 22.
pub(super) fn pack(level: i32, data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let level = if level < LEVEL_MIN {
        LEVEL_DEFAULT
    } else {
        level.min(LEVEL_MAX)
    };
    let failed = |e: std::io::Error| Malformed::unsupported("zstd", e.to_string());
    COMPRESSOR.with_borrow_mut(|cached| {
        let compressor = match cached {
            Some((of, compressor)) if *of == level => compressor,
            _ => &mut cached.insert((level, Compressor::new(level).map_err(failed)?)).1,
        };
        append(out, compress_bound(data.len()), |room| {
            compressor.compress_to_buffer(data, room).map_err(failed)
        })
    })
}

/// Decompresses the frames in `data` into `out`.
pub(super) fn unpack(data: &[u8], out: &mut [u8]) -> Decoded<()> {
    let bytes = DECOMPRESSOR.with_borrow_mut(|decompressor| decompressor.decompress_to_buffer(data, &mut *out));
    exactly(
        "zstd",
        bytes.map_err(|e| Malformed::new("zstd", 0, e.to_string()))?,
        out.len(),
    )
}
