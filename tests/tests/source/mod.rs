//! The project's own source code, by line.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses only some of these items"
)]

use std::path::{Path, PathBuf};

use hyperslab_tests::here;

/// A source file.
pub struct Source {
    /// The path relative to the project folder, with `/`.
    pub path: String,
    /// The lines outside of test modules, numbered from 1.
    pub lines: Vec<(usize, String)>,
    /// All lines, including tests.
    pub whole: String,
}

pub fn top() -> PathBuf {
    here().join("..").canonicalize().unwrap()
}

pub fn sources(folder: &str) -> Vec<Source> {
    pub fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && name != "node_modules" && name != "fuzz" {
                walk(&path, out);
            } else if name.ends_with(".rs") {
                out.push(path);
            }
        }
    }
    let (top, mut paths) = (top(), Vec::new());
    walk(&top.join(folder), &mut paths);
    assert!(!paths.is_empty(), "no Rust files in {folder}");
    paths.sort();
    paths.iter().map(|p| Source::read(p, &top)).collect()
}

impl Source {
    pub fn read(path: &Path, top: &Path) -> Self {
        let whole = std::fs::read_to_string(path).unwrap();
        let path = path.strip_prefix(top).unwrap().to_string_lossy().replace('\\', "/");
        let mut lines = Vec::new();
        let mut all = whole.lines().enumerate().peekable();
        while let Some((i, line)) = all.next() {
            // A test module ends the file. A single test item has its own end.
            if line.trim() == "#[cfg(test)]"
                && all
                    .peek()
                    .is_some_and(|(_, next)| next.trim_start().starts_with("mod ") && next.ends_with('{'))
            {
                break;
            }
            lines.push((i + 1, line.to_owned()));
        }
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs") || path.starts_with("tests/");
        Self {
            lines: if is_test { Vec::new() } else { lines },
            path,
            whole,
        }
    }

    /// The code of each line, without comments and string contents.
    pub fn code(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        self.lines
            .iter()
            .map(|(n, line)| (*n, strip(line)))
            .filter(|(_, code)| !code.trim().is_empty())
    }
}

/// Removes the comment and the contents of string literals from a line.
pub fn strip(line: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if inside => drop(chars.next()),
            '"' => {
                inside = !inside;
                out.push('"');
            }
            '/' if !inside && chars.peek() == Some(&'/') => break,
            _ if inside => {}
            c => out.push(c),
        }
    }
    out
}

pub fn has_word(code: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(i, _)| {
        !code[..i].chars().next_back().is_some_and(is_word)
            && !code[i + word.len()..].chars().next().is_some_and(is_word)
    })
}

#[track_caller]
pub fn none(what: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}
