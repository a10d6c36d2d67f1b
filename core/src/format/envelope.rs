//! The frame of the messages that processes pass to each other: snapshot tokens and splits. They are never part of an
//! array. No library has this frame: it is a magic word and a checksum around a tile of the format.
//!
//! ```text
//! magic 8 bytes | version u32 | SHA-256 of the version and of all that follows | size of the body u64 | body, framed and compressed
//! ```

use sha2::{Digest as _, Sha256};

use super::cursor::{Decoded, Reader, Writer};
use super::pipeline::{Filter, MaxChunk, Pipeline};
use crate::datatype::{CellCount, Datatype};
use crate::error::Malformed;
use crate::filter::{Nonces, TileFormat, decode_tile, encode_tile};
use crate::limits::MESSAGE_BYTES_MAX;

/// A kind of message.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The first bytes of such messages.
    pub magic: [u8; 8],
    /// Its name in errors.
    pub what: &'static str,
    /// The newest version that this release reads, and the one that it writes.
    pub version: u32,
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
/// The body is larger than [`MESSAGE_BYTES_MAX`].
pub fn seal(kind: Kind, body: &[u8]) -> Result<Vec<u8>, Malformed> {
    let bytes = body.len() as u64;
    if bytes > MESSAGE_BYTES_MAX {
        let why = format!("it has {bytes} bytes before compression, more than {MESSAGE_BYTES_MAX}");
        return Err(Malformed::unsupported(kind.what, why));
    }
    let format = TileFormat::new(Datatype::Char, CellCount::ONE);
    let mut sealed = Writer::new();
    sealed
        .u64(bytes)
        .put(&encode_tile(body, &pipeline(), &format, &Nonces::none())?);
    let sealed = sealed.into_bytes();
    let mut w = Writer::new();
    w.put(&kind.magic)
        .u32(kind.version)
        .put(&checksum(kind.version, &sealed))
        .put(&sealed);
    Ok(w.into_bytes())
}

/// Checks a message and returns its body. Memory is bounded by the size of the message and by [`MESSAGE_BYTES_MAX`].
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
    if bytes > MESSAGE_BYTES_MAX {
        let why = format!("it claims {bytes} bytes, more than {MESSAGE_BYTES_MAX}");
        return Err(Malformed::new(kind.what, start, why));
    }
    let start = start + r.offset();
    let format = TileFormat::new(Datatype::Char, CellCount::ONE);
    decode_tile(r.rest(), &pipeline(), &format, bytes).map_err(|e| e.shifted(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        magic: *b"TESTTEST",
        what: "message",
        version: 3,
    };

    #[test]
    fn bodies_return_and_damage_is_found() {
        for body in [vec![], b"abc".to_vec(), vec![7; 5 << 20]] {
            let sealed = seal(KIND, &body).unwrap();
            assert_eq!(open(KIND, &sealed).unwrap(), body);
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
        for claimed in [u64::MAX, MESSAGE_BYTES_MAX] {
            sealed[44..52].copy_from_slice(&claimed.to_le_bytes());
            let checksum = checksum(KIND.version, &sealed[44..]);
            sealed[12..44].copy_from_slice(&checksum);
            let error = open(KIND, &sealed).unwrap_err().to_string();
            assert!(error.contains(&claimed.to_string()), "{error}");
        }
    }
}
