//! Checks that the statements of the README and the guarantees are true.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod source;

use hyperslab_tests::here;
use source::{none, sources, top};

#[test]
fn the_readme_says_what_is_tested() {
    let readme = std::fs::read_to_string(top().join("README.md")).unwrap();
    for command in ["cargo xtask demo", "cargo xtask test"] {
        assert!(readme.contains(command), "the README does not name `{command}`");
    }
    // The features that the matrix writes, and those tested through the program.
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
    // The features listed in each row, under the matrix's names if they differ.
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
                ("dimension labels", "label"),
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
    let current = hyperslab::schema::Version::CURRENT.number();
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
    let page = |name: &str| std::fs::read_to_string(top().join("docs").join(name)).unwrap();
    let pages = [page("guarantees.md"), page("mount-semantics.md")];
    let mut code = String::new();
    for folder in ["core", "cli", "formats", "fuse", "tests"] {
        sources(folder).iter().for_each(|s| code.push_str(&s.whole));
    }
    for folder in ["wasm/npm/test", "web-demo/e2e"] {
        for entry in std::fs::read_dir(top().join(folder)).unwrap() {
            code.push_str(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
        }
    }
    let mut found = Vec::new();
    for chapter in pages.iter().flat_map(|page| page.split("\n## ").skip(1)) {
        let title = chapter.lines().next().unwrap_or_default();
        let lists: Vec<&str> = chapter.split("\nTests: ").skip(1).collect();
        if lists.is_empty() {
            found.push(format!("{title}: no tests are named"));
        }
        // A list ends at an empty line.
        let lists = lists.iter().map(|l| l.split("\n\n").next().unwrap_or_default());
        let names: Vec<&str> = lists.flat_map(|l| l.split('`').skip(1).step_by(2)).collect();
        let lost = names.iter().filter(|n| {
            !code.contains(&format!("#[test]\n    fn {n}()"))
                && !code.contains(&format!("#[test]\nfn {n}()"))
                && !code.contains(&format!("    fn {n}(\n"))
                && !code.contains(&format!("\ntest(\"{n}\", "))
        });
        found.extend(lost.map(|n| format!("{title}: there is no test {n}")));
    }
    none("a promise that nobody checks", found);
}
