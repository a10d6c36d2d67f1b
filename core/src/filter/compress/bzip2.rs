//! bzip2 streams.

use ::bzip2::{Action, Compress, Compression, Decompress, Status};

use super::{append, exactly};
use crate::error::Malformed;
use crate::format::cursor::Decoded;

/// Appends a bzip2 stream. Levels are clamped to 1..=9.
#[inline(never)] // The browser loads it separately.
pub(super) fn pack(level: i32, data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let level = u32::try_from(level).unwrap_or(0).clamp(1, 9);
    let mut stream = Compress::new(Compression::new(level), 0);
    // The maximum growth according to the library: one percent plus 600 bytes.
    append(out, data.len() + data.len() / 100 + 600, |room| {
        let failed = |why: String| Malformed::unsupported("bzip2", why);
        loop {
            let (from, to) = (position(stream.total_in()), position(stream.total_out()));
            let (left, place) = (data.get(from..).unwrap_or(&[]), room.get_mut(to..).unwrap_or_default());
            let full = place.is_empty();
            match stream
                .compress(left, place, Action::Finish)
                .map_err(|e| failed(e.to_string()))?
            {
                Status::StreamEnd => return Ok(position(stream.total_out())),
                _ if full => return Err(failed("the output exceeds the maximum size".to_owned())),
                _ => {}
            }
        }
    })
}

/// Decompresses a bzip2 stream into `out`.
#[inline(never)] // The browser loads it separately.
pub(super) fn unpack(data: &[u8], out: &mut [u8]) -> Decoded<()> {
    let mut stream = Decompress::new(false);
    loop {
        let (from, to) = (position(stream.total_in()), position(stream.total_out()));
        let (left, place) = (data.get(from..).unwrap_or(&[]), out.get_mut(to..).unwrap_or_default());
        let status = stream
            .decompress(left, place)
            .map_err(|e| Malformed::new("bzip2", from as u64, e.to_string()))?;
        if status == Status::StreamEnd {
            return exactly("bzip2", position(stream.total_out()), out.len());
        }
        if (from, to) == (position(stream.total_in()), position(stream.total_out())) {
            return Err(Malformed::new(
                "bzip2",
                from as u64,
                format!("unpacks to more than {} bytes", out.len()),
            ));
        }
    }
}

fn position(total: u64) -> usize {
    usize::try_from(total).unwrap_or(usize::MAX)
}
