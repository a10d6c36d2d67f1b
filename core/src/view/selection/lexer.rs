//! Splits a selection at special characters outside quotes.

use percent_encoding::percent_encode_byte;

use crate::error::{Error, Result};
use crate::vfs::path::{has_valid_escapes, percent_decode};

/// The parts of `text` between `separator`s outside quotes and lists.
pub(super) fn split(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((head, tail)) = split_once(rest, separator) {
        parts.push(head);
        rest = tail;
    }
    parts.push(rest);
    parts
}

/// The parts before and after the first `separator` outside quotes and lists.
pub(super) fn split_once(text: &str, separator: char) -> Option<(&str, &str)> {
    let at = positions(text, |rest| rest.starts_with(separator)).next()?;
    Some((text.get(..at)?, text.get(at + separator.len_utf8()..)?))
}

/// The attributes before an `@`, if any, and the axes. An `@` after `=` belongs to an axis: `lat=@0:10` selects by index.
pub(super) fn split_attributes(text: &str) -> (Option<&str>, &str) {
    let ats = positions(text, |rest| rest.starts_with('@'));
    let mut ats = ats.filter(|at| !text.get(..*at).is_some_and(|before| before.trim_end().ends_with('=')));
    let cut = ats.next().and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)));
    match cut {
        Some((names, body)) => (Some(names), body),
        None => (None, text),
    }
}

/// The parts of a list in braces; `None` for other text.
pub(super) fn list(text: &str) -> Result<Option<Vec<&str>>> {
    let Some(inner) = text.trim().strip_prefix('{') else {
        return Ok(None);
    };
    let inner = inner.strip_suffix('}').filter(|inner| !inner.contains(['{', '}']));
    let inner =
        inner.ok_or_else(|| Error::invalid(format!("{text}: write a list as {{0,5,9}}, without braces in it")))?;
    Ok(Some(split(inner, ',')))
}

/// The positions outside quotes and lists where the rest of the text passes a test.
pub(in crate::view) fn positions<'a>(
    text: &'a str,
    test: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = usize> + 'a {
    let (mut quote, mut is_list) = (None, false);
    text.char_indices().filter_map(move |(i, c)| {
        match quote {
            Some(q) => {
                if c == q {
                    quote = None;
                }
                return None;
            }
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                return None;
            }
            None => is_list = c == '{' || is_list && c != '}',
        }
        if is_list {
            return None;
        }
        text.get(i..).is_some_and(&test).then_some(i)
    })
}

/// Removes the quotes of a name or string and decodes percent-encodings such as `%2C`.
pub(super) fn unquote(text: &str) -> Result<String> {
    for q in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(q) {
            let inner = inner.strip_suffix(q).filter(|s| !s.contains(q));
            return inner
                .map(str::to_owned)
                .ok_or_else(|| Error::invalid(format!("{text}: the quote {q} is not closed")));
        }
    }
    if !has_valid_escapes(text) {
        return Err(Error::invalid(format!("'{text}': write %25 for a percent sign")));
    }
    percent_decode(text).ok_or_else(|| Error::invalid(format!("'{text}' is not valid UTF-8 after percent-decoding")))
}

/// The inverse of [`unquote`]. The result is safe in a file name.
pub(in crate::view) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, c) in text.char_indices() {
        // Two dots would be a range, a leading dot would hide the file, and `_` and `all` select everything.
        let dots = c == '.' && (i == 0 || out.ends_with('.'));
        let word = i == 0 && matches!(text, "_" | "all");
        // The parser trims spaces.
        let edge = c == ' ' && (i == 0 || i + 1 == text.len());
        // A plus sign before letters may start an option.
        if (c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ')) && !dots && !word && !edge {
            out.push(c);
        } else {
            c.encode_utf8(&mut [0; 4])
                .bytes()
                .for_each(|b| out.push_str(percent_encode_byte(b)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_in_quotes_do_not_count() {
        assert_eq!(split("'a,b',c", ','), ["'a,b'", "c"]);
        assert_eq!(split_once("x='a=b'", '='), Some(("x", "'a=b'")));
        assert_eq!(split("", ','), [""]);
        assert_eq!(split("{0,5},x={'}',7},2", ','), ["{0,5}", "x={'}',7}", "2"]);
    }

    #[test]
    fn an_at_sign_after_an_equals_sign_is_part_of_an_axis() {
        assert_eq!(split_attributes("a,b@x=@0:2,y=1"), (Some("a,b"), "x=@0:2,y=1"));
        assert_eq!(split_attributes("x= @0:2"), (None, "x= @0:2"));
        assert_eq!(split_attributes("'a=@b'@0"), (Some("'a=@b'"), "0"));
    }

    #[test]
    fn quote_and_unquote_are_inverse() {
        for text in ["plain", "a,b", "100%", "a..b", "_", "all", "a:b@c=d/e", "Zürich", ""] {
            assert_eq!(unquote(&quote(text)).unwrap(), text);
        }
    }

    #[test]
    fn unfinished_escapes_are_errors() {
        assert!(unquote("%2").is_err());
        assert!(unquote("%+1").is_err());
        assert!(unquote("'a").is_err());
        assert!(unquote("%FF").is_err());
    }
}
