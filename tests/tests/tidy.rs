//! The architecture's invariants, read off the source itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::path::{Path, PathBuf};

use hyperslab_tests::here;

struct Source {
    /// Below the top folder, with `/`.
    path: String,
    /// The lines outside of test modules, with their numbers from 1.
    lines: Vec<(usize, String)>,
    /// All lines, tests included.
    whole: String,
}

fn top() -> PathBuf {
    here().join("..").canonicalize().unwrap()
}

fn sources(folder: &str) -> Vec<Source> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
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
    fn read(path: &Path, top: &Path) -> Self {
        let whole = std::fs::read_to_string(path).unwrap();
        let path = path.strip_prefix(top).unwrap().to_string_lossy().replace('\\', "/");
        let mut lines = Vec::new();
        let mut all = whole.lines().enumerate().peekable();
        while let Some((i, line)) = all.next() {
            // A module of tests closes a file; a single test item has its own end.
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

    /// The code of each line: without comments and without what is between quotes.
    fn code(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        self.lines
            .iter()
            .map(|(n, line)| (*n, strip(line)))
            .filter(|(_, code)| !code.trim().is_empty())
    }
}

/// A line without its comment and without the insides of string literals.
fn strip(line: &str) -> String {
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

fn has_word(code: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(i, _)| {
        !code[..i].chars().next_back().is_some_and(is_word)
            && !code[i + word.len()..].chars().next().is_some_and(is_word)
    })
}

#[track_caller]
fn none(what: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

/// The files that may wait: the shell around the pure engine, and the leaves of the store trait.
const SHELL: &[&str] = &[
    "core/src/array/create.rs",
    "core/src/array/group.rs",
    "core/src/array/meta.rs",
    "core/src/array/open.rs",
    "core/src/cpu.rs",
    "core/src/lib.rs",
    "core/src/blocking.rs",
    "core/src/maintain/",
    "core/src/query/read",
    "core/src/vfs/",
    "core/src/view/contents",
    "core/src/view/shell",
    "core/src/write/commit.rs",
    "core/src/write/files.rs",
    "core/src/write/writer.rs",
];

#[test]
fn only_the_shell_is_async() {
    let mut found = Vec::new();
    for source in sources("core/src") {
        if SHELL.iter().any(|s| source.path.starts_with(s)) {
            continue;
        }
        found.extend(
            source
                .code()
                .filter(|(_, c)| has_word(c, "async") || c.contains(".await"))
                .map(|(n, c)| format!("{}:{n}: {c}", source.path)),
        );
    }
    none(
        "these files are pure: bytes in, values out; only the shell may be async",
        found,
    );
}

#[test]
fn every_shell_file_exists() {
    let paths: Vec<String> = sources("core/src").into_iter().map(|s| s.path).collect();
    let stale: Vec<String> = SHELL
        .iter()
        .filter(|s| !paths.iter().any(|p| p.starts_with(**s)))
        .map(|s| (*s).to_owned())
        .collect();
    none("listed as part of the shell, but not there", stale);
}

#[test]
fn pure_layers_do_no_input_or_output() {
    let mut found = Vec::new();
    let pure = [
        "core/src/format/",
        "core/src/filter/",
        "core/src/geometry/",
        "core/src/array/directory",
        "core/src/query/",
        "core/src/view/",
        "core/src/write/",
    ];
    for source in sources("core/src")
        .into_iter()
        .filter(|s| pure.iter().any(|p| s.path.starts_with(p)))
    {
        for (n, code) in source.code() {
            for word in [
                "std::fs",
                "std::net",
                "SystemTime",
                "Instant::now",
                "std::thread",
                "rand::",
                "getrandom",
                "println!",
                "eprintln!",
            ] {
                if code.contains(word) {
                    found.push(format!("{}:{n}: {word}", source.path));
                }
            }
        }
    }
    none(
        "files, clocks, threads and random numbers belong to the leaves and the front-ends",
        found,
    );
}

#[test]
fn version_numbers_stand_in_one_file() {
    let mut found = Vec::new();
    for source in sources("core/src")
        .into_iter()
        .filter(|s| s.path != "core/src/format/version.rs")
    {
        for (n, code) in source.code() {
            let compares = code.contains("version.number()") && ["<", ">", "=="].iter().any(|op| code.contains(op));
            let names = code.contains("Version::new(")
                && code
                    .split("Version::new(")
                    .nth(1)
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            if compares || names {
                found.push(format!("{}:{n}: {}", source.path, code.trim()));
            }
        }
    }
    none(
        "ask a version what it has; its number is compared in format/version.rs only",
        found,
    );
}

#[test]
fn decoders_cannot_panic() {
    let mut found = Vec::new();
    for source in sources("core/src")
        .into_iter()
        .filter(|s| s.path.starts_with("core/src/format/") || s.path.starts_with("core/src/filter/"))
    {
        for (n, code) in source.code() {
            for word in [
                ".unwrap()",
                ".expect(",
                "panic!(",
                "unreachable!(",
                "assert!(",
                "assert_eq!(",
            ] {
                if code.contains(word) && !code.contains("const _") && !code.contains("debug_assert") {
                    found.push(format!("{}:{n}: {word}", source.path));
                }
            }
            if indexes(&code) {
                found.push(format!("{}:{n}: indexing: {}", source.path, code.trim()));
            }
        }
    }
    none(
        "whatever the bytes are, decoding them gives an error and never a panic",
        found,
    );
}

/// Whether a line indexes or slices: `x[`, `)[` or `][`, outside of attributes, types and macros.
fn indexes(code: &str) -> bool {
    let chars: Vec<char> = code.chars().collect();
    !code.trim_start().starts_with("#[")
        && chars
            .windows(2)
            .any(|w| w[1] == '[' && (w[0].is_alphanumeric() || w[0] == '_' || w[0] == ')' || w[0] == ']'))
}

#[test]
fn nothing_is_left_to_do() {
    let words: Vec<String> = ["TO DO", "FIX ME", "XX X"].iter().map(|w| w.replace(' ', "")).collect();
    let macros: Vec<String> = ["to do!(", "unimple mented!("]
        .iter()
        .map(|w| w.replace(' ', ""))
        .collect();
    let ignore = ["#[ign", "ore"].concat();
    let mut found = Vec::new();
    for folder in ["core", "cli", "fuse", "wasm", "tests", "xtask"] {
        for source in sources(folder) {
            for (n, line) in source.whole.lines().enumerate() {
                let hit = words.iter().any(|w| has_word(line, w))
                    || macros.iter().any(|m| line.contains(m))
                    || line.contains(&ignore);
                if hit {
                    found.push(format!("{}:{}: {}", source.path, n + 1, line.trim()));
                }
            }
        }
    }
    none("finish it, or say it in an issue", found);
}

#[test]
fn files_stay_small() {
    let mut lengths = Vec::new();
    let mut found = Vec::new();
    for folder in ["core", "cli", "fuse", "wasm", "tests", "xtask"] {
        for source in sources(folder) {
            let n = source.whole.lines().count();
            lengths.push(n);
            if n >= 800 {
                found.push(format!("{}: {n} lines", source.path));
            }
        }
    }
    none("a file has one role; split these", found);
    lengths.sort_unstable();
    let nine_in_ten = lengths[lengths.len() * 9 / 10];
    assert!(
        nine_in_ten < 500,
        "nine files in ten should be under 500 lines; the ninth decile is {nine_in_ten}"
    );
}

#[test]
fn lints_are_silenced_with_a_reason() {
    let mut found = Vec::new();
    for folder in ["core", "cli", "fuse", "wasm", "tests", "xtask"] {
        for source in sources(folder) {
            let lines: Vec<&str> = source.whole.lines().collect();
            for (n, line) in lines.iter().enumerate() {
                let silences = line.trim_start().starts_with("#[allow(")
                    || line.trim_start().starts_with("#![allow(")
                    || line.trim_start().starts_with("#[expect(");
                let end = lines[n..].iter().position(|l| l.contains(")]")).unwrap_or(0);
                if silences && !lines[n..=n + end].iter().any(|l| l.contains("reason")) {
                    found.push(format!("{}:{}", source.path, n + 1));
                }
            }
        }
    }
    none("say why", found);
}

/// What each module of core may use of the others. The leaves of the tree come first.
const LAYERS: &[(&str, &[&str])] = &[
    ("limits", &[]),
    ("error", &["limits"]),
    ("datatype", &["error"]),
    ("scalar", &["datatype", "error"]),
    ("column", &["datatype", "error"]),
    ("calendar", &["datatype", "error", "scalar"]),
    // Generic tiles describe their own filters, so the two know each other.
    ("format", &["limits", "error", "datatype", "scalar", "column", "filter"]),
    ("filter", &["limits", "error", "datatype", "scalar", "column", "format"]),
    (
        "geometry",
        &["limits", "error", "datatype", "scalar", "column", "format"],
    ),
    ("cpu", &["error"]),
    ("cache", &[]),
    (
        "blocking",
        &["error", "context", "array", "query", "write", "maintain", "format"],
    ),
    ("vfs", &["limits", "error", "cpu", "blocking"]),
    ("context", &["limits", "vfs", "cpu", "cache"]),
    (
        "schema_json",
        &[
            "limits", "error", "datatype", "scalar", "column", "calendar", "format", "filter",
        ],
    ),
    (
        "arrow",
        &[
            "limits",
            "error",
            "datatype",
            "scalar",
            "column",
            "calendar",
            "format",
            "schema_json",
        ],
    ),
    (
        "array",
        &[
            "limits", "error", "datatype", "scalar", "column", "format", "filter", "geometry", "vfs", "cpu", "cache",
            "context", "write",
        ],
    ),
    (
        "query",
        &[
            "limits", "error", "datatype", "scalar", "column", "calendar", "format", "filter", "geometry", "vfs",
            "cpu", "cache", "context", "array",
        ],
    ),
    (
        "write",
        &[
            "limits", "error", "datatype", "scalar", "column", "format", "filter", "geometry", "vfs", "cpu", "cache",
            "context", "array",
        ],
    ),
    (
        "maintain",
        &[
            "limits", "error", "datatype", "scalar", "column", "format", "filter", "geometry", "vfs", "cpu", "cache",
            "context", "array", "query", "write",
        ],
    ),
    (
        "view",
        &[
            "limits",
            "error",
            "datatype",
            "scalar",
            "column",
            "calendar",
            "format",
            "filter",
            "geometry",
            "vfs",
            "cpu",
            "cache",
            "context",
            "array",
            "query",
            "schema_json",
            "arrow",
        ],
    ),
];

#[test]
fn layers_use_only_what_is_below_them() {
    let mut found = Vec::new();
    for source in sources("core/src") {
        let rest = source.path.trim_start_matches("core/src/");
        let module = rest.split(['/', '.']).next().unwrap();
        if module == "lib" {
            continue;
        }
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == module) else {
            found.push(format!(
                "{}: give the module '{module}' its place in LAYERS",
                source.path
            ));
            continue;
        };
        for (n, code) in source.code() {
            for used in code.split("crate::").skip(1) {
                let used: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let known = LAYERS.iter().any(|(name, _)| *name == used);
                if known && used != module && !allowed.contains(&used.as_str()) {
                    found.push(format!("{}:{n}: {module} uses {used}", source.path));
                }
            }
        }
    }
    none("a layer knows only those above it in the architecture's list", found);
}

#[test]
fn the_readme_says_what_is_tested() {
    let readme = std::fs::read_to_string(top().join("README.md")).unwrap();
    for command in ["cargo xtask demo", "cargo xtask test"] {
        assert!(readme.contains(command), "the README does not name `{command}`");
    }
    // What the matrix writes, and what the program is seen to do.
    let folder = here().join("interop");
    let scripts = ["matrix.py", "capi.py"].map(|n| std::fs::read_to_string(folder.join(n)).unwrap());
    let commands = sources("cli/tests").into_iter().map(|s| s.whole);
    let written: String = scripts.into_iter().chain(commands).collect();
    let written = written.replace('_', " ").to_lowercase();
    let row = |name: &str| {
        let start = format!("| {name} |");
        let line = readme.lines().find(|l| l.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("the README's table has no row '{name}'"));
        line.split('|').nth(2).unwrap().trim().to_owned()
    };
    let mut missing = Vec::new();
    // What each row lists, in the words of the matrix where they differ.
    let words: [(&str, &[(&str, &str)]); 4] = [
        ("filters", &[("sha-256", "sha256"), ("aes-256-gcm", "aes 256 gcm")]),
        (
            "cells",
            &[
                ("fixed", "int32"),
                ("several values", "(1, 3, \"var\")"),
                ("variable-length", "\"var\""),
                ("enumerated", "enum"),
            ],
        ),
        ("orders", &[("row-major", "\"row\""), ("column-major", "\"col\"")]),
        (
            "around them",
            &[
                ("time travel", "window"),
                ("schema evolution", "evolve"),
                ("consolidated fragments", "consolidate"),
                ("metadata and commits", "\"commits\""),
                ("groups", "group"),
                ("array metadata", "metadata"),
                ("enumerations", "enumeration"),
                ("encryption", "encrypt"),
            ],
        ),
    ];
    for (name, synonyms) in words {
        for item in row(name).split(", ").flat_map(|i| i.split(" and ")) {
            let item = item.to_lowercase();
            let word = synonyms
                .iter()
                .find(|(known, _)| *known == item)
                .map_or(item.as_str(), |(_, word)| word);
            if !written.contains(word) {
                missing.push(format!("{name}: {item}"));
            }
        }
    }
    none("the README's table lists what no test does", missing);
}

#[test]
fn the_readme_counts_right() {
    let readme = std::fs::read_to_string(top().join("README.md")).unwrap();
    let known = (0..=u8::MAX)
        .filter(|id| hyperslab::Datatype::from_id(*id).is_ok())
        .count();
    assert!(
        readme.contains(&format!("| datatypes | all {known} |")),
        "there are {known} datatypes"
    );
    let current = hyperslab::format::version::Version::CURRENT.number();
    assert!(
        readme.contains(&format!("| format versions | 1 to {current} (")),
        "the newest is {current}"
    );
    let golden: Vec<String> = std::fs::read_dir(here().join("golden"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    let has = |start: &str| golden.iter().any(|name| name.starts_with(start));
    assert!(
        has("format-1.") && has("2.30."),
        "samples of the first and the last version"
    );
    let matrix = std::fs::read_to_string(here().join("tests/matrix/mod.rs")).unwrap();
    let least = matrix
        .lines()
        .find_map(|l| l.strip_prefix("const ARRAYS_MIN: usize = "))
        .unwrap();
    let least = least.trim_end_matches(';').replace('_', ",");
    assert!(
        readme.contains(&format!("more than {least} arrays")),
        "the matrix has at least {least} arrays; the README says otherwise"
    );
}

#[test]
fn every_promise_names_tests_that_exist() {
    let page = std::fs::read_to_string(top().join("docs/guarantees.md")).unwrap();
    let mut code = String::new();
    for folder in ["core", "cli", "tests"] {
        sources(folder).iter().for_each(|s| code.push_str(&s.whole));
    }
    let mut found = Vec::new();
    for chapter in page.split("\n## ").skip(1) {
        let title = chapter.lines().next().unwrap_or_default();
        let Some((_, names)) = chapter.rsplit_once("Tests: ") else {
            found.push(format!("{title}: no tests are named"));
            continue;
        };
        let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{title}");
        let lost = names.iter().filter(|n| {
            !code.contains(&format!("#[test]\n    fn {n}()"))
                && !code.contains(&format!("#[test]\nfn {n}()"))
                && !code.contains(&format!("    fn {n}(\n"))
        });
        found.extend(lost.map(|n| format!("{title}: there is no test {n}")));
    }
    none("a promise that nobody checks", found);
}
