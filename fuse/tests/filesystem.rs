//! Tests of the file system without a kernel: inodes, their lifetime, and the reasons of failures.

#![allow(clippy::unwrap_used, reason = "a failed test should report the line")]

mod support;

use std::ffi::OsStr;
use std::time::Duration;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, vacuum};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::vfs::VfsExt;
use hyperslab::view::{FileType, Source};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, ScalarRange, WriteOptions,
};
use hyperslab_fuse::errno::FsError;
use hyperslab_fuse::filesystem::{FileSystem, ROOT};
use support::files::{find, number};

/// A file system over an array of 100 numbers.
fn files(context: &Context) -> FileSystem {
    files_in(context, Dimension::new("i", Datatype::Int32, 0_i32, 99_i32, 10_i32))
}

/// A file system over an array of 100 numbers at the start of a dimension.
fn files_in(context: &Context, dimension: Dimension) -> FileSystem {
    let schema = Schema::new(
        ArrayType::Dense,
        vec![dimension],
        vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)],
    );
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(context, "", &schema, &[], &options)).unwrap();
    write(context, 10, 0);
    let source = Source {
        context: context.clone(),
        url: String::new(),
        path: String::new(),
        options: OpenOptions::default(),
        name: "a".into(),
    };
    FileSystem::new(source, Duration::ZERO).unwrap()
}

/// Writes `first`, `first` + 1, … at a timestamp.
fn write(context: &Context, timestamp_ms: u64, first: i32) {
    let array = block_on(Array::open(context, "", &OpenOptions::default())).unwrap();
    let values: Vec<i32> = (first..first + 100).collect();
    let columns = vec![("a".to_owned(), Column::from_values(Datatype::Int32, &values))];
    let cells = Cells {
        region: Some(vec![ScalarRange::new(0_i32, 99_i32)]),
        layout: Layout::RowMajor,
        columns,
    };
    let seed = [timestamp_ms.to_le_bytes()[0]; 32];
    block_on(array.write(
        cells,
        &WriteOptions {
            timestamp_ms,
            seed,
            sync: false,
        },
    ))
    .unwrap();
}

#[test]
fn files_have_the_size_that_stat_reports() {
    let files = files(&Context::memory());
    for name in [
        "README.md",
        "schema.json",
        "slices/all.npy",
        "slices/10:20.csv",
        "slices/all.png",
        "tiles/a/3.npy",
        "zarr/zarr.json",
        "zarr/a/c/3",
        "zarr/i/c/0",
        "at/10/slices/5.bin",
    ] {
        let found = find(&files, name).unwrap();
        files.open(found.ino).unwrap();
        let mut bytes = 0;
        loop {
            let part = files.read(found.ino, bytes, 100).unwrap();
            bytes += part.len() as u64;
            if part.len() < 100 {
                break;
            }
        }
        assert_eq!(bytes, found.size, "{name}");
        assert!(found.blocks > 0, "{name}: archivers would treat it as a hole");
        assert!(files.read(found.ino, bytes, 10).unwrap().is_empty());
    }
}

#[test]
fn an_open_file_does_not_change() {
    let context = Context::memory();
    let files = files(&context);
    let before = find(&files, "slices/7.bin").unwrap();
    write(&context, 20, 1000);
    let after = find(&files, "slices/7.bin").unwrap();
    assert_ne!(before.ino, after.ino);
    assert_eq!(files.read(before.ino, 0, 4).unwrap()[..], 7_i32.to_le_bytes());
    assert_eq!(files.read(after.ino, 0, 4).unwrap()[..], 1007_i32.to_le_bytes());
}

#[test]
fn folders_have_the_time_of_the_last_write() {
    let context = Context::memory();
    let files = files(&context);
    let slices = find(&files, "slices").unwrap();
    write(&context, 2000, 1);
    let now = || [ROOT, slices.ino].map(|ino| files.attributes(ino).unwrap().modified_ms);
    assert_eq!(now(), [2000; 2]);
    assert_eq!(find(&files, "slices").unwrap().modified_ms, 2000);
}

#[test]
fn text_is_not_made_again_for_each_part_even_without_a_cache() {
    let store = hyperslab::vfs::MemVfs::new();
    let context = Context::new(std::sync::Arc::new(store.clone())).with_cache_bytes(0);
    let files = files(&context);
    let text = find(&files, "slices/90:100.csv").unwrap();
    files.open(text.ino).unwrap();
    let first = files.read(text.ino, 0, 1000).unwrap();
    assert!(first.ends_with(b"99,99\n"), "{first:?}");
    let mut paths = store.files().into_iter().map(|f| f.0);
    let data = paths.find(|p| p.ends_with("a0.tdb")).unwrap();
    block_on(context.vfs.remove(&data)).unwrap();
    assert_eq!(files.read(text.ino, 0, 1000).unwrap(), first);
    assert_eq!(files.read(text.ino, 6, 5).unwrap(), first[6..11]);
    assert!(files.has_open_files());
    files.close(text.ino);
    assert!(!files.has_open_files());
    let other = find(&files, "slices/80:100.npy").unwrap();
    let error = files.read(other.ino, 0, 1000).unwrap_err();
    assert!(error.to_string().contains(&data), "{error}");
}

#[test]
fn inodes_are_forgotten_and_stay_the_same() {
    let files = files(&Context::memory());
    let start = files.known();
    let slices = find(&files, "slices").unwrap();
    let file = files.lookup(slices.ino, OsStr::new("all.npy")).unwrap();
    assert_eq!(files.lookup(slices.ino, OsStr::new("0:100.npy")).unwrap(), file);
    files.forget(file.ino, 1);
    assert_eq!(files.attributes(file.ino).unwrap(), file);
    files.forget(file.ino, 1);
    assert!(matches!(files.attributes(file.ino), Err(FsError::Stale)));
    assert_eq!(find(&files, "slices/all.npy").unwrap(), file);
    files.forget(file.ino, u64::MAX);
    files.forget(slices.ino, u64::MAX);
    files.forget(ROOT, u64::MAX);
    assert_eq!(files.known(), start);
    assert!(files.attributes(ROOT).is_ok());
}

#[test]
fn listings_and_lookups_return_the_same_inodes() {
    let files = files(&Context::memory());
    let mut folders = vec![ROOT];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in files.list(folder).unwrap() {
            let found = files.lookup(folder, OsStr::new(&entry.name)).unwrap();
            assert_eq!(
                (found.ino, found.file_type),
                (entry.ino, entry.file_type),
                "{}",
                entry.name
            );
            seen += 1;
            if found.file_type == FileType::Dir {
                folders.push(found.ino);
            }
        }
    }
    assert!(seen > 20);
}

/// Programs that walk folders do not follow links, and each time has the whole tree.
#[test]
fn times_are_links() {
    let context = Context::memory();
    let files = files(&context);
    write(&context, 1_700_000_000_000, 7);
    let at = find(&files, "at").unwrap().ino;
    let listed = files.list(at).unwrap();
    let names: Vec<&str> = listed.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(
        names,
        ["1970-01-01T00:00:00.010Z", "2023-11-14T22:13:20.000Z", "latest"]
    );
    let links = [
        (names[0], "10", 0),
        (names[1], "1700000000000", 7),
        (names[2], "1700000000000", 7),
    ];
    for (name, target, first) in links {
        let link = files.lookup(at, OsStr::new(name)).unwrap();
        assert_eq!(link.file_type, FileType::Link);
        let found = files.read_link(link.ino).unwrap();
        assert_eq!((found.as_str(), link.size), (target, target.len() as u64));
        let cell = find(&files, &format!("at/{target}/slices/0.bin")).unwrap();
        assert_eq!(files.read(cell.ino, 0, 4).unwrap()[..], i32::to_le_bytes(first));
    }
    // The end of a period is not listed, and is a folder.
    let year = find(&files, "at/1970").unwrap();
    assert_eq!(year.file_type, FileType::Dir);
    assert!(matches!(files.read_link(year.ino), Err(FsError::NoLink)));
}

#[test]
fn failures_have_an_error_number_and_a_reason() {
    const ENOENT: i32 = 2;
    let files = files(&Context::memory());
    let slices = find(&files, "slices").unwrap().ino;
    assert!(matches!(
        files.xattr(slices, OsStr::new("user.hyperslab.error")),
        Err(FsError::NoAttribute)
    ));
    assert_eq!(
        number(files.lookup(slices, OsStr::new("100:500.npy")).unwrap_err()),
        ENOENT
    );
    let why = files.xattr(slices, OsStr::new("user.hyperslab.error")).unwrap();
    assert!(why.contains("outside the domain, 0:100"), "{why}");
    let since = find(&files, "since").unwrap().ino;
    assert_eq!(number(files.lookup(since, OsStr::new("5..1")).unwrap_err()), ENOENT);
    let why = files.xattr(since, OsStr::new("user.hyperslab.error")).unwrap();
    assert!(why.contains("ends before it starts"), "{why}");
    assert!(matches!(files.lookup(slices, OsStr::new(".git")), Err(FsError::Absent)));
    assert!(matches!(
        files.lookup(slices, OsStr::new(&"x".repeat(1025))),
        Err(FsError::NameTooLong)
    ));
    assert!(matches!(files.lookup(12345, OsStr::new("x")), Err(FsError::Stale)));
    let file = files.lookup(slices, OsStr::new("all.npy")).unwrap().ino;
    assert!(matches!(files.lookup(file, OsStr::new("x")), Err(FsError::NoFolder)));
    assert!(matches!(files.list(file), Err(FsError::NoFolder)));
    assert!(matches!(files.read(slices, 0, 1), Err(FsError::IsFolder)));
    assert!(matches!(files.open(slices), Err(FsError::IsFolder)));
    // For an existing file, no failure is `ENOENT`.
    const EIO: i32 = 5;
    assert_eq!(
        number(FsError::Unreadable(hyperslab::Error::invalid("no such cells"))),
        EIO
    );
}

#[test]
fn unreadable_files_are_not_absent() {
    const EIO: i32 = 5;
    let store = hyperslab::vfs::MemVfs::new();
    let context = Context::new(std::sync::Arc::new(store.clone()));
    let files = files(&context);
    let mut paths = store.files().into_iter().map(|f| f.0);
    let lost = paths.find(|p| p.ends_with("a0.tdb")).unwrap();
    block_on(context.vfs.remove(&lost)).unwrap();
    // A lookup of text renders the file to determine its size.
    let refused = find(&files, "slices/10:20.csv").unwrap_err();
    assert!(refused.to_string().contains(&lost), "{refused}");
    assert_eq!(number(refused), EIO);
}

#[test]
fn lost_data_is_an_error_and_vacuumed_data_is_stale() {
    const EIO: i32 = 5;
    let store = hyperslab::vfs::MemVfs::new();
    let context = Context::new(std::sync::Arc::new(store.clone())).with_cache_bytes(0);
    let files = files(&context);
    let before = find(&files, "slices/10:20.bin").unwrap();
    write(&context, 20, 1000);
    let array = block_on(Array::open(&context, "", &OpenOptions::default())).unwrap();
    let options = WriteOptions {
        timestamp_ms: 30,
        seed: [30; 32],
        sync: false,
    };
    block_on(consolidate(&array, &ConsolidateOptions::new(Mode::Fragments), &options)).unwrap();
    block_on(vacuum(&array, Mode::Fragments, false, &options)).unwrap();
    assert!(matches!(files.read(before.ino, 0, 4), Err(FsError::Stale)));
    let why = files.xattr(before.ino, OsStr::new("user.hyperslab.error")).unwrap();
    assert!(why.contains("open it again"), "{why}");

    let after = find(&files, "slices/10:20.bin").unwrap();
    let data = store.files().into_iter().find(|f| f.0.ends_with("a0.tdb")).unwrap();
    block_on(context.vfs.remove(&data.0)).unwrap();
    assert_eq!(number(files.read(after.ino, 0, 4).unwrap_err()), EIO);
    let error = OsStr::new("user.hyperslab.error");
    let why = files.xattr(after.ino, error).unwrap();
    assert!(why.contains(&data.0), "{why}");
    // A success removes the recorded failure.
    block_on(context.vfs.put(&data.0, vec![data.1])).unwrap();
    files.read(after.ino, 0, 4).unwrap();
    assert!(matches!(files.xattr(after.ino, error), Err(FsError::NoAttribute)));
}

#[test]
fn the_reason_of_a_folder_contains_the_failed_name() {
    let files = files(&Context::memory());
    let error = OsStr::new("user.hyperslab.error");
    for (folder, name, part) in [
        ("slices", "500.npy", "500.npy: "),
        ("slices", ".hid@0.csv", ".hid@0.csv: "),
        (
            "at",
            "latest-7",
            "latest-7: there is no 'latest-7': the array was written to once",
        ),
        ("since", "..5", "..5: '..5' has no start"),
    ] {
        let ino = find(&files, folder).unwrap().ino;
        assert_eq!(number(files.lookup(ino, OsStr::new(name)).unwrap_err()), 2, "{name}");
        let why = files.xattr(ino, error).unwrap();
        assert!(why.starts_with(part), "{why}");
    }
    let readme = find(&files, "README.md").unwrap();
    let page = files.read(readme.ino, 0, 1 << 16).unwrap();
    let page = String::from_utf8_lossy(&page);
    assert!(page.contains("at/TIME/") && !page.contains("latest-1"), "{page}");
    // Names that programs probe do not replace the reason.
    let slices = find(&files, "slices").unwrap().ino;
    let before = files.xattr(slices, error).unwrap();
    for name in [".git", ".hid.csv", "all.npy~"] {
        assert!(
            matches!(files.lookup(slices, OsStr::new(name)), Err(FsError::Absent)),
            "{name}"
        );
    }
    assert_eq!(files.xattr(slices, error).unwrap(), before);
}

thread_local!(static TOLD: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) });

#[test]
fn each_broken_array_of_a_folder_is_told_once() {
    let store = hyperslab::vfs::MemVfs::new();
    let context = Context::new(std::sync::Arc::new(store.clone()));
    let schema = Schema::new(
        ArrayType::Dense,
        vec![Dimension::new("i", Datatype::Int32, 0_i32, 9_i32, 10_i32)],
        vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)],
    );
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    for name in ["one", "two", "well"] {
        block_on(Array::create(&context, &format!("all/{name}"), &schema, &[], &options)).unwrap();
    }
    for (path, _) in store.files() {
        if path.contains("/__schema/") && !path.starts_with("all/well") {
            block_on(context.vfs.remove(&path)).unwrap();
            block_on(context.vfs.put(&path, vec![b"no schema".to_vec().into()])).unwrap();
        }
    }
    let source = Source {
        context,
        url: "all".into(),
        path: "all".into(),
        options: OpenOptions::default(),
        name: "all".into(),
    };
    let files = FileSystem::new(source, Duration::ZERO)
        .unwrap()
        .telling(|path, _| TOLD.with_borrow_mut(|told| told.push(path.to_owned())));
    for _ in 0..2 {
        for name in ["one", "well", "two"] {
            let found = find(&files, &format!("{name}/README.md"));
            assert_eq!(found.is_ok(), name == "well", "{name}");
        }
    }
    let told = TOLD.take();
    assert_eq!(told, ["one", "two"]);
    let why = files.xattr(ROOT, OsStr::new("user.hyperslab.error")).unwrap();
    assert!(why.starts_with("two: "), "{why}");
}

#[test]
fn facts_about_a_slice_are_extended_attributes() {
    let files = files(&Context::memory());
    let file = find(&files, "slices/10:20:3.npy").unwrap().ino;
    let fact = |name: &str| {
        files
            .xattr(file, OsStr::new(&format!("user.hyperslab.{name}")))
            .unwrap()
    };
    assert_eq!(
        (
            fact("shape").as_str(),
            fact("dtype").as_str(),
            fact("selection").as_str()
        ),
        ("4", "int32", "10:20:3")
    );
    assert_eq!(fact("timestamp"), "10");
}

#[test]
fn an_empty_source_is_an_error() {
    let source = Source {
        context: Context::memory(),
        url: String::new(),
        path: String::new(),
        options: OpenOptions::default(),
        name: "x".into(),
    };
    let error = FileSystem::new(source, Duration::ZERO).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("not an array, a group or a folder of arrays"),
        "{error}"
    );
}
