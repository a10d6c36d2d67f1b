//! The body of a snapshot token: what a reader needs to know to open an array without a request.
//!
//! ```text
//! name of the array str32 | window: start u64, end u64 | name of the schema str32, of the oldest schema str32
//! files u32:     path str32, bytes32      schemas, deletes, enumerations, array metadata: as stored
//! metadata u32:  path str32               the files of array metadata, oldest first
//! deletes u32:   path str32, time u64     oldest first
//! fragments u32: path str32, then 0 u8 | footer bytes32 | end of its index u64, or u64::MAX | pieces of its index u32:
//!                                 offset u64, bytes32
//!                            or 1 u8 | dense u8    versions 1 and 2, whose metadata file is among the files
//! ```
//!
//! Files and pieces are copied as the array stores them, so what is encrypted stays encrypted.

use bytes::Bytes;

use super::cursor::{Decoded, Reader, Writer};
use super::envelope::{self, Kind};
use crate::error::Malformed;
use crate::limits::TOKEN_BYTES_MAX;

/// Snapshot tokens as messages.
pub const KIND: Kind = Kind {
    magic: *b"HSLBSNAP",
    what: "snapshot token",
    version: 1,
    bytes_max: TOKEN_BYTES_MAX,
    smaller: "consolidate the array's fragments, or include fewer bytes of indexes",
};

/// The contents of a snapshot token. Paths of files, deletes and fragments are relative to the array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotToken {
    /// Name of the array's folder; empty if unknown.
    pub name: String,
    /// The window of time: start and end, in milliseconds since 1970.
    pub window: (u64, u64),
    /// File name of the schema to read with.
    pub schema: String,
    /// File name of the schema of fragments that name none.
    pub oldest_schema: String,
    /// Files that are read whole.
    pub files: Vec<(String, Bytes)>,
    /// The files of array metadata, oldest first.
    pub metadata: Vec<String>,
    /// The delete commits with their times, oldest first. Their bytes are among the files.
    pub deletes: Vec<(String, u64)>,
    /// The fragments, oldest first.
    pub fragments: Vec<TokenFragment>,
}

/// A fragment in a snapshot token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFragment {
    /// Path of its folder.
    pub path: String,
    /// Its metadata.
    pub metadata: TokenMetadata,
}

/// The metadata of a fragment in a snapshot token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenMetadata {
    /// Its footer and some sections of its index.
    Footer {
        /// The footer.
        footer: Bytes,
        /// End of the last section, if known.
        end: Option<u64>,
        /// Parts of the metadata file, each with its offset.
        pieces: Vec<(u64, Bytes)>,
    },
    /// Versions 1 and 2, which have no footer: whether the fragment is dense.
    Legacy(bool),
}

/// Smallest size of an item in the lists, in bytes. Names of fragments have at least the 32 digits of an id, so a list takes
/// at most eight times as much memory as it has bytes.
const FILE_BYTES_MIN: usize = 8;
const NAME_BYTES_MIN: usize = 4;
const DELETE_BYTES_MIN: usize = 12;
const FRAGMENT_BYTES_MIN: usize = 6 + 32;
const PIECE_BYTES_MIN: usize = 12;

impl SnapshotToken {
    /// The token as bytes.
    ///
    /// # Errors
    /// The token is too large.
    pub fn encode(&self) -> Result<Vec<u8>, Malformed> {
        let mut w = Writer::new();
        w.bytes32(self.name.as_bytes());
        w.u64(self.window.0).u64(self.window.1);
        w.bytes32(self.schema.as_bytes());
        w.bytes32(self.oldest_schema.as_bytes());
        w.count32(self.files.len());
        for (path, bytes) in &self.files {
            w.bytes32(path.as_bytes());
            w.bytes32(bytes);
        }
        w.count32(self.metadata.len());
        for path in &self.metadata {
            w.bytes32(path.as_bytes());
        }
        w.count32(self.deletes.len());
        for (path, time_ms) in &self.deletes {
            w.bytes32(path.as_bytes());
            w.u64(*time_ms);
        }
        w.count32(self.fragments.len());
        for fragment in &self.fragments {
            w.bytes32(fragment.path.as_bytes());
            fragment.metadata.encode(&mut w);
        }
        envelope::seal(KIND, &w.into_bytes())
    }

    /// Decodes a token. Does not check that its parts are consistent. Files and pieces are copied, so that what is kept of
    /// a token does not keep all of it in memory.
    ///
    /// # Errors
    /// The token is damaged, truncated or newer than this release, or is something else.
    pub fn decode(token: &[u8]) -> Decoded<Self> {
        let body = envelope::open(KIND, token)?;
        let r = &mut Reader::new(&body);
        let name = r.string32("name of the array")?.to_owned();
        let window = (r.u64("start of the window")?, r.u64("end of the window")?);
        let schema = r.string32("name of the schema")?.to_owned();
        let oldest_schema = r.string32("name of the oldest schema")?.to_owned();
        let files = r.list32(FILE_BYTES_MIN, "files", |r| {
            let path = r.string32("path of a file")?.to_owned();
            Ok((path, Bytes::copy_from_slice(r.bytes32("bytes of a file")?)))
        })?;
        let metadata = r.list32(NAME_BYTES_MIN, "metadata files", |r| {
            Ok(r.string32("path of a metadata file")?.to_owned())
        })?;
        let deletes = r.list32(DELETE_BYTES_MIN, "deletes", |r| {
            Ok((r.string32("path of a delete")?.to_owned(), r.u64("time of a delete")?))
        })?;
        let fragments = r.list32(FRAGMENT_BYTES_MIN, "fragments", |r| {
            Ok(TokenFragment {
                path: r.string32("path of a fragment")?.to_owned(),
                metadata: TokenMetadata::decode(r)?,
            })
        })?;
        r.finish("snapshot token")?;
        Ok(Self {
            name,
            window,
            schema,
            oldest_schema,
            files,
            metadata,
            deletes,
            fragments,
        })
    }
}

impl TokenMetadata {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Footer { footer, end, pieces } => {
                w.u8(0).bytes32(footer).u64(end.unwrap_or(u64::MAX));
                w.count32(pieces.len());
                for (offset, bytes) in pieces {
                    w.u64(*offset).bytes32(bytes);
                }
            }
            Self::Legacy(dense) => {
                w.u8(1).bool(*dense);
            }
        }
    }

    fn decode(r: &mut Reader<'_>) -> Decoded<Self> {
        let at = r.offset();
        match r.u8("kind of a fragment's metadata")? {
            0 => Ok(Self::Footer {
                footer: Bytes::copy_from_slice(r.bytes32("footer of a fragment")?),
                end: Some(r.u64("end of an index")?).filter(|end| *end != u64::MAX),
                pieces: r.list32(PIECE_BYTES_MIN, "pieces of an index", |r| {
                    let offset = r.u64("offset of a piece")?;
                    Ok((offset, Bytes::copy_from_slice(r.bytes32("piece of an index")?)))
                })?,
            }),
            1 => Ok(Self::Legacy(r.bool("dense flag of a fragment")?)),
            other => {
                let why = format!("{other} is neither 0 nor 1");
                Err(Malformed::new("kind of a fragment's metadata", at, why))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> SnapshotToken {
        SnapshotToken {
            name: "a".to_owned(),
            window: (1, u64::MAX),
            schema: "__1_1_s".to_owned(),
            oldest_schema: "__0_0_s".to_owned(),
            files: vec![("__schema/__1_1_s".to_owned(), Bytes::from_static(b"schema"))],
            metadata: vec!["__meta/m".to_owned()],
            deletes: vec![("__commits/d.del".to_owned(), 7)],
            fragments: vec![
                TokenFragment {
                    path: "__fragments/__7_7_00112233445566778899aabbccddeeff_22".to_owned(),
                    metadata: TokenMetadata::Footer {
                        footer: Bytes::from_static(b"footer"),
                        end: Some(99),
                        pieces: vec![(3, Bytes::from_static(b"piece"))],
                    },
                },
                TokenFragment {
                    path: "__00112233445566778899aabbccddeeff_7".to_owned(),
                    metadata: TokenMetadata::Legacy(true),
                },
            ],
        }
    }

    #[test]
    fn tokens_round_trip() {
        assert_eq!(SnapshotToken::decode(&token().encode().unwrap()).unwrap(), token());
        let empty = SnapshotToken::default();
        assert_eq!(SnapshotToken::decode(&empty.encode().unwrap()).unwrap(), empty);
    }

    #[test]
    fn a_part_of_a_token_does_not_keep_the_rest_in_memory() {
        let found = SnapshotToken::decode(&token().encode().unwrap()).unwrap();
        let file = &found.files[0].1;
        let TokenMetadata::Footer { footer, pieces, .. } = &found.fragments[0].metadata else {
            panic!("the first fragment has a footer")
        };
        assert!(file.is_unique() && footer.is_unique() && pieces[0].1.is_unique());
    }

    #[test]
    fn short_fragments_are_not_counted() {
        let mut forged = token();
        forged.fragments = vec![
            TokenFragment {
                path: String::new(),
                metadata: TokenMetadata::Legacy(true),
            };
            1000
        ];
        let error = SnapshotToken::decode(&forged.encode().unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("fragments at byte"), "{error}");
    }

    #[test]
    fn damage_below_the_checksum_is_an_error_or_another_token() {
        let body = envelope::open(KIND, &token().encode().unwrap()).unwrap();
        let mut refused = 0;
        for at in 0..body.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bad = body.clone();
                bad[at] ^= flip;
                let found = SnapshotToken::decode(&envelope::seal(KIND, &bad).unwrap());
                refused += usize::from(found.is_err());
                assert!(found.is_err() || found.unwrap() != token(), "byte {at}");
            }
            let cut = envelope::seal(KIND, &body[..at]).unwrap();
            let error = SnapshotToken::decode(&cut).unwrap_err().to_string();
            assert!(error.contains("at byte"), "{error}");
        }
        assert!(refused > body.len(), "lengths and counts are checked");
    }
}
