//! Attributes that were dropped and added again, by libtiledb's rules. Consolidation keeps the cells that reads show.

use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Evolution, Mode, consolidate, evolve, vacuum};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::vfs::MemVfs;
use hyperslab::{Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, Query, ScalarRange, Window};

use super::{at, open};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// An array with schemas at these times, each with attribute `a` of a type or without it. After each schema there is
/// one write, each with one cell less, so that some cells of each write stay visible.
fn life(kind: ArrayType, schemas: &[(u64, Option<Datatype>)]) -> Context {
    let files = MemVfs::new();
    let context = Context::new(Arc::new(files.clone()));
    for &(time, a) in schemas {
        let dimension = Dimension::new("x", Datatype::Int32, 0_i32, 9_i32, 5_i32);
        let mut attributes = vec![Attribute::new("k", Datatype::Int32, CellCount::ONE)];
        attributes.extend(a.map(|a| Attribute::new("a", a, CellCount::ONE)));
        let options = CreateOptions {
            timestamp_ms: time,
            seed: [time as u8; 32],
            key: None,
        };
        let (schema, path) = (Schema::new(kind, vec![dimension], attributes), format!("of {time}"));
        block_on(Array::create(&context, &path, &schema, &[], &options)).unwrap();
        for (name, bytes) in files.files() {
            if let Some(inside) = name.strip_prefix(&format!("{path}/")) {
                files.replace(format!("a/{inside}"), bytes);
            }
        }
        write(&context, kind, time + 5);
    }
    context
}

fn write(context: &Context, kind: ArrayType, time: u64) {
    let array = open(context, Window::ALL);
    let last = 8 - time as i32 / 10;
    let values: Vec<i32> = (0..=last).map(|i| time as i32 + i).collect();
    let column = |t| Column {
        datatype: t,
        ..Column::from_values(Datatype::Int32, &values)
    };
    let attributes = array.schema().attributes.iter();
    let mut columns: Vec<_> = attributes.map(|a| (a.name.clone(), column(a.datatype))).collect();
    let dense = kind == ArrayType::Dense;
    if !dense {
        let x: Vec<i32> = (0..=last).rev().collect();
        columns.push(("x".into(), Column::from_values(Datatype::Int32, &x)));
    }
    let cells = Cells {
        region: dense.then(|| vec![ScalarRange::new(0_i32, last)]),
        layout: if dense { Layout::RowMajor } else { Layout::Unordered },
        columns,
    };
    block_on(array.write(cells, &at(time))).unwrap();
}

fn shown(array: &Array) -> Vec<(String, Column)> {
    block_on(array.read(&Query::default())).unwrap().columns
}

fn merge(context: &Context, window: Window) {
    let array = open(context, window);
    let done = block_on(consolidate(&array, &ConsolidateOptions::new(Mode::Fragments), &at(500))).unwrap();
    assert_eq!(done.written.len(), 1);
    block_on(vacuum(&array, Mode::Fragments, false, &at(501))).unwrap();
}

#[test]
fn a_consolidation_of_the_past_keeps_cells_of_attributes_added_again() {
    for kind in [ArrayType::Dense, ArrayType::Sparse] {
        let schemas = [(10, Some(Datatype::Int32)), (20, None), (30, Some(Datatype::Int32))];
        let context = life(kind, &schemas);
        let before = shown(&open(&context, Window::ALL));
        merge(&context, Window::at(29));
        let after = open(&context, Window::ALL);
        assert_eq!((shown(&after), after.fragments().len()), (before, 2), "{kind:?}");
        let latest = after.fragments().iter().all(|f| f.schema.attribute("a").is_some());
        assert!(latest, "libtiledb reads fragments with the latest schema");
    }
}

#[test]
fn a_future_schema_removes_nothing_yet() {
    let context = life(ArrayType::Sparse, &[(10, Some(Datatype::Int32))]);
    write(&context, ArrayType::Sparse, 17);
    let change = Evolution {
        drop: vec!["a".into()],
        ..Evolution::default()
    };
    block_on(evolve(&open(&context, Window::ALL), &change, &at(900))).unwrap();
    let before = shown(&open(&context, Window::at(600)));
    // A window that ends before the consolidation.
    merge(&context, Window::at(60));
    assert_eq!(shown(&open(&context, Window::at(600))), before);
}

#[test]
fn a_consolidation_keeps_cells_of_another_type_of_the_same_size() {
    for kind in [ArrayType::Dense, ArrayType::Sparse] {
        for other in [Datatype::Uint32, Datatype::Float32] {
            let context = life(kind, &[(10, Some(Datatype::Int32)), (20, Some(other))]);
            let before = shown(&open(&context, Window::ALL));
            merge(&context, Window::ALL);
            assert_eq!(shown(&open(&context, Window::ALL)), before, "{kind:?} {other}");
        }
    }
}
