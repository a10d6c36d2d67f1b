//! Applies a pipeline to a tile, forwards and backwards.

use super::{Nonces, TileFormat};
use crate::error::Malformed;
use crate::format::cursor::Decoded;
use crate::format::pipeline::Pipeline;

/// The cells of a tile, whose bytes before filtering must be exactly `expected_bytes`.
///
/// # Errors
/// The tile is damaged, of another size, encrypted with another key, or filtered by something unknown.
pub fn decode_tile(_framed: &[u8], _p: &Pipeline, _f: &TileFormat<'_>, _expected_bytes: u64) -> Decoded<Vec<u8>> {
    unimplemented!()
}

/// The cells of a tile, written to `out`, which they must fill exactly.
///
/// # Errors
/// As [`decode_tile`]; `out` then holds anything.
pub fn decode_tile_into(_framed: &[u8], _p: &Pipeline, _f: &TileFormat<'_>, _out: &mut [u8]) -> Decoded<()> {
    unimplemented!()
}

/// The bytes of a tile of variable-length cells and, where its strings are coded together with their
/// offsets (see [`codes_strings`]), the byte at which each of the `cells` starts.
///
/// # Errors
/// As [`decode_tile`].
pub fn decode_var_tile(_framed: &[u8], _p: &Pipeline, _f: &TileFormat<'_>, _expected_bytes: u64, _cells: u64) -> Decoded<(Vec<u8>, Option<Vec<u64>>)> {
    unimplemented!()
}

/// Whether this pipeline codes strings together with their offsets, so that the tile of offsets is empty.
pub fn codes_strings(_p: &Pipeline, _f: &TileFormat<'_>) -> bool {
    unimplemented!()
}

/// The framed tile of these fixed-size cells.
///
/// # Errors
/// A filter cannot take these values.
pub fn encode_tile(_data: &[u8], _p: &Pipeline, _f: &TileFormat<'_>, _nonces: &Nonces) -> Result<Vec<u8>, Malformed> {
    unimplemented!()
}

/// The framed tile of these variable-length cells; `offsets` holds the start of each cell, in bytes,
/// and the end of the last.
///
/// # Errors
/// A filter cannot take these values.
pub fn encode_var_tile(_data: &[u8], _offsets: &[u64], _p: &Pipeline, _f: &TileFormat<'_>, _nonces: &Nonces) -> Result<Vec<u8>, Malformed> {
    unimplemented!()
}
