//! Compares reads of dense tiles with many chunks with a naive model. Reads from memory, from disk and from a cache of tiles,
//! into new memory and into that of an earlier result.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Filter, Layout, Pipeline, Schema};
use hyperslab::vfs::MemVfs;
use hyperslab::vfs::faulty::{Fault, FaultyVfs};
use hyperslab::{
    Array, Batch, Cache, CellCount, Cells, Column, Context, CreateOptions, Datatype, Key, OpenOptions, Query, Region,
    ScalarRange, WriteOptions,
};
use proptest::prelude::*;

const ROWS: i64 = 500;
const COLS: i64 = 430;
/// 300 x 200 cells of four bytes are nearly four chunks.
const TILE: [i64; 2] = [300, 200];

/// A closed box: first and last row, first and last column.
type Box4 = [i64; 4];

fn schema(filters: &[Filter], cell_order: Layout) -> Schema {
    let mut plain = Attribute::new("v", Datatype::Int32, CellCount::ONE);
    plain.filters = Pipeline::new(filters.to_vec());
    let mut nullable = Attribute::new("n", Datatype::Uint16, CellCount::Fixed(3));
    nullable.filters = Pipeline::new(filters.to_vec());
    nullable.nullable = true;
    let dims = vec![
        Dimension::new("y", Datatype::Int64, 0_i64, ROWS - 1, TILE[0]),
        Dimension::new("x", Datatype::Int64, 0_i64, COLS - 1, TILE[1]),
    ];
    let mut schema = Schema::new(ArrayType::Dense, dims, vec![plain, nullable]);
    schema.cell_order = cell_order;
    schema
}

/// The value that write number `time` stores in a cell.
fn value(time: i32, y: i64, x: i64) -> i32 {
    (y * COLS + x) as i32 * 8 + time
}

fn columns(values: &[Option<i32>]) -> Vec<(String, Column)> {
    let v: Vec<i32> = values.iter().map(|v| v.unwrap_or(i32::MIN)).collect();
    let n = |v: &Option<i32>| match v {
        Some(v) => [*v as u16, (*v >> 16) as u16, 7],
        None => [u16::MAX; 3],
    };
    let valid = values.iter().map(|v| u8::from(v.is_some_and(|v| v % 3 != 0))).collect();
    let n: Vec<u16> = values.iter().flat_map(n).collect();
    let n = Column {
        cell: CellCount::Fixed(3),
        ..Column::from_values(Datatype::Uint16, &n).with_validity(valid)
    };
    vec![("v".into(), Column::from_values(Datatype::Int32, &v)), ("n".into(), n)]
}

fn coordinates(cells: &[(i64, i64)]) -> [Column; 2] {
    let column =
        |f: fn(&(i64, i64)) -> i64| Column::from_values(Datatype::Int64, &cells.iter().map(f).collect::<Vec<_>>());
    [column(|c| c.0), column(|c| c.1)]
}

fn points(b: Box4) -> impl Iterator<Item = (i64, i64)> {
    (b[0]..=b[1]).flat_map(move |y| (b[2]..=b[3]).map(move |x| (y, x)))
}

fn ranges(b: Box4) -> Vec<ScalarRange> {
    vec![ScalarRange::new(b[0], b[1]), ScalarRange::new(b[2], b[3])]
}

/// The same array in memory, in a folder, and in memory with a cache that keeps tiles.
struct Copies {
    arrays: Vec<Array>,
    newest: Vec<Option<i32>>,
    _folder: tempfile::TempDir,
}

fn write(schema: &Schema, writes: &[Box4], key: Option<Key>) -> Copies {
    let folder = tempfile::tempdir().unwrap();
    let keeping = Context {
        cache: Arc::new(Cache::keeping_tiles(64 << 20)),
        ..Context::memory()
    };
    let contexts = [Context::memory(), Context::local(folder.path()), keeping];
    let mut newest = vec![None; (ROWS * COLS) as usize];
    let create_options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: key.clone(),
    };
    let options = OpenOptions {
        key,
        ..OpenOptions::default()
    };
    for c in &contexts {
        block_on(Array::create(c, "a", schema, &[], &create_options)).unwrap();
    }
    for (time, &b) in (1..).zip(writes) {
        let values: Vec<Option<i32>> = points(b).map(|(y, x)| Some(value(time, y, x))).collect();
        for ((y, x), v) in points(b).zip(&values) {
            newest[(y * COLS + x) as usize] = *v;
        }
        for c in &contexts {
            let cells = Cells {
                region: Some(ranges(b)),
                layout: Layout::RowMajor,
                columns: columns(&values),
            };
            let at = WriteOptions {
                timestamp_ms: time as u64,
                seed: [time as u8; 32],
                sync: false,
            };
            let array = block_on(Array::open(c, "a", &options)).unwrap();
            block_on(array.write(cells, &at)).unwrap();
        }
    }
    let open = |c| block_on(Array::open(c, "a", &options)).unwrap();
    Copies {
        arrays: contexts.iter().map(open).collect(),
        newest,
        _folder: folder,
    }
}

impl Copies {
    /// Reads single cells: first on a coarse grid, some of them twice, then some that `write_points` has changed.
    fn check_points(&mut self) {
        let at: Vec<(i64, i64)> = (0..ROWS)
            .flat_map(|y| (0..COLS).map(move |x| (y, x)))
            .filter(|(y, x)| (y * 7 + x * 13) % 97 < 3)
            .collect();
        let mut cells: Vec<(i64, i64)> = at.iter().rev().chain(at.iter().step_by(5)).copied().collect();
        for n in [cells.len(), 3, 0] {
            cells.truncate(n);
            self.check_cells(&cells);
        }
        let changed: Vec<(i64, i64)> = at.iter().step_by(3).copied().collect();
        let values: Vec<Option<i32>> = changed.iter().map(|(y, x)| Some(value(7, *y, *x))).collect();
        for ((y, x), v) in changed.iter().zip(&values) {
            self.newest[(y * COLS + x) as usize] = *v;
        }
        for array in &mut self.arrays {
            let mut all = columns(&values);
            let names = ["y", "x"].map(str::to_owned);
            all.extend(names.into_iter().zip(coordinates(&changed)));
            let options = WriteOptions {
                timestamp_ms: 99,
                seed: [99; 32],
                sync: false,
            };
            block_on(array.write_points(all, &options)).unwrap();
            *array = block_on(array.at(array.window())).unwrap();
        }
        self.check_cells(&at);
    }

    fn check_cells(&self, cells: &[(i64, i64)]) {
        let want: Vec<Option<i32>> = cells
            .iter()
            .map(|(y, x)| self.newest[(y * COLS + x) as usize])
            .collect();
        for array in &self.arrays {
            let found = block_on(array.read_points(None, &coordinates(cells))).unwrap();
            assert!(found.columns == columns(&want));
        }
    }

    /// Reads boxes one after another into the same memory.
    fn check(&self, boxes: &[Box4]) {
        for array in &self.arrays {
            let mut batch = Batch::default();
            for &b in boxes {
                let query = Query {
                    region: Region::from_box(ranges(b)),
                    ..Query::default()
                };
                for column in batch.columns.iter_mut().map(|c| &mut c.1) {
                    column.data.fill(0xA5);
                    column.validity.iter_mut().for_each(|v| v.fill(0xA5));
                }
                block_on(array.read_into(&query, &mut batch)).unwrap();
                let want: Vec<Option<i32>> = points(b).map(|(y, x)| self.newest[(y * COLS + x) as usize]).collect();
                assert!(batch.columns == columns(&want), "{b:?}");
                assert_eq!(batch, block_on(array.read(&query)).unwrap());
            }
        }
    }
}

fn pipelines() -> Vec<Vec<Filter>> {
    vec![
        vec![],
        vec![Filter::Zstd { level: 3 }],
        vec![Filter::Bitshuffle, Filter::Zstd { level: 3 }],
        vec![Filter::Gzip { level: 1 }, Filter::Sha256],
    ]
}

/// Boxes of one cell, part of a chunk, whole tiles, a column, a row, and everything.
const BOXES: [Box4; 8] = [
    [299, 299, 199, 199],
    [10, 30, 20, 60],
    [0, 299, 0, 199],
    [300, 499, 200, 399],
    [0, 499, 217, 217],
    [77, 77, 0, 429],
    [150, 420, 90, 410],
    [0, 499, 0, 429],
];

#[test]
fn all_kinds_of_boxes_with_all_filters() {
    for filters in pipelines() {
        for order in [Layout::RowMajor, Layout::ColMajor] {
            let writes = [[0, ROWS - 1, 0, COLS - 1], [40, 310, 150, 250], [290, 305, 0, 429]];
            let mut copies = write(&schema(&filters, order), &writes, None);
            copies.check(&BOXES);
            copies.check_points();
        }
    }
    let key = Some(Key([9; 32]));
    write(&schema(&[], Layout::RowMajor), &[[5, 450, 3, 400]], key).check(&BOXES);
}

/// The stored tile has 1.3 MB.
#[test]
fn a_tile_that_is_read_in_parts() {
    let mut schema = schema(&[Filter::Bitshuffle], Layout::RowMajor);
    for (dimension, extent) in schema.dimensions.iter_mut().zip([ROWS, COLS]) {
        dimension.extent = Some(extent.into());
    }
    write(&schema, &[[0, ROWS - 1, 0, COLS - 1]], None).check(&BOXES);
}

#[test]
fn cells_outside_the_domain_are_refused() {
    let copies = write(&schema(&[], Layout::RowMajor), &[[5, 450, 3, 400]], None);
    let read = |fields: Option<&str>, at: &[Column]| {
        let fields = fields.map(|f| vec![f.to_owned()]);
        block_on(copies.arrays[0].read_points(fields, at)).map_err(|e| e.to_string())
    };
    let one = |y, x| coordinates(&[(0, 0), (y, x)]);
    assert!(read(None, &one(499, 429)).is_ok());
    for (y, x) in [(-1, 0), (500, 0), (0, 430), (i64::MIN, 0), (0, i64::MAX)] {
        assert!(read(None, &one(y, x)).unwrap_err().contains("coordinate 1 is outside"));
    }
    assert!(
        read(None, &one(0, 0)[..1])
            .unwrap_err()
            .contains("each of the 2 dimensions")
    );
    assert!(read(Some("y"), &one(0, 0)).unwrap_err().contains("field 'y'"));
    let short = [
        Column::from_values(Datatype::Int32, &[0]),
        Column::from_values(Datatype::Int32, &[0]),
    ];
    assert!(
        read(None, &short)
            .unwrap_err()
            .contains("the coordinates have type int32, not int64")
    );
}

#[test]
fn a_damaged_chunk_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let context = Context::local(folder.path());
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    for (name, filters) in ["plain", "packed"].into_iter().zip(pipelines()) {
        block_on(Array::create(
            &context,
            name,
            &schema(&filters, Layout::RowMajor),
            &[],
            &options,
        ))
        .unwrap();
        let open = || {
            block_on(Array::open(
                &Context::local(folder.path()),
                name,
                &OpenOptions::default(),
            ))
            .unwrap()
        };
        let all = [0, ROWS - 1, 0, COLS - 1];
        let cells = Cells {
            region: None,
            layout: Layout::RowMajor,
            columns: columns(&points(all).map(|(y, x)| Some(value(1, y, x))).collect::<Vec<_>>()),
        };
        let at = WriteOptions {
            timestamp_ms: 2,
            seed: [2; 32],
            sync: false,
        };
        let fragment = block_on(open().write(cells, &at)).unwrap();
        let file = folder
            .path()
            .join(name)
            .join("__fragments")
            .join(fragment)
            .join("a0.tdb");
        let sound = std::fs::read(&file).unwrap();
        // The number of chunks, each length of the first chunk, and the end of the file.
        for at in [0, 7, 8, 11, 12, 15, 16, 19, sound.len()] {
            let mut damaged = sound.clone();
            match damaged.get_mut(at) {
                Some(byte) => *byte ^= 0x55,
                None => damaged.truncate(at - 1),
            }
            std::fs::write(&file, damaged).unwrap();
            for b in [all, [3, 3, 3, 3]] {
                let query = Query {
                    fields: Some(vec!["v".into()]),
                    region: Region::from_box(ranges(b)),
                    ..Query::default()
                };
                let read = block_on(open().read(&query));
                assert!(read.is_err() || at == sound.len(), "{name}: byte {at}, {b:?}");
            }
        }
        std::fs::write(&file, sound).unwrap();
        assert!(block_on(open().read(&Query::default())).is_ok());
    }
}

/// An unfiltered matrix in memory, behind a store that records calls. Also the path and the contents of the file of its
/// values.
fn unfiltered() -> (MemVfs, FaultyVfs, String, Vec<u8>) {
    let files = MemVfs::new();
    let vfs = FaultyVfs::new(Arc::new(files.clone()), Fault::default());
    let context = Context::new(Arc::new(vfs.clone()));
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(
        &context,
        "a",
        &schema(&[], Layout::RowMajor),
        &[],
        &options,
    ))
    .unwrap();
    let all = points([0, ROWS - 1, 0, COLS - 1]).map(|(y, x)| Some(value(1, y, x)));
    let cells = Cells {
        region: None,
        layout: Layout::RowMajor,
        columns: columns(&all.collect::<Vec<_>>()),
    };
    let at = WriteOptions {
        timestamp_ms: 2,
        seed: [2; 32],
        sync: false,
    };
    let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    block_on(array.write(cells, &at)).unwrap();
    let (path, bytes) = files.files().into_iter().find(|f| f.0.ends_with("a0.tdb")).unwrap();
    (files, vfs, path, bytes.to_vec())
}

/// Reads a box, checks its cells, and returns how many bytes were fetched.
fn bytes_of(vfs: &FaultyVfs, array: &Array, b: Box4) -> u64 {
    vfs.set(Fault::default());
    let query = Query {
        fields: Some(vec!["v".into()]),
        region: Region::from_box(ranges(b)),
        ..Query::default()
    };
    let found = block_on(array.read(&query)).unwrap();
    check_values(&found, points(b));
    fetched(vfs)
}

/// Reads single cells, checks them, and returns how many bytes were fetched.
fn bytes_of_cells(vfs: &FaultyVfs, array: &Array, cells: &[(i64, i64)]) -> u64 {
    vfs.set(Fault::default());
    let found = block_on(array.read_points(Some(vec!["v".into()]), &coordinates(cells))).unwrap();
    check_values(&found, cells.iter().copied());
    fetched(vfs)
}

fn check_values(found: &Batch, cells: impl Iterator<Item = (i64, i64)>) {
    let want: Vec<i32> = cells.map(|(y, x)| value(1, y, x)).collect();
    assert!(*found.columns[0].1.values::<i32>().unwrap() == want[..]);
}

/// Number of bytes of values that were fetched since the faults were set.
fn fetched(vfs: &FaultyVfs) -> u64 {
    let of_values = vfs.calls().into_iter().filter(|c| c.path.ends_with("a0.tdb"));
    of_values.map(|c| c.bytes).sum()
}

/// Size of a stored chunk of the values, with its header.
const CHUNK: u64 = 12 + (64 << 10);
const TILE_BYTES: u64 = 8 + 4 * 12 + 300 * 200 * 4;

#[test]
fn chunks_of_nearby_single_cells_are_fetched() {
    let (_, vfs, ..) = unfiltered();
    let array = || {
        let context = Context::new(Arc::new(vfs.clone()));
        block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap()
    };
    assert_eq!(bytes_of_cells(&vfs, &array(), &[(200, 11)]), CHUNK);
    // The last cell of the first chunk and the first cell of the second: more than half of the tile.
    let two = [(81, 184), (81, 183), (81, 184)];
    assert_eq!(bytes_of_cells(&vfs, &array(), &two), TILE_BYTES);
    let two_tiles = [(3, 199), (70, 0), (40, 250)];
    assert_eq!(bytes_of_cells(&vfs, &array(), &two_tiles), 2 * CHUNK);
    assert_eq!(bytes_of_cells(&vfs, &array(), &[(0, 0), (299, 199)]), TILE_BYTES);
}

#[test]
fn only_the_needed_chunks_of_an_unfiltered_tile_are_fetched() {
    const LAST: u64 = 12 + 300 * 200 * 4 - 3 * (64 << 10);
    let (_, vfs, ..) = unfiltered();
    let context = Context::new(Arc::new(vfs.clone()));
    let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    // Row 245 starts in the third chunk and ends in the fourth, which is short. A later read of other chunks fetches
    // the whole tile.
    for (b, bytes) in [
        ([0, 9, 0, 199], CHUNK),
        ([3, 20, 7, 90], 0),
        ([83, 100, 150, 150], TILE_BYTES),
        ([0, 299, 0, 199], 0),
        ([244, 245, 200, 399], CHUNK + LAST),
        ([170, 240, 200, 399], 0),
        ([299, 299, 399, 399], TILE_BYTES),
        ([0, 299, 200, 399], 0),
        ([300, 499, 0, 199], TILE_BYTES),
    ] {
        assert_eq!(bytes_of(&vfs, &array, b), bytes, "{b:?}");
    }
}

#[test]
fn an_unfiltered_tile_with_unusual_chunks_is_read() {
    let (files, vfs, path, sound) = unfiltered();
    let (first, second) = (64 << 10, 8 + 12 + (64 << 10));
    // Every chunk starts four bytes earlier, and the last is longer by the same amount.
    let mut cut = sound[..8].to_vec();
    let tile = &sound[..8 + 4 * 12 + 300 * 200 * 4];
    let cells: Vec<u8> = tile[8..].chunks(first + 12).flat_map(|c| &c[12..]).copied().collect();
    let mut rest = &cells[..];
    for n in [first - 4, first, first, 43_392 + 4] {
        let (chunk, behind) = rest.split_at(n);
        cut.extend([n as u32, n as u32, 0].iter().flat_map(|n| n.to_le_bytes()));
        cut.extend(chunk);
        rest = behind;
    }
    assert!(cut.len() == tile.len() && cut[second..] != tile[second..]);
    files.replace(&path, [&cut, &sound[tile.len()..]].concat());
    let context = Context::new(Arc::new(vfs.clone()));
    let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    // Cell 183 of row 81 is the last in a first chunk of the usual size.
    for b in [
        [81, 81, 180, 183],
        [90, 100, 3, 190],
        [0, 2, 0, 5],
        [299, 299, 100, 199],
        [0, 0, 0, 399],
    ] {
        bytes_of(&vfs, &array, b);
    }
}

fn boxes(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Box4>> {
    let side = |n: i64| (0..n, 0..n).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let one = (side(ROWS), side(COLS)).prop_map(|(y, x)| [y.0, y.1, x.0, x.1]);
    prop::collection::vec(one, n)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_boxes_after_any_writes(writes in boxes(0..6), reads in boxes(1..5), filters in 0..4_usize) {
        write(&schema(&pipelines()[filters], Layout::RowMajor), &writes, None).check(&reads);
    }
}
