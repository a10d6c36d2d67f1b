//! Arrays without cells, domains as wide as their type, and cells that fail a condition.

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Dimension, Layout, Schema};
use hyperslab::{Aggregate, Cells, Datatype, Query, Region, Scalar, ScalarRange, Window};

use super::{Cell, FILL, attributes, cell, cells_of, columns, dense_schema, new_array, open, write};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn an_empty_array_has_fill_values_or_no_cells() {
    let context = new_array(&dense_schema(&[(0, 3, 2)], Layout::RowMajor, Layout::RowMajor));
    let array = open(&context, Window::ALL);
    assert_eq!(array.non_empty_domain(), None);
    let batch = block_on(array.read(&Query::default())).unwrap();
    assert_eq!(cells_of(&batch), vec![(FILL, vec![0], None); 3]);
    assert_eq!(batch.shape, Some(vec![3]));

    let context = new_array(&Schema::new(
        ArrayType::Sparse,
        vec![Dimension::string("x")],
        attributes(),
    ));
    let array = open(&context, Window::ALL);
    let batch = block_on(array.read(&Query::default())).unwrap();
    assert_eq!((batch.cells, batch.columns.len()), (0, 4));
    assert!(block_on(array.batches(Query::default()).next()).unwrap().is_none());
}

#[test]
fn domains_as_wide_as_their_type_can_be_read() {
    let dim = Dimension::new("x", Datatype::Int64, i64::MIN, i64::MAX - 100, 100_i64);
    let schema = Schema::new(ArrayType::Dense, vec![dim], attributes());
    let context = new_array(&schema);
    let at = i64::MIN + 150;
    let region = vec![ScalarRange::new(at, at + 1)];
    let cells = [cell(1, 1), cell(2, 1)];
    write(
        &context,
        1,
        Cells {
            region: Some(region.clone()),
            layout: Layout::RowMajor,
            columns: columns(&cells),
        },
    );
    let array = open(&context, Window::ALL);
    let read = |region| {
        block_on(array.read(&Query {
            region: Region(vec![vec![region]]),
            ..Query::default()
        }))
    };
    assert_eq!(cells_of(&read(ScalarRange::new(at, at + 1)).unwrap()), cells);
    let end = i64::MAX - 100;
    assert_eq!(cells_of(&read(ScalarRange::new(end - 1, end)).unwrap()).len(), 2);
    assert_eq!(
        read(ScalarRange::new(i64::MIN, end)).unwrap_err().code(),
        "LimitExceeded"
    );
    assert!(
        read(ScalarRange::new(end, at))
            .unwrap_err()
            .to_string()
            .contains("is empty: its end is before its start")
    );
    assert!(
        read(ScalarRange::new(end, i64::MAX))
            .unwrap_err()
            .to_string()
            .contains("not inside the domain")
    );
    let mut batches = array.batches(Query {
        batch_bytes: 4096,
        ..Query::default()
    });
    assert!(
        block_on(batches.next()).unwrap().unwrap().cells > 0,
        "the first of very many batches"
    );
}

#[test]
fn cells_that_fail_the_condition_of_a_dense_read_are_fill_values() {
    let context = new_array(&dense_schema(&[(0, 4, 3)], Layout::RowMajor, Layout::RowMajor));
    let cells: Vec<Cell> = (0..4).map(|k| cell(k, 0)).collect();
    write(
        &context,
        1,
        Cells {
            region: None,
            layout: Layout::RowMajor,
            columns: columns(&cells),
        },
    );
    let array = open(&context, Window::ALL);
    let condition = Some("i >= 10 and x < 3".parse().unwrap());
    let query = Query {
        fields: Some(vec!["s".into(), "n".into(), "i".into()]),
        condition,
        ..Query::default()
    };
    let found = cells_of(&block_on(array.read(&query)).unwrap());
    let fill = || (FILL, vec![0], None);
    assert_eq!(found, [fill(), cells[1].clone(), cells[2].clone(), fill()]);
    assert_eq!(block_on(array.count(&query)).unwrap(), 2);
    let wanted = [
        (Aggregate::Count, "i"),
        (Aggregate::Sum, "i"),
        (Aggregate::Max, "s"),
        (Aggregate::NullCount, "n"),
        (Aggregate::Mean, "x"),
    ];
    let found = block_on(array.aggregate(&query, &wanted)).unwrap();
    let text = Scalar::Bytes(cells[1].1.clone().max(cells[2].1.clone()));
    assert_eq!(
        found,
        [
            Some(Scalar::U64(2)),
            Some(Scalar::I64(30)),
            Some(text),
            Some(Scalar::U64(0)),
            Some(Scalar::F64(1.5))
        ]
    );
}
