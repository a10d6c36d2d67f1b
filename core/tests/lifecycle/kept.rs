//! Consolidation of dense fragments: tiles that only one fragment has are copied without decoding.

use std::sync::Arc;

use bytes::Bytes;
use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate};
use hyperslab::schema::Pipeline;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::vfs::faulty::{Fault, FaultyVfs};
use hyperslab::vfs::{MemVfs, VfsExt};
use hyperslab::{
    Aggregate, Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, Key, OpenOptions, Query, Scalar,
    ScalarRange, Window,
};

use super::at as at_time;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const FILES: [&str; 5] = ["a0.tdb", "a1.tdb", "a1_validity.tdb", "a2.tdb", "a2_var.tdb"];

/// An array of four tiles of four cells, in memory and encrypted, so that equal cells have different bytes.
fn array() -> Context {
    let context = Context::memory();
    let mut nullable = Attribute::new("nullable", Datatype::Float64, CellCount::ONE);
    nullable.nullable = true;
    let schema = Schema::new(
        ArrayType::Dense,
        vec![Dimension::new("x", Datatype::Uint8, 0_u8, 15_u8, 4_u8)],
        vec![
            Attribute::new("number", Datatype::Int32, CellCount::ONE),
            nullable,
            Attribute::new("text", Datatype::StringUtf8, CellCount::Var),
        ],
    );
    let options = CreateOptions {
        timestamp_ms: 0,
        seed: [0; 32],
        key: Some(Key([7; 32])),
    };
    block_on(Array::create(&context, "a", &schema, &[], &options)).unwrap();
    context
}

fn open(context: &Context) -> Array {
    let options = OpenOptions {
        window: Window::ALL,
        key: Some(Key([7; 32])),
    };
    block_on(Array::open(context, "a", &options)).unwrap()
}

/// Cell `x` holds `x + 100 * time`, or null if that is a multiple of 3.
fn value(time: u64, x: u8) -> i32 {
    i32::from(x) + 100 * time as i32
}

fn write(context: &Context, time: u64, first: u8, last: u8) -> String {
    let values: Vec<i32> = (first..=last).map(|x| value(time, x)).collect();
    let validity = values.iter().map(|v| u8::from(v % 3 != 0)).collect();
    let reals: Vec<f64> = values.iter().map(|v| f64::from(*v)).collect();
    let cells = Cells {
        region: Some(vec![ScalarRange::new(first, last)]),
        layout: Layout::RowMajor,
        columns: vec![
            ("number".into(), Column::from_values(Datatype::Int32, &values)),
            (
                "nullable".into(),
                Column::from_values(Datatype::Float64, &reals).with_validity(validity),
            ),
            (
                "text".into(),
                Column::from_cells(Datatype::StringUtf8, values.iter().map(i32::to_string)),
            ),
        ],
    };
    block_on(open(context).write(cells, &at_time(time))).unwrap();
    open(context).fragments().last().unwrap().name.clone()
}

fn file(context: &Context, fragment: &str, name: &str) -> Bytes {
    block_on(context.vfs.read_all(&format!("a/__fragments/{fragment}/{name}"))).unwrap()
}

#[test]
fn only_tiles_of_a_single_fragment_are_copied() {
    let context = array();
    let first = write(&context, 1, 0, 7);
    let second = write(&context, 2, 8, 15);
    write(&context, 3, 5, 6);
    let merged = block_on(consolidate(
        &open(&context),
        &ConsolidateOptions::new(Mode::Fragments),
        &at_time(9),
    ));
    let merged = merged.unwrap().written.remove(0);
    for name in FILES {
        let (whole, old) = (file(&context, &merged, name), file(&context, &first, name));
        // The second tile is in between; two of its cells are from the third write.
        assert!(whole.ends_with(&file(&context, &second, name)), "{name}");
        let alike = whole.iter().zip(&old).take_while(|(a, b)| a == b).count();
        assert!(alike >= old.len() * 2 / 5 && alike < old.len(), "{name}: {alike}");
    }
    let array = open(&context);
    let expected: Vec<i32> = (0..16)
        .map(|x| value(if x < 8 { 1 + 2 * u64::from(x == 5 || x == 6) } else { 2 }, x))
        .collect();
    let read = block_on(array.read(&Query::default())).unwrap();
    assert_eq!(&*read.column("number").unwrap().values::<i32>().unwrap(), &expected[..]);
    let text = read.column("text").unwrap();
    assert!((0..16).all(|i| text.cell(i) == expected[i].to_string().as_bytes()));
    // These are answered from tile statistics.
    let there: Vec<i32> = expected.iter().copied().filter(|v| v % 3 != 0).collect();
    let found = block_on(array.aggregate(
        &Query::default(),
        &[
            (Aggregate::Sum, "number"),
            (Aggregate::Max, "number"),
            (Aggregate::Min, "nullable"),
            (Aggregate::NullCount, "nullable"),
        ],
    ));
    let real = |v: &i32| Scalar::F64(f64::from(*v));
    let wanted = [
        Some(Scalar::I64(expected.iter().map(|v| i64::from(*v)).sum())),
        expected.iter().max().map(|v| Scalar::I32(*v)),
        there.iter().min().map(real),
        Some(Scalar::U64(16 - there.len() as u64)),
    ];
    assert_eq!(found.unwrap(), wanted);
}

#[test]
fn a_damaged_tile_is_not_copied() {
    // The number of chunks, and the length of the first chunk.
    for (name, at) in FILES.iter().flat_map(|name| [(name, 0), (name, 8)]) {
        let context = array();
        write(&context, 1, 0, 7);
        let second = write(&context, 2, 8, 15);
        let path = format!("a/__fragments/{second}/{name}");
        let mut bytes = file(&context, &second, name).to_vec();
        bytes[at] ^= 8;
        block_on(context.vfs.remove(&path)).unwrap();
        block_on(context.vfs.put(&path, vec![Bytes::from(bytes)])).unwrap();
        let merged = block_on(consolidate(
            &open(&context),
            &ConsolidateOptions::new(Mode::Fragments),
            &at_time(9),
        ));
        let error = merged.unwrap_err();
        assert_eq!(error.code(), "Corrupt");
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(open(&context).fragments().len(), 2);
    }
}

/// Two fragments of 220 tiles with one text each, 20 of them 64 KiB long.
fn large_among_small(datatype: Datatype) -> (Context, FaultyVfs) {
    let vfs = FaultyVfs::new(Arc::new(MemVfs::new()), Fault::default());
    let context = Context::new(Arc::new(vfs.clone()));
    let mut text = Attribute::new("text", datatype, CellCount::Var);
    text.filters = Pipeline::default();
    let schema = Schema::new(
        ArrayType::Dense,
        vec![Dimension::new("x", Datatype::Uint16, 0_u16, 439_u16, 1_u16)],
        vec![text],
    );
    let options = CreateOptions {
        timestamp_ms: 0,
        seed: [0; 32],
        key: None,
    };
    block_on(Array::create(&context, "a", &schema, &[], &options)).unwrap();
    for half in 0..2_u16 {
        let texts = (0..220).map(|i| vec![b'x'; if i < 20 { 64 << 10 } else { 0 }]);
        let cells = Cells {
            region: Some(vec![ScalarRange::new(220 * half, 220 * half + 219)]),
            layout: Layout::RowMajor,
            columns: vec![("text".into(), Column::from_cells(datatype, texts))],
        };
        let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
        block_on(array.write(cells, &at_time(1 + u64::from(half)))).unwrap();
    }
    (context, vfs)
}

/// The most bytes of data that a consolidation within 1 MiB reads before it writes.
fn most_read_at_once(datatype: Datatype) -> u64 {
    let (context, vfs) = large_among_small(datatype);
    vfs.set(Fault::default());
    let mut options = ConsolidateOptions::new(Mode::Fragments);
    options.memory_bytes = 1 << 20;
    let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    let merged = block_on(consolidate(&array, &options, &at_time(9))).unwrap().written;
    let (mut most, mut now) = (0, 0);
    for call in vfs.calls() {
        if call.path.contains(&merged[0]) {
            now = 0;
        } else if call.path.ends_with(".tdb") && call.method.starts_with("read") {
            now += call.bytes;
            most = most.max(now);
        }
    }
    most
}

#[test]
fn a_few_large_tiles_among_small_ones_are_consolidated_in_small_groups() {
    // Texts without minimum and maximum are copied, others are decoded. Offsets and framing come on top.
    for datatype in [Datatype::StringUtf8, Datatype::StringAscii] {
        let most = most_read_at_once(datatype);
        assert!((64 << 10..400 << 10).contains(&most), "{datatype}: {most}");
    }
}

#[test]
fn a_tile_that_is_too_large_for_the_budget_is_refused() {
    let merge = |memory_bytes| {
        let context = large_among_small(Datatype::StringAscii).0;
        let mut options = ConsolidateOptions::new(Mode::Fragments);
        options.memory_bytes = memory_bytes;
        let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
        block_on(consolidate(&array, &options, &at_time(9))).map(|done| done.replaced)
    };
    assert_eq!(merge(300 << 10).unwrap(), 2);
    let error = merge(200 << 10).unwrap_err();
    assert_eq!(error.code(), "LimitExceeded");
    assert!(error.to_string().contains("give more memory"), "{error}");
}
