//! Compares reads of a store in memory with a naive model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod damage;
mod edges;
#[cfg(not(target_family = "wasm"))]
mod faults;
#[cfg(not(target_family = "wasm"))]
mod large;
mod second;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, vacuum};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::{
    Array, Batch, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Region, ScalarRange,
    Window, WriteOptions,
};
use proptest::prelude::*;
use proptest::sample::Index;
use second::Second;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The contents of a cell: a number, a text, and a nullable number.
type Cell = (i32, Vec<u8>, Option<i16>);

const FILL: i32 = i32::MIN;

fn attributes() -> Vec<Attribute> {
    let mut nullable = Attribute::new("n", Datatype::Int16, CellCount::ONE);
    nullable.nullable = true;
    vec![
        Attribute::new("i", Datatype::Int32, CellCount::ONE),
        Attribute::new("s", Datatype::StringUtf8, CellCount::Var),
        nullable,
    ]
}

fn columns(cells: &[Cell]) -> Vec<(String, Column)> {
    let i = Column::from_values(Datatype::Int32, &cells.iter().map(|c| c.0).collect::<Vec<_>>());
    let s = Column::from_cells(Datatype::StringUtf8, cells.iter().map(|c| &c.1));
    let n = Column::from_values(
        Datatype::Int16,
        &cells.iter().map(|c| c.2.unwrap_or(7)).collect::<Vec<_>>(),
    );
    let n = n.with_validity(cells.iter().map(|c| u8::from(c.2.is_some())).collect());
    vec![("i".into(), i), ("s".into(), s), ("n".into(), n)]
}

fn cells_of(batch: &Batch) -> Vec<Cell> {
    let [i, s, n] = ["i", "s", "n"].map(|name| batch.column(name).unwrap());
    let (i_values, n_values) = (i.values::<i32>().unwrap(), n.values::<i16>().unwrap());
    let cell = |k: usize| (i_values[k], s.cell(k).to_vec(), (!n.is_null(k)).then_some(n_values[k]));
    (0..batch.cells as usize).map(cell).collect()
}

fn new_array(schema: &Schema) -> Context {
    let context = Context::memory();
    block_on(Array::create(
        &context,
        "a",
        schema,
        &[],
        &CreateOptions {
            timestamp_ms: 1,
            seed: [1; 32],
            key: None,
        },
    ))
    .unwrap();
    context
}

fn open(context: &Context, window: Window) -> Array {
    block_on(Array::open(context, "a", &OpenOptions { window, key: None })).unwrap()
}

fn write(context: &Context, time: u64, cells: Cells) {
    let array = open(context, Window::ALL);
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&time.to_be_bytes());
    block_on(array.write(
        cells,
        &WriteOptions {
            timestamp_ms: time,
            seed,
            sync: false,
        },
    ))
    .unwrap();
}

/// Consolidates the fragments into one with cell timestamps, and vacuums.
fn merge(context: &Context) {
    let options = ConsolidateOptions::new(Mode::Fragments);
    let write = WriteOptions {
        timestamp_ms: 9,
        seed: [9; 32],
        sync: false,
    };
    block_on(consolidate(&open(context, Window::ALL), &options, &write)).unwrap();
    block_on(vacuum(&open(context, Window::ALL), Mode::Fragments, false, &write)).unwrap();
}

/// Reads everything at once and in batches, and checks that the results are equal.
fn read(array: &Array, query: &Query) -> Batch {
    let whole = block_on(array.read(query)).unwrap();
    let mut batches = array.batches(query.clone());
    let (mut cells, mut coordinates) = (Vec::new(), Vec::new());
    while let Some(batch) = block_on(batches.next()).unwrap() {
        cells.extend(cells_of(&batch));
        coordinates.extend(batch.column("x").map(|c| c.data.clone()).unwrap_or_default());
    }
    assert_eq!(cells, cells_of(&whole));
    assert_eq!(
        coordinates,
        whole.column("x").map(|c| c.data.clone()).unwrap_or_default()
    );
    assert_eq!(block_on(array.count(query)).unwrap(), whole.cells);
    whole
}

/// A dimension: start, number of cells, extent.
type Axis = (i32, i32, i32);

fn axes() -> impl Strategy<Value = Vec<Axis>> {
    prop::collection::vec((-5_i32..5, 1_i32..9, 1_i32..6), 1..4)
}

/// Picks a closed range of an axis.
fn range(axis: Axis, a: Index, b: Index) -> (i32, i32) {
    let (x, y) = (
        axis.0 + a.index(axis.1 as usize) as i32,
        axis.0 + b.index(axis.1 as usize) as i32,
    );
    (x.min(y), x.max(y))
}

fn dense_schema(axes: &[Axis], tile_order: Layout, cell_order: Layout) -> Schema {
    let names = ["x", "y", "z"];
    let dim = |(d, &(lo, n, extent)): (usize, &Axis)| {
        Dimension::new(names[d], Datatype::Int32, lo, lo + n - 1, extent.min(n))
    };
    let mut schema = Schema::new(
        ArrayType::Dense,
        axes.iter().enumerate().map(dim).collect(),
        attributes(),
    );
    (schema.tile_order, schema.cell_order) = (tile_order, cell_order);
    schema
}

/// All points of the product of these coordinates, with the last or the first dimension varying fastest.
fn product(along: &[Vec<i32>], row_major: bool) -> Vec<Vec<i32>> {
    let mut out = vec![Vec::new()];
    if row_major {
        for values in along {
            out = out
                .iter()
                .flat_map(|p| values.iter().map(move |v| [p.as_slice(), &[*v]].concat()))
                .collect();
        }
    } else {
        for values in along.iter().rev() {
            out = out
                .iter()
                .flat_map(|p| values.iter().map(move |v| [&[*v], p.as_slice()].concat()))
                .collect();
        }
    }
    out
}

/// Lists of pairs, with these numbers of lists and of pairs per list.
fn picks(lists: Range<usize>, pairs: Range<usize>) -> impl Strategy<Value = Picks> {
    prop::collection::vec(prop::collection::vec(any::<(Index, Index)>(), pairs), lists)
}

fn major() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor)]
}

/// Coordinates of sparse cells.
fn points(count: Range<usize>) -> impl Strategy<Value = BTreeSet<(i32, i64)>> {
    prop::collection::btree_set((-9_i32..9, 0_i64..12), count)
}

/// The time that was passed to [`cell`].
fn written_at(cell: &Cell) -> i32 {
    cell.0 % 10
}

fn cell(k: usize, time: u64) -> Cell {
    let k = k as i32;
    let text = "abcdefg".repeat(2).as_bytes()[..(k as usize * 3 + time as usize) % 9].to_vec();
    (k * 10 + time as i32, text, (k % 3 != 0).then_some(k as i16))
}

/// Pairs that are made into ranges: a list for each write or for each dimension.
type Picks = Vec<Vec<(Index, Index)>>;

fn check_dense(
    axes: &[Axis],
    [tile_order, cell_order, write_order]: [Layout; 3],
    (writes, ranges): (&Picks, &Picks),
    end: u64,
    batch_bytes: u64,
) {
    let schema = dense_schema(axes, tile_order, cell_order);
    let context = new_array(&schema);
    let mut model: BTreeMap<Vec<i32>, Cell> = BTreeMap::new();
    for (time, picks) in (1..).zip(writes) {
        let region: Vec<(i32, i32)> = axes
            .iter()
            .zip(picks)
            .map(|(axis, (a, b))| range(*axis, *a, *b))
            .collect();
        let along: Vec<Vec<i32>> = region.iter().map(|r| (r.0..=r.1).collect()).collect();
        let points = product(&along, write_order == Layout::RowMajor);
        let cells: Vec<Cell> = (0..points.len()).map(|k| cell(k, time)).collect();
        if time <= end {
            model.extend(points.into_iter().zip(cells.iter().cloned()));
        }
        let region = region.iter().map(|r| ScalarRange::new(r.0, r.1)).collect();
        write(
            &context,
            time,
            Cells {
                region: Some(region),
                layout: write_order,
                columns: columns(&cells),
            },
        );
    }
    let array = open(&context, Window::at(end));
    let picked: Vec<Vec<(i32, i32)>> = axes
        .iter()
        .zip(ranges)
        .map(|(axis, list)| list.iter().map(|(a, b)| range(*axis, *a, *b)).collect())
        .collect();
    for order in [Layout::RowMajor, Layout::ColMajor, Layout::Global] {
        let mut picked = picked.clone();
        if order == Layout::Global {
            picked.iter_mut().for_each(|list| list.truncate(1));
        }
        let along: Vec<Vec<i32>> = picked
            .iter()
            .zip(axes)
            .map(|(list, axis)| {
                let whole = [(axis.0, axis.0 + axis.1 - 1)];
                let list = if list.is_empty() { &whole[..] } else { list };
                list.iter().flat_map(|r| r.0..=r.1).collect()
            })
            .collect();
        let mut points = product(&along, order == Layout::RowMajor);
        if order == Layout::Global {
            let place = |p: &Vec<i32>| {
                let tile: Vec<i32> = p.iter().zip(axes).map(|(v, a)| (v - a.0) / a.2.min(a.1)).collect();
                let sorted = |v: &[i32], o: Layout| {
                    if o == Layout::RowMajor {
                        v.to_vec()
                    } else {
                        v.iter().rev().copied().collect()
                    }
                };
                (sorted(&tile, tile_order), sorted(p, cell_order))
            };
            points.sort_by_key(place);
        }
        let expect: Vec<Cell> = points
            .iter()
            .map(|p| model.get(p).cloned().unwrap_or((FILL, vec![0], None)))
            .collect();
        let region = Region(
            picked
                .iter()
                .map(|list| list.iter().map(|r| ScalarRange::new(r.0, r.1)).collect())
                .collect(),
        );
        let fields = Some(vec!["x".into(), "i".into(), "s".into(), "n".into()]);
        let query = Query {
            fields,
            region,
            order,
            batch_bytes,
            ..Query::default()
        };
        let batch = read(&array, &query);
        assert_eq!(cells_of(&batch), expect);
        let x: Vec<i32> = points.iter().map(|p| p[0]).collect();
        assert_eq!(&*batch.column("x").unwrap().values::<i32>().unwrap(), &x[..]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// More short runs of cells than are tracked one by one.
    #[test]
    fn dense_reads_of_many_short_runs_return_the_newest_cells(
        axes in prop::collection::vec((-5_i32..5, 14_i32..24, 1_i32..9), 3), orders in [major(), major(), major()],
        writes in picks(0..5, 3..4), ranges in picks(3..4, 0..3), end in 1_u64..7,
    ) {
        check_dense(&axes, orders, (&writes, &ranges), end, 1 << 20);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dense_reads_return_the_newest_cells_in_the_requested_order(
        axes in axes(), orders in [major(), major(), major()], writes in picks(0..5, 3..4), ranges in picks(3..4, 0..4),
        end in 1_u64..7, batch_bytes in prop_oneof![Just(1_u64), 20..3000_u64],
    ) {
        check_dense(&axes, orders, (&writes, &ranges), end, batch_bytes);
    }

    #[test]
    fn sparse_reads_return_the_newest_cells_in_the_requested_order(
        extents in (1_i32..30, 1_i64..30), second in Second::any(), tile_order in major(), cell_order in prop_oneof![major(), Just(Layout::Hilbert)],
        duplicates in any::<bool>(), capacity in 1_u64..9,
        writes in prop::collection::vec(prop_oneof![points(0..4), points(0..40), points(60..120)], 0..5),
        merged in any::<bool>(),
        x in prop::collection::vec((-9_i32..9, 0_i32..6), 0..3), y in prop::collection::vec((0_i64..12, 0_i64..6), 0..3),
        end in 1_u64..7, batch_bytes in prop_oneof![Just(1_u64), 20..3000_u64],
    ) {
        let dims = vec![
            Dimension::new("x", Datatype::Int32, -20, 20, extents.0),
            second.dimension(extents.1),
        ];
        let mut schema = Schema::new(ArrayType::Sparse, dims, attributes());
        (schema.tile_order, schema.cell_order, schema.allows_duplicates, schema.capacity) = (tile_order, cell_order, duplicates, capacity);
        let context = new_array(&schema);
        let mut model: BTreeMap<(i32, i64), Vec<Cell>> = BTreeMap::new();
        let written: Vec<_> = writes.iter().filter(|w| !w.is_empty()).collect();
        for (time, points) in (1..).zip(&written) {
            if merged && time > 1 && time == written.len() as u64 {
                merge(&context);
            }
            let cells: Vec<Cell> = (0..points.len()).map(|k| cell(k, time)).collect();
            for (p, c) in points.iter().zip(&cells).filter(|_| time <= end) {
                let here = model.entry(*p).or_default();
                if !duplicates {
                    here.clear();
                }
                here.push(c.clone());
            }
            let mut columns = columns(&cells);
            columns.push(("x".into(), Column::from_values(Datatype::Int32, &points.iter().map(|p| p.0).collect::<Vec<_>>())));
            columns.push(("y".into(), second.column(points.iter().map(|p| p.1))));
            write(&context, time, Cells { region: None, layout: Layout::Unordered, columns });
        }
        let array = open(&context, Window::at(end));
        let inside = |p: &(i32, i64)| {
            (x.is_empty() || x.iter().any(|r| (r.0..=r.0 + r.1).contains(&p.0)))
                && (y.is_empty() || y.iter().any(|r| (r.0..=r.0 + r.1).contains(&p.1)))
        };
        let region = Region(vec![
            x.iter().map(|r| ScalarRange::new(r.0, r.0 + r.1)).collect(),
            y.iter().map(|r| ScalarRange::new(second.value(r.0), second.value(r.0 + r.1))).collect(),
        ]);
        let wanted = |p: &Cell| p.2.is_some_and(|n| n < 9) || p.1 == b"ab";
        for (order, filtered) in
            [(Layout::RowMajor, false), (Layout::ColMajor, true), (Layout::Global, false), (Layout::Unordered, true), (Layout::Hilbert, false)]
        {
            let mut expect: Vec<((i32, i64), Cell)> =
                model.iter().filter(|(p, _)| inside(p)).flat_map(|(p, cells)| cells.iter().map(|c| (*p, c.clone()))).collect();
            let condition = filtered.then(|| "n < 9 or s == 'ab'".parse().unwrap());
            expect.retain(|(_, c)| !filtered || wanted(c));
            let query = Query { region: region.clone(), order, batch_bytes, condition, ..Query::default() };
            let batch = read(&array, &query);
            let (x, y) = (batch.column("x").unwrap().values::<i32>().unwrap(), second.places(batch.column("y").unwrap()));
            let found: Vec<((i32, i64), Cell)> = x.iter().copied().zip(y).zip(cells_of(&batch)).collect();
            match order {
                Layout::RowMajor => prop_assert!(found.is_sorted_by_key(|c| c.0)),
                Layout::ColMajor => prop_assert!(found.is_sorted_by_key(|c| (c.0.1, c.0.0))),
                Layout::Global if cell_order != Layout::Hilbert => {
                    let place = |c: &((i32, i64), Cell)| {
                        let (tile, at) = (((c.0.0 + 20) / extents.0, second.tile(c.0.1, extents.1)), c.0);
                        let tile = if tile_order == Layout::RowMajor { (i64::from(tile.0), tile.1) } else { (tile.1, i64::from(tile.0)) };
                        let at = if cell_order == Layout::RowMajor { (i64::from(at.0), at.1) } else { (at.1, i64::from(at.0)) };
                        (tile, at)
                    };
                    prop_assert!(found.is_sorted_by_key(place));
                }
                _ => {}
            }
            let in_turn = |w: &[((i32, i64), Cell)]| w[0].0 != w[1].0 || written_at(&w[0].1) <= written_at(&w[1].1);
            prop_assert!(merged || order == Layout::Unordered || found.windows(2).all(in_turn), "out of turn, {order:?} {:?}", found.windows(2).find(|w| !in_turn(w)));
            let mut found = found;
            found.sort();
            expect.sort();
            prop_assert_eq!(found, expect);
        }
    }
}
