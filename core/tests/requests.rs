//! Exact numbers of requests that opening and reading take, and of sequential rounds of requests, so that none is added
//! unnoticed. The store has a simulated clock: a round passes when nothing else can run.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod bands;
mod rounds;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, vacuum};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Schema};
use hyperslab::vfs::{ManifestVfs, MemVfs, manifest};
use hyperslab::{
    Aggregate, Array, CellCount, Cells, Condition, Context, Cpu, CreateOptions, Datatype, OpenOptions, Query, Region,
    Scalar, ScalarRange, Window, WriteOptions,
};
use rounds::{RoundsVfs, Seen};
use std::sync::Arc;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const ROWS: u64 = 8;
const COLUMNS: u64 = 16;

/// An array of `fragments` bands of rows, with a number and a text in every cell.
fn array(dense: bool, fragments: u64, lists: bool) -> MemVfs {
    let files = MemVfs::new();
    let context = Context::new(Arc::new(files.clone()));
    let y = Dimension::new("y", Datatype::Uint64, 0_u64, 100 * ROWS - 1, 4_u64);
    let x = Dimension::new("x", Datatype::Uint64, 0_u64, COLUMNS - 1, 4_u64);
    let attributes = vec![
        Attribute::new("v", Datatype::Uint64, CellCount::ONE),
        Attribute::new("s", Datatype::StringAscii, CellCount::Var),
    ];
    let kind = if dense { ArrayType::Dense } else { ArrayType::Sparse };
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(
        &context,
        "a",
        &Schema::new(kind, vec![y, x], attributes),
        &[],
        &options,
    ))
    .unwrap();
    for i in 0..fragments {
        let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
        block_on(array.write(band(dense, i), &at(10 + i))).unwrap();
    }
    if lists {
        let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
        for mode in [Mode::FragmentMetadata, Mode::Commits] {
            block_on(consolidate(&array, &ConsolidateOptions::new(mode), &at(500))).unwrap();
            block_on(vacuum(&array, mode, false, &at(501))).unwrap();
        }
    }
    files
}

fn at(timestamp_ms: u64) -> WriteOptions {
    WriteOptions {
        timestamp_ms,
        seed: [timestamp_ms as u8; 32],
        sync: false,
    }
}

fn band(dense: bool, i: u64) -> Cells {
    bands::band(dense, i, [ROWS, COLUMNS])
}

fn rows(first: u64, last: u64) -> Vec<ScalarRange> {
    bands::boxed(first, last, [ROWS, COLUMNS])
}

fn open(vfs: &RoundsVfs, options: &OpenOptions) -> (Array, Seen) {
    let context = Context::new(Arc::new(vfs.clone())).with_cpu(Cpu::Inline);
    let array = vfs.run(Array::open(&context, "a", options)).unwrap();
    (array, vfs.seen())
}

/// Reads bands, checks their cells, and returns the requests that it took.
fn read(vfs: &RoundsVfs, array: &Array, bands: (u64, u64), fields: &[&str]) -> Seen {
    let query = Query {
        fields: Some(fields.iter().map(|&f| f.to_owned()).collect()),
        region: Region::from_box(rows(bands.0, bands.1)),
        ..Query::default()
    };
    let got = vfs.run(array.read(&query)).unwrap();
    assert_eq!(got.cells, (bands.1 - bands.0 + 1) * ROWS * COLUMNS);
    let v = got.column("v").unwrap();
    assert_eq!(v.values::<u64>().unwrap()[0], bands.0 * 1000);
    vfs.seen()
}

const FRAGMENTS: [u64; 3] = [1, 10, 100];

fn seen(lists: usize, wholes: usize, tails: usize, ranges: usize, rounds: usize) -> Seen {
    Seen {
        lists,
        wholes,
        tails,
        ranges,
        sizes: 0,
        rounds,
    }
}

/// The number of concurrent requests.
const IN_FLIGHT: usize = if cfg!(target_family = "wasm") { 256 } else { 32 };

/// The rounds that `requests` requests take.
const fn rounds_of(requests: usize) -> usize {
    requests.div_ceil(IN_FLIGHT)
}

#[test]
fn opening_takes_a_round_of_listings_and_a_round_of_reads() {
    for dense in [true, false] {
        for n in FRAGMENTS {
            let vfs = RoundsVfs::new(array(dense, n, false));
            let (array, took) = open(&vfs, &OpenOptions::default());
            assert_eq!(array.fragments().len() as u64, n);
            // A schema, and a footer per fragment.
            let n = n as usize;
            assert_eq!(
                took,
                seen(5, 1, n, 0, 1 + rounds_of(n)),
                "dense: {dense}, {n} fragments"
            );
        }
    }
}

#[test]
fn opening_consolidated_metadata_takes_a_constant_number_of_requests() {
    for dense in [true, false] {
        // Metadata of a single fragment is not consolidated.
        for n in [2, 10, 100] {
            let vfs = RoundsVfs::new(array(dense, n, true));
            let (array, took) = open(&vfs, &OpenOptions::default());
            assert_eq!(array.fragments().len() as u64, n);
            // The schema, the commits and the footers.
            assert_eq!(took, seen(5, 3, 0, 0, 2), "dense: {dense}, {n} fragments");
        }
    }
}

#[test]
fn reading_the_past_takes_another_round_only_if_a_consolidation_straddles_its_end() {
    let files = array(false, 10, false);
    let past = OpenOptions {
        window: Window::at(12),
        ..OpenOptions::default()
    };
    let vfs = RoundsVfs::new(files.clone());
    let (opened, took) = open(&vfs, &past);
    assert_eq!(opened.fragments().len(), 3);
    assert_eq!(took, seen(5, 1, 3, 0, 2));

    let now = block_on(Array::open(
        &Context::new(Arc::new(files.clone())),
        "a",
        &OpenOptions::default(),
    ))
    .unwrap();
    block_on(consolidate(&now, &ConsolidateOptions::new(Mode::Fragments), &at(500))).unwrap();
    block_on(vacuum(&now, Mode::Fragments, false, &at(501))).unwrap();
    let vfs = RoundsVfs::new(files);
    let (opened, took) = open(&vfs, &past);
    assert_eq!(opened.fragments().len(), 1);
    assert_eq!(took, seen(5, 1, 1, 0, 3));
}

#[test]
fn a_manifest_replaces_all_listings_with_one_request() {
    for n in [1, 10] {
        let files = array(true, n, false);
        block_on(manifest::write(&files, "a")).unwrap();
        let below = MemVfs::new();
        for (path, bytes) in files.files() {
            below.replace(path.strip_prefix("a/").unwrap_or(&path), bytes.to_vec());
        }
        let vfs = RoundsVfs::new(below);
        let context = Context::new(Arc::new(ManifestVfs::new(Arc::new(vfs.clone())))).with_cpu(Cpu::Inline);
        let array = vfs.run(Array::open(&context, "", &OpenOptions::default())).unwrap();
        assert_eq!(array.fragments().len() as u64, n);
        assert_eq!(vfs.seen(), seen(0, 1, 0, 0, 1), "{n} fragments");
    }
}

#[test]
fn a_slice_reads_each_file_once() {
    for dense in [true, false] {
        for n in FRAGMENTS {
            for lists in [false, n > 1] {
                let vfs = RoundsVfs::new(array(dense, n, lists));
                let array = open(&vfs, &OpenOptions::default()).0;
                let what = format!("dense: {dense}, {n} fragments, lists: {lists}");
                // The number and the two files of the text. Sparse arrays have two coordinates, which are read first.
                let files = if dense { 3 } else { 5 };
                let data_rounds = if dense { 1 } else { 2 };
                // The index may have been read with the footer. With consolidated metadata it is read first.
                let index = usize::from(lists);
                let took = read(&vfs, &array, (0, 0), &["v", "s"]);
                assert_eq!(
                    took,
                    seen(0, 0, 0, files + index, data_rounds + index),
                    "one band of {what}"
                );
            }
        }
    }
}

#[test]
fn partly_read_tiles_are_not_requested_again() {
    let vfs = RoundsVfs::new(array(true, 1, false));
    let array = open(&vfs, &OpenOptions::default()).0;
    let part = |first: u64, last: u64| {
        let query = Query {
            fields: Some(vec!["v".into()]),
            region: Region::from_box(vec![ScalarRange::new(first, last), ScalarRange::new(3_u64, 12_u64)]),
            ..Query::default()
        };
        let got = vfs.run(array.read(&query)).unwrap();
        let expected: Vec<u64> = (first..=last)
            .flat_map(|y| (3..=12).map(move |x| y * COLUMNS + x))
            .collect();
        assert_eq!(got.column("v").unwrap().values::<u64>().unwrap()[..], expected);
        vfs.seen()
    };
    assert_eq!(part(1, 2), seen(0, 0, 0, 1, 1));
    assert_eq!(part(0, 3), seen(0, 0, 0, 0, 0));
    assert_eq!(part(2, 5), seen(0, 0, 0, 1, 1), "one row of tiles is new");
    assert_eq!(part(0, 7), seen(0, 0, 0, 0, 0));
}

#[test]
fn the_rounds_of_a_large_slice_depend_only_on_its_requests() {
    for dense in [true, false] {
        for lists in [false, true] {
            let vfs = RoundsVfs::new(array(dense, 100, lists));
            let array = open(&vfs, &OpenOptions::default()).0;
            let took = read(&vfs, &array, (0, 99), &["v"]);
            // Sparse fragments have one tile here, which needs no index.
            let (index, index_rounds) = if lists && dense { (100, rounds_of(100)) } else { (0, 0) };
            // A hundred files per field. The coordinates are two fields.
            let expected = if dense {
                (100, rounds_of(100))
            } else {
                (300, rounds_of(200) + rounds_of(100))
            };
            assert_eq!(
                took,
                seen(0, 0, 0, expected.0 + index, expected.1 + index_rounds),
                "dense: {dense}, lists: {lists}"
            );
        }
    }
}

#[test]
fn a_condition_requests_nothing_that_statistics_exclude() {
    for dense in [false, true] {
        for condition in ["v > 100000", "v < 0 or v in (300, 400) and s != 'a'"] {
            let vfs = RoundsVfs::new(array(dense, 1, false));
            let array = open(&vfs, &OpenOptions::default()).0;
            let query = Query {
                region: Region::from_box(rows(0, 0)),
                condition: Some(condition.parse::<Condition>().unwrap()),
                ..Query::default()
            };
            let found = vfs.run(array.read(&query)).unwrap();
            assert_eq!(found.cells, if dense { ROWS * COLUMNS } else { 0 });
            assert_eq!(vfs.run(array.count(&query)).unwrap(), 0);
            assert_eq!(vfs.seen(), Seen::default(), "dense: {dense}, {condition}");
        }
    }
}

const AGGREGATES: [(Aggregate, &str); 8] = [
    (Aggregate::Count, "s"),
    (Aggregate::NullCount, "v"),
    (Aggregate::Sum, "v"),
    (Aggregate::Mean, "v"),
    (Aggregate::Min, "v"),
    (Aggregate::Max, "v"),
    (Aggregate::Min, "s"),
    (Aggregate::Max, "s"),
];

#[test]
fn aggregates_of_whole_tiles_read_no_cells() {
    for dense in [true, false] {
        for (n, lists) in [(1, false), (10, false), (10, true)] {
            let vfs = RoundsVfs::new(array(dense, n, lists));
            let array = open(&vfs, &OpenOptions::default()).0;
            let query = Query {
                region: Region::from_box(rows(0, n - 1)),
                ..Query::default()
            };
            // Statistics of text in dense fragments are not used.
            let asked = if dense { &AGGREGATES[..6] } else { &AGGREGATES[..] };
            let found = vfs.run(array.aggregate(&query, asked)).unwrap();
            let cells = n * ROWS * COLUMNS;
            let sum: u64 = (0..n).map(|i| 128 * i * 1000 + 127 * 64).sum();
            let expected = [
                Scalar::U64(cells),
                Scalar::U64(0),
                Scalar::U64(sum),
                Scalar::F64(sum as f64 / cells as f64),
                Scalar::U64(0),
                Scalar::U64((n - 1) * 1000 + 127),
                Scalar::from("0 0"),
                Scalar::from(format!("{} 99", n - 1).as_str()),
            ];
            assert_eq!(
                found,
                expected.map(Some)[..asked.len()],
                "dense: {dense}, {n} fragments"
            );
            let index = if lists { n as usize } else { 0 };
            let took = vfs.seen();
            assert_eq!(
                (took.ranges, took.rounds),
                (index, index.min(1)),
                "dense: {dense}, {n} fragments"
            );
            assert_eq!(vfs.run(array.count(&query)).unwrap(), cells);
            assert_eq!(vfs.seen(), Seen::default());
        }
    }
}

#[test]
fn aggregates_of_a_region_read_only_its_edges() {
    let vfs = RoundsVfs::new(array(true, 2, false));
    let array = open(&vfs, &OpenOptions::default()).0;
    let query = Query {
        region: Region::from_box(vec![
            ScalarRange::new(2_u64, 13_u64),
            ScalarRange::new(0_u64, COLUMNS - 1),
        ]),
        ..Query::default()
    };
    let found = vfs.run(array.aggregate(&query, &[(Aggregate::Sum, "v")])).unwrap();
    let sum: u64 = (32..128).chain(1000..1096).sum();
    assert_eq!(found, [Some(Scalar::U64(sum))]);
    // The upper tiles of the first band, and the lower tiles of the second.
    assert_eq!(vfs.seen(), seen(0, 0, 0, 2, 1));
}
