//! Dictionary encoding of strings. Ids are assigned in order of first appearance.
//!
//! The header is followed by `size of the dictionary u32 | per string: length, text`. The data has one id per cell.

use std::collections::HashMap;

use super::strings::{Header, Strings, Width, cells};
use crate::error::Malformed;
use crate::filter::chunk::{ChunkHeaders, len32};
use crate::format::cursor::{Decoded, Reader};

/// Appends the ids of the strings in `data`.
///
/// # Errors
/// The tile is longer than 4 GiB.
#[inline(never)] // The browser loads it separately.
pub(in crate::filter) fn encode(
    headers: &mut ChunkHeaders,
    data: &[u8],
    offsets: &[u64],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let n = offsets.len().saturating_sub(1);
    // libtiledb derives the width from the number of cells, not of distinct strings.
    let width = Width::of(n as u64);
    let length_width = Width::of(cells(data, offsets).map(<[u8]>::len).max().unwrap_or(0) as u64);
    let mut ids: HashMap<&[u8], u64> = HashMap::new();
    let mut dictionary = Vec::new();
    for text in cells(data, offsets) {
        let next = ids.len() as u64;
        let id = *ids.entry(text).or_insert_with(|| {
            length_width.put(text.len() as u64, &mut dictionary);
            dictionary.extend_from_slice(text);
            next
        });
        width.put(id, out);
    }
    let mut header = Header::write(data.len(), out.len(), n, width, length_width)?;
    header.u32(len32(dictionary.len())?).put(&dictionary);
    headers.put(header.into_bytes());
    Ok(())
}

/// Appends the strings whose ids are in `data`.
///
/// # Errors
/// The ids are damaged, or the strings exceed the limits of `out`.
#[inline(never)] // The browser loads it separately.
pub(in crate::filter) fn decode(r: &mut Reader<'_>, data: &[u8], out: &mut Strings) -> Decoded<()> {
    let header = Header::read(r)?;
    let before = (out.bytes.len(), out.offsets.len());
    let mut list = Reader::new(r.bytes32("dictionary")?);
    let mut dictionary = Vec::new();
    while !list.is_done() {
        let length = header.length_width.get(&mut list, "length of a dictionary string")?;
        dictionary.push(list.take_u64(length, "dictionary string")?);
    }
    let mut ids = Reader::new(header.packed(data)?);
    while !ids.is_done() {
        let id = header.width.get(&mut ids, "id of a string")?;
        let text = usize::try_from(id).ok().and_then(|id| dictionary.get(id));
        let text = text.ok_or_else(|| {
            Malformed::new(
                "id of a string",
                0,
                format!("{id}, but the dictionary has {} strings", dictionary.len()),
            )
        })?;
        out.push(text, 1)?;
    }
    header.check(out, before)
}
