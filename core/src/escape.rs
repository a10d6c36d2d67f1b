//! Escapes bytes that are not UTF-8 as `\xff`, with two hexadecimal digits.

use std::borrow::Cow;

/// The text of a value: unchanged if it is UTF-8, otherwise with invalid bytes escaped. Not reversible, because
/// backslashes are not escaped.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(key(bytes)),
    }
}

/// The text of a key. Reversible: bytes that are not UTF-8 are escaped. A backslash that looks like the start of an
/// escape is escaped too: `\xff` in a key becomes `\x5cxff`.
///
/// ```
/// use hyperslab::internals::escape;
/// assert_eq!(escape::key(&[b'a', 0xe9]), "a\\xe9");
/// ```
pub fn key(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        for (i, c) in valid.char_indices() {
            match escaped(valid.as_bytes().get(i..).unwrap_or_default()) {
                Some(_) => push(&mut out, b'\\'),
                None => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| push(&mut out, *byte));
    }
    out
}

/// The bytes of the key with this text.
pub fn key_bytes(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match (escaped(rest), rest) {
            (Some(byte), [_, _, _, _, behind @ ..]) => {
                out.push(byte);
                rest = behind;
            }
            _ => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

/// The byte of the escape at the start of `text`, if there is one.
fn escaped(text: &[u8]) -> Option<u8> {
    let digit = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'a'..=b'f' => Some(b - b'a' + 10),
        _ => None,
    };
    match text {
        [b'\\', b'x', high, low, ..] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    }
}

fn push(out: &mut String, byte: u8) {
    out.push_str(&format!("\\x{byte:02x}"));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_invalid_utf8_is_escaped() {
        for plain in ["", "a b", "Zürich", "C:\\dir\\xyz", "\\x", "\\xFF"] {
            assert_eq!(key(plain.as_bytes()), plain);
            assert_eq!(key_bytes(plain), plain.as_bytes());
        }
        assert_eq!(key(b"caf\xe9"), "caf\\xe9");
        assert_eq!(key(b"caf\\xe9"), "caf\\x5cxe9");
        assert_eq!(text(b"caf\\xe9"), "caf\\xe9");
        assert_eq!(text(b"\xff\xfe"), "\\xff\\xfe");
    }

    proptest! {
        #[test]
        fn keys_with_escapes_round_trip(bytes in prop::collection::vec(prop::sample::select(b"\\x5cfe9\xe9\xc3\xa4".to_vec()), 0..12)) {
            let text = key(&bytes);
            prop_assert_eq!(key_bytes(&text), bytes);
        }

        #[test]
        fn all_keys_round_trip(bytes in any::<Vec<u8>>()) {
            prop_assert_eq!(key_bytes(&key(&bytes)), bytes);
        }
    }
}
