//! A store that fails at each call in turn. Readers see the state before or after the operation, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Evolution, Mode, consolidate, delete, delete_fragments, evolve, vacuum};
use hyperslab::schema::{Attribute, Layout};
use hyperslab::vfs::faulty::{Fault, FaultyVfs};
use hyperslab::vfs::{MemVfs, VfsExt};
use hyperslab::{Array, CellCount, Cells, Context, Datatype, Error, OpenOptions, Result, Window};

use super::sparse;
use super::{at, new_array, open};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

type Cell = (i32, i32, i32, String);

/// An operation on the array.
type Operation = fn(&Context) -> Result<()>;

fn try_open(context: &Context) -> Result<Array> {
    block_on(Array::open(context, "a", &OpenOptions::default()))
}

fn cells(n: i32) -> BTreeMap<(i32, i32), i32> {
    (0..30).map(|i| ((i / 6, i % 6), i * n)).collect()
}

/// An array of three fragments, one of them affected by a delete.
fn store() -> Context {
    let context = new_array(&sparse::schema(Layout::RowMajor, false, 7));
    sparse::write(&context, 1, &cells(1));
    sparse::write(&context, 2, &cells(2));
    block_on(delete(
        &open(&context, Window::ALL),
        &"number < 9".parse().unwrap(),
        &at(3),
    ))
    .unwrap();
    sparse::write(&context, 4, &[((7, 7), 70), ((0, 0), 44)].into());
    context
}

/// An independent copy of the store.
pub(super) fn copy(context: &Context, files: &[(String, bytes::Bytes)]) -> Context {
    let vfs = MemVfs::new();
    for (path, bytes) in files {
        vfs.replace(path.clone(), bytes.clone());
    }
    Context {
        vfs: Arc::new(vfs),
        ..context.clone()
    }
    .with_cache_bytes(0)
}

/// Fails `operation` at each of its calls, in three ways, and checks the remaining state.
fn check(prepare: &[Operation], operation: Operation) {
    let memory = MemVfs::new();
    let base = Context::new(Arc::new(memory.clone())).with_cache_bytes(0);
    let made = store();
    for (path, bytes) in all_files(&made) {
        memory.replace(path, bytes);
    }
    for step in prepare {
        step(&base).unwrap();
    }
    let files = memory.files();
    let see = |context: &Context| -> Vec<Cell> { sparse::read(context, Window::ALL) };
    let before = see(&base);
    let whole = copy(&base, &files);
    let counting = FaultyVfs::new(Arc::clone(&whole.vfs), Fault::default());
    operation(&Context {
        vfs: Arc::new(counting.clone()),
        ..whole.clone()
    })
    .unwrap();
    let after = see(&whole);
    let calls = counting.calls().len() as u64;
    assert!(calls > 3);
    for call in 0..calls {
        for (lasting, after_effect) in [(true, false), (true, true), (false, false)] {
            let healthy = copy(&base, &files);
            let fault = Fault {
                at_call: Some(call),
                lasting,
                after_effect,
                ..Fault::default()
            };
            let faulty = Context {
                vfs: Arc::new(FaultyVfs::new(Arc::clone(&healthy.vfs), fault)),
                ..healthy.clone()
            };
            let done = operation(&faulty);
            let left = see(&healthy);
            if done.is_ok() {
                assert_eq!(left, after, "call {call} failed, but the operation succeeded");
            } else {
                assert!(
                    left == before || left == after,
                    "call {call}: {left:?}\n is neither {before:?}\n nor {after:?}"
                );
                // The operation can be repeated.
                operation(&healthy).unwrap();
                assert_eq!(see(&healthy), after, "again after a failure at call {call}");
            }
        }
    }
}

/// The files of a store in memory.
pub(super) fn all_files(context: &Context) -> Vec<(String, bytes::Bytes)> {
    let mut out = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in block_on(context.vfs.list(&folder)).unwrap() {
            let path = hyperslab::vfs::join(&folder, &entry.name);
            match entry.kind {
                hyperslab::vfs::EntryKind::Dir => folders.push(path),
                hyperslab::vfs::EntryKind::File(_) => {
                    let bytes = block_on(context.vfs.read_all(&path)).unwrap();
                    out.push((path, bytes));
                }
            }
        }
    }
    out
}

fn merge(context: &Context) -> Result<()> {
    let options = ConsolidateOptions::new(Mode::Fragments);
    block_on(consolidate(&try_open(context)?, &options, &at(20))).map(drop)
}

fn split(context: &Context) -> Result<()> {
    let options = ConsolidateOptions {
        fragment_bytes_max: 400,
        ..ConsolidateOptions::new(Mode::Fragments)
    };
    block_on(consolidate(&try_open(context)?, &options, &at(21))).map(drop)
}

fn commits(context: &Context) -> Result<()> {
    block_on(consolidate(
        &try_open(context)?,
        &ConsolidateOptions::new(Mode::Commits),
        &at(22),
    ))
    .map(drop)
}

fn sweep(context: &Context) -> Result<()> {
    block_on(vacuum(&try_open(context)?, Mode::Fragments, false, &at(23))).map(drop)
}

fn sweep_commits(context: &Context) -> Result<()> {
    block_on(vacuum(&try_open(context)?, Mode::Commits, false, &at(24))).map(drop)
}

#[test]
fn a_write_is_visible_completely_or_not_at_all() {
    check(&[], |context| {
        let cells = Cells {
            region: None,
            layout: Layout::Unordered,
            columns: sparse::columns(&cells(5)),
        };
        // Each attempt uses a new name, as callers do.
        static TRY: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1 << 32);
        let mut options = at(TRY.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        options.timestamp_ms = 10;
        block_on(try_open(context)?.write(cells, &options)).map(drop)
    });
}

#[test]
fn a_consolidation_that_cannot_write_its_vacuum_file_is_undone() {
    let context = new_array(&sparse::schema(Layout::RowMajor, true, 7));
    sparse::write(&context, 1, &cells(1));
    sparse::write(&context, 2, &cells(2));
    let files = all_files(&context);
    let see = |context: &Context| sparse::read(context, Window::ALL);
    let before = see(&context);
    let mut failed = 0;
    for after_effect in [false, true] {
        for at_call in 0.. {
            let healthy = copy(&context, &files);
            let fault = Fault {
                at_call: Some(at_call),
                after_effect,
                ..Fault::default()
            };
            let faulty = FaultyVfs::new(Arc::clone(&healthy.vfs), fault);
            let done = merge(&Context {
                vfs: Arc::new(faulty.clone()),
                ..healthy.clone()
            });
            let calls = faulty.calls();
            let Some(call) = usize::try_from(at_call).ok().and_then(|n| calls.get(n)) else {
                break;
            };
            // If a commit succeeds but its response is lost, the fragment stays, as for a write.
            if after_effect && call.path.ends_with(".wrt") {
                continue;
            }
            failed += usize::from(done.is_err() && call.path.ends_with(".vac"));
            assert_eq!(see(&healthy), before, "{call:?}: {done:?}");
        }
    }
    assert!(failed >= 2, "writing the vacuum file failed only {failed} times");
}

#[test]
fn acknowledged_files_are_synced_before_the_commit_file() {
    let plain = store();
    let faulty = FaultyVfs::new(Arc::clone(&plain.vfs), Fault::default());
    let context = Context {
        vfs: Arc::new(faulty.clone()),
        ..plain
    };
    let cells = Cells {
        region: None,
        layout: Layout::Unordered,
        columns: sparse::columns(&cells(5)),
    };
    let options = hyperslab::WriteOptions { sync: true, ..at(10) };
    block_on(try_open(&context).unwrap().write(cells, &options)).unwrap();
    let calls = faulty.calls();
    let (syncs, writes) = ("sync", ["put", "create", "append", "finish"]);
    let is_marker = |path: &str| path.ends_with(".wrt");
    let marker = calls.iter().position(|c| is_marker(&c.path)).unwrap();
    let data = calls
        .iter()
        .rposition(|c| writes.contains(&c.method) && !is_marker(&c.path));
    let synced = calls.iter().position(|c| c.method == syncs);
    assert!(data < synced && synced < Some(marker), "{calls:?}");
    let after = &calls[marker + 1..];
    assert!(
        after.iter().any(|c| c.method == syncs && is_marker(&c.path)),
        "{calls:?}"
    );
}

#[test]
fn an_interrupted_consolidation_or_vacuum_changes_no_cells() {
    check(&[], merge_again);
    check(&[], split_again);
    check(&[merge], sweep);
    check(&[split], sweep);
    check(&[commits], sweep_commits);
    check(&[commits, merge], sweep);
    check(&[commits, merge, sweep], commits_again);
}

/// Options with a new name, because the name of a failed attempt must not be reused.
pub(super) fn fresh() -> hyperslab::WriteOptions {
    static TRY: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1 << 40);
    at(TRY.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
}

fn merge_again(context: &Context) -> Result<()> {
    block_on(consolidate(
        &try_open(context)?,
        &ConsolidateOptions::new(Mode::Fragments),
        &fresh(),
    ))
    .map(drop)
}

fn split_again(context: &Context) -> Result<()> {
    let options = ConsolidateOptions {
        fragment_bytes_max: 400,
        ..ConsolidateOptions::new(Mode::Fragments)
    };
    block_on(consolidate(&try_open(context)?, &options, &fresh())).map(drop)
}

fn commits_again(context: &Context) -> Result<()> {
    block_on(consolidate(
        &try_open(context)?,
        &ConsolidateOptions::new(Mode::Commits),
        &fresh(),
    ))
    .map(drop)
}

#[test]
fn a_reader_overtaken_by_a_vacuum_lists_again() {
    let context = store();
    let files = all_files(&context);
    let see = |context: &Context| -> Vec<Cell> { sparse::read(context, Window::ALL) };
    let before = see(&context);
    let overtake: [&[Operation]; 3] = [
        &[merge, sweep],
        &[commits, sweep_commits],
        &[commits, sweep_commits, merge, sweep, commits_again, sweep_commits],
    ];
    for deeds in overtake {
        let mut looked_again = 0;
        for call in 0.. {
            let plain = copy(&context, &files);
            let overtaken = FaultyVfs::new(Arc::clone(&plain.vfs), Fault::default());
            let inner = plain.clone();
            overtaken.before(call, move || deeds.iter().for_each(|deed| deed(&inner).unwrap()));
            let reader = Context {
                vfs: Arc::new(overtaken.clone()),
                ..plain
            };
            let array = try_open(&reader).unwrap();
            let opened = overtaken.calls();
            looked_again += usize::from(opened.iter().filter(|c| c.method == "list").count() > 5);
            if opened.len() as u64 <= call {
                break;
            }
            // An array opened before may be missing files, but its cells never change.
            match block_on(array.read(&hyperslab::Query::default())) {
                Ok(batch) => assert_eq!(sparse::rows(&batch), before, "call {call}"),
                Err(e) => assert!(matches!(e, Error::NotFound { .. }), "call {call}: {e}"),
            }
        }
        assert!(looked_again > 0);
    }
}

#[test]
fn concurrent_maintenance_neither_loses_nor_revives_cells() {
    // A consolidated commits file and an ignore file for it.
    let prepared = store();
    for step in [commits, sweep_commits, merge, sweep] {
        step(&prepared).unwrap();
    }
    let files = all_files(&prepared);
    assert!(files.iter().any(|(path, _)| path.ends_with(".ign")));
    let before = sparse::read(&prepared, Window::ALL);
    for operation in [commits_again, sweep, sweep_commits] {
        for call in 0.. {
            let plain = copy(&prepared, &files);
            let overtaken = FaultyVfs::new(Arc::clone(&plain.vfs), Fault::default());
            let inner = plain.clone();
            overtaken.before(call, move || {
                for step in [commits_again, sweep_commits] {
                    step(&inner).unwrap();
                }
            });
            let mine = Context {
                vfs: Arc::new(overtaken.clone()),
                ..plain.clone()
            };
            operation(&mine).unwrap();
            assert_eq!(sparse::read(&plain, Window::ALL), before, "call {call}");
            if overtaken.calls().len() as u64 <= call {
                break;
            }
        }
    }
}

#[test]
fn deleting_fragments_can_be_interrupted_and_repeated() {
    // There are many intermediate states. Each must be readable, and repeating the operation must reach the final
    // state.
    let context = store();
    let files = all_files(&context);
    let counting = FaultyVfs::new(Arc::clone(&copy(&context, &files).vfs), Fault::default());
    let operation = |context: &Context| {
        let window = Window { start_ms: 2, end_ms: 4 };
        block_on(delete_fragments(&try_open(context)?, window, &fresh())).map(drop)
    };
    operation(&Context {
        vfs: Arc::new(counting.clone()),
        ..context.clone()
    })
    .unwrap();
    for call in 0..counting.calls().len() as u64 {
        let healthy = copy(&context, &files);
        let fault = Fault {
            at_call: Some(call),
            lasting: true,
            ..Fault::default()
        };
        let faulty = Context {
            vfs: Arc::new(FaultyVfs::new(Arc::clone(&healthy.vfs), fault)),
            ..healthy.clone()
        };
        assert!(operation(&faulty).is_err());
        sparse::read(&healthy, Window::ALL);
        operation(&healthy).unwrap();
        assert_eq!(open(&healthy, Window::ALL).fragments().len(), 1);
    }
}

/// Changes the schema concurrently before each call of another change. Either both changes are in the latest schema, or
/// one of the two returns an error.
#[test]
fn no_schema_change_is_lost_silently() {
    let files = MemVfs::new();
    for (path, bytes) in all_files(&store()) {
        files.replace(path, bytes);
    }
    let files = files.files();
    let add = |context: &Context, name: &str, time: u64| {
        let int = Attribute::new(name, Datatype::Int32, CellCount::ONE);
        let change = Evolution {
            add: vec![int],
            ..Evolution::default()
        };
        block_on(evolve(&try_open(context)?, &change, &at(time)))
    };
    let mut met = 0;
    for call in 0.. {
        for (ours, theirs) in [(10, 11), (11, 10)] {
            let memory = copy(&Context::memory(), &files);
            let vfs = FaultyVfs::new(Arc::clone(&memory.vfs), Fault::default());
            let other = memory.clone();
            let (sender, receiver) = std::sync::mpsc::channel();
            vfs.before(call, move || sender.send(add(&other, "theirs", theirs)).unwrap());
            let done = add(
                &Context {
                    vfs: Arc::new(vfs),
                    ..memory.clone()
                },
                "ours",
                ours,
            );
            let Ok(other_done) = receiver.try_recv() else {
                assert!(met > 0 && done.is_ok());
                return;
            };
            let schema = open(&memory, Window::ALL).schema().clone();
            let both = ["ours", "theirs"].iter().all(|name| schema.attribute(name).is_some());
            let complaint = done.err().or(other_done.err()).map(|e| e.to_string());
            assert!(both || complaint.is_some(), "before call {call}");
            met += usize::from(complaint.is_some_and(|c| c.contains("repeat the changes it lacks")));
        }
    }
}

#[test]
fn a_streamed_write_that_fails_leaves_no_files() {
    let made = all_files(&store());
    for call in 0.. {
        let memory = MemVfs::new();
        for (path, bytes) in &made {
            memory.replace(path.clone(), bytes.clone());
        }
        let vfs = FaultyVfs::new(Arc::new(memory.clone()), Fault::default());
        let array = try_open(&Context::new(Arc::new(vfs.clone()))).unwrap();
        vfs.set(Fault {
            at_call: Some(call),
            ..Fault::default()
        });
        let Ok(mut writer) = block_on(array.writer(None, &at(9))) else {
            assert_eq!(memory.files().len(), made.len(), "after call {call}");
            continue;
        };
        let many = (0..6).map(|i| ((i / 3, i % 3), i)).collect();
        let failed = match block_on(writer.push(sparse::columns(&many))) {
            Ok(()) => block_on(writer.finish()).is_err(),
            Err(_) => {
                block_on(writer.abandon());
                true
            }
        };
        if !failed {
            assert!(call > 5, "{call}");
            return;
        }
        // After a failed commit call, it is unknown whether the commit is visible, so its fragment must stay.
        let is_commit = vfs.calls()[call as usize].path.contains("__commits");
        assert!(is_commit || memory.files().len() == made.len(), "after call {call}");
    }
}
