//! The arrays in `golden/`, written by old releases of libtiledb.

use std::io::Read;
use std::sync::Arc;

use bzip2::read::BzDecoder;
use hyperslab::Context;
use hyperslab::vfs::MemVfs;
use serde::Deserialize;

use crate::case::Case;
use crate::here;

/// The arrays written by one release.
#[derive(Debug, Deserialize)]
pub struct Golden {
    /// The release.
    pub library: String,
    /// Its arrays.
    pub cases: Vec<Case>,
}

/// All checked-in arrays, sorted by release name.
///
/// # Panics
/// If a file is damaged.
pub fn load() -> Vec<Golden> {
    let parse = |text: &String| serde_json::from_str(text).unwrap();
    files().iter().map(parse).collect()
}

/// All checked-in arrays as stored JSON: the release and its cases.
///
/// # Panics
/// If a file is damaged.
pub fn texts() -> Vec<(String, Vec<serde_json::Value>)> {
    let parse = |text: &String| {
        let mut whole: serde_json::Value = serde_json::from_str(text).unwrap();
        let cases = serde_json::from_value(whole["cases"].take()).unwrap();
        (whole["library"].as_str().unwrap_or_default().to_owned(), cases)
    };
    files().iter().map(parse).collect()
}

fn files() -> Vec<String> {
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
        text
    };
    paths.into_iter().map(read).collect()
}

/// An in-memory store with the files of a case in the folder `array`.
pub fn in_memory(case: &Case) -> Context {
    let store = MemVfs::new();
    for (path, bytes) in &case.files {
        store.replace(format!("array/{path}"), bytes.0.clone());
    }
    Context::new(Arc::new(store))
}
