//! HDF5 files without dimension scales, as `tests/formats/samples.py` writes them.
#![cfg(feature = "hdf5")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should say where"
)]

mod common;

use common::{all, array, cells, open, texts, value};
use hyperslab::metadata::MetaValue;
use hyperslab::{CellCount, Datatype};
use hyperslab_formats::{Format, Length, Options};

#[test]
fn datasets_are_arrays_over_numbered_axes() {
    let mut source = open("plain.h5", Format::Hdf5);
    let new = array(source.as_ref(), "grid");
    let dimensions: Vec<&str> = new.schema.dimensions.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(dimensions, ["dim_0", "dim_1"]);
    assert_eq!(value(&new.metadata, "__tiledb_attr.grid.unit"), MetaValue::text("m"));
    assert_eq!(value(&new.metadata, "__tiledb_attr.grid.range").num, 2);
    let grid = cells(source.as_mut(), "grid");
    assert_eq!(*grid.values::<i32>().unwrap(), (0..12).collect::<Vec<i32>>());
    assert_eq!(
        value(&source.plan().groups[0].metadata, "version").datatype,
        Datatype::Int64
    );
}

#[test]
fn compound_types_are_split_into_attributes() {
    let mut source = open("plain.h5", Format::Hdf5);
    let columns = all(source.as_mut(), "sub/points");
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["id", "at", "tag"]);
    assert_eq!(*columns[0].1.values::<u16>().unwrap(), [1, 2]);
    assert_eq!(columns[1].1.cell, CellCount::Fixed(3));
    assert_eq!(*columns[1].1.values::<f32>().unwrap(), [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]);
    assert_eq!(texts(&columns[2].1), ["ab", "c"]);
}

#[test]
fn other_types_have_their_counterparts() {
    let mut source = open("plain.h5", Format::Hdf5);
    assert_eq!(texts(&cells(source.as_mut(), "sub/text")), ["α", "", "long enough"]);
    let flags = cells(source.as_mut(), "flags");
    assert_eq!((flags.datatype, flags.data), (Datatype::Bool, vec![1, 0]));
    let z = cells(source.as_mut(), "z");
    assert_eq!(
        (z.cell, z.values::<f64>().unwrap().to_vec()),
        (CellCount::Fixed(2), vec![1.0, 2.0, 3.0, -4.0])
    );
    let ragged = cells(source.as_mut(), "ragged");
    assert_eq!(ragged.offsets, Some(vec![0, 12, 12]));
    assert_eq!(*cells(source.as_mut(), "half").values::<f32>().unwrap(), [0.5, -2.0]);
    assert_eq!(*cells(source.as_mut(), "fill").values::<i16>().unwrap(), [1, 2, 9, 9]);
    assert_eq!(
        array(source.as_ref(), "fill").schema.attributes[0].fill,
        9_i16.to_le_bytes()
    );
}

#[test]
fn what_has_no_counterpart_is_named() {
    let source = open("plain.h5", Format::Hdf5);
    let notes = source.plan().notes.join("\n");
    assert!(notes.contains("'nothing' is left out: it is empty"), "{notes}");
    assert!(notes.contains("'link' is left out: references"), "{notes}");
}

/// The reader does not know bzip2.
#[test]
fn datasets_with_unknown_filters_are_left_out() {
    let mut source = open("unknown.h5", Format::Hdf5);
    assert_eq!(*cells(source.as_mut(), "plain").values::<i32>().unwrap(), [0, 1, 2, 3]);
    assert_eq!(source.plan().arrays.len(), 1);
    let note = source
        .plan()
        .notes
        .iter()
        .find(|n| n.contains("'packed' is left out"))
        .unwrap();
    assert!(
        note.contains("filter id 307") && note.contains("h5repack -f NONE IN OUT"),
        "{note}"
    );
    let error = hyperslab_formats::open(&common::file("only_unknown.h5"), Format::Hdf5, &Options::default());
    let why = format!("{:#}", error.err().unwrap());
    assert!(why.contains("nothing in the file can be imported"), "{why}");
}

#[test]
fn filters_of_other_libraries_are_known() {
    let mut source = open("filters.h5", Format::Hdf5);
    assert_eq!(source.plan().arrays.len(), 18, "{:?}", source.plan().notes);
    let grid: Vec<i32> = (0..600).map(|n| n / 7).collect();
    let paths: Vec<String> = source.plan().arrays.iter().map(|a| a.path.clone()).collect();
    for path in &paths {
        let column = cells(source.as_mut(), path);
        match path.as_str() {
            "blosc_noise" => assert_eq!(
                column.values::<i64>().unwrap()[..2],
                [508_082_495, 549_564_284],
                "{path}"
            ),
            "blosc2_zeros" => assert_eq!(*column.values::<f64>().unwrap(), vec![0.0; 3000], "{path}"),
            _ => assert_eq!(*column.values::<i32>().unwrap(), grid, "{path}"),
        }
    }
}

#[test]
fn links_that_lead_nowhere_are_named() {
    for name in ["links_old.h5", "links_new.h5"] {
        let mut source = open(name, Format::Hdf5);
        let notes = source.plan().notes.join("\n");
        for wanted in [
            "'virtual' is left out: it is a virtual dataset",
            "the link 'gone' is left out: it leads to '/nowhere', which is not in the file",
            "the link 'many/outside' is left out: it leads to '/x' of the file 'other.h5'",
            "the axis 'dim_0' has length 0: its arrays have no cells",
            "the values of '__x' become the attribute '%5F_x'",
        ] {
            assert!(notes.contains(wanted), "{name}: {wanted}: {notes}");
        }
        assert_eq!(*cells(source.as_mut(), "again").values::<i32>().unwrap(), [0, 1, 2, 3]);
        assert_eq!(cells(source.as_mut(), "many/11").len(), 1);
        assert!(source.plan().arrays.iter().all(|a| a.schema.check().is_ok()), "{name}");
        assert_eq!(array(source.as_ref(), "none").length, Length::Box(vec![0, 3]));
        let reserved = array(source.as_ref(), "%5F_x").metadata.clone();
        assert_eq!(value(&reserved, "__tiledb_attr.%5F_x.unit"), MetaValue::text("m"));
        // TileDB fills with this number anyway, so that only the metadata says that it means something.
        let low = &array(source.as_ref(), "low").metadata;
        assert_eq!(
            value(low, "__tiledb_attr.low._FillValue").data,
            (-32768_i16).to_le_bytes()
        );
    }
}
