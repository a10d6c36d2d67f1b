//! Generic tiles: a tile that describes itself. Schemas, metadata and sections of fragment metadata are such tiles.

use super::cursor::Decoded;
use crate::error::Malformed;
use crate::filter::{Key, Nonces};

/// The payload of the generic tile at the start of `bytes`, and how many bytes the whole tile takes.
///
/// # Errors
/// The tile is damaged, or encrypted with another key, or not encrypted although there is a key.
pub fn decode(_bytes: &[u8], _key: Option<&Key>) -> Decoded<(Vec<u8>, u64)> {
    unimplemented!()
}

/// The generic tile of this payload: gzip, and AES where there is a key.
///
/// # Errors
/// There is a key and no nonces.
pub fn encode(_payload: &[u8], _key: Option<&Key>, _nonces: &Nonces) -> Result<Vec<u8>, Malformed> {
    unimplemented!()
}
