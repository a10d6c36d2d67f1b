//! Tests filters against tiles that libtiledb wrote, against themselves, and with hostile bytes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod roundtrip;
mod vectors;

use hyperslab::Malformed;
use hyperslab::internals::filter::{ChunkDecoder, TileFormat};
use hyperslab::internals::format::tile::chunks;
use hyperslab::schema::Pipeline;

/// Decodes the cells of a tile chunk by chunk.
fn by_chunks(framed: &[u8], p: &Pipeline, f: &TileFormat<'_>, out: &mut [u8]) -> Result<(), Malformed> {
    let decoder = ChunkDecoder::new(p, f)?;
    let mut rest = out;
    for chunk in chunks(framed)? {
        let n = usize::try_from(chunk.plain_bytes).unwrap();
        let Some((now, later)) = std::mem::take(&mut rest).split_at_mut_checked(n) else {
            break;
        };
        decoder.decode(&chunk, now)?;
        rest = later;
    }
    Ok(())
}
