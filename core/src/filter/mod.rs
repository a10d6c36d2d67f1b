//! Filters, and how a pipeline is applied to a tile.
//!
//! A tile is split into chunks. Each filter of a pipeline transforms the data and metadata of a chunk. Most filters add
//! a header to the metadata, which is needed to decode the chunk. `compress/` has filters that reduce data and
//! metadata; `transform/` has filters that keep the size, at least roughly; `integrity/` has checksums and encryption.
//! `plan.rs` prepares a pipeline for a kind of tile, `encode.rs` applies it, and `decode.rs` undoes it.

mod chunk;
mod compress;
mod decode;
mod encode;
mod integrity;
mod nonces;
mod packing;
mod plan;
pub mod rare;
mod transform;
mod validate;
mod word;

use crate::datatype::{CellCount, Datatype};
use crate::format::version::Version;

pub use decode::{ChunkDecoder, codes_strings, decode_offsets_tile, decode_tile, decode_var_tile};
pub(crate) use encode::TileEncoder;
pub use encode::{encode_tile, encode_var_tile};
pub use nonces::Nonces;
pub(crate) use packing::Packing;
pub(crate) use plan::rounded;
pub use validate::{PipelineTarget, check};

/// A 256-bit encryption key.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// Parses the contents of a key file: 32 bytes, or their 64 hex digits. `None` for anything else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if let Ok(raw) = bytes.try_into() {
            return Some(Self(raw));
        }
        let hex = |d: u8| char::from(d).to_digit(16).and_then(|d| u8::try_from(d).ok());
        let pair = |p: &[u8]| Some(hex(*p.first()?)? << 4 | hex(*p.get(1)?)?);
        let raw: Option<Vec<u8>> = bytes.trim_ascii().chunks(2).map(pair).collect();
        raw?.try_into().ok().map(Self)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// The properties of a tile that its pipeline depends on.
#[derive(Debug, Clone, Copy)]
pub struct TileFormat<'a> {
    /// The type of its values: `uint64` for offsets and timestamps, `uint8` for validity, `char` for generic tiles.
    pub datatype: Datatype,
    /// Number of values per cell.
    pub cell: CellCount,
    /// Format version of the fragment or file that holds the tile.
    pub version: Version,
    /// The newest version known to the release that wrote the tile. Later than `version` if the array was created by an
    /// older release.
    pub writer: Version,
    /// The key of an encrypted array.
    pub key: Option<&'a Key>,
}

impl TileFormat<'_> {
    /// The format of unencrypted tiles in the current version.
    pub const fn new(datatype: Datatype, cell: CellCount) -> Self {
        Self {
            datatype,
            cell,
            version: Version::CURRENT,
            writer: Version::CURRENT,
            key: None,
        }
    }
}
