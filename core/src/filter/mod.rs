//! Filters: what each does to a chunk, and how a pipeline is applied to a tile.
//!
//! A tile is cut into chunks. The filters of a pipeline hand each other a chunk's bytes and its
//! metadata, to which most add a header that tells how to undo them. Folders are signatures:
//! `compress/` gives fewer bytes and packs the metadata along, `transform/` gives as many or nearly,
//! `guard/` watches over them. `plan.rs` makes a pipeline ready for a kind of tile, `encode.rs`
//! applies it and `decode.rs` undoes it.

mod chunk;
mod compress;
mod decode;
mod encode;
mod guard;
mod legal;
mod nonces;
mod packing;
mod plan;
mod transform;
mod word;

use crate::datatype::{CellCount, Datatype};
use crate::format::version::Version;

pub use decode::{ChunkDecoder, codes_strings, decode_offsets_tile, decode_tile, decode_var_tile};
pub(crate) use encode::TileEncoder;
pub use encode::{encode_tile, encode_var_tile};
pub use legal::{Role, check};
pub use nonces::Nonces;
pub(crate) use packing::Packing;

/// A 256-bit key.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// The key in a file of its 32 bytes, or of their 64 hex digits; `None` in any other.
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

/// What a pipeline must know about the tile it is applied to.
#[derive(Debug, Clone, Copy)]
pub struct TileFormat<'a> {
    /// The type of the values (`uint64` for offsets and timestamps, `uint8` for validity, `char` for generic tiles).
    pub datatype: Datatype,
    /// Values in a cell.
    pub cell: CellCount,
    /// The format version of the fragment (or file) the tile is in.
    pub version: Version,
    /// The newest version that the release which wrote the tile knew of: later than `version` in arrays that an
    /// older one made.
    pub writer: Version,
    /// The key of an encrypted array.
    pub key: Option<&'a Key>,
}

impl TileFormat<'_> {
    /// Of a tile as it is written today, not encrypted.
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
