//! The view over arrays in memory: every byte of every format, by every path.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod groups;
mod jumps;
mod listings;
mod offers;
mod options;
mod pyramids;
#[cfg(not(target_family = "wasm"))]
mod shards;
#[cfg(not(target_family = "wasm"))]
mod streams;
mod times;
mod zarr;

use std::ops::Range;

use hyperslab::blocking::block_on;
use hyperslab::group::{GroupChange, GroupMember, MemberKind, change_group, create_group, write_group_metadata};
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, vacuum};
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::view::{NodeKind, Source, View};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, Error, OpenOptions, ScalarRange, Window,
    WriteOptions,
};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const ROWS: i32 = 23;
const COLUMNS: i32 = 17;
/// A time after all writes.
const NOW_MS: u64 = 5000;

fn write(context: &Context, path: &str, timestamp_ms: u64, cells: Cells) {
    let array = block_on(Array::open(context, path, &OpenOptions::default())).unwrap();
    let seed = [u8::try_from(timestamp_ms % 251).unwrap(); 32];
    block_on(array.write(
        cells,
        &WriteOptions {
            timestamp_ms,
            seed,
            sync: false,
        },
    ))
    .unwrap();
}

fn value(row: i32, column: i32) -> i16 {
    i16::try_from(row * 100 + column).unwrap()
}

/// A folder with a dense array of 23 x 17 cells, written at 1000 and partly again at 2000, and a sparse array of 40
/// cells.
fn view() -> View {
    let (context, options) = (Context::memory(), created());

    let row = Dimension::new("row", Datatype::Int32, -5_i32, -5 + ROWS - 1, 4_i32);
    let column = Dimension::new("col", Datatype::Int32, 0_i32, COLUMNS - 1, 5_i32);
    let attributes = vec![
        Attribute::new("v", Datatype::Int16, CellCount::ONE),
        Attribute::new("pair", Datatype::Uint8, CellCount::Fixed(2)),
    ];
    let schema = Schema::new(ArrayType::Dense, vec![row, column], attributes);
    block_on(Array::create(&context, "grids/dense", &schema, &[], &options)).unwrap();
    let cells = || (0..ROWS).flat_map(|r| (0..COLUMNS).map(move |c| value(r, c)));
    let v: Vec<i16> = cells().collect();
    let mut pair = Column::from_values(
        Datatype::Uint8,
        &cells().flat_map(|v| [v.to_le_bytes()[0], 7]).collect::<Vec<_>>(),
    );
    pair.cell = CellCount::Fixed(2);
    let columns = vec![
        ("v".to_owned(), Column::from_values(Datatype::Int16, &v)),
        ("pair".to_owned(), pair),
    ];
    write(
        &context,
        "grids/dense",
        1000,
        Cells {
            region: None,
            layout: Layout::RowMajor,
            columns,
        },
    );
    let mut pair = Column::from_values(Datatype::Uint8, &[1_u8; 4]);
    pair.cell = CellCount::Fixed(2);
    let columns = vec![
        ("v".to_owned(), Column::from_values(Datatype::Int16, &[-1_i16, -2])),
        ("pair".to_owned(), pair),
    ];
    let region = Some(vec![ScalarRange::new(-5_i32, -5_i32), ScalarRange::new(0_i32, 1_i32)]);
    write(
        &context,
        "grids/dense",
        2000,
        Cells {
            region,
            layout: Layout::RowMajor,
            columns,
        },
    );

    let x = Dimension::new("x", Datatype::Float64, -10.0, 10.0, 5.0);
    let attributes = vec![
        Attribute::new("mag", Datatype::Float32, CellCount::ONE),
        Attribute::new("place", Datatype::StringUtf8, CellCount::Var),
    ];
    let schema = Schema::new(ArrayType::Sparse, vec![x], attributes);
    block_on(Array::create(&context, "points", &schema, &[], &options)).unwrap();
    let xs: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 40) / 4.0).collect();
    let mags: Vec<f32> = (0..40_u8).map(|i| f32::from(i) / 2.0).collect();
    let columns = vec![
        ("x".to_owned(), Column::from_values(Datatype::Float64, &xs)),
        ("mag".to_owned(), Column::from_values(Datatype::Float32, &mags)),
        (
            "place".to_owned(),
            Column::from_cells(Datatype::StringUtf8, (0..40).map(|i| format!("p{i},\"q\""))),
        ),
    ];
    write(
        &context,
        "points",
        1500,
        Cells {
            region: None,
            layout: Layout::Unordered,
            columns,
        },
    );
    whole(context)
}

/// The options for creating the arrays.
fn created() -> CreateOptions {
    CreateOptions {
        timestamp_ms: 1,
        seed: [9; 32],
        key: None,
    }
}

/// A view of the whole store after all writes.
fn whole(context: Context) -> View {
    View::new(
        Source {
            context,
            url: String::new(),
            path: String::new(),
            options: OpenOptions::default(),
            name: "all".into(),
        },
        NOW_MS,
    )
}

fn file(view: &View, path: &str) -> Vec<u8> {
    block_on(view.read_file(path))
        .unwrap_or_else(|e| panic!("{path}: {e}"))
        .to_vec()
}

fn names(view: &View, path: &str) -> Vec<String> {
    block_on(view.list(path)).unwrap().into_iter().map(|e| e.name).collect()
}

fn refusal(view: &View, path: &str) -> String {
    match block_on(view.lookup(path)) {
        Err(Error::InvalidArgument(why)) => why,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn every_listed_name_resolves_and_every_size_is_exact() {
    fn walk(view: &View, path: &str, seen: &mut usize) {
        for entry in block_on(view.list(path)).unwrap() {
            let path = if path.is_empty() {
                entry.name
            } else {
                format!("{path}/{}", entry.name)
            };
            let node = block_on(view.lookup(&path))
                .unwrap()
                .unwrap_or_else(|| panic!("{path} is listed but does not exist"));
            assert_eq!(node.kind.file_type(), entry.file_type, "{path}");
            *seen += 1;
            match node.kind {
                NodeKind::Dir | NodeKind::Link => walk(view, &path, seen),
                NodeKind::File { size } => assert_eq!(file(view, &path).len() as u64, size, "{path}"),
            }
        }
    }
    let view = view();
    let mut seen = 0;
    walk(&view, "", &mut seen);
    // Two attributes of 6 x 4 tiles alone, now and at two times.
    assert!(seen > 3 * 48, "{seen} names");
}

#[test]
fn folders_and_their_names() {
    let view = view();
    assert_eq!(names(&view, ""), ["README.md", "grids", "points"]);
    assert_eq!(names(&view, "grids"), ["dense"]);
    let array = [
        "README.md",
        "at",
        "fragments",
        "metadata",
        "metadata.json",
        "schema.json",
        "since",
        "slices",
        "thumb.png",
        "tiles",
        "zarr",
    ];
    assert_eq!(names(&view, "grids/dense"), array);
    assert_eq!(
        names(&view, "grids/dense/at"),
        ["1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.000Z", "latest"]
    );
    assert_eq!(
        names(&view, "grids/dense/slices"),
        ["README.md", "v@all.npy", "pair@all.npy"]
    );
    assert_eq!(
        names(&view, "grids/dense/tiles/v/5"),
        ["0.npy", "1.npy", "2.npy", "3.npy"]
    );
    assert_eq!(
        names(&view, "points"),
        [
            "README.md",
            "at",
            "fragments",
            "metadata",
            "metadata.json",
            "schema.json",
            "since",
            "slices"
        ]
    );
    for absent in [
        "nothing",
        "grids/dense/nothing",
        "grids/dense/tiles/v/6",
        "grids/dense/at/1000ms/at",
        "points/tiles",
    ] {
        assert!(block_on(view.lookup(absent)).unwrap().is_none(), "{absent}");
        assert!(block_on(view.list(absent)).is_err(), "{absent}");
    }
}

/// The values of a box, row by row.
fn expect(rows: Range<i32>, columns: Range<i32>) -> Vec<u8> {
    let cells = rows.flat_map(|r| columns.clone().map(move |c| (r, c)));
    let now = |(r, c)| match (r, c) {
        (0, 0) => -1,
        (0, 1) => -2,
        _ => value(r, c),
    };
    cells.flat_map(|cell| now(cell).to_le_bytes()).collect()
}

#[test]
fn raw_values_of_boxes_steps_and_tiles() {
    let view = view();
    let bin = |name: &str| file(&view, &format!("grids/dense/{name}"));
    assert_eq!(bin("slices/v@all.bin"), expect(0..ROWS, 0..COLUMNS));
    assert_eq!(bin("slices/v@-5:-1,3:9.bin"), expect(0..4, 3..9));
    assert_eq!(bin("slices/v@-5..-1,3..9.bin"), expect(0..4, 3..9));
    assert_eq!(bin("slices/v@2,:.bin"), expect(7..8, 0..COLUMNS));
    let stepped: Vec<u8> = [0, 5, 10]
        .iter()
        .flat_map(|&r| [2, 9].map(|c| expect(r..r + 1, c..c + 1)).concat())
        .collect();
    assert_eq!(bin("slices/v@-5:10:5,2:16:7.bin"), stepped);
    let tile = bin("tiles/v/5/3.npy");
    assert_eq!(tile[tile.len() - 12..], expect(20..23, 15..17));
    let both = bin("slices/-5,0:2.bin");
    assert_eq!(both, [255, 255, 1, 1, 254, 255, 1, 1]);
    assert_eq!(bin("slices/pair,v@-5,0:2.bin"), [1, 1, 255, 255, 1, 1, 254, 255]);
}

#[test]
fn byte_ranges_match_the_whole_file() {
    let view = view();
    for path in [
        "grids/dense/slices/v@all.npy",
        "grids/dense/slices/all.bin",
        "points/slices/mag@all.npy",
        "points/slices/all.csv",
        "grids/dense/slices/v@:,:.png",
        #[cfg(feature = "arrow")]
        "grids/dense/slices/all.arrow",
        #[cfg(feature = "arrow")]
        "points/slices/mag@all.arrow",
    ] {
        let node = block_on(view.lookup(path)).unwrap().unwrap();
        let whole = file(&view, path);
        let mut seed = 12345_u64;
        let mut random = |below: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % below
        };
        for _ in 0..200 {
            let start = random(whole.len() + 10);
            let end = start + random(300);
            let part = block_on(view.read(&node, start as u64..end as u64)).unwrap();
            let inside = start.min(whole.len())..end.min(whole.len());
            assert_eq!(part, whole[inside], "{path} {start}..{end}");
        }
    }
}

#[test]
fn sparse_slices_as_text_and_as_records() {
    let view = view();
    let text = String::from_utf8(file(&view, "points/slices/x=0.5:1.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("x,mag,place"));
    // x = i * 7 % 40 / 4, so 0.5 is cell 6, 0.75 is cell 29 and 1.0 is cell 12.
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "0.5,3.0,\"p6,\"\"q\"\"\"",
            "0.75,14.5,\"p29,\"\"q\"\"\"",
            "1.0,6.0,\"p12,\"\"q\"\"\""
        ]
    );
    assert_eq!(
        file(&view, "points/slices/mag,x@0.5:0.75.bin"),
        [
            &3_f32.to_le_bytes()[..],
            &0.5_f64.to_le_bytes(),
            &14.5_f32.to_le_bytes(),
            &0.75_f64.to_le_bytes()
        ]
        .concat()
    );
    assert!(refusal(&view, "points/slices/all.npy").contains("'place' has variable-length cells"));
    assert!(refusal(&view, "points/slices/mag@all.png").contains("no pixels"));
}

#[test]
fn equivalent_slices_have_the_same_id() {
    let view = view();
    let id = |name: &str| {
        block_on(view.lookup(&format!("grids/dense/{name}")))
            .unwrap()
            .unwrap()
            .id
    };
    let all = id("slices/v@all.npy");
    for same in [
        "slices/v@:.npy",
        "slices/v@-5:18,0:17.npy",
        "slices/v@col=:.npy",
        "at/2000ms/slices/v@all.npy",
        "at/9999ms/slices/v@all.npy",
    ] {
        assert_eq!(id(same), all, "{same}");
    }
    for other in [
        "slices/all.npy",
        "slices/v@all.bin",
        "slices/v@-4:18.npy",
        "at/1999ms/slices/v@all.npy",
        "README.md",
    ] {
        assert_ne!(id(other), all, "{other}");
    }
}

#[test]
fn errors_say_what_to_write() {
    let view = view();
    assert!(refusal(&view, "grids/dense/slices/all").contains("write all.npy"));
    assert!(refusal(&view, "grids/dense/slices/all.xls").contains("the formats are .npy, .bin, .csv"));
    assert!(refusal(&view, "grids/dense/slices/all.csb").contains("did you mean '.csv'?"));
    assert!(refusal(&view, "grids/dense/slices/18:1000.npy").contains("outside the domain, -5:18"));
    assert_eq!(
        file(&view, "grids/dense/slices/0:1000.npy"),
        file(&view, "grids/dense/slices/0:18.npy")
    );
    assert!(block_on(view.lookup("grids/dense/slices/.git")).unwrap().is_none());
    assert!(refusal(&view, "grids/dense/slices/..-9.npy").contains("selects nothing"));
}
