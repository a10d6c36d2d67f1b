//! The paths that a view offers, and those that it refuses because of their size.

use super::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A view of an array for each of these schemas, without cells.
fn empty(schemas: &[(&str, Schema)]) -> View {
    let context = Context::memory();
    for (path, schema) in schemas {
        block_on(Array::create(&context, path, schema, &[], &created())).unwrap();
    }
    whole(context)
}

#[test]
fn a_file_of_more_than_63_bits_is_refused() {
    let axis = |name| Dimension::new(name, Datatype::Int64, 0_i64, i64::MAX - 1000, 1000_i64);
    let v = || Attribute::new("v", Datatype::Int32, CellCount::ONE);
    let line = Schema::new(ArrayType::Dense, vec![axis("x")], vec![v()]);
    let cube = Schema::new(ArrayType::Dense, vec![axis("x"), axis("y"), axis("z")], vec![v()]);
    let view = empty(&[("line", line), ("cube", cube)]);
    // The sizes of these would overflow to 168 bytes, to 0 bytes, and to a negative number.
    for name in [
        "line/slices/0:4611686018427387914.npy",
        "line/slices/0:4611686018427387904.bin",
        "line/slices/0:2305843009213693952.bin",
        "cube/slices/0,0:4294967296,0:1073741824.bin",
    ] {
        match block_on(view.lookup(name)) {
            Err(Error::LimitExceeded { what, found, limit }) => {
                assert!(what.contains("select fewer cells"), "{name}: {what}");
                assert!(found > limit, "{name}: {found}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let name = "line/slices/0:2305843009213693951.bin";
    let node = block_on(view.lookup(name)).unwrap().unwrap();
    let size = 4 * 2_305_843_009_213_693_951;
    assert_eq!(node.kind, NodeKind::File { size });
    let end = block_on(view.read(&node, size - 6..size)).unwrap();
    let fill = i32::MIN.to_le_bytes();
    assert_eq!(end, [&fill[2..], &fill].concat());
}

#[test]
fn every_sample_name_resolves() {
    let number = |name: &str| Dimension::new(name, Datatype::Int32, -5_i32, 94_i32, 10_i32);
    let text = |name: &str| Dimension {
        datatype: Datatype::StringAscii,
        cell: CellCount::Var,
        domain: None,
        extent: None,
        ..number(name)
    };
    let far = |name: &str| Dimension::new(name, Datatype::Uint64, 0_u64, u64::MAX - 1000, 1000_u64);
    let days = Dimension::new("day", Datatype::DatetimeDay, 0_i64, 99_i64, 10_i64);
    let fixed = |name: &str| Attribute::new(name, Datatype::Float32, CellCount::ONE);
    let var = |name: &str| Attribute::new(name, Datatype::StringUtf8, CellCount::Var);
    let dense = |attributes| Schema::new(ArrayType::Dense, vec![number("x"), number("y")], attributes);
    let sparse = |dimensions, attributes| Schema::new(ArrayType::Sparse, dimensions, attributes);
    let endless = Dimension::new("t", Datatype::DatetimeMs, 0_i64, i64::MAX - 1000, 1000_i64);
    let schemas = [
        ("fixed", dense(vec![fixed("a"), fixed("b")]), "all.npy"),
        (
            "mixed",
            dense(vec![var("t"), fixed("a"), fixed("b,c")]),
            "a,b%2Cc@all.npy",
        ),
        ("texts", dense(vec![var("t")]), "all.csv"),
        ("names", sparse(vec![text("a=b"), days], vec![fixed("a")]), "a@all.npy"),
        ("words", sparse(vec![text("word")], vec![var("t")]), "all.csv"),
        ("tops", sparse(vec![number("x")], vec![fixed("a")]), "all.npy"),
        ("far", sparse(vec![far("x")], vec![fixed("a")]), "all.npy"),
        ("hidden", dense(vec![var("t"), fixed(".b")]), "%2Eb@all.npy"),
    ];
    // Any region of these is larger than a file can be.
    let line = Schema::new(ArrayType::Dense, vec![far("x")], vec![fixed("a"), var("t")]);
    let plane = Schema::new(ArrayType::Dense, vec![far("x"), far("y")], vec![fixed("a")]);
    let time = Schema::new(ArrayType::Dense, vec![endless], vec![fixed("a")]);
    let large = [
        ("line", line, &["a@0:10.csv", "x=0:10.json"][..]),
        ("plane", plane, &["a@0:10,0:10.csv"]),
        (
            "time",
            time,
            &[
                "a@1970-01-01T00:00:00.000:1970-01-01T00:00:00.009.csv",
                "t=1970-01-01T00:00:00.000:1970-01-01T00:00:00.009.json",
            ],
        ),
    ];
    let written = view();
    let view = empty(&schemas.clone().map(|(path, schema, _)| (path, schema)));
    let samples = |view: &View, path: &str| {
        let readme = String::from_utf8(file(view, &format!("{path}/slices/README.md"))).unwrap();
        let samples = readme.lines().filter_map(|l| l.strip_prefix("    "));
        let samples: Vec<_> = samples.map(str::to_owned).collect();
        for sample in &samples {
            let node = block_on(view.lookup(&format!("{path}/slices/{sample}")));
            assert!(matches!(node, Ok(Some(_))), "{path}: {sample}: {node:?}");
        }
        samples
    };
    let check = |view: &View, path: &str, first: &str| {
        let samples = samples(view, path);
        assert_eq!(samples.first().map(String::as_str), Some(first), "{path}");
        assert_eq!(samples.len(), 4, "{path}: {samples:?}");
    };
    for (path, _, first) in &schemas {
        check(&view, path, first);
    }
    check(&written, "grids/dense", "all.npy");
    check(&written, "points", "mag@all.npy");
    let view = empty(&large.clone().map(|(path, schema, _)| (path, schema)));
    for (path, _, expect) in large {
        assert_eq!(samples(&view, path), expect, "{path}");
    }
}

/// An unnamed attribute is called `data`, unless another field has that name.
#[test]
fn field_names_are_unique() {
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 3_i32, 2_i32);
    let number = |name: &str| Attribute::new(name, Datatype::Int8, CellCount::ONE);
    let beside = Schema::new(ArrayType::Dense, vec![x.clone()], vec![number(""), number("data")]);
    let along = Dimension {
        name: "data".into(),
        ..x
    };
    let below = Schema::new(ArrayType::Dense, vec![along], vec![number("")]);
    let view = empty(&[("beside", beside), ("below", below)]);
    let context = &view.source().context;
    let column = |values: &[i8]| Column::from_values(Datatype::Int8, values);
    let cells = |columns| Cells {
        region: None,
        layout: Layout::RowMajor,
        columns,
    };
    let both = vec![
        ("".to_owned(), column(&[1, 2, 3, 4])),
        ("data".to_owned(), column(&[5, 6, 7, 8])),
    ];
    write(context, "beside", 1, cells(both));
    write(context, "below", 1, cells(vec![("".to_owned(), column(&[1, 2, 3, 4]))]));
    assert_eq!(names(&view, "beside/tiles"), ["data_", "data"]);
    for (path, expect) in [
        ("beside/slices/data@all.bin", vec![5, 6, 7, 8]),
        ("beside/slices/data_@all.bin", vec![1, 2, 3, 4]),
        ("beside/slices/data_,data@0:2.bin", vec![1, 5, 2, 6]),
        ("below/slices/data_@all.bin", vec![1, 2, 3, 4]),
        ("below/slices/data@0:2.bin", vec![0, 0, 0, 0, 1, 0, 0, 0]),
    ] {
        assert_eq!(file(&view, path), expect, "{path}");
    }
    // After the npy header.
    assert_eq!(file(&view, "beside/tiles/data_/0.npy")[128..], [1, 2]);
    assert_eq!(file(&view, "beside/tiles/data/0.npy")[128..], [5, 6]);
}
