//! Patterns of `like`. Libraries for globs and regular expressions know neither `%` nor SQL's escapes, and each would
//! weigh more in the browser than the language of conditions.

/// A pattern: text, `%` for any text and `_` for any character.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pattern(Vec<Piece>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Piece {
    Byte(u8),
    /// One character of UTF-8, or one byte that is no part of any.
    One,
    Any,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            pieces.push(match byte {
                b'%' => Piece::Any,
                b'_' => Piece::One,
                b'\\' => Piece::Byte(bytes.next_if(|b| b"%_\\".contains(b)).unwrap_or(byte)),
                _ => Piece::Byte(byte),
            });
        }
        pieces.dedup_by(|a, b| *a == Piece::Any && *b == Piece::Any);
        Self(pieces)
    }

    /// The text before the first `%` or `_`, and what follows it.
    fn split(&self) -> (Vec<u8>, &[Piece]) {
        let byte = |piece: &Piece| match piece {
            Piece::Byte(byte) => Some(*byte),
            _ => None,
        };
        let prefix: Vec<u8> = self.0.iter().map_while(byte).collect();
        let rest = self.0.get(prefix.len()..).unwrap_or(&[]);
        (prefix, rest)
    }

    /// The only text that matches; `None` if there are others.
    pub(super) fn text(&self) -> Option<Vec<u8>> {
        let (text, rest) = self.split();
        rest.is_empty().then_some(text)
    }

    /// The text with which all matches start, and whether everything that starts with it matches.
    pub(super) fn prefix(&self) -> (Vec<u8>, bool) {
        let (prefix, rest) = self.split();
        (prefix, rest == [Piece::Any])
    }

    /// Whether all of `text` matches.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let (mut at, mut piece) = (0, 0);
        // The piece after the last `%`, and the place where the text for it was tried.
        let mut tried: Option<(usize, usize)> = None;
        while let Some(byte) = text.get(at) {
            match self.0.get(piece) {
                Some(Piece::Byte(wanted)) if wanted == byte => at += 1,
                Some(Piece::One) => at += width(text, at),
                Some(Piece::Any) => tried = Some((piece + 1, at)),
                _ => {
                    // The `%` takes one more character.
                    let Some((after, from)) = tried else { return false };
                    let next = from + width(text, from);
                    tried = Some((after, next));
                    (piece, at) = (after, next);
                    continue;
                }
            }
            piece += 1;
        }
        self.0.get(piece..).unwrap_or(&[]).iter().all(|p| *p == Piece::Any)
    }
}

/// Bytes of the character at `at`, with the bytes that continue it.
fn width(text: &[u8], at: usize) -> usize {
    let rest = text.get(at + 1..).unwrap_or(&[]);
    1 + rest.iter().take(3).take_while(|b| **b & 0xc0 == 0x80).count()
}

/// The first text after all that starts with `prefix`; `None` if there is none.
pub(super) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != u8::MAX)?;
    let mut after = prefix.get(..=last)?.to_vec();
    *after.last_mut()? += 1;
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_all_of_a_text() {
        let matches = |pattern: &str, text: &str| Pattern::new(pattern).matches(text.as_bytes());
        for (pattern, yes, no) in [
            ("", &[""][..], &["a"][..]),
            ("%", &["", "a", "é"], &[]),
            ("a%", &["a", "abc"], &["", "ba", "A"]),
            ("%a", &["a", "aba"], &["", "ab"]),
            ("%ab%ba", &["abba", "xababba"], &["aba", "ab"]),
            ("_", &["a", "é", "\u{1f30d}"], &["", "ab"]),
            ("%__", &["ab", "xéé"], &["é", "a"]),
            ("a\\%b", &["a%b"], &["axb"]),
            ("a\\_\\\\\\x", &["a_\\\\x"], &["ab\\\\x"]),
            ("%%_%%", &["a"], &[""]),
        ] {
            assert!(yes.iter().all(|text| matches(pattern, text)), "{pattern} {yes:?}");
            assert!(!no.iter().any(|text| matches(pattern, text)), "{pattern} {no:?}");
        }
        assert!(Pattern::new("_%").matches(b"\xff"));
    }

    #[test]
    fn hostile_patterns_take_little_time() {
        // Each `%` is tried once for each character, not once for each combination.
        assert!(!Pattern::new(&"%a".repeat(200)).matches(&[b'a'; 199]));
        assert!(!Pattern::new(&format!("{}b", "%a".repeat(200))).matches(&[b'a'; 4000]));
    }

    #[test]
    fn prefixes_bound_the_matches() {
        let prefix = |pattern: &str| Pattern::new(pattern).prefix();
        assert_eq!(prefix("ab%"), (b"ab".to_vec(), true));
        assert_eq!(prefix("ab_%"), (b"ab".to_vec(), false));
        assert_eq!(Pattern::new("a\\%").text(), Some(b"a%".to_vec()));
        assert_eq!(Pattern::new("a%").text(), None);
        assert_eq!(after_prefix(b"ab\xff"), Some(b"ac".to_vec()));
        assert_eq!(after_prefix(b"\xff"), None);
    }
}
