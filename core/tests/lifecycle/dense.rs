//! Dense arrays: overlapping boxes in any cell order, and consolidation.

use std::collections::BTreeSet;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Filter, Layout, Pipeline, Schema};
use hyperslab::{CellCount, Cells, Column, Context, Datatype, Query, Region, ScalarRange, Window};
use proptest::prelude::*;

use super::{Chore, at, do_chore, new_array, open};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const SIDES: (i32, i32) = (7, 9);

#[derive(Debug, Clone)]
enum Step {
    /// Closed ranges of rows and columns, and whether the input is column by column.
    Write((i32, i32), (i32, i32), bool),
    /// Scattered cells, written as a sparse fragment.
    Points(BTreeSet<(i32, i32)>),
    Chore(Chore),
}

pub(super) fn schema(tile_order: Layout, cell_order: Layout) -> Schema {
    let y = Dimension::new("y", Datatype::Int32, -3_i32, -3 + SIDES.0 - 1, 3_i32);
    let x = Dimension::new("x", Datatype::Int32, 1_i32, SIDES.1, 4_i32);
    let mut small = Attribute::new("small", Datatype::Int16, CellCount::ONE);
    small.nullable = true;
    let text = Attribute::new("text", Datatype::StringUtf8, CellCount::Var);
    let mut schema = Schema::new(ArrayType::Dense, vec![y, x], vec![small, text]);
    (schema.tile_order, schema.cell_order) = (tile_order, cell_order);
    schema
}

/// The value that a cell gets from a write at this time; the text is derived from it.
fn value(time: u64, y: i32, x: i32) -> i16 {
    (time * 64) as i16 + (y * SIDES.1 + x) as i16
}

fn text(value: i16) -> String {
    "é".repeat(value.unsigned_abs() as usize % 5)
}

pub(super) fn region(rows: (i32, i32), columns: (i32, i32)) -> Vec<ScalarRange> {
    vec![
        ScalarRange::new(rows.0 - 3, rows.1 - 3),
        ScalarRange::new(columns.0 + 1, columns.1 + 1),
    ]
}

/// The cells of a box in input order.
fn places(rows: (i32, i32), columns: (i32, i32), by_column: bool) -> Vec<(i32, i32)> {
    if by_column {
        (columns.0..=columns.1)
            .flat_map(|x| (rows.0..=rows.1).map(move |y| (y, x)))
            .collect()
    } else {
        (rows.0..=rows.1)
            .flat_map(|y| (columns.0..=columns.1).map(move |x| (y, x)))
            .collect()
    }
}

pub(super) fn write(context: &Context, time: u64, rows: (i32, i32), columns: (i32, i32), by_column: bool) {
    let values: Vec<i16> = places(rows, columns, by_column)
        .into_iter()
        .map(|(y, x)| value(time, y, x))
        .collect();
    let validity = values.iter().map(|v| u8::from(v % 7 != 0)).collect();
    let cells = Cells {
        region: Some(region(rows, columns)),
        layout: if by_column { Layout::ColMajor } else { Layout::RowMajor },
        columns: vec![
            (
                "small".into(),
                Column::from_values(Datatype::Int16, &values).with_validity(validity),
            ),
            (
                "text".into(),
                Column::from_cells(Datatype::StringUtf8, values.iter().map(|v| text(*v))),
            ),
        ],
    };
    block_on(open(context, Window::ALL).write(cells, &at(time))).unwrap();
}

fn write_points(context: &Context, time: u64, places: &BTreeSet<(i32, i32)>) {
    let values: Vec<i16> = places.iter().map(|&(y, x)| value(time, y, x)).collect();
    let validity = values.iter().map(|v| u8::from(v % 7 != 0)).collect();
    let coordinates =
        |of: fn(&(i32, i32)) -> i32| Column::from_values(Datatype::Int32, &places.iter().map(of).collect::<Vec<_>>());
    let columns = vec![
        ("x".into(), coordinates(|p| p.1 + 1)),
        ("y".into(), coordinates(|p| p.0 - 3)),
        (
            "small".into(),
            Column::from_values(Datatype::Int16, &values).with_validity(validity),
        ),
        (
            "text".into(),
            Column::from_cells(Datatype::StringUtf8, values.iter().map(|v| text(*v))),
        ),
    ];
    block_on(open(context, Window::ALL).write_points(columns, &at(time))).unwrap();
}

/// The time of the last write of each cell, in row order; `None` if it was never written.
pub(super) type Model = Vec<Option<u64>>;

pub(super) fn paint(model: &mut Model, time: u64, rows: (i32, i32), columns: (i32, i32)) {
    for (y, x) in places(rows, columns, false) {
        model[(y * SIDES.1 + x) as usize] = Some(time);
    }
}

/// Scattered cells of one write. Like in libtiledb, they are above all tiles, including later ones, until a box that
/// contains all of them is written.
struct Scattered {
    time: u64,
    places: BTreeSet<(i32, i32)>,
}

impl Scattered {
    fn is_covered_by(&self, rows: (i32, i32), columns: (i32, i32)) -> bool {
        let within = |(y, x): &(i32, i32)| (rows.0..=rows.1).contains(y) && (columns.0..=columns.1).contains(x);
        self.places.iter().all(within)
    }
}

/// The visible cells, with the scattered cells above the tiles.
fn seen(tiles: &Model, points: &[Scattered]) -> Model {
    let mut model = tiles.clone();
    for scattered in points {
        for &(y, x) in &scattered.places {
            paint(&mut model, scattered.time, (y, y), (x, x));
        }
    }
    model
}

pub(super) fn empty() -> Model {
    vec![None; (SIDES.0 * SIDES.1) as usize]
}

/// Compares the array in the window with the model. The error names the first difference.
pub(super) fn compare(context: &Context, window: Window, model: &Model) -> Result<(), String> {
    let query = Query {
        region: Region::all(),
        ..Query::default()
    };
    let batch = block_on(open(context, window).read(&query)).map_err(|e| e.to_string())?;
    let small = batch.column("small").unwrap();
    let texts = batch.column("text").unwrap();
    let numbers = small.values::<i16>().unwrap();
    for (i, time) in model.iter().enumerate() {
        let (y, x) = (i as i32 / SIDES.1, i as i32 % SIDES.1);
        let found = (
            (!small.is_null(i)).then(|| numbers[i]),
            String::from_utf8_lossy(texts.cell(i)).into_owned(),
        );
        let wanted = match time {
            Some(t) => {
                let v = value(*t, y, x);
                ((v % 7 != 0).then_some(v), text(v))
            }
            // The fill value is null for a nullable attribute, and a zero byte for text.
            None => (None, "\0".to_owned()),
        };
        if found != wanted {
            return Err(format!("at {window:?}, cell {y},{x}: {found:?}, not {wanted:?}"));
        }
    }
    Ok(())
}

fn ends(side: i32) -> impl Strategy<Value = (i32, i32)> {
    (0..side, 0..side).prop_map(|(a, b)| (a.min(b), a.max(b)))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (ends(SIDES.0), ends(SIDES.1), any::<bool>()).prop_map(|(y, x, c)| Step::Write(y, x, c)),
        2 => prop::collection::btree_set((0..SIDES.0, 0..SIDES.1), 1..12).prop_map(Step::Points),
        2 => any::<bool>().prop_map(|small| Step::Chore(Chore::Fragments { small })),
        1 => Just(Step::Chore(Chore::Vacuum(Mode::Fragments))),
        1 => Just(Step::Chore(Chore::Lists(Mode::Commits))),
        1 => Just(Step::Chore(Chore::Vacuum(Mode::Commits))),
        1 => Just(Step::Chore(Chore::Lists(Mode::FragmentMetadata))),
    ]
}

fn order() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_newest_cell_wins_after_any_consolidation(
        steps in prop::collection::vec(step(), 1..12),
        (tile_order, cell_order) in (order(), order()),
    ) {
        let context = new_array(&schema(tile_order, cell_order));
        let (mut tiles, mut points) = (empty(), Vec::new());
        let mut past = vec![empty()];
        let mut vacuumed = false;
        for (time, step) in (1_u64..).zip(&steps) {
            match step {
                Step::Write(y, x, by_column) => {
                    write(&context, time, *y, *x, *by_column);
                    paint(&mut tiles, time, *y, *x);
                    points.retain(|p: &Scattered| !p.is_covered_by(*y, *x));
                }
                Step::Points(places) => {
                    write_points(&context, time, places);
                    points.push(Scattered { time, places: places.clone() });
                }
                Step::Chore(chore) => {
                    vacuumed |= matches!(chore, Chore::Vacuum(Mode::Fragments));
                    // A consolidation merges the scattered cells into the tiles.
                    if do_chore(&context, *chore, time) && matches!(chore, Chore::Fragments { .. }) {
                        tiles = seen(&tiles, &points);
                        points.clear();
                    }
                }
            }
            let model = seen(&tiles, &points);
            prop_assert_eq!(compare(&context, Window::ALL, &model), Ok(()));
            past.push(model);
        }
        // A vacuum removes the history of dense arrays. Before that, all of it is readable.
        if !vacuumed {
            for (t, model) in past.iter().enumerate() {
                prop_assert_eq!(compare(&context, Window::at(t as u64), model), Ok(()));
            }
        }
    }
}

/// A later box may cover part of the tile of a single cell. Then a read of the whole tile shows the cell, but a read of
/// part of the tile shows the box. A consolidation keeps the cell.
#[test]
fn single_cells_stay_above_later_boxes_until_one_covers_their_tile() {
    let corner = (0, 1);
    let everything = ((0, SIDES.0 - 1), (0, SIDES.1 - 1));
    let scattered = BTreeSet::from([(0, 0), (2, 1)]);
    for (rows, seen) in [(corner, 1), ((0, 2), 2)] {
        let context = new_array(&schema(Layout::RowMajor, Layout::RowMajor));
        let first = |rows, columns| {
            let region = Region::from_box(region(rows, columns));
            let batch = block_on(open(&context, Window::ALL).read(&Query {
                region,
                ..Query::default()
            }))
            .unwrap();
            batch.column("small").unwrap().values::<i16>().unwrap()[0]
        };
        write_points(&context, 1, &scattered);
        write(&context, 2, rows, corner, false);
        assert_eq!(first(everything.0, everything.1), value(seen, 0, 0));
        assert_eq!(first(corner, corner), value(2, 0, 0));
        assert!(do_chore(&context, Chore::Fragments { small: false }, 3));
        assert_eq!(first(everything.0, everything.1), value(seen, 0, 0));
        assert_eq!(first(corner, corner), value(seen, 0, 0));
    }
}

/// The bounding box of a few cells may span a huge domain of mostly fill values.
#[test]
fn single_cells_are_consolidated_if_their_box_is_small() {
    const FAR: i64 = 1 << 25;
    let along = Dimension::new("x", Datatype::Int64, 0_i64, 1_i64 << 40, 1000_i64);
    let attribute = Attribute::new("v", Datatype::Uint8, CellCount::ONE);
    let schema = Schema::new(ArrayType::Dense, vec![along], vec![attribute]);
    for (distance, fragments) in [(FAR, 2), (100_000, 1)] {
        let context = new_array(&schema);
        let array = || open(&context, Window::ALL);
        for time in [1_u8, 2] {
            let places = [i64::from(time), distance + i64::from(time)];
            let columns = vec![
                ("x".into(), Column::from_values(Datatype::Int64, &places)),
                ("v".into(), Column::from_values(Datatype::Uint8, &[time; 2])),
            ];
            block_on(array().write_points(columns, &at(time.into()))).unwrap();
        }
        block_on(consolidate(&array(), &ConsolidateOptions::new(Mode::Fragments), &at(3))).unwrap();
        assert_eq!(array().fragments().len(), fragments, "{distance} cells apart");
        let region = Region::from_box(vec![ScalarRange::new(distance, distance + 3)]);
        let query = Query {
            region,
            ..Query::default()
        };
        let found = block_on(array().read(&query)).unwrap();
        assert_eq!(found.column("v").unwrap().values::<u8>().unwrap()[..], [255, 1, 2, 255]);
    }
}

#[test]
fn a_consolidation_does_not_turn_unwritten_cells_into_values() {
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 99_i32, 10_i32);
    let mut scaled = Attribute::new("scaled", Datatype::Float64, CellCount::ONE);
    scaled.filters = Pipeline::new(vec![Filter::FloatScale {
        scale: 0.25,
        offset: 100.0,
        byte_width: 4,
    }]);
    // The boxes, whether the consolidation is refused, and another fill value.
    for (boxes, refused, fill) in [
        ([(0, 1), (6, 7)], true, f64::NAN),
        ([(0, 1), (2, 7)], false, f64::NAN),
        ([(0, 1), (6, 7)], false, 100.25),
    ] {
        scaled.fill = fill.to_le_bytes().to_vec();
        let schema = Schema::new(ArrayType::Dense, vec![x.clone()], vec![scaled.clone()]);
        let context = new_array(&schema);
        let array = || open(&context, Window::ALL);
        let all = || {
            let found = block_on(array().read(&Query::default())).unwrap();
            found.column("scaled").unwrap().data.clone()
        };
        for (time, (lo, hi)) in boxes.into_iter().enumerate() {
            let values = vec![time as f64; (hi - lo + 1) as usize];
            let cells = Cells {
                region: Some(vec![ScalarRange::new(lo, hi)]),
                layout: Layout::RowMajor,
                columns: vec![("scaled".into(), Column::from_values(Datatype::Float64, &values))],
            };
            block_on(array().write(cells, &at(time as u64 + 1))).unwrap();
        }
        let before = all();
        let merged = block_on(consolidate(&array(), &ConsolidateOptions::new(Mode::Fragments), &at(3)));
        assert_eq!(merged.is_err(), refused, "{boxes:?} {fill}: {merged:?}");
        if let Err(error) = merged {
            assert!(error.to_string().contains("'scaled'"), "{error}");
        }
        assert_eq!(array().fragments().len(), if refused { 2 } else { 1 });
        assert_eq!(all(), before);
    }
}
