//! Escapes text from untrusted sources for a terminal.

use std::borrow::Cow;

/// Escapes control characters and characters that change the text direction as `\u001b`, like JSON, so that terminals
/// show them instead of acting on them. Characters in `keep`, such as line feeds, stay.
pub fn printable<'a>(text: &'a str, keep: &[char]) -> Cow<'a, str> {
    let escaped = |c: char| obeyed(c) && !keep.contains(&c);
    if !text.contains(escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if escaped(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Whether terminals act on this character instead of showing it.
fn obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_escaped() {
        assert!(matches!(printable("Zürich, 東京", &[]), Cow::Borrowed(_)));
        assert_eq!(
            printable("\u{1b}[2J\u{9b}1m\u{7f}\r", &[]),
            "\\u001b[2J\\u009b1m\\u007f\\u000d"
        );
        assert_eq!(printable("exe.\u{202e}fdp", &[]), "exe.\\u202efdp");
        assert_eq!(printable("a\tb\nc", &['\n']), "a\\u0009b\nc");
    }
}
