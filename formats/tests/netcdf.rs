//! NetCDF files, as `tests/formats/samples.py` writes them.
#![cfg(feature = "netcdf")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should say where"
)]

mod common;

use common::{all, array, cells, find, open, texts, value};
use hyperslab::Datatype;
use hyperslab::metadata::MetaValue;
use hyperslab_formats::{Format, Length, Options};

#[test]
fn a_variable_is_an_array_with_its_name() {
    for name in ["climate3.nc", "climate4.nc"] {
        let mut source = open(name, Format::NetCdf);
        let new = array(source.as_ref(), "t2m");
        let dimensions: Vec<&str> = new.schema.dimensions.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(dimensions, ["time", "lat", "lon"], "{name}");
        assert!(new.schema.dimensions.iter().all(|d| d.datatype == Datatype::Uint64));
        assert_eq!(new.length, Length::Box(vec![3, 4, 5]));
        let attribute = &new.schema.attributes[0];
        assert_eq!((attribute.name.as_str(), attribute.datatype), ("t2m", Datatype::Int16));
        assert_eq!(attribute.fill, (-999_i16).to_le_bytes());
        assert_eq!(value(&new.metadata, "__tiledb_attr.t2m.units"), MetaValue::text("K"));
        assert!(new.metadata.iter().all(|e| !e.key.ends_with("_FillValue")));
        let mut wanted: Vec<i16> = (0..60).collect();
        wanted[33] = -999;
        assert_eq!(
            *cells(source.as_mut(), "t2m").values::<i16>().unwrap(),
            wanted,
            "{name}"
        );
    }
}

#[test]
fn a_box_is_read_by_itself() {
    for name in ["climate3.nc", "climate4.nc"] {
        let mut source = open(name, Format::NetCdf);
        let number = find(source.as_ref(), "t2m");
        let columns = source.read_box(number, &[2..3, 1..3, 0..2]).unwrap();
        assert_eq!(*columns[0].1.values::<i16>().unwrap(), [45, 46, 50, 51], "{name}");
    }
}

#[test]
fn coordinates_scalars_and_text_follow_tiledb_cf() {
    for name in ["climate3.nc", "climate4.nc"] {
        let mut source = open(name, Format::NetCdf);
        assert_eq!(array(source.as_ref(), "lat").schema.attributes[0].name, "lat.data");
        assert_eq!(
            *cells(source.as_mut(), "lat").values::<f32>().unwrap(),
            [-45.0, -15.0, 15.0, 45.0]
        );
        let scalar = array(source.as_ref(), "crs");
        assert_eq!(scalar.schema.dimensions[0].name, "__scalars");
        assert_eq!(scalar.length, Length::Box(vec![1]));
        assert_eq!(cells(source.as_mut(), "crs").len(), 1);
        // The axis of characters becomes the length of texts.
        assert_eq!(array(source.as_ref(), "station").length, Length::Box(vec![4]));
        assert_eq!(texts(&cells(source.as_mut(), "station")), ["north", "b", "", "a b"]);
        let group = &source.plan().groups[0];
        assert_eq!(value(&group.metadata, "title"), MetaValue::text("A sample"));
        assert_eq!(value(&group.metadata, "levels").num, 3);
    }
}

#[test]
fn unlimited_axes_get_room() {
    for name in ["climate3.nc", "climate4.nc"] {
        let source = open(name, Format::NetCdf);
        let dimensions = &array(source.as_ref(), "t2m").schema.dimensions;
        let lengths: Vec<_> = dimensions
            .iter()
            .map(|d| d.domain.as_ref().unwrap().hi.as_i128().unwrap() + 1)
            .collect();
        assert_eq!(lengths, [10_000, 4, 5], "{name}");
        let note = "the axis 'time' is unlimited: it has 3 positions and room for 10000";
        assert!(
            source.plan().notes.iter().any(|n| n == note),
            "{:?}",
            source.plan().notes
        );
    }
}

#[test]
fn packed_numbers_are_unpacked_on_request() {
    for name in ["climate3.nc", "climate4.nc"] {
        let options = Options {
            unpack: true,
            ..Options::default()
        };
        let mut source = hyperslab_formats::open(&common::file(name), Format::NetCdf, &options).unwrap();
        let new = array(source.as_ref(), "t2m");
        assert!(new.metadata.iter().all(|e| !e.key.ends_with("scale_factor")));
        assert!(new.schema.attributes[0].fill == f64::NAN.to_le_bytes(), "{name}");
        let values = cells(source.as_mut(), "t2m");
        let values = values.values::<f64>().unwrap();
        assert!((values[1] - 273.16).abs() < 1e-9 && values[33].is_nan(), "{name}");
    }
}

#[test]
fn netcdf4_has_groups_text_enumerations_and_short_variables() {
    let mut source = open("climate4.nc", Format::NetCdf);
    assert_eq!(source.plan().groups[1].path, "forecast");
    assert_eq!(
        value(&source.plan().groups[1].metadata, "model"),
        MetaValue::text("none")
    );
    let wind = array(source.as_ref(), "forecast/wind");
    assert_eq!(wind.schema.dimensions[0].name, "lat");
    assert_eq!(
        cells(source.as_mut(), "forecast/wind").values::<f32>().unwrap()[19],
        19.0
    );
    assert_eq!(
        texts(&cells(source.as_mut(), "label")),
        ["one", "zwei", "trois", "Łódź"]
    );
    let sky = array(source.as_ref(), "sky");
    assert_eq!(sky.schema.attributes[0].enumeration.as_deref(), Some("sky"));
    assert_eq!(texts(&sky.enumerations[0].values), ["clear", "cloudy", "rain"]);
    assert_eq!(cells(source.as_mut(), "sky").data, [0, 2, 1, 0]);
    // Numbers that do not count from 0 keep their values.
    let quality = array(source.as_ref(), "quality").metadata.clone();
    assert_eq!(
        value(&quality, "__tiledb_attr.quality.flag_meanings"),
        MetaValue::text("bad very_good")
    );
    assert_eq!(value(&quality, "__tiledb_attr.quality.flag_values").data, [255, 5]);
    assert_eq!(cells(source.as_mut(), "quality").data, [255, 5, 5, 255]);
    assert_eq!(*cells(source.as_mut(), "late").values::<i32>().unwrap(), [7, 8, -1]);
    assert!(
        source.plan().arrays.iter().all(|a| a.path != "width"),
        "a dimension became an array"
    );
}

#[test]
fn content_counts_and_not_the_ending() {
    let mut source = open("climate3.nc", Format::Hdf5);
    assert_eq!(all(source.as_mut(), "t2m").len(), 1);
    let mut source = open("climate4.nc", Format::Hdf5);
    assert_eq!(array(source.as_ref(), "t2m").schema.dimensions[0].name, "time");
    assert_eq!(all(source.as_mut(), "t2m").len(), 1);
}

/// The library refuses such names, and replaces such characters of texts.
#[test]
fn names_and_texts_may_be_latin1() {
    let mut bytes = std::fs::read(common::file("climate3.nc")).unwrap();
    let mut replace = |from: &[u8], to: &[u8]| {
        let at = bytes.windows(from.len()).position(|w| w == from).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
    };
    replace(b"A sample", b"A s\xe4mple");
    replace(b"units", b"un\xeets");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nc");
    std::fs::write(&path, bytes).unwrap();
    let mut source = hyperslab_formats::open(&path, Format::NetCdf, &Options::default()).unwrap();
    let latin1: Vec<_> = source.plan().arrays.iter().flat_map(|a| &a.metadata).collect();
    assert!(latin1.iter().any(|e| e.key.ends_with(".unîts")), "{latin1:?}");
    let title = value(&source.plan().groups[0].metadata, "title");
    assert_eq!(title, MetaValue::text("A sämple"));
    let wanted = cells(open("climate3.nc", Format::NetCdf).as_mut(), "t2m");
    assert_eq!(cells(source.as_mut(), "t2m"), wanted);
}
