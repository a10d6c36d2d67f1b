//! A dense array as Zarr.

use hyperslab::schema::{CurrentDomain, Filter, Pipeline};

use super::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn zarr_chunks_are_whole_tiles() {
    let view = view();
    assert_eq!(
        names(&view, "grids/dense/zarr"),
        ["v", "pair", "row", "col", "zarr.json"]
    );
    assert_eq!(names(&view, "grids/dense/zarr/pair/c/0/0"), ["0"]);
    let chunk = |key: &str| file(&view, &format!("grids/dense/zarr/{key}"));
    // Tiles are 4 x 5. The last column of tiles extends past the domain by 3.
    assert_eq!(chunk("v/c/1/1"), expect(4..8, 5..10));
    let edge = chunk("v/c/5/3");
    assert_eq!(edge.len(), 40);
    assert_eq!(edge[..4], expect(20..21, 15..17));
    assert_eq!(edge[4..6], i16::MIN.to_le_bytes());
    assert_eq!(chunk("pair/c/0/0/0")[..4], [1, 1, 1, 1]);
    assert_eq!(
        chunk("row/c/0")[..8],
        [(-5_i32).to_le_bytes(), (-4_i32).to_le_bytes()].concat()
    );
    for absent in [
        "v/c/6/0",
        "v/c/0/0/0",
        "v/c/01/0",
        "pair/c/0/0/1",
        "row/c/6",
        "v/.zarray",
    ] {
        assert!(
            block_on(view.lookup(&format!("grids/dense/zarr/{absent}")))
                .unwrap()
                .is_none(),
            "{absent}"
        );
    }
    let group: serde_json::Value = serde_json::from_slice(&chunk("zarr.json")).unwrap();
    let one: serde_json::Value = serde_json::from_slice(&chunk("pair/zarr.json")).unwrap();
    assert_eq!(group["consolidated_metadata"]["metadata"]["pair"], one);
    assert_eq!(one["shape"], serde_json::json!([23, 17, 2]));
}

#[test]
fn zarr_shows_unwritten_cells() {
    let context = Context::memory();
    let mut rgb = Attribute::new("rgb", Datatype::Uint8, CellCount::Fixed(3));
    rgb.fill = vec![1, 2, 3];
    let mut there = Attribute::new("there", Datatype::Int16, CellCount::ONE);
    (there.nullable, there.fill_valid) = (true, true);
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 4_i32, 2_i32);
    let schema = Schema::new(ArrayType::Dense, vec![x], vec![rgb, there]);
    block_on(Array::create(&context, "a", &schema, &[], &created())).unwrap();
    let view = view_of(context);
    // Zarr has one fill value for all three values, so all chunks are present.
    assert_eq!(names(&view, "zarr/rgb/c"), ["0", "1", "2"]);
    assert_eq!(file(&view, "zarr/rgb/c/2/0"), [1, 2, 3, 1, 2, 3]);
    assert_eq!(names(&view, "zarr/there"), ["c", "zarr.json"]);
    assert!(block_on(view.lookup("zarr/there/c/0")).unwrap().is_none());
    for folder in ["zarr/there/c", "tiles/there"] {
        assert!(block_on(view.lookup(folder)).unwrap().is_some(), "{folder} is listed");
        assert!(names(&view, folder).is_empty());
    }
    let valid: String = String::from_utf8(file(&view, "zarr/there_valid/zarr.json")).unwrap();
    assert!(valid.contains("\"fill_value\": true"), "{valid}");
}

/// Arrays that will grow have domains as wide as their type. Only the current domain is readable.
#[test]
fn zarr_ends_with_the_current_domain() {
    let context = Context::memory();
    let y = Dimension::new("y", Datatype::Int64, 0_i64, 1_i64 << 62, 4_i64);
    let x = Dimension::new("x", Datatype::Int64, 3_i64, 100_i64, 4_i64);
    let a = Attribute::new("a", Datatype::Uint8, CellCount::ONE);
    let mut schema = Schema::new(ArrayType::Dense, vec![y, x], vec![a]);
    let ranges = vec![ScalarRange::new(0_i64, 2_i64), ScalarRange::new(5_i64, 8_i64)];
    schema.current_domain = Some(CurrentDomain { ranges: ranges.clone() });
    block_on(Array::create(&context, "a", &schema, &[], &created())).unwrap();
    let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    let values: Vec<u8> = (1..=12).collect();
    let cells = Cells {
        region: Some(ranges),
        layout: Layout::RowMajor,
        columns: vec![("a".into(), Column::from_values(Datatype::Uint8, &values))],
    };
    let write = WriteOptions {
        timestamp_ms: 2,
        seed: [8; 32],
        sync: false,
    };
    block_on(array.write(cells, &write)).unwrap();
    let view = view_of(context);
    let json: serde_json::Value = serde_json::from_slice(&file(&view, "zarr/a/zarr.json")).unwrap();
    // Chunks start at the start of the domain.
    assert_eq!(json["shape"], serde_json::json!([3, 6]));
    assert_eq!(names(&view, "zarr"), ["a", "y", "x", "zarr.json"]);
    assert_eq!(names(&view, "zarr/a/c/0"), ["0", "1"]);
    assert_eq!(
        file(&view, "zarr/a/c/0/0"),
        [255, 255, 1, 2, 255, 255, 5, 6, 255, 255, 9, 10, 255, 255, 255, 255]
    );
    assert_eq!(file(&view, "zarr/a/c/0/1")[..6], [3, 4, 255, 255, 7, 8]);
    assert_eq!(
        (names(&view, "zarr/y/c").len(), file(&view, "zarr/x/c/1").len()),
        (1, 32)
    );
    let tile = names(&view, "tiles/a/0").remove(0);
    assert!(!file(&view, &format!("tiles/a/0/{tile}")).is_empty());
}

/// The view of the array `a`.
fn view_of(context: Context) -> View {
    let source = Source {
        context,
        url: String::new(),
        path: "a".into(),
        options: OpenOptions::default(),
        name: "a".into(),
    };
    View::new(source, NOW_MS)
}

#[test]
fn coordinate_arrays_are_never_longer_than_the_axis() {
    let context = Context::memory();
    let x = Dimension::new("x", Datatype::Int64, 0_i64, (1_i64 << 40) - 1, 1_i64 << 36);
    let a = Attribute::new("a", Datatype::Uint8, CellCount::ONE);
    let mut schema = Schema::new(ArrayType::Dense, vec![x], vec![a]);
    schema.current_domain = Some(CurrentDomain {
        ranges: vec![ScalarRange::new(0_i64, 2_i64)],
    });
    block_on(Array::create(&context, "a", &schema, &[], &created())).unwrap();
    let view = view_of(context);
    let json: serde_json::Value = serde_json::from_slice(&file(&view, "zarr/x/zarr.json")).unwrap();
    assert_eq!(
        json["chunk_grid"]["configuration"]["chunk_shape"],
        serde_json::json!([3])
    );
    let bytes = [0_i64, 1, 2].map(i64::to_le_bytes).concat();
    assert_eq!(file(&view, "zarr/x/c/0"), bytes);
}

#[test]
fn zarr_attributes_are_the_metadata() {
    let context = Context::memory();
    let rows = Dimension::new("__tiledb_rows", Datatype::DatetimeDay, 0_i64, 4_i64, 2_i64);
    let day = Dimension::new("day", Datatype::DatetimeDay, 0_i64, 4_i64, 2_i64);
    let temp = Attribute::new("temp", Datatype::Int16, CellCount::ONE);
    let age = Attribute::new("age", Datatype::TimeSec, CellCount::ONE);
    let schema = Schema::new(ArrayType::Dense, vec![rows, day], vec![temp, age]);
    block_on(Array::create(&context, "a", &schema, &[], &created())).unwrap();
    let number = |v: f64| MetaValue::bytes(Datatype::Float64, &v.to_le_bytes());
    let entries = [
        ("title", MetaValue::text("Air")),
        ("__tiledb_attr.temp.scale_factor", number(0.5)),
        ("__tiledb_attr.temp.units", MetaValue::text("K")),
        ("__tiledb_attr.temp._FillValue", number(-1.0)),
        ("__tiledb_attr.te.mp", number(1.0)),
        ("__tiledb_dim.day.long_name", MetaValue::text("the day")),
        ("__tiledb_dim.day.units", MetaValue::text("weeks")),
    ];
    let entries = entries.map(|(key, value)| Entry {
        key: key.into(),
        value: Some(value),
    });
    let options = WriteOptions {
        timestamp_ms: 2,
        seed: [8; 32],
        sync: false,
    };
    let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
    block_on(array.write_metadata(&entries, &options)).unwrap();
    let view = view_of(context);
    let json = |path: &str| -> serde_json::Value { serde_json::from_slice(&file(&view, path)).unwrap() };
    let group = json("zarr/zarr.json");
    assert_eq!(group["attributes"], serde_json::json!({ "title": "Air" }));
    let temp = json("zarr/temp/zarr.json");
    assert_eq!(
        temp["attributes"],
        serde_json::json!({ "scale_factor": 0.5, "units": "K", "_FillValue": -32768, "missing_value": -1 })
    );
    assert_eq!(group["consolidated_metadata"]["metadata"]["temp"], temp);
    let day = json("zarr/day/zarr.json");
    assert_eq!(day["attributes"]["long_name"], "the day");
    assert_eq!(day["attributes"]["units"], "days since 1970-01-01", "of the type");
    assert_eq!(
        json("zarr/age/zarr.json")["attributes"],
        serde_json::json!({ "units": "seconds", "_FillValue": i64::MIN })
    );
    // The coordinate array has the name of the dimension.
    let dimensions = serde_json::json!(["tiledb_rows", "day"]);
    assert_eq!(temp["dimension_names"], dimensions);
    assert_eq!(
        json("zarr/tiledb_rows/zarr.json")["dimension_names"],
        serde_json::json!(["tiledb_rows"])
    );
}

/// Writes `values` into cells `0..` of the array `a`, which has one dimension `x` of int32.
fn fill_from_start(context: &Context, timestamp_ms: u64, columns: Vec<(String, Column)>) {
    let cells = i32::try_from(columns[0].1.len()).unwrap();
    let region = Some(vec![ScalarRange::new(0_i32, cells - 1)]);
    let cells = Cells {
        region,
        layout: Layout::RowMajor,
        columns,
    };
    write(context, "a", timestamp_ms, cells);
}

fn attributes_of(view: &View, name: &str) -> serde_json::Value {
    let json: serde_json::Value = serde_json::from_slice(&file(view, &format!("zarr/{name}/zarr.json"))).unwrap();
    json["attributes"].clone()
}

/// A reader that computes means must not mistake fill values for values, or values for fill values.
#[test]
fn fill_values_are_declared_if_cells_may_hold_them() {
    let context = Context::memory();
    let attribute = |name: &str, datatype| Attribute::new(name, datatype, CellCount::ONE);
    let mut nodata = attribute("nodata", Datatype::Float32);
    nodata.fill = (-9999_f32).to_le_bytes().to_vec();
    let attributes = vec![
        attribute("n", Datatype::Int16),
        attribute("u", Datatype::Uint64),
        attribute("gray", Datatype::Uint8),
        attribute("f", Datatype::Float64),
        attribute("day", Datatype::DatetimeDay),
        attribute("flag", Datatype::Bool),
        nodata,
    ];
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 9_i32, 5_i32);
    let schema = Schema::new(ArrayType::Dense, vec![x], attributes);
    block_on(Array::create(&context, "a", &schema, &[], &created())).unwrap();
    let columns = |cells: usize| {
        fn column<T: bytemuck::Pod>(name: &str, datatype: Datatype, values: &[T]) -> (String, Column) {
            (name.to_owned(), Column::from_values(datatype, values))
        }
        vec![
            column("n", Datatype::Int16, &vec![1_i16; cells]),
            column("u", Datatype::Uint64, &vec![1_u64; cells]),
            column("gray", Datatype::Uint8, &vec![255_u8; cells]),
            column("f", Datatype::Float64, &vec![1_f64; cells]),
            column("day", Datatype::DatetimeDay, &vec![1_i64; cells]),
            column("flag", Datatype::Bool, &vec![1_u8; cells]),
            column("nodata", Datatype::Float32, &vec![1_f32; cells]),
        ]
    };
    let fill_value = |view: &View, name: &str| attributes_of(view, name).get("_FillValue").cloned();
    let of_parts = |view: &View| {
        assert_eq!(fill_value(view, "n"), Some(serde_json::json!(i16::MIN)));
        assert_eq!(fill_value(view, "u"), Some(serde_json::json!(u64::MAX)));
        assert_eq!(fill_value(view, "day"), Some(serde_json::json!(i64::MIN)));
        // As xarray writes it: base64 of the 8 bytes of -9999.
        assert_eq!(fill_value(view, "nodata"), Some(serde_json::json!("AAAAAICHw8A=")));
        assert_eq!(
            (fill_value(view, "f"), fill_value(view, "flag"), fill_value(view, "x")),
            (None, None, None)
        );
    };
    fill_from_start(&context, 10, columns(6));
    let view = view_of(context.clone());
    of_parts(&view);
    assert_eq!(fill_value(&view, "gray"), Some(serde_json::json!(255)));
    // All cells are written, so a cell equal to the fill value is a value.
    fill_from_start(&context, 20, columns(10));
    let view = view_of(context.clone());
    for name in ["n", "u", "gray", "day", "nodata"] {
        assert_eq!(fill_value(&view, name), None, "{name}");
    }
    // A consolidation changes nothing.
    merge(&context, 30);
    let view = view_of(context.clone());
    for name in ["n", "u", "gray", "day", "nodata"] {
        assert_eq!(fill_value(&view, name), None, "{name}");
    }
    // After a consolidation, it is unknown which of the cells with the fill value were written.
    let mut some = columns(2);
    some[0].1 = Column::from_values(Datatype::Int16, &[i16::MIN, 1]);
    fill_from_start(&context, 40, some);
    merge(&context, 50);
    let view = view_of(context);
    assert_eq!(
        (fill_value(&view, "n"), fill_value(&view, "u")),
        (Some(serde_json::json!(i16::MIN)), None)
    );
}

/// Unwritten cells stay missing after a consolidation has stored their fill value.
#[test]
fn fill_values_stay_declared_after_a_consolidation() {
    let context = Context::memory();
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 9_i32, 5_i32);
    let mut zero = Attribute::new("zero", Datatype::Int64, CellCount::ONE);
    zero.fill = 0_i64.to_le_bytes().to_vec();
    let attributes = vec![Attribute::new("n", Datatype::Int64, CellCount::ONE), zero];
    let schema = Schema::new(ArrayType::Dense, vec![x], attributes);
    block_on(Array::create(&context, "a", &schema, &[], &created())).unwrap();
    for (time, lo, hi) in [(10, 0, 2), (20, 7, 9)] {
        let values: Vec<i64> = (lo..=hi).map(|v| i64::from(v) - 5).collect();
        let column = |name: &str| (name.to_owned(), Column::from_values(Datatype::Int64, &values));
        let cells = Cells {
            region: Some(vec![ScalarRange::new(lo, hi)]),
            layout: Layout::RowMajor,
            columns: vec![column("n"), column("zero")],
        };
        write(&context, "a", time, cells);
    }
    let check = || {
        let view = view_of(context.clone());
        assert_eq!(attributes_of(&view, "n")["_FillValue"], serde_json::json!(i64::MIN));
        assert_eq!(attributes_of(&view, "zero")["_FillValue"], serde_json::json!(0));
    };
    check();
    merge(&context, 30);
    check();
}

/// Consolidates all fragments into one.
fn merge(context: &Context, timestamp_ms: u64) {
    let array = block_on(Array::open(context, "a", &OpenOptions::default())).unwrap();
    let options = WriteOptions {
        timestamp_ms,
        seed: [7; 32],
        sync: false,
    };
    block_on(consolidate(&array, &ConsolidateOptions::new(Mode::Fragments), &options)).unwrap();
    let array = block_on(Array::open(context, "a", &OpenOptions::default())).unwrap();
    assert_eq!(array.fragments().len(), 1);
}

#[test]
fn nulls_are_not_values_in_zarr_and_npy() {
    let context = Context::memory();
    let attribute = |name: &str, datatype| {
        let mut a = Attribute::new(name, datatype, CellCount::ONE);
        a.nullable = true;
        a
    };
    let attributes = vec![
        attribute("f", Datatype::Float32),
        attribute("n", Datatype::Int16),
        attribute("b", Datatype::Bool),
    ];
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 7_i32, 4_i32);
    let schema = Schema::new(ArrayType::Dense, vec![x], attributes);
    block_on(Array::create(&context, "a", &schema, &[], &created())).unwrap();
    let valid = || vec![1, 0, 1];
    let columns = vec![
        (
            "f".to_owned(),
            Column::from_values(Datatype::Float32, &[1_f32, 0.0, 3.0]).with_validity(valid()),
        ),
        (
            "n".to_owned(),
            Column::from_values(Datatype::Int16, &[1_i16, 0, 3]).with_validity(valid()),
        ),
        (
            "b".to_owned(),
            Column::from_values(Datatype::Bool, &[1_u8, 0, 0]).with_validity(valid()),
        ),
    ];
    fill_from_start(&context, 10, columns);
    let view = view_of(context);
    let chunk = |name: &str| file(&view, &format!("zarr/{name}/c/0"));
    let floats: Vec<f32> = chunk("f")
        .chunks(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert!(
        floats[0] == 1.0 && floats[1].is_nan() && floats[2] == 3.0 && floats[3].is_nan(),
        "{floats:?}"
    );
    let numbers: Vec<i16> = chunk("n")
        .chunks(2)
        .map(|b| i16::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(numbers, [1, i16::MIN, 3, i16::MIN]);
    assert_eq!((chunk("b"), chunk("n_valid")), (vec![1, 255, 0, 255], vec![1, 0, 1, 0]));
    assert_eq!(attributes_of(&view, "f"), serde_json::json!({}));
    assert_eq!(attributes_of(&view, "n"), serde_json::json!({ "_FillValue": i16::MIN }));
    assert_eq!(attributes_of(&view, "b"), serde_json::json!({ "_FillValue": 255 }));
    let json = String::from_utf8(file(&view, "zarr/b/zarr.json")).unwrap();
    assert!(json.contains("\"data_type\": \"uint8\""), "{json}");
    let bin = file(&view, "slices/f,n@0:2.bin");
    assert!(f32::from_le_bytes(bin[8..12].try_into().unwrap()).is_nan());
    assert_eq!(
        (bin[4], &bin[5..8], &bin[12..]),
        (1, &[1, 0, 1][..], &[0, 0, 0x80, 0][..])
    );
    let page = String::from_utf8(file(&view, "README.md")).unwrap();
    for line in [
        "| f | float32 | 1 | yes | null |",
        "| n | int16 | 1 | yes | null (-32768) |",
        "`NAME_valid` is false",
    ] {
        assert!(page.contains(line), "{page}");
    }
}

/// A chunk of the largest tile is read in parts, because it does not fit in memory.
#[test]
fn reading_part_of_a_chunk_takes_memory_for_that_part_only() {
    let context = Context::memory();
    let cells = 1_i64 << 33;
    let x = Dimension::new("x", Datatype::Int64, 0_i64, cells - 1, cells);
    let mut v = Attribute::new("v", Datatype::Int32, CellCount::ONE);
    // No Zarr codec can make shards of these.
    v.filters = Pipeline::new(vec![Filter::Bitshuffle]);
    let schema = Schema::new(ArrayType::Dense, vec![x], vec![v]);
    block_on(Array::create(&context, "big", &schema, &[], &created())).unwrap();
    let points = vec![
        ("x".to_owned(), Column::from_values(Datatype::Int64, &[cells - 2])),
        ("v".to_owned(), Column::from_values(Datatype::Int32, &[7])),
    ];
    let array = block_on(Array::open(&context, "big", &OpenOptions::default())).unwrap();
    let options = WriteOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        sync: false,
    };
    block_on(array.write_points(points, &options)).unwrap();
    let view = whole(context);
    let node = block_on(view.lookup("big/zarr/v/c/0")).unwrap().unwrap();
    let size = 4 * cells as u64;
    assert_eq!(node.kind, NodeKind::File { size });
    let end = block_on(view.read(&node, size - 8..size)).unwrap();
    assert_eq!(end, [7_i32.to_le_bytes(), i32::MIN.to_le_bytes()].concat());
}
