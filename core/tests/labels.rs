//! Selects cells by dimension labels.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::internals::view::selection;
use hyperslab::schema::{ArrayType, Attribute, DataOrder, Dimension, DimensionLabel, Layout, Schema};
use hyperslab::vfs::MemVfs;
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, ScalarRange, WriteOptions,
};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const ROWS: i64 = 8;

fn label(name: &str, dimension: u32, order: DataOrder, datatype: Datatype, cell: CellCount) -> DimensionLabel {
    DimensionLabel {
        dimension,
        name: name.into(),
        relative: true,
        uri: String::new(),
        attribute: String::new(),
        order,
        datatype,
        cell,
        external: false,
    }
}

/// An array with rows -2 to 5, which have latitudes, names and numbers as labels, and columns 0 to 3 without labels.
fn labelled() -> Context {
    labelled_in(Arc::new(MemVfs::new()))
}

fn labelled_in(store: Arc<MemVfs>) -> Context {
    let rows = Dimension::new("y", Datatype::Int64, -2_i64, ROWS - 3, 4_i64);
    let columns = Dimension::new("x", Datatype::Int64, 0_i64, 3_i64, 2_i64);
    let v = Attribute::new("v", Datatype::Int32, CellCount::ONE);
    let mut schema = Schema::new(ArrayType::Dense, vec![rows, columns], vec![v]);
    schema.labels = vec![
        label("lat", 0, DataOrder::Decreasing, Datatype::Float64, CellCount::ONE),
        label("name", 0, DataOrder::Increasing, Datatype::StringAscii, CellCount::Var),
        label("number", 0, DataOrder::Unordered, Datatype::Uint8, CellCount::ONE),
    ];
    let context = Context::new(store);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "a", &schema, &[], &options)).unwrap();
    let latitudes: Vec<f64> = (0..ROWS).map(|i| 45.0 - 2.5 * i as f64).collect();
    let names = ["ash", "bay", "bay", "cod", "dun", "elm", "fir", "gum"];
    let numbers: [u8; 8] = [7, 3, 7, 200, 201, 0, 1, 255];
    let written = [
        Column::from_values(Datatype::Float64, &latitudes),
        Column::from_cells(Datatype::StringAscii, names),
        Column::from_values(Datatype::Uint8, &numbers),
    ];
    for (i, column) in written.into_iter().enumerate() {
        let cells = Cells {
            region: None,
            layout: Layout::RowMajor,
            columns: vec![("label".to_owned(), column)],
        };
        let options = WriteOptions {
            timestamp_ms: 2,
            seed: [i as u8; 32],
            sync: false,
        };
        let array = block_on(Array::open(
            &context,
            &format!("a/__labels/l{i}"),
            &OpenOptions::default(),
        ));
        block_on(array.unwrap().write(cells, &options)).unwrap();
    }
    context
}

fn open(context: &Context) -> Array {
    block_on(Array::open(context, "a", &OpenOptions::default())).unwrap()
}

#[test]
fn labels_select_their_coordinates() {
    let context = labelled();
    let array = open(&context);
    let select = |text: &str| block_on(selection::read(&array, text)).map(|s| s.text(array.schema()));
    for (text, same) in [
        // Ranges of floats include their end. These labels are decreasing.
        ("lat=35.0:40.0", "0:3,0:4"),
        ("lat=44.9:39.9", ""),
        ("lat=39.9:44.9", "-1:1,0:4"),
        ("lat=42.5", "-1,0:4"),
        ("lat=:30.0", "4:6,0:4"),
        // Several coordinates may have the same label.
        ("name=bay", "-1:1,0:4"),
        ("name=bay:dun,1:3", "-1:3,1:3"),
        ("v@x=2:4,name=fir:", "v@4:6,2:4"),
        // Ranges of integers exclude their end.
        ("number=200:202", "1:3,0:4"),
        ("number=255", "5,0:4"),
        ("1:3", "1:3,0:4"),
    ] {
        match select(text) {
            Ok(found) => assert_eq!(found, same, "{text}"),
            Err(e) => assert_eq!("", same, "{text}: {e}"),
        }
    }
    for (text, why) in [
        ("number=7", "not contiguous"),
        ("number=10:20", "no coordinate has"),
        ("lat=0.0:1.0", "no coordinate has"),
        ("number=0:10:2", "cannot have a step"),
        ("lat=35.0:40.0,y=1:2", "twice"),
        ("lon=1:2", "no dimension 'lon'"),
    ] {
        let error = select(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn damage_to_labels_is_found_by_verify() {
    let store = Arc::new(MemVfs::new());
    drop(labelled_in(Arc::clone(&store)));
    let found = || {
        let mut damaged = Vec::new();
        let array = open(&Context::new(store.clone()));
        block_on(array.verify(&mut |f| damaged.extend(f.error.map(|_| f.path)))).unwrap();
        damaged
    };
    assert_eq!(found(), Vec::<String>::new());
    let break_file = |of: &dyn Fn(&str) -> bool| {
        let (path, bytes) = store.files().into_iter().find(|(path, _)| of(path)).unwrap();
        store.replace(path.clone(), vec![0xff; bytes.len()]);
        path
    };
    let tile = break_file(&|p| p.starts_with("a/__labels/l1/") && p.ends_with("a0.tdb"));
    assert_eq!(found(), std::slice::from_ref(&tile));
    break_file(&|p| p.starts_with("a/__labels/l2/__schema/__"));
    assert_eq!(found(), [tile, "a/__labels/l2".to_owned()]);
}

#[test]
fn unordered_labels_may_give_several_ranges() {
    let context = labelled();
    let found = block_on(open(&context).labelled("number", &ScalarRange::new(3_u8, 7_u8))).unwrap();
    assert_eq!(found, [ScalarRange::new(-2_i64, 0_i64)]);
    let found = block_on(open(&context).labelled("number", &ScalarRange::new(7_u8, 7_u8))).unwrap();
    assert_eq!(
        found,
        [ScalarRange::new(-2_i64, -2_i64), ScalarRange::new(0_i64, 0_i64)]
    );
    let none = block_on(open(&context).labelled("nobody", &ScalarRange::new(7_u8, 7_u8)));
    assert!(
        none.unwrap_err()
            .to_string()
            .contains("the dimension labels are lat, name, number")
    );
}
