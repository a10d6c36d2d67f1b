//! What the package of the crate contains, and how it describes itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod source;

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use source::{none, sources, top};

/// The output of `cargo` with these arguments.
fn cargo(args: &[&str]) -> String {
    let mut c = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let out = c.args(args).current_dir(top()).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn the_crate_has_code_readme_and_licences_and_nothing_else() {
    let listed = cargo(&["package", "--package", "hyperslab", "--list", "--allow-dirty"]);
    let (code, rest): (BTreeSet<&str>, BTreeSet<&str>) = listed
        .lines()
        .partition(|name| ["src/", "examples/"].iter().any(|folder| name.starts_with(folder)));
    // The first file is added by cargo if the checkout is clean or dirt is allowed.
    let rest: Vec<&str> = rest
        .into_iter()
        .filter(|name| *name != ".cargo_vcs_info.json")
        .collect();
    let expected = [
        "Cargo.lock",
        "Cargo.toml",
        "Cargo.toml.orig",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
    ];
    assert_eq!(rest, expected);
    for name in ["src/lib.rs", "src/format/schema.rs", "examples/quick_start.rs"] {
        assert!(code.contains(name), "{name} is missing");
    }
    let included = included();
    for name in &included {
        assert!(
            code.contains(name.as_str()),
            "{name} is included by code, but not in the package"
        );
    }
    let others = code
        .iter()
        .filter(|name| !name.ends_with(".rs") && !included.contains(**name));
    none(
        "files that are no code",
        others.map(|name| (*name).to_owned()).collect(),
    );
}

/// The files in `core/src` that code includes as text.
fn included() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in sources("core/src") {
        let folder = source
            .path
            .trim_start_matches("core/")
            .rsplit_once('/')
            .map(|(f, _)| f.to_owned());
        for (_, line) in &source.lines {
            let name = line
                .split("include_str!(\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next());
            if let (Some(folder), Some(name)) = (&folder, name.filter(|n| !n.starts_with("../"))) {
                found.insert(format!("{folder}/{name}"));
            }
        }
    }
    assert!(found.contains("src/view/slice_names.md"), "{found:?}");
    found
}

#[test]
fn the_crate_describes_itself() {
    let metadata: Value = serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|p| p["name"] == "hyperslab").unwrap();
    for field in [
        "description",
        "documentation",
        "license",
        "readme",
        "repository",
        "rust_version",
    ] {
        let text = package[field].as_str().unwrap_or_default();
        assert!(!text.is_empty(), "the manifest has no {field}");
    }
    for (field, most) in [("keywords", 5), ("categories", 5)] {
        let given = package[field].as_array().unwrap().len();
        assert!(
            (1..=most).contains(&given),
            "{given} {field}; at most {most} are allowed"
        );
    }
    // No other crate of the workspace is to be published.
    let published = packages.iter().filter(|p| p["publish"].is_null()).map(|p| &p["name"]);
    assert_eq!(published.collect::<Vec<_>>(), ["hyperslab"]);
}

#[test]
fn licences_are_those_of_the_repository() {
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let [of_all, of_crate] = ["", "core"].map(|folder| std::fs::read(top().join(folder).join(name)).unwrap());
        assert!(of_all == of_crate, "core/{name} differs");
    }
}
