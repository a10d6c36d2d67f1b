//! The arrays that old releases of libtiledb wrote, from `golden/`.

use std::io::Read;
use std::sync::Arc;

use bzip2::read::BzDecoder;
use hyperslab::Context;
use hyperslab::vfs::MemVfs;
use serde::Deserialize;

use crate::case::Case;
use crate::here;

/// What one release wrote.
#[derive(Debug, Deserialize)]
pub struct Golden {
    /// The release.
    pub library: String,
    /// Its arrays.
    pub cases: Vec<Case>,
}

/// Every array that is checked in, oldest release first as text sorts.
///
/// # Panics
/// A file is damaged.
pub fn load() -> Vec<Golden> {
    let parse = |text: &String| serde_json::from_str(text).unwrap();
    files().iter().map(parse).collect()
}

/// The same as the JSON it is stored as: the release and its cases.
///
/// # Panics
/// A file is damaged.
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

/// A store in memory with the files of a case below the folder `array`.
pub fn in_memory(case: &Case) -> Context {
    let store = MemVfs::new();
    for (path, bytes) in &case.files {
        store.replace(format!("array/{path}"), bytes.0.clone());
    }
    Context::new(Arc::new(store))
}
