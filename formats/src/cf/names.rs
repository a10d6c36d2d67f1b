//! Names of variables as parts of paths.

/// The longest name of a folder in common file systems, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// A name that can be a folder within a group: bytes that paths or the format use are written as `%` and two
/// hexadecimal digits.
pub(super) fn folder(name: &str) -> String {
    let reserved = name.starts_with("__") || name.starts_with('.');
    let mut out = String::with_capacity(name.len());
    for (at, c) in name.char_indices() {
        let plain = !(c.is_control() || matches!(c, '/' | '\\') || (at == 0 && reserved));
        if plain {
            out.push(c);
        } else {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).bytes();
            bytes.for_each(|byte| out.push_str(&format!("%{byte:02X}")));
        }
    }
    let end = (0..=NAME_BYTES_MAX.min(out.len()))
        .rev()
        .find(|n| out.is_char_boundary(*n));
    out.truncate(end.unwrap_or(0));
    if out.is_empty() { "%".to_owned() } else { out }
}

/// A name for an attribute: TileDB reserves names that start with two underscores.
pub(super) fn attribute(name: &str) -> String {
    match name.strip_prefix("__") {
        Some(rest) => format!("%5F_{rest}"),
        None => name.to_owned(),
    }
}

/// A path whose parts can be folders.
pub(super) fn path(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty()).map(folder);
    parts.collect::<Vec<_>>().join("/")
}

/// The path of a member of a group.
pub(super) fn member(group: &str, name: &str) -> String {
    match path(group) {
        root if root.is_empty() => folder(name),
        group => format!("{group}/{}", folder(name)),
    }
}

/// Makes the names differ, because an array has each dimension once: `x, x` becomes `x, x_1`.
pub(super) fn distinct(names: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for name in names {
        let numbered = (1_u64..).map(|n| format!("{name}_{n}"));
        let taken = |candidate: &String| out.contains(candidate);
        let first = std::iter::once((*name).to_owned()).chain(numbered).find(|c| !taken(c));
        out.extend(first);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_folders() {
        assert_eq!(folder("t 2m é"), "t 2m é");
        assert_eq!(folder("__meta"), "%5F_meta");
        assert_eq!(folder(".."), "%2E.");
        assert_eq!(folder("a/b\n"), "a%2Fb%0A");
        assert_eq!(folder(""), "%");
        assert_eq!(folder(&"é".repeat(200)).len(), 254);
        assert_eq!(path("/a//__b/"), "a/%5F_b");
        assert_eq!(member("", "x"), "x");
        assert_eq!(member("a/b", "x"), "a/b/x");
    }

    #[test]
    fn attributes_start_with_one_underscore_at_most() {
        assert_eq!(attribute("__x"), "%5F_x");
        assert_eq!(attribute("_x_"), "_x_");
    }

    #[test]
    fn names_of_dimensions_differ() {
        assert_eq!(distinct(&["x", "x", "y", "x"]), ["x", "x_1", "y", "x_2"]);
    }
}
