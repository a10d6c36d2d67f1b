//! Damage that `verify` finds and reads report.

use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, vacuum};
use hyperslab::schema::Layout;
use hyperslab::vfs::{MemVfs, VfsExt};
use hyperslab::{Array, Cells, Context, CreateOptions, Key, OpenOptions, Query, Window, WriteOptions};

use super::{Cell, cell, columns, dense_schema, open, write};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// An array of four cells in one fragment.
fn small() -> (Arc<MemVfs>, Context) {
    let store = Arc::new(MemVfs::new());
    let context = Context::new(store.clone());
    let schema = dense_schema(&[(0, 4, 2)], Layout::RowMajor, Layout::RowMajor);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "a", &schema, &[], &options)).unwrap();
    write(&context, 1, cells());
    (store, context)
}

fn cells() -> Cells {
    let cells: Vec<Cell> = (0..4).map(|k| cell(k, 0)).collect();
    Cells {
        region: None,
        layout: Layout::RowMajor,
        columns: columns(&cells),
    }
}

/// Changes one byte of the first file whose path ends with `ends_with`. `at` maps the file's size to the offset.
/// Returns the path.
fn damage(store: &MemVfs, ends_with: &str, at: impl Fn(usize) -> usize) -> String {
    let mut files = store.files().into_iter();
    let (path, bytes) = files.find(|(path, _)| path.ends_with(ends_with)).unwrap();
    let mut damaged = bytes.to_vec();
    damaged[at(bytes.len())] ^= 0xff;
    store.replace(path.clone(), damaged);
    path
}

/// The errors that `verify` finds, with a new context for the store.
fn complaints(store: &Arc<MemVfs>) -> Vec<String> {
    let options = OpenOptions::default();
    let (array, unopened) = block_on(Array::open_to_verify(&Context::new(store.clone()), "a", &options)).unwrap();
    let mut all: Vec<String> = unopened.iter().map(ToString::to_string).collect();
    block_on(array.verify(&mut |f| all.extend(f.error.map(|e| e.to_string())))).unwrap();
    all
}

#[test]
fn damage_to_a_tile() {
    let (store, _) = small();
    assert_eq!(complaints(&store), Vec::<String>::new());
    let path = damage(&store, "a0.tdb", |_| 8);
    let found = complaints(&store);
    assert!(found.len() == 1 && found[0].starts_with(&path), "{found:?}");
    let error = block_on(open(&Context::new(store), Window::ALL).read(&Query::default())).unwrap_err();
    assert!(error.to_string().starts_with(&path), "{error}");
}

#[test]
fn damage_without_a_checksum_is_found_if_statistics_differ() {
    let (store, _) = small();
    let options = OpenOptions::default();
    let array = block_on(Array::open(&Context::new(store.clone()), "a", &options)).unwrap();
    let mut unchecked = Vec::new();
    block_on(array.verify(&mut |f| unchecked.extend(f.without_checksum))).unwrap();
    let names: Vec<&str> = array.schema().attributes.iter().map(|a| a.name.as_str()).collect();
    assert!(unchecked.iter().any(|u| names.contains(&u.as_str())), "{unchecked:?}");
    // The last byte belongs to a cell, so the framing stays valid.
    let path = damage(&store, "a0.tdb", |n| n - 1);
    let found = complaints(&store);
    assert!(
        found.len() == 1 && found[0].starts_with(&path) && found[0].contains("differs from its fragment's metadata"),
        "{found:?}"
    );
}

/// The parts of an encrypted file do not identify their position.
#[test]
fn swapped_tiles_are_found_by_their_statistics() {
    let store = Arc::new(MemVfs::new());
    let context = Context::new(store.clone());
    let schema = dense_schema(&[(0, 4, 2)], Layout::RowMajor, Layout::RowMajor);
    let key = Some(Key([7; 32]));
    let creation = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: key.clone(),
    };
    block_on(Array::create(&context, "a", &schema, &[], &creation)).unwrap();
    let options = OpenOptions {
        window: Window::ALL,
        key,
    };
    for time in [1, 2] {
        let array = block_on(Array::open(&context, "a", &options)).unwrap();
        let cells: Vec<Cell> = (0..4).map(|k| cell(k, 9 * time)).collect();
        let cells = Cells {
            region: None,
            layout: Layout::RowMajor,
            columns: columns(&cells),
        };
        let write_options = WriteOptions {
            timestamp_ms: time,
            seed: [time as u8; 32],
            sync: false,
        };
        block_on(array.write(cells, &write_options)).unwrap();
    }
    let complaints = || {
        let array = block_on(Array::open(&Context::new(store.clone()), "a", &options)).unwrap();
        let (mut errors, mut unchecked) = (Vec::new(), Vec::new());
        block_on(array.verify(&mut |f| {
            errors.extend(f.error.map(|e| e.to_string()));
            unchecked.extend(f.without_checksum);
        }))
        .unwrap();
        assert_eq!(unchecked, Vec::<String>::new());
        errors
    };
    assert_eq!(complaints(), Vec::<String>::new());
    let files: Vec<_> = store
        .files()
        .into_iter()
        .filter(|(path, _)| path.ends_with("/a0.tdb"))
        .collect();
    let [(first, one), (second, other)] = &files[..] else {
        panic!("{} files", files.len())
    };
    store.replace(first.clone(), other.to_vec());
    store.replace(second.clone(), one.to_vec());
    let found = complaints();
    assert!(
        found.len() == 2 && found.iter().all(|e| e.contains("differs from its fragment's metadata")),
        "{found:?}"
    );
}

#[test]
fn damage_in_several_fragments_one_of_which_cannot_be_opened() {
    let (store, context) = small();
    write(&context, 2, cells());
    write(&context, 3, cells());
    assert_eq!(complaints(&store), Vec::<String>::new());
    // Damages the footer length of the oldest fragment and a value of the newest.
    let opened = damage(&store, "__fragment_metadata.tdb", |n| n - 1);
    let youngest = |path: &String| path.contains("__3_3_") && path.ends_with("a0.tdb");
    let (path, bytes) = store.files().into_iter().find(|(path, _)| youngest(path)).unwrap();
    store.replace(path.clone(), bytes[..8].to_vec());
    let found = complaints(&store);
    assert!(
        found.len() == 2 && found[0].starts_with(&opened) && found[1].starts_with(&path),
        "{found:?}"
    );
    let refused = block_on(Array::open(&Context::new(store), "a", &OpenOptions::default())).unwrap_err();
    assert!(refused.to_string().starts_with(&opened), "{refused}");
}

#[test]
fn damage_to_a_footer_that_is_consolidated_too() {
    let (store, context) = small();
    // Metadata of a single fragment is not consolidated.
    write(&context, 2, cells());
    let options = WriteOptions {
        timestamp_ms: 3,
        seed: [3; 32],
        sync: false,
    };
    let lists = ConsolidateOptions::new(Mode::FragmentMetadata);
    block_on(consolidate(&open(&context, Window::ALL), &lists, &options)).unwrap();
    assert_eq!(complaints(&store), Vec::<String>::new());
    let sound = store.files();

    // The footer's size, the offset of a section before it, and the footer's version.
    let footer = footer_bytes(&store);
    for from_end in [8, 16, 8 + footer] {
        let path = damage(&store, "__fragment_metadata.tdb", |n| n - from_end);
        let found = complaints(&store);
        assert!(found.len() == 1 && found[0].starts_with(&path), "{from_end}: {found:?}");
        for (path, bytes) in &sound {
            store.replace(path.clone(), bytes.to_vec());
        }
        assert_eq!(complaints(&store), Vec::<String>::new());
    }
}

/// Size of the footer of the first fragment, without the number after it.
fn footer_bytes(store: &MemVfs) -> usize {
    let mut files = store.files().into_iter();
    let (_, bytes) = files
        .find(|(path, _)| path.ends_with("__fragment_metadata.tdb"))
        .unwrap();
    let end: [u8; 8] = bytes[bytes.len() - 8..].try_into().unwrap();
    u64::from_le_bytes(end) as usize
}

#[test]
fn errors_after_an_interrupted_vacuum_name_the_command_to_finish_it() {
    let (store, context) = small();
    write(&context, 2, cells());
    let array = open(&context, Window::ALL);
    let write_options = WriteOptions {
        timestamp_ms: 3,
        seed: [9; 32],
        sync: false,
    };
    block_on(consolidate(
        &array,
        &ConsolidateOptions::new(Mode::Fragments),
        &write_options,
    ))
    .unwrap();
    assert_eq!(complaints(&store), Vec::<String>::new());
    let replaced = |path: &String| path.contains("/__2_2_") && path.starts_with("a/__fragments/");
    for (path, _) in store.files().into_iter().filter(|(path, _)| replaced(path)) {
        block_on(store.remove(&path)).unwrap();
    }
    let found = complaints(&store);
    assert!(
        found.len() == 1 && found[0].contains("run `hyperslab vacuum` to finish"),
        "{found:?}"
    );
    let fresh = open(&Context::new(store.clone()), Window::ALL);
    block_on(vacuum(&fresh, Mode::Fragments, false, &write_options)).unwrap();
    assert_eq!(complaints(&store), Vec::<String>::new());
}
