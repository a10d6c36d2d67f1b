//! The frame of the messages that processes pass to each other: snapshot tokens and splits. They are never part of an
//! array. No library has this frame: it is a magic word and a checksum around a tile of the format.
//!
//! ```text
//! magic 8 bytes | version u32 | SHA-256 of the version and of all that follows
//!     | size of the body u64 | body, framed and compressed, bytes64 | padding
//! ```
//!
//! Anyone can make a checksum, so a message must not cost its receiver much more memory than it has bytes. The body has
//! at most [`EXPANSION_MAX`] bytes for each byte of the message. Real bodies rarely shrink that much, because names, times
//! and offsets differ; a message whose body did is padded with zeros.

use sha2::{Digest as _, Sha256};

use super::cursor::{Decoded, Reader, Writer};
use super::pipeline::{Filter, MaxChunk, Pipeline};
use crate::datatype::{CellCount, Datatype};
use crate::error::Malformed;
use crate::filter::{Nonces, TileFormat, decode_tile, encode_tile};
use crate::limits::{MESSAGE_BYTES_FREE, MESSAGE_EXPANSION_MAX as EXPANSION_MAX};

/// A kind of message.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The first bytes of such messages.
    pub magic: [u8; 8],
    /// Its name in errors.
    pub what: &'static str,
    /// The newest version that this release reads, and the one that it writes.
    pub version: u32,
    /// The most bytes of its body.
    pub bytes_max: u64,
    /// How to make it smaller.
    pub smaller: &'static str,
}

/// Zstandard in chunks of 1 MiB, so that equal parts of a token's fragments are found.
fn pipeline() -> Pipeline {
    Pipeline {
        max_chunk_bytes: MaxChunk(1 << 20),
        filters: vec![Filter::Zstd { level: 3 }],
    }
}

fn checksum(version: u32, sealed: &[u8]) -> [u8; 32] {
    let digest = Sha256::new().chain_update(version.to_le_bytes()).chain_update(sealed);
    digest.finalize().into()
}

/// Puts a body into its frame.
///
/// # Errors
/// The body is larger than messages of this kind may be.
pub fn seal(kind: Kind, body: &[u8]) -> Result<Vec<u8>, Malformed> {
    let bytes = body.len() as u64;
    if bytes > kind.bytes_max {
        let why = format!(
            "it has {bytes} bytes before compression, more than {}; {}",
            kind.bytes_max, kind.smaller
        );
        return Err(Malformed::unsupported(kind.what, why));
    }
    let format = TileFormat::new(Datatype::Char, CellCount::ONE);
    let tile = encode_tile(body, &pipeline(), &format, &Nonces::none())?;
    Ok(frame(kind, bytes, &tile, padding(bytes, tile.len() as u64)))
}

/// The most bytes that the body may have for this many bytes that carry it.
const fn body_bytes_max(carrier: u64) -> u64 {
    carrier.saturating_mul(EXPANSION_MAX).saturating_add(MESSAGE_BYTES_FREE)
}

/// The zeros to add to a compressed body.
const fn padding(body: u64, compressed: u64) -> usize {
    let carrier = body.saturating_sub(MESSAGE_BYTES_FREE).div_ceil(EXPANSION_MAX);
    carrier.saturating_sub(compressed) as usize
}

fn frame(kind: Kind, bytes: u64, tile: &[u8], padding: usize) -> Vec<u8> {
    let mut sealed = Writer::new();
    sealed.u64(bytes).bytes64(tile).put(&vec![0; padding]);
    let sealed = sealed.into_bytes();
    let mut w = Writer::new();
    w.put(&kind.magic)
        .u32(kind.version)
        .put(&checksum(kind.version, &sealed))
        .put(&sealed);
    w.into_bytes()
}

/// Checks a message and returns its body. Memory is bounded by the size of the message and by the limit of its kind.
///
/// # Errors
/// It is not of this kind, newer than this release, truncated or damaged.
pub fn open(kind: Kind, message: &[u8]) -> Decoded<Vec<u8>> {
    let mut r = Reader::new(message);
    if r.array(kind.what)? != kind.magic {
        return Err(Malformed::new(kind.what, 0, format!("this is not a {}", kind.what)));
    }
    let version = r.u32(kind.what)?;
    if version > kind.version {
        return Err(Malformed::newer(kind.what, version, kind.version));
    }
    let expected: [u8; 32] = r.array(kind.what)?;
    let start = r.offset();
    let sealed = r.rest();
    if checksum(version, sealed) != expected {
        return Err(Malformed::new(kind.what, start, "its checksum does not match"));
    }
    let mut r = Reader::new(sealed);
    let bytes = r.u64(kind.what)?;
    let most = kind.bytes_max.min(body_bytes_max(sealed.len() as u64));
    if bytes > most {
        let why = format!("it claims {bytes} bytes, more than {most}");
        return Err(Malformed::new(kind.what, start, why));
    }
    let tile = r.bytes64(kind.what)?;
    let start = start + r.offset() - tile.len() as u64;
    let format = TileFormat::new(Datatype::Char, CellCount::ONE);
    decode_tile(tile, &pipeline(), &format, bytes).map_err(|e| e.shifted(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        magic: *b"TESTTEST",
        what: "message",
        version: 3,
        bytes_max: 32 << 20,
        smaller: "say less",
    };

    #[test]
    fn bodies_return_and_damage_is_found() {
        for body in [vec![], b"abc".to_vec(), vec![7; 5 << 20]] {
            let sealed = seal(KIND, &body).unwrap();
            assert_eq!(open(KIND, &sealed).unwrap(), body);
            assert!(sealed.len() * EXPANSION_MAX as usize + MESSAGE_BYTES_FREE as usize >= body.len());
            for at in 0..sealed.len().min(100) {
                let mut bad = sealed.clone();
                bad[at] ^= 1;
                assert!(open(KIND, &bad).is_err(), "byte {at}");
                assert!(open(KIND, &sealed[..at]).is_err(), "cut at {at}");
            }
        }
    }

    #[test]
    fn other_kinds_and_newer_versions_are_named() {
        let sealed = seal(Kind { version: 4, ..KIND }, b"abc").unwrap();
        let error = open(KIND, &sealed).unwrap_err().to_string();
        assert!(error.contains("4 is newer than 3"), "{error}");
        let error = open(KIND, b"{\"version\": 1}").unwrap_err().to_string();
        assert_eq!(error, "message at byte 0: this is not a message");
    }

    #[test]
    fn a_false_size_costs_no_memory() {
        let mut sealed = seal(KIND, b"abc").unwrap();
        for claimed in [u64::MAX, KIND.bytes_max + 1, KIND.bytes_max] {
            sealed[44..52].copy_from_slice(&claimed.to_le_bytes());
            let checksum = checksum(KIND.version, &sealed[44..]);
            sealed[12..44].copy_from_slice(&checksum);
            let error = open(KIND, &sealed).unwrap_err().to_string();
            assert!(error.contains(&claimed.to_string()), "{error}");
        }
    }

    #[test]
    fn a_small_message_has_no_large_body() {
        let body = vec![0; 16 << 20];
        let format = TileFormat::new(Datatype::Char, CellCount::ONE);
        let tile = encode_tile(&body, &pipeline(), &format, &Nonces::none()).unwrap();
        assert!(tile.len() < 1 << 14, "{}", tile.len());
        let bomb = frame(KIND, body.len() as u64, &tile, 0);
        let error = open(KIND, &bomb).unwrap_err().to_string();
        assert!(error.contains("it claims 16777216 bytes, more than"), "{error}");
        let honest = seal(KIND, &body).unwrap();
        assert!(honest.len() > 10 * bomb.len());
        assert_eq!(open(KIND, &honest).unwrap(), body);
    }

    #[test]
    fn a_body_that_is_too_large_says_what_to_do() {
        let error = seal(KIND, &vec![0; (32 << 20) + 1]).unwrap_err().to_string();
        assert!(error.contains("more than 33554432; say less"), "{error}");
    }
}
