//! Text in the encodings of TileDB's string types.

use std::borrow::Cow;

use crate::column::typed;
use crate::datatype::Datatype;

/// Whether the stored bytes are text, so that [`encode`] can restore them.
pub(super) fn is_text(datatype: Datatype, bytes: &[u8]) -> bool {
    decode(datatype, bytes).is_some()
}

/// Decodes stored bytes; `None` if they are not valid in this encoding.
pub(super) fn decode(datatype: Datatype, bytes: &[u8]) -> Option<Cow<'_, str>> {
    match datatype.size() {
        2 => String::from_utf16(&typed::<u16>(bytes)).ok().map(Cow::Owned),
        4 => typed::<u32>(bytes)
            .iter()
            .map(|c| char::from_u32(*c))
            .collect::<Option<String>>()
            .map(Cow::Owned),
        _ => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
    }
}

/// Encodes text for storage.
pub(super) fn encode(datatype: Datatype, text: &str) -> Cow<'_, [u8]> {
    match datatype.size() {
        2 => Cow::Owned(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        4 => Cow::Owned(text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()),
        _ => Cow::Borrowed(text.as_bytes()),
    }
}

/// A fixed-length cell without its NUL padding.
pub(super) fn unpadded(datatype: Datatype, cell: &[u8]) -> &[u8] {
    let width = datatype.size();
    let kept = cell
        .chunks(width)
        .rposition(|c| c.iter().any(|b| *b != 0))
        .map_or(0, |i| (i + 1) * width);
    cell.get(..kept).unwrap_or(cell)
}
