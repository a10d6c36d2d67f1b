//! Files that are encoded from start to end, in little memory.

use std::sync::Arc;

use hyperslab::vfs::MemVfs;
use hyperslab::vfs::faulty::{Fault, FaultyVfs};

use super::*;

const MIB: u64 = 1 << 20;

/// A view of points with a number and a name.
fn points(context: &Context, cells: i32, memory_bytes: u64) -> View {
    let x = Dimension::new("x", Datatype::Int32, 0, cells - 1, 10_000);
    let attributes = vec![
        Attribute::new("v", Datatype::Float64, CellCount::ONE),
        Attribute::new("name", Datatype::StringUtf8, CellCount::Var),
    ];
    let mut schema = Schema::new(ArrayType::Sparse, vec![x], attributes);
    schema.capacity = 10_000;
    block_on(Array::create(context, "points", &schema, &[], &created())).unwrap();
    let x: Vec<i32> = (0..cells).collect();
    let v: Vec<f64> = x.iter().map(|x| f64::from(*x) / 8.0).collect();
    let columns = vec![
        ("x".to_owned(), Column::from_values(Datatype::Int32, &x)),
        ("v".to_owned(), Column::from_values(Datatype::Float64, &v)),
        (
            "name".to_owned(),
            Column::from_cells(Datatype::StringUtf8, x.iter().map(|x| format!("name {x}"))),
        ),
    ];
    let (region, layout) = (None, Layout::Unordered);
    write(
        context,
        "points",
        1000,
        Cells {
            region,
            layout,
            columns,
        },
    );
    whole(context.clone()).with_memory(memory_bytes)
}

const FILES: [&str; 4] = ["all.csv", "v,x@all.npy", "v,x@all.arrow", "all.jsonl"];

#[test]
fn files_larger_than_the_cache_are_read_in_any_order() {
    let large = points(&Context::memory(), 200_000, 256 * MIB);
    for cache_bytes in [0, 5 * MIB] {
        let small = points(&Context::memory().with_cache_bytes(cache_bytes), 200_000, MIB);
        compare(&large, &small);
    }
}

/// Reads all files of `small` in order and at random.
fn compare(large: &View, small: &View) {
    for name in FILES {
        let name = format!("points/slices/{name}");
        let expected = file(large, &name);
        assert!(expected.len() as u64 > 2 * MIB, "{name} is a single part");
        let node = block_on(small.lookup(&name)).unwrap().unwrap();
        assert_eq!(
            node.kind,
            NodeKind::File {
                size: expected.len() as u64
            }
        );
        let read = |start: usize, size: usize| {
            let found = block_on(small.read(&node, start as u64..(start + size) as u64)).unwrap();
            assert!(
                found == expected[start..expected.len().min(start + size)],
                "{name} at {start}"
            );
        };
        (0..expected.len())
            .step_by(300_000)
            .for_each(|start| read(start, 300_000));
        for start in [2_000_001, 10, 1 << 20, expected.len() - 1] {
            read(start, 4096);
        }
    }
}

/// How often the stored bytes of the array are read.
#[test]
fn two_readers_at_different_places_do_not_start_again() {
    let store = FaultyVfs::new(Arc::new(MemVfs::new()), Fault::default());
    let context = Context::new(Arc::new(store.clone())).with_cache_bytes(0);
    let view = points(&context, 1_000_000, MIB);
    let node = block_on(view.lookup("points/slices/v,x@all.npy")).unwrap().unwrap();
    let NodeKind::File { size } = node.kind else {
        panic!("no file")
    };
    let read = |start| block_on(view.read(&node, start..start + 100_000)).unwrap();
    let stored = || store.calls().iter().map(|call| call.bytes).sum::<u64>();
    store.set(Fault::default());
    (0..size).step_by(100_000).for_each(|start| drop(read(start)));
    let once = stored();
    store.set(Fault::default());
    let half = size / 2;
    for start in (0..half).step_by(100_000) {
        read(start);
        read(half + start);
    }
    let twice = stored();
    assert!(
        once > 0 && twice <= 3 * once,
        "{twice} bytes for two readers, {once} for one"
    );
}

#[test]
fn lookups_at_once_measure_a_file_once() {
    let store = FaultyVfs::new(Arc::new(MemVfs::new()), Fault::default());
    let context = Context::new(Arc::new(store.clone())).with_cache_bytes(0);
    let view = points(&context, 50_000, MIB);
    block_on(view.list("points")).unwrap();
    let stored = || store.calls().iter().map(|call| call.bytes).sum::<u64>();
    store.set(Fault::default());
    block_on(view.lookup("points/slices/all.csv")).unwrap();
    let once = stored();
    store.set(Fault::default());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| block_on(view.lookup("points/slices/all.jsonl")).unwrap());
        }
    });
    let found = stored();
    assert!(
        once > 0 && found <= 2 * once,
        "{found} bytes for eight lookups, {once} for one"
    );
}

#[test]
fn files_that_take_too_much_memory_are_refused_with_a_remedy() {
    let view = points(&Context::memory(), 200_000, 2 * MIB);
    match block_on(view.lookup("points/slices/all.arrow")) {
        Err(e @ Error::LimitExceeded { .. }) => {
            let why = e.to_string();
            assert!(why.contains("select fewer cells, or use `hyperslab export`"), "{why}");
        }
        other => panic!("{other:?}"),
    }
    // Text is encoded in parts, so it needs little memory.
    assert!(file(&view, "points/slices/all.csv").len() as u64 > 4 * MIB);
}
