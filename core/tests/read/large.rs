//! Tiles that are read from disk in several parts.

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Filter, Layout, Pipeline, Schema};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Region, ScalarRange,
    WriteOptions,
};

/// Cells of eight bytes: about nine megabytes.
const CELLS: i64 = 1_200_007;

/// An array of one tile on disk, and the path of its cells.
fn one_tile(folder: &std::path::Path, filter: Filter, values: &[u64]) -> (Context, std::path::PathBuf) {
    let context = Context::local(folder);
    let mut attribute = Attribute::new("v", Datatype::Uint64, CellCount::ONE);
    attribute.filters = Pipeline::new(vec![filter]);
    let x = Dimension::new("x", Datatype::Int64, 0_i64, CELLS - 1, CELLS);
    let schema = Schema::new(ArrayType::Dense, vec![x], vec![attribute]);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "a", &schema, &[], &options)).unwrap();
    let cells = Cells {
        region: Some(vec![ScalarRange::new(0_i64, CELLS - 1)]),
        layout: Layout::RowMajor,
        columns: vec![("v".into(), Column::from_values(Datatype::Uint64, values))],
    };
    let at = WriteOptions {
        timestamp_ms: 2,
        seed: [2; 32],
        sync: false,
    };
    let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    block_on(array.write(cells, &at)).unwrap();
    let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    let path = folder.join(&array.fragments()[0].path).join("a0.tdb");
    (context, path)
}

fn read(context: &Context, first: i64, last: i64) -> hyperslab::Result<Vec<u64>> {
    let array = block_on(Array::open(context, "a", &OpenOptions::default()))?;
    let query = Query {
        region: Region::from_box(vec![ScalarRange::new(first, last)]),
        ..Query::default()
    };
    let batch = block_on(array.read(&query))?;
    Ok(batch.column("v").unwrap().values::<u64>().unwrap().to_vec())
}

#[test]
fn all_and_most_of_a_large_tile() {
    let noise: Vec<u64> = (0..CELLS as u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    for filter in [Filter::Bitshuffle, Filter::Zstd { level: 1 }, Filter::Lz4 { level: -1 }] {
        let folder = tempfile::tempdir().unwrap();
        let (context, _) = one_tile(folder.path(), filter.clone(), &noise);
        for (first, last) in [(0, CELLS - 1), (5, CELLS - 9), (300_000, 900_000)] {
            let found = read(&context, first, last).unwrap();
            assert!(
                found == noise[first as usize..=last as usize],
                "{filter:?} {first}..={last}"
            );
        }
    }
}

/// Damages the number of chunks, or the header of the first chunk.
#[test]
fn a_damaged_large_tile_is_an_error() {
    let noise: Vec<u64> = (0..CELLS as u64).map(|i| i * i).collect();
    let folder = tempfile::tempdir().unwrap();
    let (context, path) = one_tile(folder.path(), Filter::Bitshuffle, &noise);
    let sound = std::fs::read(&path).unwrap();
    let mut damage: Vec<(usize, Vec<u8>)> = Vec::new();
    for count in [0, 1, 146, 148, 10_000_u64, u64::MAX] {
        damage.push((0, count.to_le_bytes().to_vec()));
    }
    for bytes in [0, 1, 65_535, 5_000_000, 9_600_000, u32::MAX] {
        damage.extend([8, 12, 16].map(|at| (at, bytes.to_le_bytes().to_vec())));
    }
    for (at, bytes) in damage {
        let mut damaged = sound.clone();
        damaged[at..at + bytes.len()].copy_from_slice(&bytes);
        assert_ne!(damaged, sound);
        std::fs::write(&path, &damaged).unwrap();
        // A new store, so that nothing is cached.
        let error = read(&Context::local(folder.path()), 0, CELLS - 1).unwrap_err();
        assert!(error.to_string().contains("a0.tdb"), "{at} {bytes:?}: {error}");
    }
    std::fs::write(&path, &sound).unwrap();
    assert!(read(&context, 0, CELLS - 1).unwrap() == noise);
}
