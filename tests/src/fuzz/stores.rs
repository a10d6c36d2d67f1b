//! Imports of Zarr stores of which one file is replaced. The first byte of an input says which one; the others are its
//! content.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use hyperslab_cli::fuzz::{Format, import_file};
use tempfile::TempDir;

use super::{Allowance, Target, choices};

/// A copy of a store, whose files are replaced one at a time.
struct Store {
    folder: TempDir,
    files: Vec<PathBuf>,
}

pub(super) fn targets() -> Vec<Target> {
    ["sample2.zarr", "sample3.zarr"].into_iter().map(target).collect()
}

fn target(name: &str) -> Target {
    let store = Store::copied(&samples().join(name));
    import_file(store.folder.path(), Format::Zarr).unwrap();
    let seeds = store.files.iter().enumerate().map(|(number, file)| {
        let mut seed = vec![u8::try_from(number).unwrap()];
        seed.extend(std::fs::read(store.folder.path().join(file)).unwrap());
        seed
    });
    let seeds = seeds.collect();
    let store = Mutex::new(store);
    Target::new(
        name.replace("sample", "zarr").replace(".zarr", ""),
        seeds,
        move |input| {
            let Some(([number], content)) = choices(input) else {
                return Allowance { bytes: 0, fixed: 0 };
            };
            let store = store.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let path = store
                .folder
                .path()
                .join(&store.files[usize::from(number) % store.files.len()]);
            let whole = std::fs::read(&path).unwrap();
            std::fs::write(&path, content).unwrap();
            // Most inputs are damaged.
            let _ = import_file(store.folder.path(), Format::Zarr);
            std::fs::write(&path, whole).unwrap();
            Allowance {
                bytes: content.len(),
                // The whole store is read, and a chunk may hold many times its bytes.
                fixed: 64 << 20,
            }
        },
    )
}

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/files")
}

impl Store {
    fn copied(from: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        copy(from, Path::new(""), folder.path(), &mut files);
        files.sort();
        Self { folder, files }
    }
}

/// Copies the files below a folder. Adds their paths to `files`.
fn copy(root: &Path, within: &Path, to: &Path, files: &mut Vec<PathBuf>) {
    std::fs::create_dir_all(to.join(within)).unwrap();
    for entry in std::fs::read_dir(root.join(within)).unwrap() {
        let entry = entry.unwrap();
        let path = within.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(root, &path, to, files);
        } else {
            std::fs::copy(entry.path(), to.join(&path)).unwrap();
            files.push(path);
        }
    }
}
