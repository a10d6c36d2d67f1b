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
use hyperslab_formats::{Format, Options};

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

/// The reader does not know LZF, the filter of h5py.
#[test]
fn datasets_with_unknown_filters_are_left_out() {
    let mut source = open("lzf.h5", Format::Hdf5);
    assert_eq!(*cells(source.as_mut(), "plain").values::<i32>().unwrap(), [0, 1, 2, 3]);
    assert_eq!(source.plan().arrays.len(), 1);
    let note = source
        .plan()
        .notes
        .iter()
        .find(|n| n.contains("'packed' is left out"))
        .unwrap();
    assert!(
        note.contains("filter id 32000") && note.contains("h5repack -f NONE IN OUT"),
        "{note}"
    );
    let error = hyperslab_formats::open(&common::file("only_lzf.h5"), Format::Hdf5, &Options::default());
    let why = format!("{:#}", error.err().unwrap());
    assert!(why.contains("nothing in the file can be imported"), "{why}");
}
