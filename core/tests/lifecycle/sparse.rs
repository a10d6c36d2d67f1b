//! Sparse arrays: every version of every cell stays readable at its time, after any consolidation.

use std::collections::BTreeMap;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, delete};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::vfs::VfsExt;
use hyperslab::{Batch, CellCount, Cells, Column, Context, Datatype, Query, Window};
use proptest::prelude::*;

use super::{Chore, at, do_chore, new_array, open};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A cell: coordinates, a number, a text.
type Cell = (i32, i32, i32, String);

#[derive(Debug, Clone)]
enum Step {
    Write(BTreeMap<(i32, i32), i32>),
    /// Deletes the cells whose number is less than this.
    Delete(i32),
    Chore(Chore),
}

pub(super) fn schema(order: Layout, duplicates: bool, capacity: u64) -> Schema {
    let dim = |name| Dimension::new(name, Datatype::Int32, -2_i32, 9_i32, 5_i32);
    let mut text = Attribute::new("text", Datatype::StringAscii, CellCount::Var);
    text.nullable = true;
    let number = Attribute::new("number", Datatype::Int32, CellCount::ONE);
    let mut schema = Schema::new(ArrayType::Sparse, vec![dim("y"), dim("x")], vec![number, text]);
    schema.capacity = capacity;
    schema.allows_duplicates = duplicates;
    schema.cell_order = order;
    if order == Layout::Hilbert {
        schema.dimensions.iter_mut().for_each(|d| d.extent = None);
    }
    schema
}

fn text(number: i32) -> String {
    "ab".repeat(number.unsigned_abs() as usize % 4)
}

pub(super) fn columns(cells: &BTreeMap<(i32, i32), i32>) -> Vec<(String, Column)> {
    let numbers: Vec<i32> = cells.values().copied().collect();
    let y: Vec<i32> = cells.keys().map(|k| k.0).collect();
    let x: Vec<i32> = cells.keys().map(|k| k.1).collect();
    let texts = Column::from_cells(Datatype::StringAscii, numbers.iter().map(|n| text(*n)));
    let validity = numbers.iter().map(|n| u8::from(n % 3 != 0)).collect();
    vec![
        ("y".into(), Column::from_values(Datatype::Int32, &y)),
        ("x".into(), Column::from_values(Datatype::Int32, &x)),
        ("number".into(), Column::from_values(Datatype::Int32, &numbers)),
        ("text".into(), texts.with_validity(validity)),
    ]
}

pub(super) fn write(context: &Context, time: u64, cells: &BTreeMap<(i32, i32), i32>) {
    let cells = Cells {
        region: None,
        layout: Layout::Unordered,
        columns: columns(cells),
    };
    block_on(open(context, Window::ALL).write(cells, &at(time))).unwrap();
}

pub(super) fn read(context: &Context, window: Window) -> Vec<Cell> {
    rows(&block_on(open(context, window).read(&Query::default())).unwrap())
}

/// The cells of a batch, sorted.
pub(super) fn rows(batch: &Batch) -> Vec<Cell> {
    let numbers = |name: &str| batch.column(name).unwrap().values::<i32>().unwrap().into_owned();
    let (y, x, number) = (numbers("y"), numbers("x"), numbers("number"));
    let texts = batch.column("text").unwrap();
    let mut cells: Vec<Cell> = (0..y.len())
        .map(|i| {
            assert_eq!(texts.is_null(i), number[i] % 3 == 0);
            (
                y[i],
                x[i],
                number[i],
                String::from_utf8(texts.cell(i).to_vec()).unwrap(),
            )
        })
        .collect();
    cells.sort();
    cells
}

/// The expected cells, computed naively.
#[derive(Default)]
struct Model {
    writes: Vec<(u64, (i32, i32), i32)>,
    deletes: Vec<(u64, i32)>,
}

impl Model {
    fn read(&self, window: Window, duplicates: bool) -> Vec<Cell> {
        let inside = |t: u64| window.start_ms <= t && t <= window.end_ms;
        let mut cells: Vec<(u64, (i32, i32), i32)> = self.writes.iter().filter(|w| inside(w.0)).copied().collect();
        if !duplicates {
            // In order of time, so that the last write of each cell remains.
            let newest: BTreeMap<(i32, i32), (u64, i32)> = cells.iter().map(|&(t, at, n)| (at, (t, n))).collect();
            cells = newest.into_iter().map(|(at, (t, n))| (t, at, n)).collect();
        }
        let deleted = |t: u64, n: i32| self.deletes.iter().any(|&(d, below)| inside(d) && d >= t && n < below);
        let alive = cells.into_iter().filter(|&(t, _, n)| !deleted(t, n));
        let mut cells: Vec<Cell> = alive.map(|(_, (y, x), n)| (y, x, n, text(n))).collect();
        cells.sort();
        cells
    }
}

pub(super) fn cells() -> impl Strategy<Value = BTreeMap<(i32, i32), i32>> {
    prop::collection::btree_map((-2_i32..10, -2_i32..10), 0_i32..100, 1..40)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => cells().prop_map(Step::Write),
        2 => (0_i32..60).prop_map(Step::Delete),
        2 => any::<bool>().prop_map(|small| Step::Chore(Chore::Fragments { small })),
        1 => Just(Step::Chore(Chore::Vacuum(Mode::Fragments))),
        1 => Just(Step::Chore(Chore::Lists(Mode::Commits))),
        1 => Just(Step::Chore(Chore::Vacuum(Mode::Commits))),
        1 => Just(Step::Chore(Chore::Lists(Mode::FragmentMetadata))),
        1 => Just(Step::Chore(Chore::Vacuum(Mode::FragmentMetadata))),
    ]
}

fn order() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor), Just(Layout::Hilbert)]
}

/// Applies the steps to the array and to the model, at times 1, 2, 3, ….
fn run(context: &Context, steps: &[Step]) -> Model {
    let mut model = Model::default();
    for (time, step) in (1_u64..).zip(steps) {
        match step {
            Step::Write(cells) => {
                write(context, time, cells);
                model.writes.extend(cells.iter().map(|(at, n)| (time, *at, *n)));
            }
            Step::Delete(below) => {
                let condition = format!("number < {below}").parse().unwrap();
                // At the time of the previous step, because a delete also applies to writes of its own time.
                let mut options = at(time);
                options.timestamp_ms -= 1;
                block_on(delete(&open(context, Window::ALL), &condition, &options)).unwrap();
                model.deletes.push((time - 1, *below));
            }
            Step::Chore(chore) => drop(do_chore(context, *chore, time)),
        }
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_time_stays_readable(
        steps in prop::collection::vec(step(), 1..14),
        (order, duplicates, capacity) in (order(), any::<bool>(), 1_u64..12),
    ) {
        let context = new_array(&schema(order, duplicates, capacity));
        let model = run(&context, &steps);
        let last = steps.len() as u64;
        for end_ms in 0..=last {
            let window = Window { start_ms: 0, end_ms };
            prop_assert_eq!(read(&context, window), model.read(window, duplicates), "at {}", end_ms);
        }
        let later = Window { start_ms: last / 2, end_ms: last };
        prop_assert_eq!(read(&context, later), model.read(later, duplicates), "from {}", last / 2);
    }

    /// A purge loses the history, but no current cells.
    #[test]
    fn a_purge_keeps_the_current_cells(
        steps in prop::collection::vec(step(), 1..10),
        (duplicates, capacity) in (any::<bool>(), 1_u64..12),
        more in cells(),
    ) {
        let context = new_array(&schema(Layout::RowMajor, duplicates, capacity));
        let mut model = run(&context, &steps);
        let options = ConsolidateOptions { purge_deleted: true, ..ConsolidateOptions::new(Mode::Fragments) };
        block_on(consolidate(&open(&context, Window::ALL), &options, &at(90))).unwrap();
        prop_assert_eq!(read(&context, Window::ALL), model.read(Window::ALL, duplicates));
        do_chore(&context, Chore::Vacuum(Mode::Fragments), 91);
        write(&context, 100, &more);
        model.writes.extend(more.iter().map(|(at, n)| (100, *at, *n)));
        do_chore(&context, Chore::Fragments { small: false }, 101);
        prop_assert_eq!(read(&context, Window::ALL), model.read(Window::ALL, duplicates));
    }
}

#[test]
fn a_result_that_is_too_large_is_split_but_read_as_one() {
    let context = new_array(&schema(Layout::RowMajor, false, 10));
    let mut model = Model::default();
    for time in 1..8 {
        let cells: BTreeMap<_, _> = (0..100).map(|i| ((i / 10, i % 10), i * time)).collect();
        write(&context, time as u64, &cells);
        model.writes.extend(cells.iter().map(|(at, n)| (time as u64, *at, *n)));
    }
    let options = ConsolidateOptions {
        fragment_bytes_max: 2000,
        ..ConsolidateOptions::new(Mode::Fragments)
    };
    let done = block_on(consolidate(&open(&context, Window::ALL), &options, &at(90))).unwrap();
    assert!(done.written.len() > 2, "{done:?}");
    for end_ms in [3, 7] {
        let window = Window { start_ms: 0, end_ms };
        assert_eq!(read(&context, window), model.read(window, false));
    }
    do_chore(&context, Chore::Vacuum(Mode::Fragments), 91);
    assert_eq!(open(&context, Window::ALL).fragments().len(), done.written.len());
    assert_eq!(read(&context, Window::at(5)), model.read(Window::at(5), false));
}

#[test]
fn a_consolidation_overtaken_by_another_changes_nothing() {
    let context = new_array(&schema(Layout::RowMajor, true, 3));
    for time in 1..3 {
        write(&context, time, &BTreeMap::from([((0, 0), 1), ((5, 5), 2)]));
    }
    let late = open(&context, Window::ALL);
    assert!(do_chore(&context, Chore::Fragments { small: false }, 50));
    let merged = read(&context, Window::ALL);
    let options = ConsolidateOptions::new(Mode::Fragments);
    let error = block_on(consolidate(&late, &options, &at(60))).unwrap_err();
    assert!(error.to_string().contains("by another process"), "{error}");
    assert_eq!(read(&context, Window::ALL), merged);
    assert_eq!(merged.len(), 4, "both writes of each cell are visible exactly once");
    assert_eq!(open(&context, Window::ALL).fragments().len(), 1);
}

/// A fragment whose footer claims 2⁶⁴ - 1 tiles instead of seven.
#[test]
fn a_fragment_without_the_tiles_it_claims_is_not_consolidated() {
    let context = new_array(&schema(Layout::RowMajor, true, 6));
    for time in 1..3 {
        write(&context, time, &(0..41).map(|i| ((i / 9, i % 9), i)).collect());
    }
    let folder = open(&context, Window::ALL).fragments()[0].path.clone();
    let path = format!("{folder}/__fragment_metadata.tdb");
    let mut file = block_on(context.vfs.read_all(&path)).unwrap().to_vec();
    // The number of tiles, and the number of cells in the last tile.
    let counts = [7_u64, 5].map(u64::to_le_bytes).concat();
    let at_counts: Vec<usize> = (0..file.len()).filter(|&i| file[i..].starts_with(&counts)).collect();
    assert_eq!(at_counts.len(), 1);
    file[at_counts[0]..][..8].fill(0xff);
    block_on(context.vfs.remove(&path)).unwrap();
    block_on(context.vfs.put(&path, vec![file.into()])).unwrap();
    let options = ConsolidateOptions::new(Mode::Fragments);
    let error = block_on(consolidate(&open(&context, Window::ALL), &options, &at(50))).unwrap_err();
    assert!(error.to_string().contains(&path), "{error}");
    assert_eq!(error.code(), "Corrupt");
}

#[test]
fn cells_at_positive_and_negative_zero_are_distinct() {
    for order in [Layout::RowMajor, Layout::Hilbert] {
        let x = Dimension::new("x", Datatype::Float64, -1.0, 1.0, 0.5);
        let number = Attribute::new("number", Datatype::Int32, CellCount::ONE);
        let mut schema = Schema::new(ArrayType::Sparse, vec![x], vec![number]);
        (schema.capacity, schema.cell_order) = (2, order);
        let context = new_array(&schema);
        let writes: [&[(f64, i32)]; 3] = [&[(-0.0, 1), (0.0, 2), (-0.5, 3)], &[(0.0, 4), (0.5, 5)], &[(-0.0, 6)]];
        for (i, cells) in (1..).zip(writes) {
            let (x, number): (Vec<f64>, Vec<i32>) = cells.iter().copied().unzip();
            let columns = vec![
                ("x".into(), Column::from_values(Datatype::Float64, &x)),
                ("number".into(), Column::from_values(Datatype::Int32, &number)),
            ];
            let cells = Cells {
                region: None,
                layout: Layout::Unordered,
                columns,
            };
            block_on(open(&context, Window::ALL).write(cells, &at(10 * i))).unwrap();
        }
        let found = || {
            let batch = block_on(open(&context, Window::ALL).read(&Query::default())).unwrap();
            let x = batch.column("x").unwrap().values::<f64>().unwrap().to_vec();
            let numbers = batch.column("number").unwrap().values::<i32>().unwrap().to_vec();
            let mut cells: Vec<(u64, i32)> = x.iter().map(|x| x.to_bits()).zip(numbers).collect();
            cells.sort_unstable();
            cells
        };
        let expected = [(0.0_f64, 4), (0.5, 5), (-0.0, 6), (-0.5, 3)].map(|(x, n)| (x.to_bits(), n));
        assert_eq!(found(), expected, "{order:?}");
        block_on(consolidate(
            &open(&context, Window::ALL),
            &ConsolidateOptions::new(Mode::Fragments),
            &at(50),
        ))
        .unwrap();
        assert_eq!(found(), expected, "{order:?}, consolidated");
    }
}

#[test]
fn a_small_batch_has_as_many_cells_as_fit() {
    let context = new_array(&schema(Layout::RowMajor, false, 100));
    write(&context, 1, &(0..60).map(|i| ((i / 10, i % 10), i)).collect());
    let mut batches = open(&context, Window::ALL).batches(Query {
        fields: Some(vec!["number".into()]),
        batch_bytes: 40,
        ..Query::default()
    });
    for _ in 0..6 {
        assert_eq!(block_on(batches.next()).unwrap().unwrap().cells, 10);
    }
    assert!(block_on(batches.next()).unwrap().is_none());
}
