//! Shared by the tests of formats.
#![allow(dead_code, reason = "each test uses some of it")]

use std::path::{Path, PathBuf};

use hyperslab::Column;
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab_formats::{Format, Length, NewArray, Options, Source};

/// A file of `tests/files`.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

/// Opens a file of `tests/files`.
pub(crate) fn open(name: &str, format: Format) -> Box<dyn Source> {
    hyperslab_formats::open(&file(name), format, &Options::default()).unwrap()
}

/// The number of the array at a path.
pub(crate) fn find(source: &dyn Source, path: &str) -> usize {
    let found = source.plan().arrays.iter().position(|a| a.path == path);
    found.unwrap_or_else(|| panic!("there is no array '{path}'"))
}

/// The array at a path.
pub(crate) fn array<'a>(source: &'a dyn Source, path: &str) -> &'a NewArray {
    &source.plan().arrays[find(source, path)]
}

/// All cells of the array at a path, which has one attribute.
pub(crate) fn cells(source: &mut dyn Source, path: &str) -> Column {
    let mut columns = all(source, path);
    assert_eq!(columns.len(), 1, "{path}");
    columns.remove(0).1
}

/// All columns of the array at a path.
pub(crate) fn all(source: &mut dyn Source, path: &str) -> Vec<(String, Column)> {
    let number = find(source, path);
    let Length::Box(lengths) = source.plan().arrays[number].length.clone() else {
        return source.read_rows(number, usize::MAX).unwrap().unwrap_or_default();
    };
    let ranges: Vec<_> = lengths.iter().map(|n| 0..*n).collect();
    source.read_box(number, &ranges).unwrap()
}

/// The cells as text.
pub(crate) fn texts(column: &Column) -> Vec<String> {
    let text = |i| String::from_utf8(column.cell(i).to_vec()).unwrap();
    (0..column.len()).map(text).collect()
}

/// The value of a key.
pub(crate) fn value(entries: &[Entry], key: &str) -> MetaValue {
    let found = entries.iter().find(|e| e.key == key).and_then(|e| e.value.clone());
    found.unwrap_or_else(|| panic!("there is no key '{key}' in {entries:?}"))
}

/// Reads everything of a file, as an import does. Errors are fine; this only has to end.
pub(crate) fn read_all(path: &Path, format: Format) -> bool {
    let options = Options {
        memory_bytes: 1 << 20,
        ..Options::default()
    };
    let Ok(mut source) = hyperslab_formats::open(path, format, &options) else {
        return false;
    };
    for number in 0..source.plan().arrays.len() {
        let new = &source.plan().arrays[number];
        if let Length::Box(lengths) = new.length.clone() {
            // A damaged length may be huge.
            let ranges: Vec<_> = lengths.iter().map(|n| 0..(*n).min(8)).collect();
            if new.schema.check().is_err() || source.read_box(number, &ranges).is_err() {
                return false;
            }
        } else {
            while let Some(rows) = source.read_rows(number, 1000).transpose() {
                if rows.is_err() {
                    return false;
                }
            }
        }
    }
    true
}
