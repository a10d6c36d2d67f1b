//! Fragments whose cells arrive in any number of batches.

use std::collections::BTreeMap;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate};
use hyperslab::schema::{
    ArrayType, Attribute, Dimension, Enumeration, EnumerationRef, Filter, Layout, Pipeline, Schema,
};
use hyperslab::{Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, Error, Query, ScalarRange, Window};
use proptest::prelude::*;

use super::sparse;
use super::{at, new_array, open};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn dense() -> Schema {
    let dim = |name| Dimension::new(name, Datatype::Uint8, 0_u8, 15_u8, 4_u8);
    Schema::new(
        ArrayType::Dense,
        vec![dim("y"), dim("x")],
        vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)],
    )
}

fn batch(values: &[i32]) -> Vec<(String, Column)> {
    vec![("a".into(), Column::from_values(Datatype::Int32, values))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn dense_tiles_arrive_in_pieces(cuts in prop::collection::vec(0_usize..256, 0..12)) {
        let context = new_array(&dense());
        let array = open(&context, Window::ALL);
        let mut writer = block_on(array.writer(None, &at(1))).unwrap();
        let values: Vec<i32> = (0..256).collect();
        let mut cuts = cuts.clone();
        cuts.extend([0, 256]);
        cuts.sort_unstable();
        for ends in cuts.windows(2) {
            block_on(writer.push(batch(&values[ends[0]..ends[1]]))).unwrap();
        }
        block_on(writer.finish()).unwrap();
        let query = Query { order: Layout::Global, ..Query::default() };
        let read = block_on(open(&context, Window::ALL).read(&query)).unwrap();
        prop_assert_eq!(&*read.column("a").unwrap().values::<i32>().unwrap(), &values[..]);
    }

    /// A box that arrives in parts is the same fragment as one that is written at once.
    #[test]
    fn dense_boxes_arrive_in_parts(
        sides in (1_u8..16, 1_u8..16),
        extents in (1_u8..6, 1_u8..6),
        tiles in (1_u8..4, 1_u8..4),
        by_columns in any::<bool>(),
    ) {
        let mut schema = dense();
        schema.dimensions[0].extent = Some(extents.0.into());
        schema.dimensions[1].extent = Some(extents.1.into());
        if by_columns {
            schema.tile_order = Layout::ColMajor;
        }
        let (context, other) = (new_array(&schema), new_array(&schema));
        let ranges = |side: u8, step: u8| -> Vec<(u8, u8)> {
            (0..side).step_by(usize::from(step)).map(|lo| (lo, (lo + step).min(side) - 1)).collect()
        };
        // One tile thick along the slow axis, and any number of tiles along the other.
        let (slow, fast) = if by_columns { (1, 0) } else { (0, 1) };
        let side = [sides.0, sides.1];
        let extent = [extents.0, extents.1];
        let step = [tiles.0 * extents.0, tiles.1 * extents.1][fast];
        let at_cell = |y: u8, x: u8| i32::from(y) * 100 + i32::from(x);
        let cells = |y: (u8, u8), x: (u8, u8)| -> Vec<i32> {
            (y.0..=y.1).flat_map(|y| (x.0..=x.1).map(move |x| at_cell(y, x))).collect()
        };
        let region = |y: (u8, u8), x: (u8, u8)| vec![ScalarRange::new(y.0, y.1), ScalarRange::new(x.0, x.1)];
        let whole = ((0, sides.0 - 1), (0, sides.1 - 1));
        let mut writer = block_on(open(&context, Window::ALL).box_writer(region(whole.0, whole.1), &at(1))).unwrap();
        for outer in ranges(side[slow], extent[slow]) {
            for inner in ranges(side[fast], step) {
                let (y, x) = if by_columns { (inner, outer) } else { (outer, inner) };
                block_on(writer.push(&region(y, x), batch(&cells(y, x)))).unwrap();
            }
        }
        block_on(writer.finish()).unwrap();
        let all = Cells {
            region: Some(region(whole.0, whole.1)),
            layout: Layout::RowMajor,
            columns: batch(&cells(whole.0, whole.1)),
        };
        block_on(open(&other, Window::ALL).write(all, &at(1))).unwrap();
        let (parts, once) = (open(&context, Window::ALL), open(&other, Window::ALL));
        prop_assert_eq!(parts.non_empty_domain(), once.non_empty_domain());
        let read = |array: &Array| block_on(array.read(&Query::default())).unwrap();
        prop_assert_eq!(read(&parts), read(&once));
    }

    #[test]
    fn sparse_cells_arrive_in_pieces(cuts in prop::collection::vec(0_usize..100, 0..8), capacity in 1_u64..40) {
        let mut schema = sparse::schema(Layout::RowMajor, false, capacity);
        // A single tile, so that global order is row-major.
        schema.dimensions.iter_mut().for_each(|d| d.extent = Some(12_i32.into()));
        let context = new_array(&schema);
        let cells: Vec<((i32, i32), i32)> = (0..100).map(|i| ((i / 10, i % 10), i)).collect();
        let mut writer = block_on(open(&context, Window::ALL).writer(None, &at(1))).unwrap();
        let mut cuts = cuts.clone();
        cuts.extend([0, 100]);
        cuts.sort_unstable();
        for ends in cuts.windows(2) {
            let part: BTreeMap<_, _> = cells[ends[0]..ends[1]].iter().copied().collect();
            block_on(writer.push(sparse::columns(&part))).unwrap();
        }
        block_on(writer.finish()).unwrap();
        let read = sparse::read(&context, Window::ALL);
        prop_assert_eq!(read.iter().map(|c| ((c.0, c.1), c.2)).collect::<Vec<_>>(), cells);
    }
}

#[test]
fn invalid_input_is_refused_and_leaves_no_files() {
    let context = new_array(&dense());
    let array = open(&context, Window::ALL);
    let mut writer = block_on(array.writer(None, &at(1))).unwrap();
    block_on(writer.push(batch(&[1; 200]))).unwrap();
    let e = block_on(writer.push(batch(&[1; 57]))).unwrap_err();
    assert!(e.to_string().contains("56 cells left"), "{e}");
    let e = block_on(writer.finish()).unwrap_err();
    assert!(e.to_string().contains("missing 56 cells"), "{e}");

    let sparse_context = new_array(&sparse::schema(Layout::RowMajor, false, 4));
    let array = open(&sparse_context, Window::ALL);
    let mut writer = block_on(array.writer(None, &at(1))).unwrap();
    block_on(writer.push(sparse::columns(&[((0, 0), 1), ((0, 1), 2)].into()))).unwrap();
    let again = block_on(writer.push(sparse::columns(&[((0, 1), 2)].into())));
    assert!(again.unwrap_err().to_string().contains("same coordinates"));
    drop(writer);
    let nothing = block_on(block_on(array.writer(None, &at(2))).unwrap().finish());
    assert!(nothing.unwrap_err().to_string().contains("no cells to write"));
    assert!(open(&sparse_context, Window::ALL).fragments().is_empty());
    assert!(open(&context, Window::ALL).fragments().is_empty());
}

#[test]
fn an_index_beyond_its_enumeration_is_refused() {
    let mut attribute = Attribute::new("colour", Datatype::Uint8, CellCount::ONE);
    attribute.enumeration = Some("colours".into());
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 9_i32, 10_i32);
    let mut schema = Schema::new(ArrayType::Dense, vec![x], vec![attribute]);
    schema.enumerations.push(EnumerationRef {
        name: "colours".into(),
        file: String::new(),
    });
    let context = Context::memory();
    let colours = Enumeration {
        name: "colours".into(),
        file: String::new(),
        ordered: false,
        values: Column::from_cells(Datatype::StringUtf8, ["red", "green"]),
    };
    let options = CreateOptions {
        timestamp_ms: 0,
        seed: [0; 32],
        key: None,
    };
    block_on(Array::create(&context, "a", &schema, &[colours], &options)).unwrap();
    let mut writer = block_on(open(&context, Window::ALL).writer(None, &at(1))).unwrap();
    let cells = |index: u8| vec![("colour".to_owned(), Column::from_values(Datatype::Uint8, &[index; 10]))];
    let refused = block_on(writer.push(cells(2))).unwrap_err();
    assert!(refused.to_string().contains("'colour'"), "{refused}");
    block_on(writer.push(cells(1))).unwrap();
    block_on(writer.finish()).unwrap();
}

/// The size of text is known from the metadata, not from its size on disk.
#[test]
fn a_consolidation_of_compressible_text_stays_within_its_memory_or_is_refused() {
    let mut text = Attribute::new("text", Datatype::StringUtf8, CellCount::Var);
    text.filters = Pipeline::new(vec![Filter::Zstd { level: 3 }]);
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 999_i32, 10_i32);
    let mut schema = Schema::new(ArrayType::Sparse, vec![x], vec![text]);
    schema.capacity = 100;
    let context = new_array(&schema);
    let merge = |memory_bytes: u64, time: u64| {
        let mut options = ConsolidateOptions::new(Mode::Fragments);
        options.memory_bytes = memory_bytes;
        block_on(consolidate(&open(&context, Window::ALL), &options, &at(time)))
    };
    for (time, bytes) in [(1, 10_000), (2, 10_000), (3, 10), (4, 10)] {
        let cells = Cells {
            region: None,
            layout: Layout::Unordered,
            columns: vec![
                (
                    "x".into(),
                    Column::from_values(Datatype::Int32, &(0..100).collect::<Vec<i32>>()),
                ),
                (
                    "text".into(),
                    Column::from_cells(Datatype::StringUtf8, vec!["x".repeat(bytes); 100]),
                ),
            ],
        };
        block_on(open(&context, Window::ALL).write(cells, &at(time))).unwrap();
        if time == 2 {
            // A megabyte each, compressed to a few hundred bytes.
            let error = merge(4 << 20, 9).unwrap_err();
            assert!(
                matches!(error, Error::LimitExceeded { found, .. } if found > 8_000_000),
                "{error}"
            );
        }
    }
    // Fragments that fit are consolidated.
    assert_eq!(merge(1 << 20, 10).unwrap().replaced, 2);
    let kept = open(&context, Window::ALL);
    assert_eq!(
        kept.fragments().iter().map(|f| f.start_ms).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert_eq!(merge(16 << 20, 11).unwrap().replaced, 3);
    assert_eq!(
        block_on(open(&context, Window::ALL).count(&Query::default())).unwrap(),
        100
    );
}

#[test]
fn parts_of_a_box_come_in_order_and_whole() {
    let context = new_array(&dense());
    let array = open(&context, Window::ALL);
    let region = |y: (u8, u8), x: (u8, u8)| vec![ScalarRange::new(y.0, y.1), ScalarRange::new(x.0, x.1)];
    let start = || block_on(array.box_writer(region((0, 7), (0, 6)), &at(1))).unwrap();
    let refused = |error: Error, why: &str| assert!(error.to_string().contains(why), "{error}");
    let mut writer = start();
    let late = block_on(writer.push(&region((4, 7), (0, 6)), batch(&[0; 28]))).unwrap_err();
    refused(late, "not in the order of its tiles");
    let cut = block_on(writer.push(&region((0, 2), (0, 6)), batch(&[0; 21]))).unwrap_err();
    refused(cut, "cuts tiles of 'y', whose extent is 4");
    let short = block_on(writer.push(&region((0, 3), (0, 6)), batch(&[0; 27]))).unwrap_err();
    refused(short, "sides of [4, 7] cells, but the columns have 27 cells");
    block_on(writer.push(&region((0, 3), (0, 6)), batch(&[0; 28]))).unwrap();
    let again = block_on(writer.push(&region((0, 3), (0, 6)), batch(&[0; 28]))).unwrap_err();
    refused(again, "not in the order of its tiles");
    refused(block_on(writer.finish()).unwrap_err(), "not complete: 2 of its tiles");
    assert!(open(&context, Window::ALL).fragments().is_empty());
}
