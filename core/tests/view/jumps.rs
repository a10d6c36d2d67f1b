//! Random ranges of large files, whose readers get single cells.

use std::sync::Arc;

use hyperslab::vfs::MemVfs;
use hyperslab::vfs::faulty::{Fault, FaultyVfs};

use super::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const SIDE: i32 = 1200;

/// 1200 x 1200 cells of 13 bytes in tiles of 300 x 300.
fn large() -> View {
    large_in(&Context::memory())
}

fn large_in(context: &Context) -> View {
    let options = created();
    let dimension = |name| Dimension::new(name, Datatype::Int32, -7_i32, SIDE - 8, 300_i32);
    let mut maybe = Attribute::new("maybe", Datatype::Float64, CellCount::ONE);
    maybe.nullable = true;
    let attributes = vec![Attribute::new("v", Datatype::Int32, CellCount::ONE), maybe];
    let schema = Schema::new(ArrayType::Dense, vec![dimension("y"), dimension("x")], attributes);
    block_on(Array::create(context, "large", &schema, &[], &options)).unwrap();
    let v: Vec<i32> = (0..SIDE * SIDE).collect();
    let mut maybe = Column::from_values(Datatype::Float64, &v.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
    maybe.validity = Some(v.iter().map(|v| u8::from(v % 3 > 0)).collect());
    let cells = Cells {
        region: None,
        layout: Layout::RowMajor,
        columns: vec![
            ("v".to_owned(), Column::from_values(Datatype::Int32, &v)),
            ("maybe".to_owned(), maybe),
        ],
    };
    write(context, "large", 1000, cells);
    let source = Source {
        context: context.clone(),
        url: String::new(),
        path: "large".to_owned(),
        options: OpenOptions::default(),
        name: "large".to_owned(),
    };
    View::new(source, NOW_MS)
}

/// A row of tiles has 1.4 MB of `v`, and a tile 0.36 MB.
#[test]
fn a_reader_that_jumps_reads_a_tile_and_others_read_a_row_of_tiles() {
    let store = FaultyVfs::new(Arc::new(MemVfs::new()), Fault::default());
    let view = large_in(&Context::new(Arc::new(store.clone())));
    let node = block_on(view.lookup("slices/v@all.bin")).unwrap().unwrap();
    let stored = |range: Range<u64>| {
        store.set(Fault::default());
        block_on(view.read(&node, range)).unwrap();
        store.calls().iter().map(|call| call.bytes).sum::<u64>()
    };
    let jump = stored(3_000_000..3_004_096);
    assert!((4096..400_000).contains(&jump), "{jump} bytes for a jump");
    let start = stored(0..4096);
    assert!(start >= 1_400_000, "{start} bytes for the start");
    assert_eq!(stored(4096..8192), 0);
}

#[test]
fn random_ranges_of_large_files_are_parts_of_them() {
    let view = large();
    let mut random = 1_u64;
    let mut next = |below: u64| {
        // A linear congruential generator, with the constants of Knuth's MMIX.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let formats = [
        "slices/all.npy",
        "slices/v@all.bin",
        "slices/maybe@10:1100,3:1000.npy",
        "slices/all.arrow",
    ];
    // The package for browsers has its own encoder of Arrow.
    let is_there = |name: &&str| !cfg!(target_family = "wasm") || !name.ends_with(".arrow");
    for name in formats.into_iter().filter(is_there) {
        let whole = file(&view, name);
        // It has nothing in its cache, and knows no reader.
        let fresh = large();
        let node = block_on(fresh.lookup(name)).unwrap().unwrap();
        for i in 0..150 {
            let length = 1 + next(if i % 10 == 0 { 1 << 20 } else { 5000 });
            let start = next(whole.len() as u64);
            let range = start..(start + length).min(whole.len() as u64);
            let read = block_on(fresh.read(&node, range.clone())).unwrap();
            let expected = &whole[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()];
            assert!(read[..] == *expected, "{name} {range:?}");
        }
    }
}
