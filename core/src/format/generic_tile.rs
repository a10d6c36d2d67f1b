//! Generic tiles: self-describing tiles that hold schemas, metadata and sections of fragment metadata.
//!
//! ```text
//! version u32 | stored size u64 | unfiltered size u64 | datatype u8 | cell size u64 | encryption u8
//! | pipeline size u32 | pipeline | framed tile
//! ```

use super::cursor::{Decoded, Reader, Writer};
use super::pipeline::{Filter, Pipeline};
use super::version::Version;
use crate::datatype::{CellCount, Datatype};
use crate::error::Malformed;
use crate::filter::{Key, Nonces, TileFormat, decode_tile, encode_tile};

/// The gzip level that we write generic tiles with.
const LEVEL: i32 = 1;

/// The newest format version known to the library that wrote the generic tile at the start of `bytes`.
///
/// # Errors
/// The tile is damaged.
pub fn writer(bytes: &[u8]) -> Decoded<Version> {
    Ok(Version::nearest(Reader::new(bytes).u32("version of a generic tile")?))
}

/// Decodes the generic tile at the start of `bytes`. Returns its payload and the size of the whole tile in bytes.
///
/// # Errors
/// The tile is damaged, encrypted with another key, or not encrypted although a key is given.
pub fn decode(bytes: &[u8], key: Option<&Key>) -> Decoded<(Vec<u8>, u64)> {
    let mut r = Reader::new(bytes);
    // The format version of the writer, which does not affect the layout of the tile.
    r.u32("version of a generic tile")?;
    let stored_bytes = r.u64("stored bytes of a generic tile")?;
    let plain_bytes = r.u64("plain bytes of a generic tile")?;
    let datatype = Datatype::from_id(r.u8("datatype of a generic tile")?)?;
    let cell_bytes = r.u64("cell bytes of a generic tile")?;
    check_key(&mut r, key)?;
    let start = r.offset() + 4;
    let mut pipeline = Reader::new(r.bytes32("pipeline of a generic tile")?);
    let p = Pipeline::decode(&mut pipeline, Version::CURRENT).map_err(|e| e.shifted(start))?;
    let start = r.offset();
    let framed = r.take_u64(stored_bytes, "generic tile")?;
    let values = u32::try_from(cell_bytes / datatype.size() as u64).unwrap_or(1).max(1);
    let f = TileFormat {
        key,
        ..TileFormat::new(datatype, CellCount::Fixed(values))
    };
    let payload = decode_tile(framed, &p, &f, plain_bytes).map_err(|e| e.shifted(start))?;
    Ok((payload, r.offset()))
}

fn check_key(r: &mut Reader<'_>, key: Option<&Key>) -> Decoded<()> {
    let what = "generic tile";
    match (r.u8("encryption of a generic tile")?, key) {
        (0, None) | (1, Some(_)) => Ok(()),
        (0, Some(_)) => Err(Malformed::needless_key(what)),
        (1, None) => Err(Malformed::key(what, "it is encrypted; a key is needed")),
        (other, _) => Err(Malformed::unsupported(
            what,
            format!(
                "encryption {other} is not known to this release; upgrade Hyperslab, or restore the file from a backup"
            ),
        )),
    }
}

/// Encodes a payload as a generic tile: compressed with gzip, and encrypted with AES if a key is given.
///
/// # Errors
/// A key is given, but no nonces.
pub fn encode(payload: &[u8], key: Option<&Key>, nonces: &Nonces) -> Result<Vec<u8>, Malformed> {
    let mut filters = vec![Filter::Gzip { level: LEVEL }];
    filters.extend(key.map(|_| Filter::Aes256Gcm));
    let p = Pipeline::new(filters);
    let f = TileFormat {
        key,
        ..TileFormat::new(Datatype::Char, CellCount::ONE)
    };
    let framed = encode_tile(payload, &p, &f, nonces)?;
    let mut pipeline = Writer::new();
    p.encode(&mut pipeline);
    let mut w = Writer::new();
    w.u32(Version::CURRENT.number())
        .u64(framed.len() as u64)
        .u64(payload.len() as u64);
    w.u8(Datatype::Char.id())
        .u64(1)
        .bool(key.is_some())
        .bytes32(&pipeline.into_bytes())
        .put(&framed);
    Ok(w.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MalformedKind;

    fn payload() -> Vec<u8> {
        (0..100_000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect()
    }

    #[test]
    fn the_header_matches_libtiledb() {
        let tile = encode(b"hello", None, &Nonces::none()).unwrap();
        let expect: &[u8] = &[0x05, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 18, 0, 0, 0];
        assert_eq!(tile[..4], 22_u32.to_le_bytes());
        assert_eq!(tile[4..12], (tile.len() as u64 - 52).to_le_bytes());
        assert_eq!(&tile[12..34], expect);
        assert_eq!(&tile[34..52], &[0, 0, 1, 0, 1, 0, 0, 0, 1, 5, 0, 0, 0, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn payloads_round_trip_with_and_without_a_key() {
        let (key, other) = (Key([7; 32]), Key([8; 32]));
        for bytes in [vec![], b"x".to_vec(), payload()] {
            let mut plain = encode(&bytes, None, &Nonces::none()).unwrap();
            let n = plain.len() as u64;
            plain.extend(b"something after it");
            assert_eq!(decode(&plain, None).unwrap(), (bytes.clone(), n));
            assert_eq!(
                decode(&plain, Some(&key)).unwrap_err().kind,
                MalformedKind::Key { wanted: false }
            );
            let secret = encode(&bytes, Some(&key), &Nonces::new([1; 32])).unwrap();
            assert_eq!(
                decode(&secret, Some(&key)).unwrap(),
                (bytes.clone(), secret.len() as u64)
            );
            assert_eq!(
                decode(&secret, None).unwrap_err().kind,
                MalformedKind::Key { wanted: true }
            );
            if !bytes.is_empty() {
                assert_eq!(
                    decode(&secret, Some(&other)).unwrap_err().kind,
                    MalformedKind::Key { wanted: true }
                );
            }
        }
        assert!(encode(b"x", Some(&key), &Nonces::none()).is_err());
    }

    #[test]
    fn a_false_size_is_rejected_before_allocation() {
        let mut tile = encode(b"hello", None, &Nonces::none()).unwrap();
        tile[12..20].copy_from_slice(&(1_u64 << 35).to_le_bytes());
        assert!(decode(&tile, None).unwrap_err().to_string().contains("34359738368"));
    }
}
