//! Each call of a store is one request to the server, so the counts in `core/tests/requests.rs` are counts of requests.

use std::collections::BTreeMap;

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Region, ScalarRange,
    SnapshotOptions, WriteOptions,
};

use crate::bucket::Bucket;

/// Ten bands of ten rows, as files in a bucket's folder.
fn fill(bucket: &Bucket, name: &str) {
    let context = Context::local(bucket.objects());
    let y = Dimension::new("y", Datatype::Uint64, 0_u64, 99_u64, 10_u64);
    let v = Attribute::new("v", Datatype::Uint64, CellCount::ONE);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(
        &context,
        name,
        &Schema::new(ArrayType::Dense, vec![y], vec![v]),
        &[],
        &options,
    ))
    .unwrap();
    for i in 0..10 {
        let array = block_on(Array::open(&context, name, &OpenOptions::default())).unwrap();
        let values: Vec<u64> = (i * 10..i * 10 + 10).collect();
        let cells = Cells {
            region: Some(vec![ScalarRange::new(i * 10, i * 10 + 9)]),
            layout: Layout::RowMajor,
            columns: vec![("v".into(), Column::from_values(Datatype::Uint64, &values))],
        };
        let options = WriteOptions {
            timestamp_ms: 10 + i,
            seed: [i as u8; 32],
            sync: false,
        };
        block_on(array.write(cells, &options)).unwrap();
    }
}

#[test]
fn a_call_of_the_store_is_one_request() {
    let bucket = Bucket::start("s3-requests");
    fill(&bucket, "array");
    let counts = || {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for request in bucket.requests() {
            *counts.entry(request.kind).or_default() += 1;
        }
        counts.into_iter().collect::<Vec<_>>()
    };
    let context = bucket.context("");
    let array = block_on(Array::open(&context, "array", &OpenOptions::default())).unwrap();
    assert_eq!(array.fragments().len(), 10);
    // The schema and ten footers; five folders.
    assert_eq!(counts(), [("GET".to_owned(), 11), ("LIST".to_owned(), 5)]);

    let query = Query {
        region: Region::from_box(vec![ScalarRange::new(15_u64, 34_u64)]),
        ..Query::default()
    };
    let got = block_on(array.read(&query)).unwrap();
    assert!(
        got.column("v")
            .unwrap()
            .values::<u64>()
            .unwrap()
            .iter()
            .copied()
            .eq(15..35)
    );
    assert_eq!(counts(), [("GET".to_owned(), 3)]);
}

#[test]
fn readers_with_a_snapshot_list_nothing_and_read_no_metadata() {
    let bucket = Bucket::start("s3-snapshots");
    fill(&bucket, "array");
    let array = block_on(Array::open(&bucket.context(""), "array", &OpenOptions::default())).unwrap();
    let token = block_on(array.snapshot(&SnapshotOptions::default())).unwrap();
    bucket.requests();
    for reader in 0..100 {
        let same = block_on(Array::from_snapshot(&bucket.context(""), "array", &token, None)).unwrap();
        assert_eq!(bucket.requests(), [], "reader {reader} opens the array");
        let split = block_on(same.plan_splits(&Query::default(), 80))
            .unwrap()
            .swap_remove(reader % 10);
        let (part, query) = same.part(&split).unwrap();
        assert_eq!(block_on(part.read(&query)).unwrap().cells, 10);
        let seen = bucket.requests();
        assert!(
            seen.len() == 1 && seen[0].kind == "GET" && seen[0].key.ends_with("/a0.tdb"),
            "{seen:?}"
        );
    }
}
