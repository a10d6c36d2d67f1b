//! Text in files.

use std::ops::Range;

use hyperslab::{Column, Datatype};

/// The text of bytes: UTF-8, or else Latin-1, which older files use for degree signs and names.
pub(crate) fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// The bytes without the zeros at their end.
pub(crate) fn without_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or(bytes)
}

/// The texts of a box of cells, each of `width` characters that may be zeros at the end.
pub(crate) fn column(bytes: &[u8], width: u64, ranges: &[Range<u64>]) -> Column {
    let cells = ranges.iter().map(|r| r.end.saturating_sub(r.start)).product::<u64>();
    let width = usize::try_from(width).unwrap_or(usize::MAX);
    let cell = |n: u64| {
        let start = usize::try_from(n).unwrap_or(usize::MAX).saturating_mul(width);
        let bytes = bytes.get(start..start.saturating_add(width)).unwrap_or(&[]);
        decode(without_zeros(bytes))
    };
    Column::from_cells(Datatype::StringUtf8, (0..cells).map(cell))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_utf8_or_latin1() {
        assert_eq!(decode("12 °C".as_bytes()), "12 °C");
        assert_eq!(decode(b"12 \xb0C"), "12 °C");
        assert_eq!(without_zeros(b"a\0b\0\0"), b"a\0b");
        assert_eq!(without_zeros(b"\0"), b"");
    }
}
