//! Transactions that are aborted at any call of their store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hyperslab::blocking::{block_on, sleep};
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, delete};
use hyperslab::schema::Layout;
use hyperslab::vfs::faulty::{Fault, FaultyVfs};
use hyperslab::vfs::{LocalVfs, VfsExt, conformance};
use hyperslab::{Array, Cells, Context, CreateOptions, Error, Result, Window};

use super::faults::{all_files, copy};
use super::{at, new_array, open, sparse};

type Operation = fn(&Context) -> Result<()>;

/// An array with duplicates: readers see cells twice if a merge is committed without the list of what it replaces.
fn array() -> Context {
    let context = new_array(&sparse::schema(Layout::RowMajor, true, 7));
    for time in 1..4 {
        sparse::write(&context, time, &(0..30).map(|i| ((i / 6, i % 6), i)).collect());
    }
    context
}

fn cells() -> Cells {
    Cells {
        region: None,
        layout: Layout::Unordered,
        columns: sparse::columns(&[((7, 7), 70), ((0, 0), 44)].into()),
    }
}

fn write(context: &Context) -> Result<()> {
    block_on(open(context, Window::ALL).write(cells(), &at(10))).map(drop)
}

/// A writer that is neither finished nor abandoned if a batch fails.
fn write_batches(context: &Context) -> Result<()> {
    let array = open(context, Window::ALL);
    let mut writer = block_on(array.writer(None, &at(10)))?;
    for row in 0..2 {
        let cells = (0..3).map(|i| ((row, i), i)).collect();
        block_on(writer.push(sparse::columns(&cells)))?;
    }
    block_on(writer.finish()).map(drop)
}

fn merge(context: &Context) -> Result<()> {
    let options = ConsolidateOptions::new(Mode::Fragments);
    block_on(consolidate(&open(context, Window::ALL), &options, &at(20))).map(drop)
}

fn split(context: &Context) -> Result<()> {
    let options = ConsolidateOptions {
        fragment_bytes_max: 400,
        ..ConsolidateOptions::new(Mode::Fragments)
    };
    block_on(consolidate(&open(context, Window::ALL), &options, &at(20))).map(drop)
}

fn delete_some(context: &Context) -> Result<()> {
    let condition = "number < 9".parse().unwrap();
    block_on(delete(&open(context, Window::ALL), &condition, &at(20))).map(drop)
}

#[test]
fn an_abort_leaves_a_change_complete_or_nothing_of_it() {
    let base = array();
    let files = all_files(&base);
    let before = sparse::read(&base, Window::ALL);
    for operation in [write, write_batches, merge, split, delete_some] as [Operation; 5] {
        let (mut aborted, mut committed) = (0, 0);
        for call in 0.. {
            let healthy = copy(&base, &files);
            let store = FaultyVfs::new(Arc::clone(&healthy.vfs), Fault::default());
            let (context, transaction) = Context::new(Arc::new(store.clone())).begin();
            let (begin, begun) = std::sync::mpsc::channel();
            let (end, ended) = std::sync::mpsc::channel();
            // The call that it precedes is in progress, so the abort waits for it on another thread.
            store.before(call, move || {
                thread::spawn(move || {
                    begin.send(()).unwrap();
                    end.send(block_on(transaction.abort(sleep(Duration::from_secs(60)))))
                });
                begun.recv().unwrap();
                thread::sleep(Duration::from_millis(2));
            });
            let done = operation(&context);
            if store.calls().len() as u64 <= call {
                break;
            }
            let is_committed = ended.recv().unwrap();
            if is_committed {
                done.unwrap();
                committed += 1;
            } else {
                assert!(matches!(done, Err(Error::Cancelled)), "call {call}: {done:?}");
                assert!(all_files(&healthy) == files, "call {call} left files");
                assert_eq!(sparse::read(&healthy, Window::ALL), before, "call {call}");
                aborted += 1;
            }
            let merges = [merge as Operation, split]
                .iter()
                .any(|m| std::ptr::fn_addr_eq(*m, operation));
            assert_eq!(
                sparse::read(&healthy, Window::ALL) == before,
                merges || !is_committed,
                "call {call}"
            );
        }
        assert!(aborted > 1 && committed > 0, "{aborted} aborted, {committed} committed");
    }
}

#[test]
fn a_commit_whose_answer_was_lost_stays() {
    let base = array();
    for after_effect in [false, true] {
        let healthy = copy(&base, &all_files(&base));
        let store = FaultyVfs::new(Arc::clone(&healthy.vfs), Fault::default());
        let (context, transaction) = Context::new(Arc::new(store.clone())).begin();
        let commit = {
            let dry = FaultyVfs::new(Arc::clone(&copy(&base, &all_files(&base)).vfs), Fault::default());
            write(&Context::new(Arc::new(dry.clone()))).unwrap();
            dry.calls().iter().position(|c| c.path.ends_with(".wrt")).unwrap() as u64
        };
        store.set(Fault {
            at_call: Some(commit),
            after_effect,
            ..Fault::default()
        });
        write(&context).unwrap_err();
        assert!(block_on(transaction.abort(std::future::ready(()))));
        // The data is there in case the commit arrives.
        let fragments = block_on(healthy.vfs.list("a/__fragments")).unwrap();
        assert_eq!(fragments.len(), 4);
        sparse::read(&healthy, Window::ALL);
    }
}

#[test]
fn a_creation_is_visible_when_it_is_published() {
    let store = Context::memory();
    let names = |dir: &str| -> BTreeSet<String> {
        let entries = block_on(store.vfs.list(dir)).unwrap();
        entries.into_iter().map(|e| e.name).collect()
    };
    // The names of markers count only below the new folder.
    let dir = "__group/new";
    for publish in [false, true] {
        let (context, transaction) = store.begin_creation(dir);
        let path = format!("{dir}/a");
        let options = CreateOptions {
            timestamp_ms: 0,
            seed: [0; 32],
            key: None,
        };
        block_on(hyperslab::group::create_group(&context, dir)).unwrap();
        let schema = sparse::schema(Layout::RowMajor, true, 7);
        block_on(Array::create(&context, &path, &schema, &[], &options)).unwrap();
        let open = |context: &Context| block_on(Array::open(context, &path, &Default::default()));
        for time in 1..3 {
            block_on(open(&context).unwrap().write(cells(), &at(time))).unwrap();
        }
        let merged = ConsolidateOptions::new(Mode::Fragments);
        block_on(consolidate(&open(&context).unwrap(), &merged, &at(3))).unwrap();
        assert_eq!(open(&context).unwrap().fragments().len(), 1);
        assert!(!names(dir).contains("__group") && names(dir).contains("a"));
        assert!(!names(&path).contains("__schema") && names(&path).contains("__fragments"));
        assert!(matches!(open(&store), Err(Error::NotFound { .. })));
        if publish {
            block_on(transaction.publish()).unwrap();
            assert_eq!(open(&store).unwrap().fragments().len(), 1);
        }
        let files = all_files(&store).len();
        assert_eq!(block_on(transaction.abort(std::future::ready(()))), publish);
        assert_eq!(all_files(&store).len(), if publish { files } else { 0 });
        assert!(matches!(
            block_on(context.vfs.put("x", Vec::new())),
            Err(Error::Cancelled)
        ));
    }
}

#[test]
fn an_abort_releases_locks_and_unfinished_files() {
    let folder = tempfile::tempdir().unwrap();
    let store = Context::local(folder.path());
    let (context, transaction) = store.begin();
    block_on(context.vfs.create_dir("a")).unwrap();
    let lock = block_on(context.vfs.lock("a", "commits")).unwrap();
    let mut writer = block_on(context.vfs.create("a/file")).unwrap();
    block_on(writer.append("x".into())).unwrap();
    let count = || std::fs::read_dir(folder.path().join("a")).unwrap().count();
    assert_eq!(count(), 2);
    block_on(transaction.abort(std::future::ready(())));
    assert_eq!(count(), 0);
    assert!(matches!(block_on(writer.append("y".into())), Err(Error::Cancelled)));
    assert!(block_on(store.vfs.lock("a", "commits")).unwrap().is_some());
    drop(lock);
}

#[test]
fn the_store_of_a_transaction_is_like_its_own() {
    block_on(conformance::check(&*Context::memory().begin().0.vfs)).unwrap();
    block_on(conformance::check(&*Context::memory().begin_creation("").0.vfs)).unwrap();
    let local = Context::new(Arc::new(LocalVfs::new("/data")));
    let vfs = local.begin().0.vfs;
    assert_eq!(vfs.location("a"), local.vfs.location("a"));
    let capabilities = vfs.capabilities();
    assert!(capabilities.failures_are_final && capabilities.local_reads.is_some() && vfs.location("a").is_some());
}
