//! Paths in a store: relative, separated by `/`, without `..`.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

use crate::error::{Error, Result};

/// Joins `dir` and `name` with a slash. Either may be empty.
pub fn join(dir: &str, name: &str) -> String {
    match (dir.is_empty(), name.is_empty()) {
        (true, _) => name.to_owned(),
        (_, true) => dir.to_owned(),
        _ => [dir, "/", name].concat(),
    }
}

/// Splits a path into its folder and its last part.
pub fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The last part of a path.
pub fn last_part(path: &str) -> &str {
    split(path).1
}

/// Checks that `path` stays inside its store. Names in arrays come from files, so stores check them.
///
/// # Errors
/// `InvalidArgument` if the path has an empty part, `.`, `..` or a NUL byte, or starts or ends with `/`.
pub fn check_path(path: &str) -> Result<()> {
    let bad = |part: &str| part.is_empty() || part == "." || part == ".." || part.contains('\0');
    if !path.is_empty() && path.split('/').any(bad) {
        return Err(Error::invalid(format!("{path:?} is not a path inside the store")));
    }
    Ok(())
}

/// Decodes `%xx` escapes; other percent signs stay. Returns `None` if the result is not UTF-8.
pub fn percent_decode(text: &str) -> Option<String> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.ok().map(Cow::into_owned)
}

/// Whether every percent sign begins a `%xx` escape.
pub fn has_valid_escapes(text: &str) -> bool {
    let is_valid = |escape: &str| {
        let digits = escape.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    text.split('%').skip(1).all(is_valid)
}

/// Percent-encodes all bytes but ASCII letters, digits and `-._~/`.
pub fn percent_encode(path: &str) -> impl fmt::Display {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~')
        .remove(b'/');
    percent_encoding::utf8_percent_encode(path, ESCAPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_without_double_slashes() {
        assert_eq!(
            (join("", "b"), join("a", ""), join("a", "b")),
            ("b".into(), "a".into(), "a/b".into())
        );
    }

    #[test]
    fn splits_at_the_last_slash() {
        assert_eq!((split("a/b/c"), split("c")), (("a/b", "c"), ("", "c")));
    }

    #[test]
    fn leaves_no_way_out() {
        for bad in ["..", "a/../b", "/etc", "a/", "a//b", ".", "a/./b", "a\0"] {
            assert!(check_path(bad).is_err(), "{bad:?}");
        }
        for good in ["", "a", "a/b", "a..b", ".hidden", "__fragments/__1_2_x/a0.tdb"] {
            assert!(check_path(good).is_ok(), "{good:?}");
        }
    }
}
