//! The help page, errors at the start and generated pages exactly as they are. To accept changes, set UPDATE_EXPECT=1.

#![allow(clippy::unwrap_used, reason = "a failed test should report the line")]

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use expect_test::expect_file;
use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Schema};
use hyperslab::view::Source;
use hyperslab::{Array, CellCount, Context, CreateOptions, Datatype, OpenOptions};
use hyperslab_fuse::filesystem::{FileSystem, ROOT};

/// The output of the program, and its exit code.
fn run(words: &[&str], text: &mut String) {
    let output = Command::new(env!("CARGO_BIN_EXE_fuse-mount"))
        .args(words)
        .output()
        .unwrap();
    let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    writeln!(text, "$ fuse-mount {}\n{}", words.join(" "), told.trim_end()).unwrap();
    if !output.status.success() {
        writeln!(text, "[exit code {}]", output.status.code().unwrap()).unwrap();
    }
    text.push('\n');
}

#[test]
fn help_and_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for name in ["empty", "full/inside", "arrays"] {
        std::fs::create_dir_all(path(name)).unwrap();
    }
    std::fs::write(path("file"), "x").unwrap();
    let mut text = String::new();
    run(&["--help"], &mut text);
    for (source, place, options) in [
        ("arrays", "nowhere", &[][..]),
        ("arrays", "full", &[]),
        ("full", "full/inside", &[]),
        ("absent", "empty", &[]),
        ("file", "empty", &[]),
        ("arrays", "empty", &["--at", "yesterday"]),
        ("arrays", "empty", &["-o", "keyfile=x"]),
        ("arrays", "empty", &["--key-file", "file"]),
        ("arrays", "empty", &["--ttl", "-1"]),
    ] {
        let (source, place) = (path(source), path(place));
        let key = path("file");
        let options = options.iter().map(|o| if *o == "file" { key.as_str() } else { o });
        run(
            &[&*source, &*place].into_iter().chain(options).collect::<Vec<_>>(),
            &mut text,
        );
    }
    let text = text.replace(&folder.path().display().to_string(), "/DIR");
    expect_file!["snapshots/help_and_errors.txt"].assert_eq(&text);
}

#[test]
fn generated_pages() {
    let context = Context::memory();
    let attributes = || vec![Attribute::new("temp", Datatype::Float32, CellCount::ONE)];
    let axis = |name| Dimension::new(name, Datatype::Int32, 0_i32, 99_i32, 10_i32);
    let dense = Schema::new(ArrayType::Dense, vec![axis("lat"), axis("lon")], attributes());
    let sparse = Schema::new(ArrayType::Sparse, vec![axis("x")], attributes());
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "all/dense", &dense, &[], &options)).unwrap();
    block_on(Array::create(&context, "all/sparse", &sparse, &[], &options)).unwrap();
    let source = Source {
        context,
        url: "all".into(),
        path: "all".into(),
        options: OpenOptions::default(),
        name: "all".into(),
    };
    let files = FileSystem::new(source, Duration::ZERO).unwrap();
    let mut text = String::new();
    for path in ["README.md", "dense/README.md", "sparse/README.md"] {
        let mut found = files.attributes(ROOT).unwrap();
        for name in path.split('/') {
            found = files.lookup(found.ino, OsStr::new(name)).unwrap();
        }
        files.open(found.ino).unwrap();
        let page = files.read(found.ino, 0, 1 << 20).unwrap();
        writeln!(text, "--- {path}\n{}", String::from_utf8(page.to_vec()).unwrap()).unwrap();
    }
    expect_file!["snapshots/pages.txt"].assert_eq(&text);
}
