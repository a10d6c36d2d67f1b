//! Arrays written by old releases of libtiledb, from format 1 on, read cell by cell.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::io::Read;
use std::sync::Arc;

use bzip2::read::BzDecoder;
use hyperslab::Context;
use hyperslab::vfs::MemVfs;
use hyperslab_tests::case::Case;
use hyperslab_tests::report::Report;
use hyperslab_tests::{compare, here};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    library: String,
    cases: Vec<Case>,
}

fn load() -> Vec<Golden> {
    let entries = std::fs::read_dir(here().join("golden")).unwrap();
    let mut paths: Vec<_> = entries
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "bz2"))
        .collect();
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let mut text = String::new();
        BzDecoder::new(std::fs::File::open(&path).unwrap())
            .read_to_string(&mut text)
            .unwrap();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn every_old_array_reads_as_libtiledb_reads_it() {
    let mut report = Report::default();
    for golden in load() {
        for case in &golden.cases {
            let store = MemVfs::new();
            for (path, bytes) in &case.files {
                store.replace(format!("array/{path}"), bytes.0.clone());
            }
            let context = Context::new(Arc::new(store));
            let outcome = compare::check(&context, "array", case).map_err(|e| format!("{e:#}"));
            let tags = [format!("library {}", golden.library), format!("kind {}", case.name)];
            report.add(&format!("{} {}", golden.library, case.name), &tags, outcome);
        }
    }
    assert!(
        report.arrays() >= 640,
        "only {} arrays: are files missing?",
        report.arrays()
    );
    report.finish("golden");
}
