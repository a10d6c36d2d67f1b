//! Tests of `put/` without a kernel.

#![allow(clippy::unwrap_used, reason = "a failed test should report the line")]

mod support;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Schema};
use hyperslab::vfs::faulty::{Fault, FaultyVfs};
use hyperslab::view::{FileType, Source};
use hyperslab::{Array, CellCount, Context, CreateOptions, Datatype, OpenOptions};
use hyperslab_fuse::errno::FsError;
use hyperslab_fuse::filesystem::FileSystem;
use hyperslab_fuse::writing::{NewAttributes, OpenMode, Writing};
use support::files::{find, number};

const EPERM: i32 = 1;
const EIO: i32 = 5;
const EBUSY: i32 = 16;
const EXDEV: i32 = 18;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;

/// The process that opens files in these tests.
const ME: u32 = 100;
const OTHER: u32 = 200;

/// A store that keeps arrays in memory.
fn files_with(context: &Context, staging_bytes_max: u64) -> FileSystem {
    let source = Source {
        context: context.clone(),
        url: String::new(),
        path: String::new(),
        options: OpenOptions::default(),
        name: "arrays".into(),
    };
    FileSystem::new(source, Duration::from_secs(3600))
        .unwrap()
        .writable(&Writing {
            staging_folder: std::env::temp_dir(),
            staging_bytes_max,
        })
}

/// Two arrays: `dense` of 4 by 6 numbers, and `sparse` with numbers at `i`.
fn context() -> Context {
    let context = Context::memory();
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    let axis = |name: &str, last: i32| Dimension::new(name, Datatype::Int32, 0_i32, last, 2_i32);
    let attribute = || vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)];
    let dense = Schema::new(ArrayType::Dense, vec![axis("y", 3), axis("x", 5)], attribute());
    block_on(Array::create(&context, "dense", &dense, &[], &options)).unwrap();
    let sparse = Schema::new(ArrayType::Sparse, vec![axis("i", 99)], attribute());
    block_on(Array::create(&context, "sparse", &sparse, &[], &options)).unwrap();
    context
}

fn files(context: &Context) -> FileSystem {
    files_with(context, 1 << 20)
}

/// An `.npy` file as numpy writes it.
fn npy(dtype: &str, shape: &str, cells: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    out.extend(header.bytes());
    out.extend(cells);
    out
}

fn numbers(values: impl Iterator<Item = i32>) -> Vec<u8> {
    values.flat_map(i32::to_le_bytes).collect()
}

fn read(files: &FileSystem, path: &str) -> Vec<u8> {
    let found = find(files, path).unwrap();
    files.read(found.ino, 0, 1 << 20).unwrap().to_vec()
}

/// Creates a file, writes it in parts, closes it, and returns the result of each step.
fn store(files: &FileSystem, array: &str, name: &str, bytes: &[u8]) -> Result<(), FsError> {
    let put = find(files, &format!("{array}/put")).unwrap().ino;
    let (file, handle) = files.create(put, OsStr::new(name), ME)?;
    let mut at = 0;
    let mut outcome = Ok(());
    for part in bytes.chunks(50) {
        outcome = files.write(file.ino, at, part);
        if outcome.is_err() {
            break;
        }
        at += part.len() as u64;
    }
    // The kernel flushes also after a failed write.
    let flushed = files.flush(file.ino, handle, ME);
    files.close_put(file.ino, handle);
    files.forget(file.ino, 1);
    outcome.and(flushed)
}

fn reason(files: &FileSystem, array: &str) -> String {
    let put = find(files, &format!("{array}/put")).unwrap().ino;
    files.xattr(put, OsStr::new("user.hyperslab.error")).unwrap_or_default()
}

fn fragments(files: &FileSystem, array: &str) -> usize {
    let folder = find(files, &format!("{array}/fragments")).unwrap();
    files.list(folder.ino).unwrap().len()
}

fn listed(files: &FileSystem, array: &str) -> Vec<String> {
    let put = find(files, &format!("{array}/put")).unwrap();
    files.list(put.ino).unwrap().into_iter().map(|e| e.name).collect()
}

#[test]
fn a_closed_file_is_one_fragment_and_readable_at_once() {
    let context = context();
    let files = files(&context);
    let cells = numbers(0..24);
    store(&files, "dense", "all.npy", &npy("<i4", "(4, 6)", &cells)).unwrap();
    assert_eq!(read(&files, "dense/slices/all.bin"), cells);
    assert_eq!(fragments(&files, "dense"), 1);
    store(&files, "dense", "1:3,4.npy", &npy("<i4", "(2,)", &numbers(50..52))).unwrap();
    store(&files, "dense", "a@0,0:2.csv", b"a\n70\n71\n").unwrap();
    let csv = String::from_utf8(read(&files, "dense/slices/0:3,:5.csv")).unwrap();
    let last: Vec<&str> = csv.lines().skip(1).map(|l| l.rsplit(',').next().unwrap()).collect();
    assert_eq!(
        last,
        [
            "70", "71", "2", "3", "4", "6", "7", "8", "9", "50", "12", "13", "14", "15", "51"
        ]
    );
    assert_eq!(fragments(&files, "dense"), 3);
    // Another mount of the store sees the same cells.
    assert_eq!(
        read(&self::files(&context), "dense/slices/all.csv"),
        read(&files, "dense/slices/all.csv")
    );
    // Written files are found, but not listed.
    assert_eq!(find(&files, "dense/put/all.npy").unwrap().size, 128 + 96);
    assert_eq!(listed(&files, "dense"), ["README.md"]);
}

#[test]
fn rows_are_added_to_sparse_arrays() {
    let context = context();
    let files = files(&context);
    store(&files, "sparse", "day 1.csv", b"i,a\n3,30\n1,10\n").unwrap();
    store(&files, "sparse", "all.csv", b"a,i\n50,5\n").unwrap();
    assert_eq!(read(&files, "sparse/slices/all.csv"), b"i,a\n1,10\n3,30\n5,50\n");
    assert_eq!(
        number(store(&files, "sparse", "0:5.csv", b"i,a\n3,30\n").unwrap_err()),
        EINVAL
    );
    assert!(reason(&files, "sparse").contains("rename it to all.csv"));
    // The coordinates are outside the domain.
    assert_eq!(
        number(store(&files, "sparse", "b.csv", b"i,a\n300,3\n").unwrap_err()),
        EINVAL
    );
    assert!(
        reason(&files, "sparse").contains("line 2"),
        "{}",
        reason(&files, "sparse")
    );
    assert_eq!(fragments(&files, "sparse"), 2);
}

#[test]
fn a_wrong_header_fails_the_first_write() {
    let files = files(&context());
    let put = find(&files, "dense/put").unwrap().ino;
    for (name, dtype, shape, why) in [
        (
            "all.npy",
            "<i4",
            "(4, 5)",
            "the file has shape [4, 5], but the selection has [4, 6]",
        ),
        (
            "0:2,:.npy",
            "<i4",
            "(6, 2)",
            "shape [6, 2], but the selection has [2, 6]",
        ),
        (
            "all.npy",
            "<i8",
            "(4, 6)",
            "values of type int64, but 'a' has type int32",
        ),
        ("all.npy", "<f4", "(4, 6)", "a.astype('int32')"),
    ] {
        let (file, handle) = files.create(put, OsStr::new(name), ME).unwrap();
        let header = npy(dtype, shape, &[]);
        // A header in parts fails when it is complete.
        files.write(file.ino, 0, &header[..20]).unwrap();
        let refused = files.write(file.ino, 20, &header[20..]).unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
        assert_eq!(number(refused), EINVAL);
        assert!(reason(&files, "dense").starts_with(&format!("{name}: ")));
        // Each later step reports it again.
        assert_eq!(number(files.write(file.ino, 128, b"x").unwrap_err()), EINVAL);
        assert_eq!(number(files.flush(file.ino, handle, ME).unwrap_err()), EINVAL);
        files.close_put(file.ino, handle);
        assert!(matches!(
            find(&files, &format!("dense/put/{name}")),
            Err(FsError::Absent)
        ));
    }
    let long = format!("{}\n1\n", "x".repeat(5000));
    let refused = store(&files, "dense", "all.csv", long.as_bytes())
        .unwrap_err()
        .to_string();
    assert!(refused.len() < 1100 && refused.ends_with('…'), "{refused}");
    let none = store(&files, "dense", "all.npy", b"no numpy file").unwrap_err();
    assert!(none.to_string().contains("not an .npy file"), "{none}");
    assert_eq!(fragments(&files, "dense"), 0);
}

#[test]
fn wrong_names_are_refused_when_the_file_is_created() {
    let files = files(&context());
    for (name, why) in [
        ("0:9,:.npy", "outside the domain"),
        ("all.orc", "convert it to Parquet or CSV"),
        ("all.png", "supported extensions"),
        ("0:4:2,:.npy", "cannot have steps and lists"),
        ("b@all.npy", "no attribute 'b'"),
    ] {
        let refused = store(&files, "dense", name, b"x").unwrap_err();
        assert!(refused.to_string().contains(why), "{name}: {refused}");
        assert_eq!(number(refused), EINVAL, "{name}");
        assert!(reason(&files, "dense").starts_with(&format!("{name}: ")));
    }
    assert_eq!(number(store(&files, "dense", "README.md", b"x").unwrap_err()), EPERM);
}

/// numpy duplicates the descriptor, so the file is flushed before and after the values.
#[test]
fn a_numpy_file_is_written_once_when_it_is_complete() {
    let files = files(&context());
    let put = find(&files, "dense/put").unwrap().ino;
    let whole = npy("<i4", "(4, 6)", &numbers(0..24));
    let (file, handle) = files.create(put, OsStr::new("all.npy"), ME).unwrap();
    files.write(file.ino, 0, &whole[..128]).unwrap();
    files.flush(file.ino, handle, ME).unwrap();
    assert_eq!(listed(&files, "dense"), ["README.md", "all.npy"]);
    assert_eq!(files.read(file.ino, 0, 1000).unwrap()[..], whole[..128]);
    files.write(file.ino, 128, &whole[128..]).unwrap();
    for _ in 0..2 {
        files.flush(file.ino, handle, ME).unwrap();
        files.sync(file.ino).unwrap();
    }
    assert_eq!(fragments(&files, "dense"), 1);
    // More bytes than the header states.
    assert_eq!(number(files.write(file.ino, 224, b"x").unwrap_err()), EPERM);
    files.close_put(file.ino, handle);
    let (file, handle) = files.create(put, OsStr::new("all.npy"), ME).unwrap();
    files.write(file.ino, 0, &whole).unwrap();
    let refused = files.write(file.ino, 224, b"x").unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("more bytes than its header states, which is 224")
    );
    files.close_put(file.ino, handle);
    assert_eq!(fragments(&files, "dense"), 1);
}

#[test]
fn an_incomplete_file_is_dropped_with_a_reason() {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let files = files(&context()).telling(|path, why| TOLD.lock().unwrap().push(format!("{path}: {why}")));
    let whole = npy("<i4", "(4, 6)", &numbers(0..24));
    store(&files, "dense", "all.npy", &whole[..200]).unwrap();
    let why = reason(&files, "dense");
    assert_eq!(
        why,
        "all.npy: the file was closed after 200 of 224 bytes, so nothing was written"
    );
    assert_eq!(*TOLD.lock().unwrap(), [format!("dense/put/{why}")]);
    assert!(matches!(find(&files, "dense/put/all.npy"), Err(FsError::Absent)));
    // An empty file, as `touch` creates it, is no failure.
    store(&files, "dense", "0,0.npy", b"").unwrap();
    assert_eq!((fragments(&files, "dense"), TOLD.lock().unwrap().len()), (0, 1));
}

/// A shell opens the file, and its children inherit it.
#[test]
fn rows_are_complete_when_the_process_that_opened_the_file_closes_it() {
    let files = files(&context());
    let put = find(&files, "sparse/put").unwrap().ino;
    let (file, handle) = files.create(put, OsStr::new("all.csv"), ME).unwrap();
    files.flush(file.ino, handle, ME).unwrap();
    files.write(file.ino, 0, b"i,a\n1,10\n").unwrap();
    files.flush(file.ino, handle, OTHER).unwrap();
    files.write(file.ino, 9, b"2,20\n").unwrap();
    assert_eq!(fragments(&files, "sparse"), 0);
    files.flush(file.ino, handle, ME).unwrap();
    assert_eq!(read(&files, "sparse/slices/all.csv"), b"i,a\n1,10\n2,20\n");
    files.close_put(file.ino, handle);
    // If only another process closes it, the last close counts.
    let (file, handle) = files.create(put, OsStr::new("b.csv"), ME).unwrap();
    files.write(file.ino, 0, b"i,a\n3,30\n").unwrap();
    files.flush(file.ino, handle, OTHER).unwrap();
    assert_eq!(fragments(&files, "sparse"), 1);
    files.close_put(file.ino, handle);
    assert_eq!(fragments(&files, "sparse"), 2);
}

#[test]
fn a_renamed_file_is_written_under_its_new_name() {
    let files = files(&context());
    let put = find(&files, "dense/put").unwrap().ino;
    let cells = numbers(5..29);
    let whole = npy("<i4", "(4, 6)", &cells);
    store(&files, "dense", ".all.npy.AbCdEf", &whole).unwrap();
    assert_eq!(listed(&files, "dense"), ["README.md", ".all.npy.AbCdEf"]);
    let rename = |from: &str, to: &str| files.rename((put, OsStr::new(from)), (put, OsStr::new(to)), true);
    // A failed rename changes nothing.
    let refused = rename(".all.npy.AbCdEf", "0:2,:.npy").unwrap_err();
    assert!(refused.to_string().contains("shape [4, 6]"), "{refused}");
    assert_eq!(number(refused), EINVAL);
    assert_eq!(number(rename(".all.npy.AbCdEf", "x.npy").unwrap_err()), EINVAL);
    rename(".all.npy.AbCdEf", "all.npy.part").unwrap();
    assert_eq!(fragments(&files, "dense"), 0);
    // Programs set the time before or after they rename.
    let file = find(&files, "dense/put/all.npy.part").unwrap();
    let at = |modified_ms| NewAttributes {
        modified_ms: Some(modified_ms),
        size: None,
    };
    files.set_attributes(file.ino, at(1000)).unwrap();
    rename("all.npy.part", "all.npy").unwrap();
    assert_eq!(read(&files, "dense/slices/all.bin"), cells);
    let written = find(&files, "dense/put/all.npy").unwrap();
    assert_eq!((written.ino, written.size, written.modified_ms), (file.ino, 224, 1000));
    assert_eq!(files.set_attributes(file.ino, at(2000)).unwrap().modified_ms, 2000);
    // An incomplete file is not written by a rename.
    store(&files, "dense", "x.part", &whole[..200]).unwrap();
    let refused = rename("x.part", "all.npy").unwrap_err();
    assert!(
        refused.to_string().contains("has 200 bytes, but its header states 224"),
        "{refused}"
    );
    let sparse = find(&files, "sparse/put").unwrap().ino;
    let moved = files.rename((put, OsStr::new("x.part")), (sparse, OsStr::new("x.part")), true);
    assert_eq!(number(moved.unwrap_err()), EXDEV);
    files.unlink(put, OsStr::new("x.part")).unwrap();
    assert_eq!(listed(&files, "dense"), ["README.md"]);
    assert_eq!(fragments(&files, "dense"), 1);
}

#[test]
fn written_files_cannot_be_changed_in_place_but_replaced() {
    let files = files(&context());
    let put = find(&files, "dense/put").unwrap().ino;
    let whole = |first| npy("<i4", "(4, 6)", &numbers(first..first + 24));
    store(&files, "dense", "all.npy", &whole(0)).unwrap();
    let file = find(&files, "dense/put/all.npy").unwrap().ino;
    let open = |write, truncate| {
        let process = ME;
        files.open_put(
            file,
            OpenMode {
                write,
                truncate,
                process,
            },
        )
    };
    let refused = open(true, false).unwrap_err();
    assert!(
        refused.to_string().contains("write a new file with this name"),
        "{refused}"
    );
    assert_eq!(number(refused), EPERM);
    let cut = NewAttributes {
        size: Some(3),
        modified_ms: None,
    };
    assert_eq!(number(files.set_attributes(file, cut).unwrap_err()), EPERM);
    // Reading gives the reason too.
    let handle = open(false, false).unwrap();
    assert_eq!(number(files.read(file, 0, 10).unwrap_err()), EPERM);
    files.close_put(file, handle);
    let renamed = files.rename((put, OsStr::new("all.npy")), (put, OsStr::new("0:2,:.npy")), true);
    assert_eq!(number(renamed.unwrap_err()), EPERM);
    // Editors keep a backup under another name.
    files
        .rename((put, OsStr::new("all.npy")), (put, OsStr::new("all.npy~")), true)
        .unwrap();
    store(&files, "dense", "all.npy", &whole(7)).unwrap();
    files.unlink(put, OsStr::new("all.npy~")).unwrap();
    store(&files, "dense", "all.npy", &whole(9)).unwrap();
    assert_eq!(read(&files, "dense/slices/all.bin"), numbers(9..33));
    assert_eq!(fragments(&files, "dense"), 3);
    // Names of other folders are not writable.
    let slices = find(&files, "dense/slices").unwrap().ino;
    assert_eq!(
        number(files.create(slices, OsStr::new("all.npy"), ME).unwrap_err()),
        EROFS
    );
    let array = find(&files, "dense").unwrap().ino;
    assert_eq!(number(files.unlink(array, OsStr::new("put")).unwrap_err()), EROFS);
    assert_eq!(
        number(files.unlink(array, OsStr::new("schema.json")).unwrap_err()),
        EROFS
    );
    assert_eq!(
        number(files.set_attributes(slices, NewAttributes::default()).unwrap_err()),
        EROFS
    );
}

#[test]
fn two_programs_do_not_mix_their_cells() {
    let files = files(&context());
    let put = find(&files, "sparse/put").unwrap().ino;
    let (file, handle) = files.create(put, OsStr::new("all.csv"), ME).unwrap();
    files.write(file.ino, 0, b"i,a\n").unwrap();
    assert_eq!(
        number(files.create(put, OsStr::new("all.csv"), OTHER).unwrap_err()),
        EBUSY
    );
    store(&files, "sparse", "x.csv.part", b"i,a\n7,70\n").unwrap();
    let over = files.rename((put, OsStr::new("x.csv.part")), (put, OsStr::new("all.csv")), true);
    assert_eq!(number(over.unwrap_err()), EBUSY);
    files.write(file.ino, 4, b"1,10\n").unwrap();
    files.flush(file.ino, handle, ME).unwrap();
    files.close_put(file.ino, handle);
    assert_eq!(read(&files, "sparse/slices/all.csv"), b"i,a\n1,10\n");
}

#[test]
fn concurrent_files_get_one_timestamp_each() {
    let files = Arc::new(files(&context()));
    let writers: Vec<_> = (0..8)
        .map(|n| {
            let files = Arc::clone(&files);
            std::thread::spawn(move || {
                let rows = format!("i,a\n0,{n}\n{},{n}\n", n + 1);
                store(&files, "sparse", &format!("{n}.csv"), rows.as_bytes()).unwrap();
            })
        })
        .collect();
    writers.into_iter().for_each(|w| w.join().unwrap());
    let folder = find(&files, "sparse/fragments").unwrap().ino;
    let names = files.list(folder).unwrap().into_iter().map(|e| e.name);
    let time = |name: String| name.split('_').find(|part| !part.is_empty()).map(str::to_owned);
    let times: BTreeSet<_> = names.map(time).collect();
    assert_eq!(times.len(), 8, "{times:?}");
    let csv = String::from_utf8(read(&files, "sparse/slices/1:9.csv")).unwrap();
    assert_eq!(csv, "i,a\n1,0\n2,1\n3,2\n4,3\n5,4\n6,5\n7,6\n8,7\n");
}

#[test]
fn a_full_staging_area_is_an_error_of_the_write() {
    let files = files_with(&context(), 300);
    let whole = npy("<i4", "(4, 6)", &numbers(0..24));
    store(&files, "dense", "x.part", &whole).unwrap();
    assert_eq!(files.space(), (300, 76));
    let refused = store(&files, "dense", "all.npy", &whole).unwrap_err();
    assert!(refused.to_string().contains("--staging-size"), "{refused}");
    assert_eq!(number(refused), ENOSPC);
    // The start of a table is not written as if it were whole.
    // The first part of 50 bytes, which fits, has two rows.
    let rows: String = (0..9).map(|i| format!("{i:02},{i:019}\n")).collect();
    let refused = store(&files, "sparse", "all.csv", format!("i,a\n{rows}").as_bytes()).unwrap_err();
    assert_eq!((number(refused), fragments(&files, "sparse")), (ENOSPC, 0));
    let put = find(&files, "dense/put").unwrap().ino;
    files.unlink(put, OsStr::new("x.part")).unwrap();
    store(&files, "dense", "all.npy", &whole).unwrap();
    assert_eq!((files.space(), fragments(&files, "dense")), ((300, 300), 1));
}

#[test]
fn a_failing_store_is_an_error_of_the_close() {
    let faulty = FaultyVfs::new(context().vfs, Fault::default());
    let files = files(&Context::new(Arc::new(faulty.clone())));
    let whole = npy("<i4", "(4, 6)", &numbers(0..24));
    let full = Fault {
        after_bytes: Some(10),
        ..Fault::default()
    };
    faulty.set(full);
    assert_eq!(number(store(&files, "dense", "all.npy", &whole).unwrap_err()), EIO);
    faulty.set(Fault::default());
    assert_eq!(fragments(&files, "dense"), 0);
    store(&files, "dense", "all.npy", &whole).unwrap();
    assert_eq!(fragments(&files, "dense"), 1);
}

#[test]
fn the_folder_says_what_it_takes() {
    let files = files(&context());
    let array = find(&files, "dense").unwrap().ino;
    let names: Vec<_> = files.list(array).unwrap().into_iter().map(|e| e.name).collect();
    assert!(names.contains(&"put".to_owned()), "{names:?}");
    let put = find(&files, "dense/put").unwrap();
    assert_eq!((put.file_type, put.writable), (FileType::Dir, true));
    let page = String::from_utf8(read(&files, "dense/put/README.md")).unwrap();
    assert_eq!(find(&files, "dense/put/README.md").unwrap().size, page.len() as u64);
    assert!(
        page.contains("`0:4,0:6.npy`") && page.contains("every attribute (a)"),
        "{page}"
    );
    let page = String::from_utf8(read(&files, "sparse/put/README.md")).unwrap();
    assert!(page.contains("these columns: i, a"), "{page}");
    let expected = || files.xattr(put.ino, OsStr::new("user.hyperslab.expected")).unwrap();
    assert_eq!(expected(), "all.npy: shape 4,6, dtype int32, 224 bytes as .npy");
    assert!(matches!(find(&files, "dense/put/1:3,4.npy"), Err(FsError::Absent)));
    assert_eq!(expected(), "1:3,4.npy: shape 2, dtype int32, 136 bytes as .npy");
    // Earlier times are read-only.
    assert!(matches!(find(&files, "dense/at/2024/put"), Err(FsError::Absent)));
    assert!(matches!(find(&files, "put"), Err(FsError::Absent)));
}

#[test]
fn nothing_is_left_of_forgotten_files() {
    let files = files(&context());
    let start = files.known();
    for name in ["x.part", "all.npy", "0,0.npy"] {
        let _ = store(&files, "dense", name, b"\x93NUM");
    }
    let put = find(&files, "dense/put").unwrap().ino;
    files.unlink(put, OsStr::new("x.part")).unwrap();
    files.forget(put, u64::MAX);
    files.forget(find(&files, "dense").unwrap().ino, u64::MAX);
    assert_eq!(files.known(), start);
    assert!(!files.has_open_files());
}
