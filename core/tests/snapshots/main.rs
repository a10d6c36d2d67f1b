//! Snapshot tokens and splits: arrays in memory are opened from a token on a store that records its calls.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[path = "../bands/mod.rs"]
mod bands;
mod splits;
mod tokens;

use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Schema};
use hyperslab::vfs::MemVfs;
use hyperslab::vfs::faulty::{Fault, FaultyVfs};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Window, WriteOptions,
};

/// A store that records its calls, and a context with it.
fn recorded(files: &MemVfs) -> (FaultyVfs, Context) {
    let store = FaultyVfs::new(Arc::new(files.clone()), Fault::default());
    (store.clone(), Context::new(Arc::new(store)))
}

fn create(files: &MemVfs, path: &str, schema: &Schema) -> Array {
    let context = Context::new(Arc::new(files.clone()));
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, path, schema, &[], &options)).unwrap();
    block_on(Array::open(&context, path, &OpenOptions::default())).unwrap()
}

fn at(timestamp_ms: u64) -> WriteOptions {
    let mut seed = [3; 32];
    // Ids of files are as random as in a real array.
    for (i, byte) in seed.iter_mut().enumerate() {
        *byte = (timestamp_ms.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 8 * 8)) as u8 ^ i as u8;
    }
    WriteOptions {
        timestamp_ms,
        seed,
        sync: false,
    }
}

const ROWS: u64 = 4;
const COLUMNS: u64 = 8;

/// An array of `fragments` bands of rows, with a number and a text in every cell. Two tiles a band.
fn bands(dense: bool, fragments: u64) -> (MemVfs, Array) {
    let files = MemVfs::new();
    let y = Dimension::new("y", Datatype::Uint64, 0_u64, fragments * ROWS - 1, ROWS);
    let x = Dimension::new("x", Datatype::Uint64, 0_u64, COLUMNS - 1, COLUMNS / 2);
    let attributes = vec![
        Attribute::new("v", Datatype::Uint64, CellCount::ONE),
        Attribute::new("s", Datatype::StringAscii, CellCount::Var),
    ];
    let kind = if dense { ArrayType::Dense } else { ArrayType::Sparse };
    let mut schema = Schema::new(kind, vec![y, x], attributes);
    schema.capacity = ROWS * COLUMNS / 2;
    let array = create(&files, "a", &schema);
    for i in 0..fragments {
        block_on(array.write(band(dense, i), &at(1_700_000_000_000 + i * 977))).unwrap();
    }
    let array = block_on(array.at(Window::ALL)).unwrap();
    assert_eq!(array.fragments().len() as u64, fragments);
    (files, array)
}

fn band(dense: bool, i: u64) -> Cells {
    bands::band(dense, i, [ROWS, COLUMNS])
}

/// The cells that a query selects, as the bytes of each field, sorted.
fn rows(array: &Array, query: &Query) -> Vec<Vec<Option<Vec<u8>>>> {
    let mut batches = array.batches(query.clone());
    let mut rows = Vec::new();
    while let Some(batch) = block_on(batches.next_matching()).unwrap() {
        for i in 0..batch.cells as usize {
            let value = |c: &Column| (!c.is_null(i)).then(|| c.cell(i).to_vec());
            rows.push(batch.columns.iter().map(|(_, c)| value(c)).collect());
        }
    }
    rows.sort();
    rows
}
