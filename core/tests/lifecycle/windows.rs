//! Consolidation in a window of time that may cut through earlier consolidations, and late writes. The visible cells
//! stay the same.

use std::collections::BTreeMap;

use hyperslab::blocking::block_on;
use hyperslab::internals::filter::Nonces;
use hyperslab::internals::format::generic_tile;
use hyperslab::maintain::{ConsolidateOptions, Mode, Steps, consolidate, vacuum};
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::schema::{Layout, Schema};
use hyperslab::vfs::VfsExt;
use hyperslab::{Context, Datatype, Window};
use proptest::prelude::*;

use super::{at, dense, new_array, open, sparse};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Times of writes and of window ends.
const TIMES: std::ops::Range<u64> = 10..40;

#[derive(Debug, Clone)]
enum Step<W> {
    /// A write at an unused time.
    Write(u64, W),
    /// Consolidates the window, all at once or in pairs.
    Merge {
        from: u64,
        to: u64,
        pairs: bool,
    },
    Vacuum,
}

fn steps<W: std::fmt::Debug + Clone>(write: impl Strategy<Value = W>) -> impl Strategy<Value = Vec<Step<W>>> {
    let merge = (0..50_u64, 0..50_u64, any::<bool>());
    let step = prop_oneof![
        5 => (TIMES, write).prop_map(|(time, write)| Step::Write(time, write)),
        3 => merge.prop_map(|(a, b, pairs)| Step::Merge { from: a.min(b), to: a.max(b), pairs }),
        1 => Just(Step::Vacuum),
    ];
    prop::collection::vec(step, 1..16)
}

/// Consolidates or vacuums.
fn do_chore<W>(context: &Context, step: &Step<W>, mode: Mode, tick: u64) {
    if let Step::Merge { from, to, pairs } = *step {
        let mut options = ConsolidateOptions::new(mode);
        options.steps.amplification = 1e9;
        if pairs {
            options.steps = Steps {
                count: 3,
                fragments_min: 2,
                fragments_max: 2,
                ..options.steps
            };
        }
        let window = Window {
            start_ms: from,
            end_ms: to,
        };
        block_on(consolidate(&open(context, window), &options, &at(tick))).unwrap();
    } else {
        block_on(vacuum(&open(context, Window::ALL), mode, false, &at(tick))).unwrap();
    }
}

/// The payload of this schema of two attributes in version 14, which has no data order, no enumerations, no labels and
/// no current domain.
fn as_of_version_14(schema: &Schema) -> Vec<u8> {
    let mut bytes = schema.encode();
    bytes[0] = 14;
    let behind_attributes = 4 + 4 + 5;
    bytes.truncate(bytes.len() - behind_attributes - 5);
    let second = bytes.windows(8).position(|w| w == b"\x04\0\0\0text").unwrap();
    bytes.drain(second - 5..second);
    let decoded = Schema::decode(&bytes).unwrap();
    let names = |schema: &Schema| schema.attributes.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
    assert_eq!((decoded.version.number(), names(&decoded)), (14, names(schema)));
    bytes
}

/// The time of the newest consolidated write. Later writes with an earlier timestamp may be hidden, unless cells have
/// timestamps; see the guarantees.
fn merged_until(context: &Context) -> u64 {
    let array = open(context, Window::ALL);
    let merged = array.fragments().iter().filter(|f| f.start_ms < f.end_ms);
    merged.map(|f| f.end_ms).max().unwrap_or(0)
}

/// The times to check: all of them before a vacuum, only the end after it.
fn moments<W>(done: &[Step<W>]) -> Vec<u64> {
    let vacuumed = done.iter().any(|s| matches!(s, Step::Vacuum));
    let past = TIMES.filter(|_| !vacuumed);
    past.chain([u64::MAX]).collect()
}

/// The result of the writes up to a time, newer cells replacing older ones.
fn until<K: Ord + Clone, V: Clone>(written: &BTreeMap<u64, BTreeMap<K, V>>, moment: u64) -> BTreeMap<K, V> {
    written.range(..=moment).flat_map(|(_, cells)| cells.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn boxes_stay_the_same_after_consolidating_any_windows(
        steps in steps(((0_i32..7, 0_i32..7), (0_i32..9, 0_i32..9))),
    ) {
        let context = new_array(&dense::schema(Layout::RowMajor, Layout::RowMajor));
        let mut written = BTreeMap::new();
        for (i, step) in steps.iter().enumerate() {
            match step {
                Step::Write(time, _) if written.contains_key(time) || *time < merged_until(&context) => {}
                Step::Write(time, (rows, columns)) => {
                    let [rows, columns] = [rows, columns].map(|&(a, b)| (a.min(b), a.max(b)));
                    dense::write(&context, *time, rows, columns, false);
                    written.insert(*time, (rows, columns));
                }
                chore => do_chore(&context, chore, Mode::Fragments, 100 + i as u64),
            }
            for moment in moments(&steps[..=i]) {
                let mut model = dense::empty();
                for (time, (rows, columns)) in written.range(..=moment) {
                    dense::paint(&mut model, *time, *rows, *columns);
                }
                prop_assert_eq!(dense::compare(&context, Window::at(moment), &model), Ok(()));
            }
        }
    }

    /// Cells have timestamps since version 15.
    #[test]
    fn cells_stay_the_same_after_consolidating_any_windows(
        steps in steps(sparse::cells()),
        (timed, duplicates) in (any::<bool>(), any::<bool>()),
    ) {
        let schema = sparse::schema(Layout::RowMajor, duplicates, 3);
        let context = new_array(&schema);
        if !timed {
            let mut files = block_on(context.vfs.list("a/__schema")).unwrap().into_iter();
            let path = format!("a/__schema/{}", files.find(|e| e.name.starts_with("__0_")).unwrap().name);
            block_on(context.vfs.remove(&path)).unwrap();
            let bytes = generic_tile::encode(&as_of_version_14(&schema), None, &Nonces::none()).unwrap();
            block_on(context.vfs.put(&path, vec![bytes.into()])).unwrap();
        }
        // A new context, because schemas are cached.
        let context = Context::new(context.vfs.clone());

        let mut written = BTreeMap::new();
        for (i, step) in steps.iter().enumerate() {
            match step {
                Step::Write(time, _) if written.contains_key(time) => {}
                Step::Write(time, _) if !timed && *time < merged_until(&context) => {}
                Step::Write(time, cells) => {
                    sparse::write(&context, *time, cells);
                    let array = open(&context, Window::ALL);
                    prop_assert!(array.fragments().iter().all(|f| f.version.has_delete_metadata() == timed));
                    // Duplicates of a cell are distinguished by their time.
                    let key = |at: &(i32, i32)| (*at, if duplicates { *time } else { 0 });
                    written.insert(*time, cells.iter().map(|(at, n)| (key(at), *n)).collect::<BTreeMap<_, _>>());
                }
                chore => do_chore(&context, chore, Mode::Fragments, 100 + i as u64),
            }
            for moment in moments(&steps[..=i]) {
                let mut wanted: Vec<_> = until(&written, moment).into_iter().map(|((at, _), n)| (at.0, at.1, n)).collect();
                wanted.sort_unstable();
                let found = sparse::read(&context, Window::at(moment)).into_iter().map(|c| (c.0, c.1, c.2));
                prop_assert_eq!(found.collect::<Vec<_>>(), wanted, "at {}", moment);
            }
        }
    }

    #[test]
    fn metadata_stays_the_same_after_consolidating_any_windows(
        steps in steps(prop::collection::btree_map(0_u8..4, prop::option::of(any::<u8>()), 1..4)),
    ) {
        let context = new_array(&dense::schema(Layout::RowMajor, Layout::RowMajor));
        let value = |v: u8| MetaValue::bytes(Datatype::Uint8, &[v]);
        let (mut written, mut merged) = (BTreeMap::new(), 0);
        for (i, step) in steps.iter().enumerate() {
            match step {
                Step::Write(time, _) if written.contains_key(time) || *time < merged => {}
                Step::Write(time, values) => {
                    let entry = |(key, v): (&u8, &Option<u8>)| Entry { key: key.to_string(), value: v.map(value) };
                    let entries: Vec<Entry> = values.iter().map(entry).collect();
                    block_on(open(&context, Window::ALL).write_metadata(&entries, &at(*time))).unwrap();
                    written.insert(*time, values.clone());
                }
                chore => {
                    do_chore(&context, chore, Mode::ArrayMetadata, 100 + i as u64);
                    if let Step::Merge { to, .. } = chore {
                        merged = merged.max(*to);
                    }
                }
            }
            for moment in moments(&steps[..=i]) {
                let wanted = until(&written, moment).into_iter();
                let wanted: BTreeMap<_, _> = wanted.filter_map(|(k, v)| Some((k.to_string(), value(v?)))).collect();
                prop_assert_eq!(block_on(open(&context, Window::at(moment)).metadata()).unwrap(), wanted);
            }
        }
    }
}

/// Fragments that a consolidation must not move below or above others, each found by a failing test.
#[test]
fn fragments_across_the_ends_of_the_window_stay_in_order() {
    // Boxes of columns with the times of their writes. Each consolidation is in a window.
    let whole = (0, 8);
    let life = |steps: &[(u64, (i32, i32))], merged: (u64, u64), later: &[(u64, (i32, i32))], window: (u64, u64)| {
        let context = new_array(&dense::schema(Layout::RowMajor, Layout::RowMajor));
        let mut model = dense::empty();
        let merge = |window: (u64, u64), tick| {
            let step: Step<()> = Step::Merge {
                from: window.0,
                to: window.1,
                pairs: false,
            };
            do_chore(&context, &step, Mode::Fragments, tick);
        };
        let write = |steps: &[(u64, (i32, i32))]| {
            for &(time, columns) in steps {
                dense::write(&context, time, (0, 6), columns, false);
            }
        };
        write(steps);
        merge(merged, 100);
        do_chore(&context, &Step::<()>::Vacuum, Mode::Fragments, 101);
        assert_eq!(open(&context, Window::ALL).fragments().len(), 1);
        write(later);
        merge(window, 102);
        let all: BTreeMap<_, _> = steps.iter().chain(later).copied().collect();
        for (time, columns) in all {
            dense::paint(&mut model, time, (0, 6), columns);
        }
        assert_eq!(dense::compare(&context, Window::ALL, &model), Ok(()), "{window:?}");
        open(&context, Window::ALL).fragments().len()
    };
    // A fragment starts before the window and ends in it: three fragments stay.
    let before = [(10, whole), (30, (4, 5))];
    let later = [(40, (0, 2)), (50, (7, 8))];
    assert_eq!(life(&before, (10, 30), &later, (20, 50)), 3);
    assert_eq!(life(&before, (10, 30), &later, (10, 50)), 1);
    // A fragment starts in the window and ends after it.
    let late = [(30, (0, 2)), (50, (7, 8))];
    assert_eq!(life(&[(25, whole), (60, (4, 5))], (25, 60), &late, (20, 50)), 3);
    // A fragment ends after the window, between two late writes.
    assert_eq!(
        life(
            &[(40, whole), (60, (4, 5))],
            (40, 60),
            &[(30, (0, 3)), (45, (0, 3))],
            (0, 50)
        ),
        3
    );
}

/// A consolidated metadata file may be between two files of a window and above the first of them.
#[test]
fn consolidation_keeps_the_order_of_metadata_in_between() {
    let context = new_array(&dense::schema(Layout::RowMajor, Layout::RowMajor));
    let set = |time: u64, value: u8| {
        let value = Some(MetaValue::bytes(Datatype::Uint8, &[value]));
        let entry = Entry {
            key: "key".into(),
            value,
        };
        block_on(open(&context, Window::ALL).write_metadata(&[entry], &at(time))).unwrap();
    };
    let merge = |from, to, tick| {
        let pairs = false;
        do_chore(
            &context,
            &Step::<()>::Merge { from, to, pairs },
            Mode::ArrayMetadata,
            tick,
        );
        do_chore(&context, &Step::<()>::Vacuum, Mode::ArrayMetadata, tick);
    };
    let seen = || {
        block_on(open(&context, Window::ALL).metadata()).unwrap()["key"]
            .data
            .clone()
    };
    set(20, 1);
    set(50, 2);
    merge(20, 50, 100);
    set(10, 3);
    set(30, 4);
    assert_eq!(seen(), [4]);
    merge(0, 40, 101);
    assert_eq!(seen(), [4]);
}
