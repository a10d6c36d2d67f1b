//! The files of a commit folder that have contents: consolidated commits, ignore and vacuum files.
//!
//! ```text
//! .con   per commit: "__commits/<name>.wrt\n", or "<name>.ok\n" for a fragment in the array's root;
//!        "__commits/<name>.del\n" is followed by bytes u64 and the delete commit's own bytes
//! .ign   per commit: "__commits/<name>.wrt\n"
//! .vac   per replaced fragment: "/__fragments/<name>\n"; before version 19 an absolute URI
//! ```

use std::borrow::Cow;
use std::ops::Range;

use super::cursor::{Decoded, Reader, Writer};
use crate::error::Malformed;

/// The folder of commits.
pub const COMMITS_DIR: &str = "__commits";
/// The folder of fragments.
pub const FRAGMENTS_DIR: &str = "__fragments";

/// A commit in a consolidated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsolidatedCommit<'a> {
    /// The commit's path below the array, such as `__commits/__1_1_…_22.wrt`.
    pub path: Cow<'a, str>,
    /// Where the bytes of a delete or update commit lie in the file.
    pub embedded: Option<Range<usize>>,
}

impl ConsolidatedCommit<'_> {
    /// The same, without what it was read from.
    pub fn into_owned(self) -> ConsolidatedCommit<'static> {
        ConsolidatedCommit {
            path: self.path.into_owned().into(),
            embedded: self.embedded,
        }
    }
}

/// Reads a `.con` file.
///
/// # Errors
/// A line without an end, one that is not UTF-8, or an embedded commit longer than the file.
pub fn decode_consolidated(bytes: &[u8]) -> Decoded<Vec<ConsolidatedCommit<'_>>> {
    let mut r = Reader::new(bytes);
    // Room for all at once: a list that grows takes up to three times as much.
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

/// Whether a commit holds a condition: a delete, or an update.
///
/// Updates are an experiment of libtiledb, whose readers, from 2.14 to 2.30, take one for a delete of the cells
/// that it would change; what they would be is written behind the condition. It leaves them out of what it
/// consolidates, and so do we.
pub fn holds_condition(path: &str) -> bool {
    path.ends_with(".del") || path.ends_with(".upd")
}

/// The folder of the fragment that is committed by the file at `path`; both are below the array.
pub fn folder_of(path: &str) -> Option<String> {
    if let Some(name) = path.strip_suffix(".wrt") {
        let (_, name) = name.rsplit_once('/').unwrap_or(("", name));
        return Some(format!("{FRAGMENTS_DIR}/{name}"));
    }
    path.strip_suffix(".ok").map(str::to_owned)
}

/// A `.con` file of these commits: the path of each below the array, and a delete commit's bytes.
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

/// Reads a file of one path a line: `.ign`, and `.vac` of fragments, metadata and groups.
///
/// # Errors
/// The file is not UTF-8.
pub fn decode_lines(bytes: &[u8]) -> Decoded<Vec<String>> {
    let text =
        std::str::from_utf8(bytes).map_err(|e| Malformed::new("list of paths", e.valid_up_to() as u64, "not UTF-8"))?;
    Ok(text.lines().filter(|l| !l.is_empty()).map(str::to_owned).collect())
}

/// A file of one path a line.
pub fn encode_lines<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    paths.into_iter().flat_map(|p| [p.as_bytes(), b"\n"].concat()).collect()
}

/// The path below the array that a line of a `.vac` file means: absolute URIs are cut, so that an
/// array that was moved still opens.
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
    fn vacuum_lines_of_every_age_are_understood() {
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
    fn lines_come_back() {
        assert_eq!(decode_lines(&encode_lines(["a", "b"])).unwrap(), ["a", "b"]);
    }
}
