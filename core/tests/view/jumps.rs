//! Random ranges of large files, whose readers get single cells.

use super::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const SIDE: i32 = 1200;

/// 1200 x 1200 cells of 13 bytes in tiles of 300 x 300.
fn large() -> View {
    let (context, options) = (Context::memory(), created());
    let dimension = |name| Dimension::new(name, Datatype::Int32, -7_i32, SIDE - 8, 300_i32);
    let mut maybe = Attribute::new("maybe", Datatype::Float64, CellCount::ONE);
    maybe.nullable = true;
    let attributes = vec![Attribute::new("v", Datatype::Int32, CellCount::ONE), maybe];
    let schema = Schema::new(ArrayType::Dense, vec![dimension("y"), dimension("x")], attributes);
    block_on(Array::create(&context, "large", &schema, &[], &options)).unwrap();
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
    write(&context, "large", 1000, cells);
    let source = Source {
        context,
        url: String::new(),
        path: "large".to_owned(),
        options: OpenOptions::default(),
        name: "large".to_owned(),
    };
    View::new(source, NOW_MS)
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
