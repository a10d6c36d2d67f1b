//! Runs one maintenance operation before each call of another one, which may then crash. Readers always see the same
//! cells, and no list names missing fragments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::internals::format::commits::{decode_consolidated, decode_lines, folder_of};
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, vacuum};
use hyperslab::schema::Layout;
use hyperslab::vfs::VfsExt;
use hyperslab::vfs::faulty::{Fault, FaultyVfs};
use hyperslab::{Array, Context, Error, OpenOptions, Result, Window};

use super::faults::{all_files, copy, fresh};
use super::sparse::{read, schema, write};
use super::{new_array, open};

type Operation = fn(&Context) -> Result<()>;

fn maintain(context: &Context, mode: Mode) -> Result<()> {
    let array = block_on(Array::open(context, "a", &OpenOptions::default()))?;
    block_on(consolidate(&array, &ConsolidateOptions::new(mode), &fresh())).map(drop)
}

fn sweep_of(context: &Context, mode: Mode) -> Result<()> {
    let array = block_on(Array::open(context, "a", &OpenOptions::default()))?;
    block_on(vacuum(&array, mode, false, &fresh())).map(drop)
}

fn merge(context: &Context) -> Result<()> {
    maintain(context, Mode::Fragments)
}

fn commits(context: &Context) -> Result<()> {
    maintain(context, Mode::Commits)
}

fn sweep(context: &Context) -> Result<()> {
    sweep_of(context, Mode::Fragments)
}

fn sweep_commits(context: &Context) -> Result<()> {
    sweep_of(context, Mode::Commits)
}

/// An array of `writes` fragments of two cells each.
fn array(writes: i32, duplicates: bool) -> Context {
    let context = new_array(&schema(Layout::RowMajor, duplicates, 3));
    for i in 1..=writes {
        write(&context, i as u64, &BTreeMap::from([((0, 0), i), ((5, i), 10 * i)]));
    }
    context
}

/// The fragments that a consolidated commits file lists although their folders are missing. libtiledb cannot open such
/// an array.
fn dangling(context: &Context) -> Vec<String> {
    let files = all_files(context);
    let below = |path: &str| path.strip_prefix("a/").unwrap().to_owned();
    let ending = |suffix: &'static str| files.iter().filter(move |(path, _)| path.ends_with(suffix));
    let ignored: BTreeSet<String> = ending(".ign")
        .flat_map(|(_, bytes)| decode_lines(bytes).unwrap())
        .collect();
    let listed = ending(".con").flat_map(|(_, bytes)| decode_consolidated(bytes).unwrap());
    let listed = listed
        .map(|commit| commit.path.into_owned())
        .filter(|path| !ignored.contains(path));
    let gone = |path: &String| {
        let Some(folder) = folder_of(path) else { return false };
        !files
            .iter()
            .any(|(file, _)| below(file).starts_with(&format!("{folder}/")))
    };
    listed.filter(gone).collect()
}

/// Runs `ours`, and all of `theirs` just before call number `met` of `ours`. With `death`, `ours` crashes before that
/// call. Returns the result and the number of calls.
fn interleaved(
    context: &Context,
    ours: Operation,
    theirs: Operation,
    met: u64,
    death: Option<u64>,
) -> (Result<()>, u64) {
    let fault = Fault {
        at_call: death,
        lasting: true,
        ..Fault::default()
    };
    let store = FaultyVfs::new(Arc::clone(&context.vfs), fault);
    let inner = context.clone();
    store.before(met, move || theirs(&inner).unwrap());
    let done = ours(&Context {
        vfs: Arc::new(store.clone()),
        ..context.clone()
    });
    (done, store.calls().len() as u64)
}

const PAIRS: [(Operation, Operation); 6] = [
    (commits, sweep),
    (sweep, commits),
    (sweep_commits, commits),
    (commits, sweep_commits),
    (sweep, sweep_commits),
    (sweep_commits, sweep),
];

/// Arrays with replaced fragments: with commit files, with a consolidated commits file, and with an ignore file too.
fn prepared() -> [Context; 3] {
    let lives: [&[Operation]; 3] = [&[merge], &[commits, merge], &[commits, merge, sweep]];
    lives.map(|life| {
        let context = array(3, true);
        life.iter().for_each(|step| step(&context).unwrap());
        context
    })
}

#[test]
fn no_list_names_fragments_that_a_concurrent_vacuum_removes() {
    for context in prepared() {
        let (files, before) = (all_files(&context), read(&context, Window::ALL));
        for (ours, theirs) in PAIRS {
            for met in 0.. {
                let context = copy(&context, &files);
                let (done, calls) = interleaved(&context, ours, theirs, met, None);
                done.unwrap();
                assert_eq!(dangling(&context), [""; 0], "before call {met}");
                assert_eq!(read(&context, Window::ALL), before, "before call {met}");
                if calls <= met {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_crash_during_a_vacuum_leaves_an_array_that_opens_and_can_be_repaired() {
    let mut repaired = 0;
    for context in &prepared()[..2] {
        let (files, before) = (all_files(context), read(context, Window::ALL));
        for &(ours, theirs) in &PAIRS[..2] {
            for met in 0.. {
                let context = context.clone();
                let calls = interleaved(&copy(&context, &files), ours, theirs, met, None).1;
                for death in met..calls {
                    let context = copy(&context, &files);
                    drop(interleaved(&context, ours, theirs, met, Some(death)));
                    assert_eq!(read(&context, Window::ALL), before, "call {met}, death at {death}");
                    let left = dangling(&context);
                    let errors = block_on(Array::open_to_verify(&context, "a", &OpenOptions::default()))
                        .unwrap()
                        .1;
                    assert_eq!(errors.len(), left.len(), "{errors:?}");
                    if left.is_empty() {
                        continue;
                    }
                    repaired += 1;
                    assert!(
                        errors
                            .iter()
                            .all(|e| e.to_string().contains("run `hyperslab vacuum` to repair"))
                    );
                    for repair in [sweep, sweep_commits, commits] {
                        let context = copy(&context, &all_files(&context));
                        repair(&context).unwrap();
                        assert_eq!(dangling(&context), [""; 0], "call {met}, death at {death}");
                        assert_eq!(read(&context, Window::ALL), before, "call {met}, death at {death}");
                    }
                }
                if calls <= met {
                    break;
                }
            }
        }
    }
    assert!(repaired > 0, "no crash between writing the list and correcting it");
}

#[test]
fn a_lost_fragment_is_not_mistaken_for_a_vacuumed_one() {
    let context = array(3, true);
    for step in [commits, sweep_commits] {
        step(&context).unwrap();
    }
    let lost = open(&context, Window::ALL).fragments()[1].path.clone();
    block_on(context.vfs.remove_dir(&lost)).unwrap();
    let error = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap_err();
    assert!(
        matches!(&error, Error::NotFound { path, .. } if path.starts_with(&lost)),
        "{error}"
    );
}

/// The second consolidation completes before the first commits, or starts after its list is written. If it starts in
/// between, cells may be duplicated in stores without locks.
#[test]
fn at_most_one_of_two_concurrent_consolidations_stays() {
    let context = array(3, true);
    let (files, before) = (all_files(&context), read(&context, Window::ALL));
    let alone = FaultyVfs::new(Arc::clone(&copy(&context, &files).vfs), Fault::default());
    merge(&Context::new(Arc::new(alone.clone()))).unwrap();
    let calls = alone.calls();
    let put = |suffix: &str| {
        calls
            .iter()
            .position(|c| c.method == "put" && c.path.ends_with(suffix))
            .unwrap()
    };
    let (commit, list) = (put(".wrt"), put(".vac"));
    let mut given_up = 0;
    for met in (0..calls.len()).filter(|met| !(commit + 1..=list).contains(met)) {
        let context = copy(&context, &files);
        let done = interleaved(&context, merge, merge, met as u64, None).0;
        if let Err(e) = done {
            assert!(
                e.to_string().contains("this merge was abandoned"),
                "before call {met}: {e}"
            );
            given_up += 1;
        }
        assert_eq!(read(&context, Window::ALL), before, "before call {met}");
        sweep(&context).unwrap();
        assert_eq!(read(&context, Window::ALL), before, "before call {met}");
    }
    assert!(given_up > 2);
}

/// On a disk, the next consolidation finishes what a crashed process left behind.
#[test]
fn a_consolidation_that_crashes_before_its_list_is_finished_by_the_next() {
    let made = array(3, true);
    let (files, before) = (all_files(&made), read(&made, Window::ALL));
    let mut doubled = 0;
    for death in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let context = Context::local(dir.path()).with_cache_bytes(0);
        for (path, bytes) in &files {
            block_on(context.vfs.put(path, vec![bytes.clone()])).unwrap();
        }
        let fault = Fault {
            at_call: Some(death),
            lasting: true,
            ..Fault::default()
        };
        let store = FaultyVfs::new(Arc::clone(&context.vfs), fault);
        let faulty = Context {
            vfs: Arc::new(store.clone()),
            ..context.clone()
        };
        let done = merge(&faulty);
        doubled += usize::from(read(&context, Window::ALL).len() > before.len());
        for step in [merge, sweep] {
            step(&context).unwrap();
            assert_eq!(
                read(&context, Window::ALL),
                before,
                "death at {death}: {:?}",
                store.calls().last()
            );
        }
        let left = std::fs::read_dir(dir.path().join("a")).unwrap();
        let hidden = left.filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
        assert_eq!(hidden.count(), 0, "death at {death}");
        if done.is_ok() && store.calls().len() as u64 <= death {
            break;
        }
    }
    assert!(doubled > 0);
}

/// On a disk, consolidations take turns, however many there are.
#[test]
fn concurrent_consolidations_consolidate_once() {
    let dir = tempfile::tempdir().unwrap();
    for (path, bytes) in all_files(&array(3, true)) {
        block_on(Context::local(dir.path()).vfs.put(&path, vec![bytes])).unwrap();
    }
    let context = || Context::local(dir.path()).with_cache_bytes(0);
    let before = read(&context(), Window::ALL);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    merge(&context()).unwrap();
                    sweep(&context()).unwrap();
                    commits(&context()).unwrap();
                    sweep_commits(&context()).unwrap();
                }
            });
        }
    });
    assert_eq!(read(&context(), Window::ALL), before);
    assert_eq!(dangling(&context()), [""; 0]);
    assert_eq!(open(&context(), Window::ALL).fragments().len(), 1);
}
