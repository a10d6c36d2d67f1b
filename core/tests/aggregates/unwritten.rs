//! Aggregates over unwritten cells of dense arrays.

use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::vfs::MemVfs;
use hyperslab::{
    Aggregate, Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Scalar,
    ScalarRange, WriteOptions,
};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A store with an empty array `a`.
fn created(schema: &Schema) -> Context {
    let context = Context::new(Arc::new(MemVfs::new()));
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "a", schema, &[], &options)).unwrap();
    context
}

#[test]
fn unwritten_cells_count_as_they_are_read_before_and_after_a_consolidation() {
    let along = |name| Dimension::new(name, Datatype::Int32, 0, 9, 5);
    let attribute = |name: &str, nullable, fill: Option<i32>| {
        let mut attribute = Attribute::new(name, Datatype::Int32, CellCount::ONE);
        attribute.nullable = nullable;
        attribute.fill = fill.map_or(attribute.fill, |f| f.to_le_bytes().to_vec());
        attribute
    };
    let attributes = vec![attribute("v", false, Some(7)), attribute("n", true, None)];
    let schema = Schema::new(ArrayType::Dense, vec![along("y"), along("x")], attributes);
    let context = created(&schema);
    let open = || block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    let at = |time: u8| WriteOptions {
        timestamp_ms: time.into(),
        seed: [time; 32],
        sync: false,
    };
    // Two boxes in one tile and one in another. 12 of 100 cells are written.
    for (i, (from, values)) in [(1, [1, 2, 3, 4]), (3, [10, 20, 30, 40]), (6, [1, 2, 3, 4])]
        .iter()
        .enumerate()
    {
        let nullable = Column::from_values(Datatype::Int32, &[1, 2, 3, 4]).with_validity(vec![1, 0, 1, 1]);
        let cells = Cells {
            region: Some(vec![ScalarRange::new(*from, *from + 1); 2]),
            layout: Layout::RowMajor,
            columns: vec![
                ("v".into(), Column::from_values(Datatype::Int32, values)),
                ("n".into(), nullable),
            ],
        };
        block_on(open().write(cells, &at(10 + i as u8))).unwrap();
    }
    let check = || {
        use Aggregate::{Count, Max, Mean, Min, NullCount, Sum};
        let asked = [Count, Sum, Mean, Min, Max, NullCount];
        let found = |field| {
            let asked: Vec<_> = asked.iter().map(|a| (*a, field)).collect();
            block_on(open().aggregate(&Query::default(), &asked)).unwrap()
        };
        let known = |sum, mean, min, max, nulls| {
            let (min, max) = (Scalar::I32(min), Scalar::I32(max));
            [
                Scalar::U64(100),
                Scalar::I64(sum),
                Scalar::F64(mean),
                min,
                max,
                Scalar::U64(nulls),
            ]
            .map(Some)
        };
        // libtiledb has the same results for the consolidated fragment. For the three fragments it returns 120, 3.636…
        // and 3 nulls.
        assert_eq!(found("v"), known(120 + 88 * 7, 7.36, 1, 40, 0));
        assert_eq!(found("n"), known(24, 24.0 / 9.0, 1, 4, 91));
    };
    check();
    block_on(consolidate(&open(), &ConsolidateOptions::new(Mode::Fragments), &at(20))).unwrap();
    assert_eq!(open().fragments().len(), 1);
    check();
}

/// A dense array of 10^12 cells of which two corners and one cell between them are written.
fn vast(fill: Option<i32>) -> Array {
    let along = |name| Dimension::new(name, Datatype::Int64, 0_i64, 999_999_i64, 100_i64);
    let mut attribute = Attribute::new("v", Datatype::Int32, CellCount::ONE);
    attribute.fill = fill.map_or(attribute.fill, |f| f.to_le_bytes().to_vec());
    let mut nullable = Attribute::new("n", Datatype::Int32, CellCount::ONE);
    nullable.nullable = true;
    let schema = Schema::new(
        ArrayType::Dense,
        vec![along("y"), along("x")],
        vec![attribute, nullable],
    );
    let context = created(&schema);
    let open = || block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    for (time, at) in [(10_u8, 0_i64), (11, 500_050), (12, 999_998)] {
        let values: [i32; 4] = [1, 2, 3, 40];
        let column = || Column::from_values(Datatype::Int32, &values);
        let cells = Cells {
            region: Some(vec![ScalarRange::new(at, at + 1); 2]),
            layout: Layout::RowMajor,
            columns: vec![
                ("v".into(), column()),
                ("n".into(), column().with_validity(vec![1, 1, 1, 0])),
            ],
        };
        let options = WriteOptions {
            timestamp_ms: time.into(),
            seed: [time; 32],
            sync: false,
        };
        block_on(open().write(cells, &options)).unwrap();
    }
    open()
}

#[test]
fn cells_that_nobody_wrote_are_not_visited() {
    use Aggregate::{Count, Max, Mean, Min, NullCount, Sum};
    let all = 1_000_000_000_000_u64;
    let array = vast(Some(7));
    let wanted = [
        (Sum, "v"),
        (Min, "v"),
        (Max, "v"),
        (Count, "n"),
        (NullCount, "n"),
        (Mean, "n"),
    ];
    let found = |query: &Query| block_on(array.aggregate(query, &wanted)).unwrap();
    assert_eq!(
        found(&Query::default()),
        [
            Scalar::I64((all as i64 - 12) * 7 + 3 * 46),
            Scalar::I32(1),
            Scalar::I32(40),
            Scalar::U64(all),
            Scalar::U64(all - 9),
            Scalar::F64(2.0),
        ]
        .map(Some)
    );
    // Lists of ranges, which overlap.
    let ranges = vec![
        ScalarRange::new(0_i64, 999_999_i64),
        ScalarRange::new(1_i64, 500_050_i64),
    ];
    let query = Query {
        region: hyperslab::Region(vec![ranges, vec![ScalarRange::new(0_i64, 999_999_i64)]]),
        ..Query::default()
    };
    let (cells, again) = (1_500_050_000_000_i64, 43 + 3);
    assert_eq!(found(&query)[0], Some(Scalar::I64((cells - 16) * 7 + 3 * 46 + again)));
    let global = Query {
        order: Layout::Global,
        ..query.clone()
    };
    assert_eq!(found(&global), found(&query), "the order of cells does not matter");
    // Conditions that hold for the fill value, and that do not.
    let count = |array: &Array, condition: &str| {
        let query = Query {
            condition: Some(condition.parse().unwrap()),
            ..Query::default()
        };
        block_on(array.count(&query))
    };
    assert_eq!(count(&array, "v < 40").unwrap(), all - 3);
    assert_eq!(count(&array, "v != 7").unwrap(), 12);
    assert_eq!(count(&array, "n is null").unwrap(), all - 9);
    assert_eq!(count(&vast(None), "v > 2").unwrap(), 6);
    let sum = Query {
        condition: Some("v in (2, 7)".parse().unwrap()),
        ..Query::default()
    };
    let found = block_on(array.aggregate(&sum, &[(Sum, "v")])).unwrap();
    assert_eq!(found, [Some(Scalar::I64((all as i64 - 12) * 7 + 3 * 2))]);
    // A condition on coordinates may hold for any of them.
    let refused = count(&array, "v = 1 and x > 5").unwrap_err().to_string();
    assert!(
        refused.contains("never written") && refused.contains("select"),
        "{refused}"
    );
}

#[test]
fn more_cells_than_64_bits_can_count_are_an_error() {
    let along = |name| Dimension::new(name, Datatype::Uint64, 0_u64, u64::from(u32::MAX), 16_u64);
    let attribute = Attribute::new("v", Datatype::Uint8, CellCount::ONE);
    let schema = Schema::new(ArrayType::Dense, vec![along("y"), along("x")], vec![attribute]);
    let context = created(&schema);
    let open = || block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    let cells = Cells {
        region: Some(vec![ScalarRange::new(0_u64, 15_u64); 2]),
        layout: Layout::RowMajor,
        columns: vec![("v".into(), Column::from_values(Datatype::Uint8, &[1_u8; 256]))],
    };
    let options = WriteOptions {
        timestamp_ms: 10,
        seed: [10; 32],
        sync: false,
    };
    block_on(open().write(cells, &options)).unwrap();
    let error = block_on(open().aggregate(&Query::default(), &[(Aggregate::Count, "v")])).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("more cells than can be counted; select fewer"),
        "{error}"
    );
}
