//! Sparse arrays whose coordinates float scale rounds: the stored coordinates may be equal, in another order, or outside
//! the domain.

use std::collections::BTreeSet;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Filter, Layout, Pipeline, Schema};
use hyperslab::{Batch, CellCount, Cells, Column, Context, Datatype, Query, Region, ScalarRange, Window};

use super::{at, new_array, open};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Coordinates from -10 to 10 are stored as multiples of 3, so -10 is stored as -9 and 10 as 9, but -5 as -6.
fn schema(order: Layout, capacity: u64, domain: (f64, f64)) -> Schema {
    let dim = |name| {
        let mut d = Dimension::new(name, Datatype::Float64, domain.0, domain.1, 5.0);
        d.filters = Pipeline::new(vec![Filter::FloatScale {
            scale: 3.0,
            offset: 0.0,
            byte_width: 4,
        }]);
        if order == Layout::Hilbert {
            d.extent = None;
        }
        d
    };
    let number = Attribute::new("number", Datatype::Int32, CellCount::ONE);
    let mut schema = Schema::new(ArrayType::Sparse, vec![dim("y"), dim("x")], vec![number]);
    (schema.cell_order, schema.capacity) = (order, capacity);
    schema
}

fn write(context: &Context, time: u64, places: &[(f64, f64)], first: i32) {
    let column =
        |of: fn(&(f64, f64)) -> f64| Column::from_values(Datatype::Float64, &places.iter().map(of).collect::<Vec<_>>());
    let numbers: Vec<i32> = (first..).take(places.len()).collect();
    let cells = Cells {
        region: None,
        layout: Layout::Unordered,
        columns: vec![
            ("y".into(), column(|p| p.0)),
            ("x".into(), column(|p| p.1)),
            ("number".into(), Column::from_values(Datatype::Int32, &numbers)),
        ],
    };
    block_on(open(context, Window::ALL).write(cells, &at(time))).unwrap();
}

fn numbers(batch: &Batch) -> Vec<i32> {
    batch.column("number").unwrap().values::<i32>().unwrap().into_owned()
}

fn sorted(mut numbers: Vec<i32>) -> Vec<i32> {
    numbers.sort_unstable();
    numbers
}

fn until(end_ms: u64) -> Window {
    Window { start_ms: 0, end_ms }
}

fn merge(context: &Context, memory_bytes: u64) {
    let mut options = ConsolidateOptions::new(Mode::Fragments);
    options.memory_bytes = memory_bytes;
    let report = block_on(consolidate(&open(context, Window::ALL), &options, &at(99))).unwrap();
    assert_eq!(report.written.len(), 1);
}

const ORDERS: [Layout; 3] = [Layout::RowMajor, Layout::ColMajor, Layout::Hilbert];

/// Many places, none of which is the same as another before rounding.
fn places(seed: u32, count: u32) -> Vec<(f64, f64)> {
    let scatter = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 12) / f64::from(1 << 20) * 580.0 + 10.0;
    (0..count)
        .map(|i| (scatter(i + seed), scatter(i.wrapping_add(seed).wrapping_mul(7) + 1)))
        .collect()
}

#[test]
fn a_merge_keeps_cells_that_are_rounded_out_of_the_domain() {
    for order in ORDERS {
        let context = new_array(&schema(order, 2, (-5.0, 10.0)));
        write(&context, 1, &[(-5.0, -5.0), (-4.0, 1.0), (10.0, 10.0), (-5.0, 8.0)], 0);
        write(&context, 2, &[(-5.0, 4.0), (7.0, -5.0)], 10);
        let domain = ScalarRange::new(-5.0, 10.0);
        let whole = Query {
            region: Region::from_box(vec![domain.clone(), domain]),
            ..Query::default()
        };
        let read = |query: &Query, time| sorted(numbers(&block_on(open(&context, until(time)).read(query)).unwrap()));
        let expected = [vec![0, 1, 2, 3], vec![0, 1, 2, 3, 10, 11]];
        for round in 0..2 {
            for (time, expected) in (1..).zip(&expected) {
                assert_eq!(read(&Query::default(), time), *expected, "{order:?}, round {round}");
                assert_eq!(read(&whole, time), *expected, "{order:?}, round {round}");
            }
            if round == 0 {
                merge(&context, 1 << 24);
            }
        }
    }
}

#[test]
fn cells_rounded_to_one_place_both_show_until_a_second_fragment_is_read_with_them() {
    for order in ORDERS {
        let context = new_array(&schema(order, 1, (-50.0, 50.0)));
        write(&context, 1, &[(6.0, 7.0), (6.0, 6.5), (20.0, 20.0)], 0);
        let read = |time| {
            sorted(numbers(
                &block_on(open(&context, until(time)).read(&Query::default())).unwrap(),
            ))
        };
        assert_eq!(read(1), [0, 1, 2]);
        write(&context, 2, &[(-30.0, -30.0)], 10);
        // The first in the order of the array stays: 6.5 is before 7.
        assert_eq!(read(1), [0, 1, 2]);
        let both = read(2);
        assert_eq!((both.len(), both[1..].to_vec()), (3, vec![2, 10]), "{order:?}");
        merge(&context, 1 << 24);
        assert_eq!(read(2), both);
        assert_eq!(read(1), both[..2]);
    }
}

#[test]
fn rounded_cells_are_merged_and_read_alike_in_batches_of_any_size() {
    for order in ORDERS {
        let context = new_array(&schema(order, 50, (0.0, 600.0)));
        for (time, first) in [(1, 0), (2, 10_000), (3, 20_000)] {
            write(&context, time, &places(first as u32 * 3, 4000), first);
        }
        let expected = |query: &Query| numbers(&block_on(open(&context, Window::ALL).read(query)).unwrap());
        let all = sorted(expected(&Query::default()));
        assert!(
            all.len() < 11_900,
            "{} cells: too few are rounded to the same place",
            all.len()
        );
        for round in 0..2 {
            for result in [Layout::Unordered, Layout::RowMajor, Layout::ColMajor, Layout::Global] {
                let query = Query {
                    order: result,
                    batch_bytes: 40_000,
                    ..Query::default()
                };
                let array = open(&context, Window::ALL);
                let mut batches = array.batches(query);
                let (mut found, mut places, mut seen) = (Vec::new(), Vec::new(), 0);
                while let Some(batch) = block_on(batches.next()).unwrap() {
                    let y = batch.column("y").unwrap().values::<f64>().unwrap().into_owned();
                    let x = batch.column("x").unwrap().values::<f64>().unwrap().into_owned();
                    places.extend(y.into_iter().zip(x));
                    found.extend(numbers(&batch));
                    seen += 1;
                }
                let context = format!("{order:?} read in {result:?} order, round {round}");
                assert!(seen > 1, "{context}: one batch");
                assert_eq!(sorted(found), all, "{context}");
                match result {
                    Layout::RowMajor => assert!(places.is_sorted(), "{context}"),
                    Layout::ColMajor => assert!(places.is_sorted_by_key(|(y, x)| (*x, *y)), "{context}"),
                    _ => {}
                }
                let distinct: BTreeSet<_> = places.iter().map(|(y, x)| (*y as i64, *x as i64)).collect();
                assert_eq!(distinct.len(), places.len(), "{context}");
            }
            assert_eq!(
                block_on(open(&context, Window::ALL).count(&Query::default())).unwrap(),
                all.len() as u64
            );
            if round == 0 {
                // With little memory, the fragments are merged tile by tile.
                merge(&context, 300_000);
            }
        }
    }
}
