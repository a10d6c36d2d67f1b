//! Arrays and groups that real applications wrote, in `conventions/examples.json.gz`: for each example, its files by
//! path, as hexadecimal digits. Programs and versions: TileDB-CF 0.9.1, GDAL 3.12.1, TileDB-BioImaging 0.3.10,
//! TileDB-SOMA 2.3.0, TileDB-Py 0.36.1 (pandas), TileDB-Vector-Search 0.16.0.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hyperslab::Context;
use hyperslab::vfs::MemVfs;
use libdeflater::Decompressor;

use crate::here;
use crate::hex::Hex;

/// The files of an example, by path.
pub type Files = BTreeMap<String, Hex>;

/// The examples, by name.
///
/// # Panics
/// If the file is damaged.
pub fn examples() -> BTreeMap<String, Files> {
    let packed = std::fs::read(here().join("conventions/examples.json.gz")).unwrap();
    // A gzip file ends with the size of its content.
    let size = packed.last_chunk::<4>().map_or(0, |c| u32::from_le_bytes(*c));
    let mut text = vec![0; usize::try_from(size).unwrap()];
    Decompressor::new().gzip_decompress(&packed, &mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// An in-memory store with an example in the folder of its name.
///
/// # Panics
/// If there is no such example.
pub fn in_memory(name: &str) -> Context {
    let store = MemVfs::new();
    for (path, bytes) in &examples()[name] {
        store.replace(format!("{name}/{path}"), bytes.0.clone());
    }
    Context::new(Arc::new(store))
}

/// Writes an example to the folder of its name in `dir`.
///
/// # Panics
/// If there is no such example, or a file cannot be written.
pub fn in_folder(name: &str, dir: &Path) {
    for (path, bytes) in &examples()[name] {
        let file = dir.join(name).join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, &bytes.0).unwrap();
    }
}
