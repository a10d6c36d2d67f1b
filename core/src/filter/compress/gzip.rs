//! zlib streams (RFC 1950), which the format calls gzip.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::{append, exactly};
use crate::error::Malformed;
use crate::format::cursor::Decoded;

thread_local! {
    static COMPRESS: RefCell<Option<(u32, Compress)>> = const { RefCell::new(None) };
    static DECOMPRESS: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

/// Appends one stream; levels below 0 are zlib's default.
pub(super) fn pack(level: i32, data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let level = u32::try_from(level).unwrap_or(6);
    if level > 9 {
        return Err(Malformed::unsupported(
            "gzip",
            format!("there is no level {level}; the levels are 0 to 9"),
        ));
    }
    // At its fastest level the library writes what does not compress with up to 9 bits a byte.
    let most = data.len() + data.len() / 8 + 1024;
    COMPRESS.with_borrow_mut(|cached| {
        let stream = match cached {
            Some((of, stream)) if *of == level => {
                stream.reset();
                stream
            }
            _ => &mut cached.insert((level, Compress::new(Compression::new(level), true))).1,
        };
        append(out, most, |room| {
            match stream.compress(data, room, FlushCompress::Finish) {
                Ok(Status::StreamEnd) => Ok(usize::try_from(stream.total_out()).unwrap_or(0)),
                Ok(_) => Err(Malformed::unsupported(
                    "gzip",
                    "the compressor needs more room than it can",
                )),
                Err(e) => Err(Malformed::unsupported("gzip", e.to_string())),
            }
        })
    })
}

/// Fills `out` from one stream.
pub(super) fn unpack(data: &[u8], out: &mut [u8]) -> Decoded<()> {
    DECOMPRESS.with_borrow_mut(|stream| {
        stream.reset(true);
        match stream.decompress(data, out, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => exactly(
                "gzip",
                usize::try_from(stream.total_out()).unwrap_or(usize::MAX),
                out.len(),
            ),
            Ok(_) => Err(Malformed::new(
                "gzip",
                stream.total_in(),
                format!("does not end after {} bytes", out.len()),
            )),
            Err(e) => Err(Malformed::new("gzip", stream.total_in(), e.to_string())),
        }
    })
}
