//! Zarr stores, as `tests/formats/samples.py` writes them with zarr-python.
#![cfg(feature = "zarr")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should say where"
)]

mod common;

use std::path::Path;

use common::{array, cells, file, find, open, texts, value};
use hyperslab::Datatype;
use hyperslab::metadata::MetaValue;
use hyperslab_formats::{Format, Length, Options, Source};

const STORES: [&str; 2] = ["sample2.zarr", "sample3.zarr"];

fn opened(path: &Path) -> Box<dyn Source> {
    hyperslab_formats::open(path, Format::Zarr, &Options::default()).unwrap()
}

#[test]
fn a_store_is_what_netcdf_becomes() {
    for name in STORES {
        let mut source = open(name, Format::Zarr);
        assert!(source.plan().notes.is_empty(), "{name}: {:?}", source.plan().notes);
        let new = array(source.as_ref(), "t2m");
        let dimensions: Vec<&str> = new.schema.dimensions.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(dimensions, ["time", "lat", "lon"], "{name}");
        assert_eq!(new.length, Length::Box(vec![3, 4, 5]));
        assert_eq!(new.schema.attributes[0].fill, (-999_i16).to_le_bytes(), "{name}");
        assert_eq!(value(&new.metadata, "__tiledb_attr.t2m.units"), MetaValue::text("K"));
        assert_eq!(value(&new.metadata, "__tiledb_attr.t2m.valid_range").num, 2);
        let mut wanted: Vec<i16> = (0..60).collect();
        wanted[33] = -999;
        assert_eq!(
            *cells(source.as_mut(), "t2m").values::<i16>().unwrap(),
            wanted,
            "{name}"
        );
        assert_eq!(array(source.as_ref(), "lat").schema.attributes[0].name, "lat.data");
        assert_eq!(
            *cells(source.as_mut(), "lat").values::<f32>().unwrap(),
            [-45.0, -15.0, 15.0, 45.0]
        );
        assert_eq!(
            value(&source.plan().groups[0].metadata, "title"),
            MetaValue::text("A sample")
        );
        let forecast = source.plan().groups.iter().find(|g| g.path == "forecast").unwrap();
        assert_eq!(value(&forecast.metadata, "model"), MetaValue::text("none"));
        assert!(source.plan().arrays.iter().all(|a| a.schema.check().is_ok()), "{name}");
    }
}

#[test]
fn boxes_cross_chunks() {
    for name in STORES {
        let mut source = open(name, Format::Zarr);
        let number = find(source.as_ref(), "t2m");
        let columns = source.read_box(number, &[1..3, 2..4, 3..5]).unwrap();
        assert_eq!(
            *columns[0].1.values::<i16>().unwrap(),
            [33, 34, 38, 39, 53, 54, 58, 59].map(|n| if n == 33 { -999 } else { n })
        );
        // Chunks that were never written hold the fill value.
        assert_eq!(
            *cells(source.as_mut(), "forecast/gaps").values::<f64>().unwrap(),
            [9.5, 9.5, 1.0, 2.0, 9.5, 9.5]
        );
    }
}

#[test]
fn types_and_orders_have_their_counterparts() {
    for name in STORES {
        let mut source = open(name, Format::Zarr);
        let source = source.as_mut();
        assert_eq!(*cells(source, "scalar").values::<i32>().unwrap(), [7], "{name}");
        assert_eq!(
            *cells(source, "big").values::<i32>().unwrap(),
            [0, 1, 2, 3, 4, 5],
            "{name}"
        );
        let truth = cells(source, "truth");
        assert_eq!((truth.datatype, truth.data), (Datatype::Bool, vec![1, 0, 1]), "{name}");
        assert_eq!(*cells(source, "half").values::<f32>().unwrap(), [0.5, -2.0], "{name}");
        assert_eq!(
            *cells(source, "complex").values::<f32>().unwrap(),
            [1.0, 2.0, 3.0, -4.0],
            "{name}"
        );
        assert_eq!(
            *cells(source, "forecast/columns").values::<u16>().unwrap(),
            [0, 1, 2, 3, 4, 5],
            "{name}"
        );
        assert_eq!(texts(&cells(source, "words")), ["α", "", "long enough"], "{name}");
        assert_eq!(texts(&cells(source, "fixed")), ["é", "abc"], "{name}");
        assert_eq!(texts(&cells(source, "bytes")), ["ab", "abc"], "{name}");
    }
    let mut source = open("sample2.zarr", Format::Zarr);
    let dates = cells(source.as_mut(), "dates");
    assert_eq!(
        (dates.datatype, &*dates.values::<i64>().unwrap()),
        (Datatype::DatetimeDay, &[18262, i64::MIN][..])
    );
    assert_eq!(
        *cells(source.as_mut(), "packed").values::<i64>().unwrap(),
        (0..100).collect::<Vec<i64>>()
    );
    let mut source = open("sample3.zarr", Format::Zarr);
    assert_eq!(
        *cells(source.as_mut(), "shards").values::<i32>().unwrap(),
        (0..48).collect::<Vec<i32>>()
    );
}

/// Without consolidated metadata, the folders are listed.
#[test]
fn an_array_or_a_store_without_consolidated_metadata_is_read() {
    for name in STORES {
        let mut single = opened(&file(name).join("t2m"));
        assert!(single.plan().groups.is_empty());
        assert_eq!(single.plan().arrays[0].path, "");
        assert_eq!(single.plan().arrays[0].schema.attributes[0].name, "t2m");
        assert_eq!(cells(single.as_mut(), "").len(), 60, "{name}");
        let mut group = opened(&file(name).join("forecast"));
        let paths: Vec<&str> = group.plan().arrays.iter().map(|a| a.path.as_str()).collect();
        assert_eq!(paths, ["columns", "gaps"], "{name}");
        assert_eq!(cells(group.as_mut(), "columns").len(), 6);
        assert_eq!(Format::of_folder(&file(name)), Some(Format::Zarr));
    }
    let error = hyperslab_formats::open(&file("."), Format::Zarr, &Options::default())
        .err()
        .unwrap();
    assert!(format!("{error:#}").contains("this is not a Zarr store"), "{error:#}");
}

/// A few bytes that claim to be a large chunk.
#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let write = |change: &dyn Fn(&str) -> String| {
        std::fs::create_dir_all(&path).unwrap();
        let plain = r#"{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "order": "C", "fill_value": 0,
            "filters": null, "compressor": {"id": "zlib"}}"#;
        std::fs::write(path.join(".zarray"), change(plain)).unwrap();
    };
    let why = |path: &Path| {
        let opened = hyperslab_formats::open(path, Format::Zarr, &Options::default());
        let why = opened.and_then(|mut source| source.read_box(0, &[0..4]));
        format!("{:#}", why.err().unwrap())
    };
    write(&|plain| plain.replace("zlib", "mystery"));
    assert!(
        why(&path).contains("the codec 'mystery' is not supported"),
        "{}",
        why(&path)
    );
    write(&|plain| plain.replace(r#""chunks": [4]"#, r#""chunks": [99999999999]"#));
    assert!(why(&path).contains("its chunks have more than"), "{}", why(&path));
    let one_by_one = |plain: &str| {
        plain
            .replace("[4]", "[1]")
            .replace(r#""shape": [1]"#, r#""shape": [1000000000]"#)
    };
    write(&one_by_one);
    assert!(why(&path).contains("it has 1000000000 chunks"), "{}", why(&path));
    write(&|plain| plain.replace(r#""<i4""#, r#"[["a", "<i4"]]"#));
    assert!(
        why(&path).contains("structured types are not supported"),
        "{}",
        why(&path)
    );
    write(&str::to_owned);
    std::fs::write(path.join("0"), b"not zlib").unwrap();
    assert!(why(&path).contains("cannot read the chunk at [0]"), "{}", why(&path));
    std::fs::remove_file(path.join("0")).unwrap();
    std::fs::create_dir(path.join("0")).unwrap();
    assert!(why(&path).contains("0: it is a folder"), "{}", why(&path));
    std::fs::remove_dir(path.join("0")).unwrap();
    let large = std::fs::File::create(path.join("0")).unwrap();
    large.set_len(1 << 40).unwrap();
    assert!(
        why(&path).contains("0 has 1099511627776 bytes, more than the"),
        "{}",
        why(&path)
    );
}
