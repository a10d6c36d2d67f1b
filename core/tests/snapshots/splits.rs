//! Splits: their union is the query, they are disjoint, and their sizes are near the target.

use std::collections::BTreeSet;
use std::ops::Range;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, delete};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::vfs::MemVfs;
use hyperslab::{
    Array, CellCount, Cells, Column, Condition, Datatype, Query, Region, ScalarRange, SnapshotOptions, Split, Window,
};
use proptest::prelude::*;
use proptest::sample::Index;

use super::{at, create, recorded, rows};

/// Plans splits, reads each in a process of its own, and compares their cells with those of the query.
fn check(files: &MemVfs, array: &Array, query: &Query, target_bytes: u64) {
    let token = block_on(array.snapshot(&SnapshotOptions::default())).unwrap();
    let splits = block_on(array.plan_splits(query, target_bytes)).unwrap();
    let (mut found, mut counted) = (Vec::new(), 0);
    for split in &splits {
        assert!(split.bytes() > 0, "no split is empty");
        let (_, context) = recorded(files);
        let other = block_on(Array::from_snapshot(&context, "a", &token, None)).unwrap();
        let split = Split::from_bytes(&split.to_bytes().unwrap()).unwrap();
        let (part, query) = other.part(&split).unwrap();
        found.extend(rows(&part, &query));
        counted += block_on(part.count(&query)).unwrap();
    }
    found.sort();
    let expected = rows(array, query);
    assert_eq!(found, expected, "{target_bytes} bytes: {splits:#?}");
    assert_eq!(counted, expected.len() as u64);
}

/// A dimension: start, number of cells, extent.
type Axis = (i32, i32, i32);
type Picks = Vec<Vec<(Index, Index)>>;

fn picks(lists: Range<usize>, pairs: Range<usize>) -> impl Strategy<Value = Picks> {
    prop::collection::vec(prop::collection::vec(any::<(Index, Index)>(), pairs), lists)
}

fn range(axis: Axis, (a, b): (Index, Index)) -> (i32, i32) {
    let at = |i: Index| axis.0 + i.index(axis.1 as usize) as i32;
    (at(a).min(at(b)), at(a).max(at(b)))
}

fn condition() -> impl Strategy<Value = Option<Condition>> {
    let text = prop_oneof![
        Just("i >= 20"),
        Just("i < 7 or s == 'ab'"),
        Just("n is null"),
        Just("x > 0 and i != 3")
    ];
    prop::option::of(text.prop_map(|text| text.parse().unwrap()))
}

fn order() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor), Just(Layout::Unordered)]
}

fn attributes() -> Vec<Attribute> {
    let mut nullable = Attribute::new("n", Datatype::Int16, CellCount::ONE);
    nullable.nullable = true;
    vec![
        Attribute::new("i", Datatype::Int32, CellCount::ONE),
        Attribute::new("s", Datatype::StringAscii, CellCount::Var),
        nullable,
    ]
}

fn columns(cells: usize, time: u64) -> Vec<(String, Column)> {
    let i: Vec<i32> = (0..cells as i32).map(|k| k + time as i32 * 10).collect();
    let s: Vec<&str> = (0..cells).map(|k| &"abcdef"[..(k + time as usize) % 6]).collect();
    let n: Vec<i16> = (0..cells as i16).collect();
    let valid = (0..cells).map(|k| u8::from(k % 3 != 0)).collect();
    vec![
        ("i".to_owned(), Column::from_values(Datatype::Int32, &i)),
        ("s".to_owned(), Column::from_cells(Datatype::StringAscii, &s)),
        (
            "n".to_owned(),
            Column::from_values(Datatype::Int16, &n).with_validity(valid),
        ),
    ]
}

const FIELDS: [&str; 3] = ["i", "s", "n"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn splits_of_dense_queries_have_the_cells_of_the_query(
        axes in prop::collection::vec((-5_i32..5, 1_i32..9, 1_i32..6), 1..4), writes in picks(0..5, 3..4),
        ranges in picks(3..4, 0..4), end in 1_u64..7, order in order(), condition in condition(),
        target in prop_oneof![Just(1_u64), 50..3000_u64, Just(u64::MAX)],
    ) {
        let files = MemVfs::new();
        let names = ["x", "y", "z"];
        let dim = |(d, &(lo, n, extent)): (usize, &Axis)| Dimension::new(names[d], Datatype::Int32, lo, lo + n - 1, extent.min(n));
        let dimensions = axes.iter().enumerate().map(dim).collect();
        let array = create(&files, "a", &Schema::new(ArrayType::Dense, dimensions, attributes()));
        for (time, picks) in (1..).zip(&writes) {
            let region: Vec<(i32, i32)> = axes.iter().zip(picks).map(|(axis, pick)| range(*axis, *pick)).collect();
            let cells: i32 = region.iter().map(|r| r.1 - r.0 + 1).product();
            let region = region.iter().map(|r| ScalarRange::new(r.0, r.1)).collect();
            let cells = Cells { region: Some(region), layout: Layout::RowMajor, columns: columns(cells as usize, time) };
            block_on(array.write(cells, &at(time))).unwrap();
        }
        let array = block_on(array.at(Window::at(end))).unwrap();
        let along = |(axis, list): (&Axis, &Vec<(Index, Index)>)| {
            list.iter().map(|pick| range(*axis, *pick)).map(|r| ScalarRange::new(r.0, r.1)).collect()
        };
        let region = Region(axes.iter().zip(&ranges).map(along).collect());
        let fields = names[..axes.len()].iter().chain(&FIELDS).map(|&name| name.to_owned()).collect();
        let query = Query { fields: Some(fields), region, order, condition, ..Query::default() };
        check(&files, &array, &query, target);
    }

    #[test]
    fn splits_of_sparse_queries_have_the_cells_of_the_query(
        kind in 0..3_usize, extents in (1_i32..30, 1_i32..30), duplicates in any::<bool>(), hilbert in any::<bool>(),
        capacity in 1_u64..9,
        writes in prop::collection::vec(prop::collection::btree_set((-9_i32..9, 0_i32..12), 1..60), 0..5),
        deleted in prop::option::of(-9_i32..9), merged in any::<bool>(),
        x in prop::collection::vec((-9_i32..9, 0_i32..6), 0..3), y in prop::collection::vec((0_i32..12, 0_i32..6), 0..3),
        end in prop_oneof![1_u64..9, Just(u64::MAX)], order in order(), condition in condition(),
        target in prop_oneof![Just(1_u64), 50..3000_u64, Just(u64::MAX)],
    ) {
        let files = MemVfs::new();
        let second = match kind {
            0 => Dimension::new("y", Datatype::Int32, -5, 40, extents.1),
            1 => Dimension::new("y", Datatype::Float64, -10.0, 40.0, f64::from(extents.1)),
            _ => Dimension::string("y"),
        };
        // Floats with both zeros; strings of which some are prefixes of others.
        let float = |v: i32| if v == 5 { -0.0 } else { f64::from(v - 6) / 2.0 };
        let text = |v: i32| "ba".repeat(v as usize % 4) + &"b".repeat(v as usize / 4);
        let values = |points: &BTreeSet<(i32, i32)>| match kind {
            0 => Column::from_values(Datatype::Int32, &points.iter().map(|p| p.1).collect::<Vec<_>>()),
            1 => Column::from_values(Datatype::Float64, &points.iter().map(|p| float(p.1)).collect::<Vec<_>>()),
            _ => Column::from_cells(Datatype::StringAscii, points.iter().map(|p| text(p.1))),
        };
        let dimensions = vec![Dimension::new("x", Datatype::Int32, -20, 20, extents.0), second];
        let mut schema = Schema::new(ArrayType::Sparse, dimensions, attributes());
        (schema.allows_duplicates, schema.capacity) = (duplicates || kind == 1, capacity);
        if hilbert {
            schema.cell_order = Layout::Hilbert;
        }
        let mut array = create(&files, "a", &schema);
        for (time, points) in (1..).zip(&writes) {
            let mut columns = columns(points.len(), time);
            columns.push(("x".into(), Column::from_values(Datatype::Int32, &points.iter().map(|p| p.0).collect::<Vec<_>>())));
            columns.push(("y".into(), values(points)));
            block_on(array.write(Cells { region: None, layout: Layout::Unordered, columns }, &at(2 * time))).unwrap();
        }
        if let Some(x) = deleted {
            array = block_on(array.at(Window::ALL)).unwrap();
            block_on(delete(&array, &format!("x == {x} or i == 12").parse().unwrap(), &at(5))).unwrap();
        }
        array = block_on(array.at(Window::ALL)).unwrap();
        if merged {
            let mut options = ConsolidateOptions::new(Mode::Fragments);
            options.steps.amplification = 1e9;
            block_on(consolidate(&array, &options, &at(11))).unwrap();
        }
        let array = block_on(array.at(Window::at(end))).unwrap();
        let value = |v: i32| match kind {
            0 => v.into(),
            1 => float(v).into(),
            _ => hyperslab::Scalar::from(text(v).as_str()),
        };
        let along = |(a, n): &(i32, i32)| {
            let (a, b) = (value(*a), value(*a + *n));
            if a.order(&b).is_le() { ScalarRange { lo: a, hi: b } } else { ScalarRange { lo: b, hi: a } }
        };
        let region = Region(vec![
            x.iter().map(|r| ScalarRange::new(r.0, r.0 + r.1)).collect(),
            y.iter().map(along).collect(),
        ]);
        let fields = ["x", "y"].iter().chain(&FIELDS).map(|&name| name.to_owned()).collect();
        let query = Query { fields: Some(fields), region, order, condition, ..Query::default() };
        check(&files, &array, &query, target);
    }
}

/// 100 × 100 cells of 4 bytes in tiles of 10 × 10, written at once.
fn square(dense: bool, duplicates: bool, times: u64) -> (MemVfs, Array) {
    let files = MemVfs::new();
    let dim = |name| Dimension::new(name, Datatype::Int32, 0, 99, 10);
    let kind = if dense { ArrayType::Dense } else { ArrayType::Sparse };
    let attribute = Attribute::new("v", Datatype::Int32, CellCount::ONE);
    let mut schema = Schema::new(kind, vec![dim("y"), dim("x")], vec![attribute]);
    (schema.capacity, schema.allows_duplicates) = (100, duplicates);
    let array = create(&files, "a", &schema);
    let numbers =
        |f: &dyn Fn(i32) -> i32| Column::from_values(Datatype::Int32, &(0..10_000).map(f).collect::<Vec<_>>());
    for time in 1..=times {
        let mut columns = vec![("v".to_owned(), numbers(&|c| c))];
        if !dense {
            columns.push(("y".to_owned(), numbers(&|c| c / 100)));
            columns.push(("x".to_owned(), numbers(&|c| c % 100)));
        }
        let region = dense.then(|| vec![ScalarRange::new(0, 99), ScalarRange::new(0, 99)]);
        let layout = if dense { Layout::RowMajor } else { Layout::Unordered };
        block_on(array.write(
            Cells {
                region,
                layout,
                columns,
            },
            &at(time),
        ))
        .unwrap();
    }
    let array = block_on(array.at(Window::ALL)).unwrap();
    (files, array)
}

#[test]
fn sizes_of_splits_are_near_the_target() {
    // A dense tile has 400 bytes, and a sparse one has 1200 with its coordinates.
    for (dense, tile) in [(true, 400), (false, 1200)] {
        let (files, array) = square(dense, false, 1);
        for tiles in [1, 4, 7, 30, 100, 1000] {
            let splits = block_on(array.plan_splits(&Query::default(), tiles * tile)).unwrap();
            let bytes: Vec<u64> = splits.iter().map(Split::bytes).collect();
            assert_eq!(bytes.iter().sum::<u64>(), 100 * tile, "no tile is in two splits");
            let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
            assert!(*most <= tiles * tile, "{tiles} tiles: {bytes:?}");
            assert!(2 * least >= tiles.min(100) * tile, "{tiles} tiles: {bytes:?}");
            check(&files, &array, &Query::default(), tiles * tile);
        }
        // Only the tiles of the region, and those that may hold such values.
        let query = Query {
            region: Region(vec![vec![ScalarRange::new(0, 19)], vec![]]),
            condition: Some("v >= 1500".parse().unwrap()),
            ..Query::default()
        };
        let splits = block_on(array.plan_splits(&query, tile)).unwrap();
        assert_eq!(splits.len(), 10, "{splits:#?}");
        check(&files, &array, &query, tile);
    }
}

#[test]
fn fragments_that_overlap_are_divided_only_if_cells_may_repeat() {
    // Every fragment has every cell, so a cut at a tile is clean for each.
    let (files, array) = square(false, false, 3);
    for target in [3 * 1200, 1200] {
        let splits = block_on(array.plan_splits(&Query::default(), target)).unwrap();
        assert_eq!(splits.len(), 100, "the versions of a cell are in one split");
        check(&files, &array, &Query::default(), target);
    }
    let (files, array) = square(false, true, 3);
    let splits = block_on(array.plan_splits(&Query::default(), 1200)).unwrap();
    assert_eq!(splits.len(), 300, "one for each tile of each fragment");
    check(&files, &array, &Query::default(), 1200);
}

#[test]
fn a_split_that_cannot_be_planned_says_why() {
    let (_, array) = square(true, false, 1);
    let error = block_on(array.plan_splits(&Query::default(), 0))
        .unwrap_err()
        .to_string();
    assert!(error.contains("at least 1"), "{error}");
    let query = Query {
        region: Region(vec![vec![ScalarRange::new(0, 100)], vec![]]),
        ..Query::default()
    };
    let error = block_on(array.plan_splits(&query, 1)).unwrap_err().to_string();
    assert!(error.contains("dimension 'y'"), "{error}");
}
