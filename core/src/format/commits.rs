//! The files with contents in the commits folder: consolidated commits, ignore files and vacuum files.
//!
//! ```text
//! .con   one line per commit: "__commits/<name>.wrt\n", or "<name>.ok\n" for a fragment in the array's root;
//!        "__commits/<name>.del\n" is followed by a length u64 and the contents of that file
//! .ign   one line per commit: "__commits/<name>.wrt\n"
//! .vac   one line per replaced fragment: "/__fragments/<name>\n"; before version 19 an absolute URI
//! ```

use std::borrow::Cow;
use std::ops::Range;

use super::cursor::{Decoded, Reader, Writer};
use crate::error::Malformed;

/// Folder of the commit files.
pub const COMMITS_DIR: &str = "__commits";
/// Folder of the fragments.
pub const FRAGMENTS_DIR: &str = "__fragments";

/// A commit listed in a consolidated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsolidatedCommit<'a> {
    /// Path of the commit file relative to the array, such as `__commits/__1_1_…_22.wrt`.
    pub path: Cow<'a, str>,
    /// Byte range of an embedded delete or update commit in the file.
    pub embedded: Option<Range<usize>>,
}

impl ConsolidatedCommit<'_> {
    /// Copies the path, so that the commit no longer borrows from the file.
    pub fn into_owned(self) -> ConsolidatedCommit<'static> {
        ConsolidatedCommit {
            path: self.path.into_owned().into(),
            embedded: self.embedded,
        }
    }
}

/// Decodes a `.con` file.
///
/// # Errors
/// A line has no line feed or is not UTF-8, or an embedded commit runs past the end of the file.
pub fn decode_consolidated(bytes: &[u8]) -> Decoded<Vec<ConsolidatedCommit<'_>>> {
    let mut r = Reader::new(bytes);
    // Allocate once: a growing list takes up to three times the memory.
    let mut commits = Vec::with_capacity(bytes.iter().filter(|&&b| b == b'\n').count());
    while !r.is_done() {
        let path = line(&mut r, "consolidated commit")?;
        let embedded = if holds_condition(path) {
            let embedded = r.bytes64("embedded commit")?;
            let end = bytes.len() - r.remaining();
            Some(end - embedded.len()..end)
        } else {
            None
        };
        commits.push(ConsolidatedCommit {
            path: path.into(),
            embedded,
        });
    }
    Ok(commits)
}

/// Whether a commit holds a condition: a delete or an update.
///
/// Updates are an experimental feature of libtiledb: the new values follow the condition. Its readers, from 2.14 to
/// 2.30, treat an update as a delete of the matching cells. It never consolidates update commits, and neither do we.
pub fn holds_condition(path: &str) -> bool {
    path.ends_with(".del") || path.ends_with(".upd")
}

/// The folder of the fragment that the commit file at `path` belongs to. Both paths are relative to the array.
pub fn folder_of(path: &str) -> Option<String> {
    if let Some(name) = path.strip_suffix(".wrt") {
        let (_, name) = name.rsplit_once('/').unwrap_or(("", name));
        return Some(format!("{FRAGMENTS_DIR}/{name}"));
    }
    path.strip_suffix(".ok").map(str::to_owned)
}

/// Encodes a `.con` file from the path of each commit, relative to the array, and the contents of delete and update
/// commits.
pub fn encode_consolidated<'a>(commits: impl IntoIterator<Item = (&'a str, Option<&'a [u8]>)>) -> Vec<u8> {
    let mut w = Writer::new();
    for (path, embedded) in commits {
        w.put(path.as_bytes()).u8(b'\n');
        if let Some(bytes) = embedded {
            w.bytes64(bytes);
        }
    }
    w.into_bytes()
}

/// Decodes a file with one path per line: `.ign` files, and `.vac` files of fragments, metadata and groups.
///
/// # Errors
/// The file is not UTF-8.
pub fn decode_lines(bytes: &[u8]) -> Decoded<Vec<String>> {
    let text =
        std::str::from_utf8(bytes).map_err(|e| Malformed::new("list of paths", e.valid_up_to() as u64, "not UTF-8"))?;
    Ok(text.lines().filter(|l| !l.is_empty()).map(str::to_owned).collect())
}

/// Encodes a file with one path per line.
pub fn encode_lines<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    paths.into_iter().flat_map(|p| [p.as_bytes(), b"\n"].concat()).collect()
}

/// Path relative to the array for a line of a `.vac` file. Absolute URIs are stripped, so that a moved array still
/// opens.
pub fn vacuumed_path(line: &str) -> &str {
    let from = |folder: &str| line.rfind(folder).and_then(|at| line.get(at + 1..));
    from("/__fragments/")
        .or_else(|| from("/__meta/"))
        .unwrap_or_else(|| line.rsplit('/').next().unwrap_or(line))
}

fn line<'a>(r: &mut Reader<'a>, what: &str) -> Decoded<&'a str> {
    let at = r.offset();
    let rest = r.clone().rest();
    let n = rest
        .iter()
        .position(|&b| b == b'\n')
        .ok_or_else(|| r.malformed(what, "the line has no end"))?;
    let text = r.take(n, what)?;
    r.u8(what)?;
    std::str::from_utf8(text).map_err(|_| Malformed::new(what, at, "not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_commits_may_hold_newlines() {
        let commits = [
            ("__commits/a.wrt", None),
            ("__commits/b.del", Some(&b"x\ny\n"[..])),
            ("c.ok", None),
        ];
        let bytes = encode_consolidated(commits);
        assert_eq!(
            bytes,
            b"__commits/a.wrt\n__commits/b.del\n\x04\0\0\0\0\0\0\0x\ny\nc.ok\n"
        );
        let back = decode_consolidated(&bytes).unwrap();
        let back: Vec<_> = back
            .iter()
            .map(|c| (c.path.as_ref(), c.embedded.clone().map(|r| &bytes[r])))
            .collect();
        assert_eq!(back, commits);
    }

    #[test]
    fn an_embedded_commit_longer_than_the_file_is_an_error() {
        let e = decode_consolidated(b"b.del\n\xff\0\0\0\0\0\0\0x").unwrap_err();
        assert_eq!(e.to_string(), "embedded commit at byte 14: needs 255 bytes, 1 are left");
        assert!(decode_consolidated(b"a.wrt").is_err());
    }

    #[test]
    fn vacuum_lines_of_all_versions() {
        assert_eq!(vacuumed_path("/__fragments/__1_1_u_22"), "__fragments/__1_1_u_22");
        assert_eq!(
            vacuumed_path("file:///old/place/__fragments/__1_1_u_12"),
            "__fragments/__1_1_u_12"
        );
        assert_eq!(
            vacuumed_path("file:///my__fragments/and__meta/__fragments/__1_1_u_12"),
            "__fragments/__1_1_u_12"
        );
        assert_eq!(vacuumed_path("/__meta/__1_1_u"), "__meta/__1_1_u");
        assert_eq!(vacuumed_path("file:///old/place/__1_1_u_9"), "__1_1_u_9");
    }

    #[test]
    fn lines_round_trip() {
        assert_eq!(decode_lines(&encode_lines(["a", "b"])).unwrap(), ["a", "b"]);
    }
}
