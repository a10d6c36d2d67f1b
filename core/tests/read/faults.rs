//! Files on the local disk that cannot be read, at each call in turn. A read fails or is correct.

use std::collections::BTreeSet;
use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Filter, Layout, Pipeline, Schema};
use hyperslab::vfs::faulty::{Fault, FaultyVfs};
use hyperslab::vfs::{LocalVfs, Vfs};
use hyperslab::{
    Array, Batch, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Region, Result,
    ScalarRange, WriteOptions,
};

const SIDE: i32 = 512;

/// A matrix of uncompressed and of compressed numbers, in tiles of 256 KiB, in a store that fails on demand.
fn matrix(folder: &std::path::Path) -> FaultyVfs {
    let mut packed = Attribute::new("packed", Datatype::Int32, CellCount::ONE);
    packed.filters = Pipeline::new(vec![Filter::Zstd { level: 1 }]);
    let plain = Attribute::new("plain", Datatype::Int32, CellCount::ONE);
    let side = |name| Dimension::new(name, Datatype::Int32, 0, SIDE - 1, SIDE / 2);
    let schema = Schema::new(ArrayType::Dense, vec![side("y"), side("x")], vec![plain, packed]);
    let local: Arc<dyn Vfs> = Arc::new(LocalVfs::new(folder));
    let context = Context::new(Arc::clone(&local));
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "a", &schema, &[], &options)).unwrap();
    let values: Vec<i32> = (0..SIDE * SIDE).map(|i| i / 3).collect();
    let column = || Column::from_values(Datatype::Int32, &values);
    let cells = Cells {
        region: None,
        layout: Layout::RowMajor,
        columns: vec![("plain".into(), column()), ("packed".into(), column())],
    };
    let options = WriteOptions {
        timestamp_ms: 2,
        seed: [2; 32],
        sync: false,
    };
    let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    block_on(array.write(cells, &options)).unwrap();
    FaultyVfs::new(local, Fault::default())
}

fn read(store: &FaultyVfs, query: &Query) -> Result<Batch> {
    let context = Context::new(Arc::new(store.clone()));
    let array = block_on(Array::open(&context, "a", &OpenOptions::default()))?;
    block_on(array.read(query))
}

#[test]
fn a_read_with_failing_files_fails_or_is_correct() {
    let folder = tempfile::tempdir().unwrap();
    let store = matrix(folder.path());
    let inner = ScalarRange::new(100, 400);
    let mut methods = BTreeSet::new();
    for region in [Region::all(), Region::from_box(vec![inner.clone(), inner])] {
        let query = Query {
            region,
            ..Query::default()
        };
        store.set(Fault::default());
        let right = read(&store, &query).unwrap();
        let calls = store.calls();
        methods.extend(calls.iter().map(|c| c.method));
        for call in 0..calls.len() as u64 {
            for (lasting, after_effect) in [(true, false), (false, true)] {
                store.set(Fault {
                    at_call: Some(call),
                    lasting,
                    after_effect,
                    ..Fault::default()
                });
                match read(&store, &query) {
                    Ok(found) => assert_eq!(found, right, "call {call}"),
                    Err(e) => assert!(e.to_string().contains("injected"), "call {call}: {e}"),
                }
            }
        }
    }
    assert!(
        methods.contains("read_at") && methods.contains("read_parts_at"),
        "nothing was read directly: {methods:?}"
    );
}
