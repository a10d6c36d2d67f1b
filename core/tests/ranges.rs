//! Ranges with another integer type than their dimension select the same cells.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, Error, OpenOptions, Query, Region, ScalarRange,
    WriteOptions,
};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const SIDE: i64 = 10;

/// A matrix of 10 x 10 cells that starts at -5. Cell (y, x) holds ten times its row plus its column. `region` is the
/// box that it was written with.
fn matrix(kind: ArrayType, region: Vec<ScalarRange>) -> (Context, hyperslab::Result<String>) {
    let dimension = |name| Dimension::new(name, Datatype::Int64, -5_i64, 94_i64, SIDE);
    let v = Attribute::new("v", Datatype::Int32, CellCount::ONE);
    let schema = Schema::new(kind, vec![dimension("y"), dimension("x")], vec![v]);
    let context = Context::memory();
    let (timestamp_ms, seed) = (1, [1; 32]);
    let created = CreateOptions {
        timestamp_ms,
        seed,
        key: None,
    };
    block_on(Array::create(&context, "a", &schema, &[], &created)).unwrap();
    let values: Vec<i32> = (0..100).collect();
    let mut cells = Cells {
        region: Some(region),
        layout: Layout::RowMajor,
        columns: vec![("v".to_owned(), Column::from_values(Datatype::Int32, &values))],
    };
    if kind == ArrayType::Sparse {
        let place = |of: fn(i64) -> i64| Column::from_values(Datatype::Int64, &(0..100).map(of).collect::<Vec<i64>>());
        cells.columns.push(("y".into(), place(|i| i / SIDE - 5)));
        cells.columns.push(("x".into(), place(|i| i % SIDE - 5)));
        (cells.region, cells.layout) = (None, Layout::Unordered);
    }
    let options = WriteOptions {
        timestamp_ms,
        seed,
        sync: false,
    };
    let written = block_on(open(&context).write(cells, &options));
    (context, written)
}

fn open(context: &Context) -> Array {
    block_on(Array::open(context, "a", &OpenOptions::default())).unwrap()
}

#[test]
fn ranges_of_any_integer_type_select_the_same_cells() {
    let whole = || ScalarRange::new(-5_i8, 4_i32);
    for kind in [ArrayType::Dense, ArrayType::Sparse] {
        let (context, written) = matrix(kind, vec![whole(), whole()]);
        written.unwrap();
        let same = [
            ScalarRange::new(1_i64, 2_i64),
            ScalarRange::new(1_i32, 2_i64),
            ScalarRange::new(1_u8, 2_i16),
            ScalarRange::new(1_u64, 2_u16),
        ];
        for range in same {
            let region = Region::from_box(vec![range.clone(), ScalarRange::new(-5_i32, 0_u8)]);
            let batch = block_on(open(&context).read(&Query {
                region,
                ..Query::default()
            }))
            .unwrap();
            let got = batch.column("v").unwrap().values::<i32>().unwrap().into_owned();
            assert_eq!(
                got,
                [60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75],
                "{kind:?} {range:?}"
            );
        }
    }
}

#[test]
fn a_dense_box_outside_the_domain_is_refused_for_any_integer_type() {
    for outside in [ScalarRange::new(-6_i8, 3_i8), ScalarRange::new(90_u8, 95_u64)] {
        let (_, written) = matrix(ArrayType::Dense, vec![outside, ScalarRange::new(-5_i64, 4_i64)]);
        assert!(matches!(written, Err(Error::InvalidArgument(_))), "{written:?}");
    }
}
