//! Checks the architecture's rules in the source code.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod source;

use std::collections::{BTreeMap, BTreeSet};

use source::{Source, has_word, none, sources};

/// Files that may use `async`: the I/O layer around the pure engine, and the implementations of the store trait.
const SHELL: &[&str] = &[
    "core/src/array/create.rs",
    "core/src/array/deletes.rs",
    "core/src/array/fetch.rs",
    "core/src/array/group.rs",
    "core/src/array/latest.rs",
    "core/src/array/meta.rs",
    "core/src/array/open.rs",
    "core/src/array/schemas.rs",
    "core/src/array/sections.rs",
    "core/src/array/sizes.rs",
    "core/src/array/token.rs",
    "core/src/array/vacuumed.rs",
    "core/src/context/transaction",
    "core/src/conventions/fetch.rs",
    "core/src/cpu.rs",
    "core/src/lib.rs",
    "core/src/blocking.rs",
    "core/src/maintain/",
    "core/src/query/read",
    "core/src/vfs/",
    "core/src/view/contents",
    "core/src/view/folder.rs",
    "core/src/view/selection/axis_values.rs",
    "core/src/view/selection/by_value.rs",
    "core/src/view/selection/labels.rs",
    "core/src/view/resolver",
    "core/src/write/together.rs",
    "core/src/write/adopt.rs",
    "core/src/write/box_writer.rs",
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
    none("listed as part of the shell, but missing", stale);
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
fn decoders_read_only_files_that_the_shell_opens() {
    let pure = ["condition", "dense", "sparse", "tile"].map(|m| format!("core/src/query/{m}"));
    let mut found = Vec::new();
    for source in sources("core/src") {
        if !pure.iter().any(|p| source.path.starts_with(p)) {
            continue;
        }
        let uses = source.code().filter(|(_, code)| code.contains("vfs"));
        // `join` puts a path together.
        let other = uses.filter(|(_, code)| !code.contains("vfs::ReadAt;") && !code.contains("vfs::join;"));
        found.extend(other.map(|(n, code)| format!("{}:{n}: {code}", source.path)));
    }
    none(
        "decoders take a `ReadAt` from `TileFiles` and open nothing themselves",
        found,
    );
}

#[test]
fn version_numbers_are_compared_in_one_file() {
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

/// Whether a line indexes or slices: `x[`, `)[` or `][` outside of attributes, types and macros.
fn indexes(code: &str) -> bool {
    let chars: Vec<char> = code.chars().collect();
    !code.trim_start().starts_with("#[")
        && chars
            .windows(2)
            .any(|w| w[1] == '[' && (w[0].is_alphanumeric() || w[0] == '_' || w[0] == ')' || w[0] == ']'))
}

#[test]
fn there_are_no_todos_and_ignored_tests() {
    let words: Vec<String> = ["TO DO", "FIX ME", "XX X"].iter().map(|w| w.replace(' ', "")).collect();
    let macros: Vec<String> = ["to do!(", "unimple mented!("]
        .iter()
        .map(|w| w.replace(' ', ""))
        .collect();
    let ignore = ["#[ign", "ore"].concat();
    let mut found = Vec::new();
    for folder in ["core", "cli", "formats", "fuse", "wasm", "tests", "xtask"] {
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
    none("finish it, or open an issue for it", found);
}

#[test]
fn files_stay_small() {
    let mut lengths = Vec::new();
    let mut found = Vec::new();
    for folder in ["core", "cli", "formats", "fuse", "wasm", "tests", "xtask"] {
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
    for folder in ["core", "cli", "formats", "fuse", "wasm", "tests", "xtask"] {
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

/// The public face of core: these modules only re-export what others define.
const FACE: &[&str] = &["lib", "group", "internals", "metadata", "schema"];

/// The modules that each module of core may use. Leaves come first.
const LAYERS: &[(&str, &[&str])] = &[
    ("limits", &[]),
    ("printable", &[]),
    ("escape", &[]),
    ("sort", &[]),
    ("suggest", &[]),
    ("xml", &[]),
    ("error", &["limits"]),
    ("datatype", &["error"]),
    ("calendar", &["datatype"]),
    ("scalar", &["datatype", "error", "calendar"]),
    ("column", &["datatype", "error"]),
    ("key", &["datatype", "scalar", "column"]),
    // Generic tiles describe their own filters, so these two modules depend on each other.
    (
        "format",
        &[
            "limits", "sort", "error", "datatype", "scalar", "column", "key", "filter", "escape", "suggest",
        ],
    ),
    ("filter", &["limits", "error", "datatype", "scalar", "column", "format"]),
    (
        "geometry",
        &[
            "limits", "sort", "error", "datatype", "scalar", "column", "key", "format",
        ],
    ),
    ("identity", &["error", "filter"]),
    ("cpu", &["error"]),
    ("cache", &[]),
    (
        "blocking",
        &["error", "context", "array", "query", "write", "maintain", "format"],
    ),
    ("vfs", &["limits", "sort", "error", "cpu", "cache", "blocking"]),
    ("context", &["limits", "error", "format", "vfs", "cpu", "cache"]),
    ("report", &["error", "printable", "vfs"]),
    (
        "schema_json",
        &[
            "limits", "error", "datatype", "scalar", "column", "calendar", "format", "filter",
        ],
    ),
    (
        "conventions",
        &[
            "error", "datatype", "calendar", "scalar", "xml", "format", "vfs", "context", "array", "query",
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
            "limits",
            "schema_json",
            "suggest",
            "sort",
            "error",
            "datatype",
            "scalar",
            "column",
            "format",
            "filter",
            "geometry",
            "vfs",
            "cpu",
            "cache",
            "context",
            "identity",
        ],
    ),
    (
        "query",
        &[
            "limits",
            "schema_json",
            "suggest",
            "sort",
            "error",
            "datatype",
            "scalar",
            "column",
            "calendar",
            "key",
            "format",
            "filter",
            "geometry",
            "vfs",
            "cpu",
            "cache",
            "context",
            "array",
        ],
    ),
    (
        "write",
        &[
            "limits", "suggest", "error", "datatype", "scalar", "column", "calendar", "key", "format", "filter",
            "geometry", "vfs", "cpu", "cache", "context", "array", "identity",
        ],
    ),
    (
        "maintain",
        &[
            "limits", "error", "datatype", "scalar", "column", "format", "filter", "geometry", "vfs", "cpu", "cache",
            "context", "array", "query", "write", "identity",
        ],
    ),
    (
        "view",
        &[
            "limits",
            "conventions",
            "suggest",
            "sort",
            "error",
            "datatype",
            "scalar",
            "column",
            "calendar",
            "escape",
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
        if FACE.contains(&module) {
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

/// Modules whose files use each other in one direction only. The other modules still have cycles.
const WITHOUT_CIRCLES: &[&str] = &[
    "array", "filter", "format", "geometry", "maintain", "query", "vfs", "view", "write",
];

#[test]
fn files_of_a_module_have_no_cyclic_uses() {
    let mut found = Vec::new();
    for module in WITHOUT_CIRCLES {
        let all = sources(&format!("core/src/{module}"));
        let names: BTreeSet<String> = all.iter().map(|s| file_of(s).to_owned()).collect();
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for source in all.iter().filter(|s| file_of(s) != "mod") {
            let used = used_files(source, module);
            let own = uses.entry(file_of(source).to_owned()).or_default();
            own.extend(used.into_iter().filter(|u| names.contains(u) && u != file_of(source)));
        }
        // A file that uses no other, or is used by no other, is not in a cycle.
        loop {
            let is_inside = |name: &String| {
                let is_used = uses.values().any(|used| used.contains(name));
                is_used && uses.get(name).is_some_and(|used| !used.is_empty())
            };
            let outside: BTreeSet<String> = uses.keys().filter(|name| !is_inside(name)).cloned().collect();
            if outside.is_empty() {
                break;
            }
            uses.retain(|name, _| !outside.contains(name));
            uses.values_mut()
                .for_each(|used| used.retain(|name| !outside.contains(name)));
        }
        found.extend(
            uses.iter()
                .map(|(name, used)| format!("core/src/{module}: {name} uses {used:?}")),
        );
    }
    none("move what these files share into a file that both use", found);
}

/// The file or folder of a module that a source file belongs to.
fn file_of(source: &Source) -> &str {
    source.path.split('/').nth(3).unwrap().trim_end_matches(".rs")
}

/// The names after `crate::MODULE::` and, in a file directly in the module's folder, after `super::`.
fn used_files(source: &Source, module: &str) -> BTreeSet<String> {
    let code: Vec<String> = source.code().map(|(_, code)| code).collect();
    let code = code.join("\n");
    let mut prefixes = vec![format!("crate::{module}::")];
    if source.path.matches('/').count() == 3 {
        prefixes.push("super::".to_owned());
    }
    let mut found = BTreeSet::new();
    for prefix in &prefixes {
        for rest in code.split(prefix.as_str()).skip(1) {
            let list = rest.strip_prefix('{').map(|list| list.split('}').next().unwrap());
            let names = list.map_or_else(|| vec![rest], |list| list.split(',').collect());
            let name = |text: &str| {
                text.trim()
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect()
            };
            found.extend(names.into_iter().map(name));
        }
    }
    found
}
