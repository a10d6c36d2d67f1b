//! Paths in a store: relative, separated by `/`, without `..`.

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

/// Decodes `%xx` escapes. Returns `None` if the result is not UTF-8.
pub(crate) fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = if byte == b'%' { after.get(..2) } else { None };
        let value = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match value {
            Some(value) => {
                bytes.push(value);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
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
