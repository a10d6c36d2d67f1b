//! LAS and LAZ files, written by laspy: `tests/formats/samples.py`.
#![cfg(feature = "las")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use hyperslab::schema::{Filter, Layout};
use hyperslab::{Column, Datatype};
use hyperslab_formats::{CloudInfo, Format, Length, Options, PointWriter, Source};

use common::{all, array, open, value};

fn column<'a>(columns: &'a [(String, Column)], name: &str) -> &'a Column {
    &columns.iter().find(|(n, _)| n == name).unwrap().1
}

fn floats(column: &Column) -> Vec<f64> {
    assert_eq!(column.datatype, Datatype::Float64);
    column
        .data
        .as_chunks::<8>()
        .0
        .iter()
        .map(|b| f64::from_le_bytes(*b))
        .collect()
}

fn pdal(source: &dyn Source) -> String {
    let bytes = value(&array(source, "").metadata, "_pdal").data;
    assert_eq!(bytes.last(), Some(&0));
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}

#[test]
fn points_have_the_layout_of_pdal() {
    for name in ["cloud.las", "cloud.laz"] {
        let source = open(name, Format::Las);
        let new = array(source.as_ref(), "");
        let schema = &new.schema;
        assert_eq!((schema.cell_order, schema.capacity), (Layout::Hilbert, 100_000));
        assert!(schema.allows_duplicates && !schema.is_dense());
        let x = &schema.dimensions[0];
        assert_eq!(
            (x.name.as_str(), x.datatype, x.extent.is_none()),
            ("X", Datatype::Float64, true)
        );
        let domain = x.domain.clone().unwrap();
        assert_eq!(
            (domain.lo.as_f64(), domain.hi.as_f64()),
            (Some(499_999.0), Some(500_014.75))
        );
        let scale = Filter::FloatScale {
            scale: 0.25,
            offset: -3.0,
            byte_width: 4,
        };
        assert_eq!(schema.dimensions[2].filters.filters[0], scale);
        let names: Vec<&str> = schema.attributes.iter().map(|a| a.name.as_str()).collect();
        let own = [
            "Intensity",
            "BitFields",
            "Classification",
            "ScanAngleRank",
            "UserData",
            "PointSourceId",
            "GpsTime",
        ];
        let rest = ["Red", "Green", "Blue", "height", "depth", "pair0", "pair1"];
        assert_eq!(names, [own, rest].concat(), "{name}");
        assert_eq!(new.length, Length::Rows(Some(12)));
        assert_eq!(value(&new.metadata, "dataset_type").data, b"pointcloud");
        assert!(source.plan().notes.is_empty(), "{:?}", source.plan().notes);
        let crs = if name == "cloud.laz" {
            "UTM zone 32N"
        } else {
            "\"spatialreference\":\"\""
        };
        assert!(pdal(source.as_ref()).contains(crs), "{}", pdal(source.as_ref()));
    }
}

#[test]
fn every_field_is_read() {
    let mut old = open("cloud.las", Format::Las);
    let mut new = open("cloud.laz", Format::Las);
    let (old, new) = (all(old.as_mut(), ""), all(new.as_mut(), ""));
    for columns in [&old, &new] {
        let y: Vec<f64> = (0..12).map(|n| 5_000_000.0 - f64::from(n) * 0.5).collect();
        assert_eq!(floats(column(columns, "Y")), y);
        assert_eq!(floats(column(columns, "Z"))[3], 7.5);
        assert_eq!(floats(column(columns, "depth"))[3], 11.5);
        assert_eq!(column(columns, "pair1").data[..4], [0, 2, 4, 6]);
        assert_eq!(column(columns, "Classification").data[..8], [0, 1, 2, 3, 4, 5, 6, 0]);
        assert_eq!(column(columns, "Intensity").data[2..4], 5000_u16.to_le_bytes());
        // The second point: return 2 of 5, synthetic.
        assert_eq!(column(columns, "BitFields").data[3], 0x52);
    }
    // Point 4 is the edge of a line, scanned forwards; format 7 adds its channel.
    assert_eq!(column(&old, "BitFields").data[8], 0xc0);
    assert_eq!(column(&new, "BitFields").data[10], 0x10 | 0x09);
    assert_eq!(column(&old, "ScanAngleRank").data[..4], (-15.0_f32).to_le_bytes());
    assert_eq!(
        column(&new, "ScanAngleRank").data[..4],
        (-500.0 * 0.006_f32).to_le_bytes()
    );
}

/// The bytes of the file that an export of these points makes.
fn written(source: &mut dyn Source, compressed: bool) -> Vec<u8> {
    let pdal = pdal(source);
    let columns = all(source, "");
    let schema = &array(source, "").schema;
    let info = CloudInfo {
        schema,
        pdal: &pdal,
        attributes: schema.attributes.iter().map(|a| a.name.clone()).collect(),
        compressed,
    };
    let mut writer = PointWriter::new(&info).unwrap();
    writer.push(&columns).unwrap();
    let mut bytes = Vec::new();
    assert_eq!(writer.finish(&mut bytes).unwrap(), Vec::<String>::new());
    bytes
}

#[test]
fn a_written_file_holds_the_same_points() {
    for name in ["cloud.las", "cloud.laz"] {
        for compressed in [false, true] {
            let mut source = open(name, Format::Las);
            let bytes = written(source.as_mut(), compressed);
            assert_eq!(bytes[104] & 0x80 != 0, compressed);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("again");
            std::fs::write(&path, bytes).unwrap();
            let mut again = hyperslab_formats::open(&path, Format::Las, &Options::default()).unwrap();
            let whole = |s: &mut dyn Source| all(s, "");
            assert_eq!(whole(again.as_mut()), whole(open(name, Format::Las).as_mut()), "{name}");
            assert_eq!(
                array(again.as_ref(), "").schema.dimensions,
                array(source.as_ref(), "").schema.dimensions
            );
            let crs = |s: &dyn Source| pdal(s).split_once("writers").unwrap().1.to_owned();
            assert_eq!(crs(again.as_ref()), crs(source.as_ref()));
        }
    }
}

#[test]
fn values_that_las_cannot_hold_are_refused() {
    let mut source = open("cloud.las", Format::Las);
    let (mut columns, pdal) = (all(source.as_mut(), ""), pdal(source.as_ref()));
    let schema = array(source.as_ref(), "").schema.clone();
    let mut refused = |name: &str, data: Vec<u8>, why: &str| {
        let info = CloudInfo {
            schema: &schema,
            pdal: &pdal,
            attributes: schema.attributes.iter().map(|a| a.name.clone()).collect(),
            compressed: false,
        };
        let at = columns.iter().position(|(n, _)| n == name).unwrap();
        let kept = std::mem::replace(&mut columns[at].1.data, data);
        let error = PointWriter::new(&info).unwrap().push(&columns).unwrap_err();
        assert!(format!("{error:#}").contains(why), "{error:#}");
        columns[at].1.data = kept;
    };
    refused("Classification", vec![40; 12], "class 40");
    refused("X", 1e12_f64.to_le_bytes().repeat(12), "does not fit");
    refused("X", f64::NAN.to_le_bytes().repeat(12), "does not fit");
    refused("BitFields", [0, 0xff].repeat(12), "return 15 of 15");
    let mut text = schema.clone();
    text.attributes[0].datatype = Datatype::StringUtf8;
    text.attributes[0].name = "name".to_owned();
    let info = CloudInfo {
        schema: &text,
        pdal: "",
        attributes: vec!["name".to_owned()],
        compressed: false,
    };
    let error = PointWriter::new(&info).err().unwrap();
    assert!(
        error.to_string().contains("select other attributes with --attrs"),
        "{error}"
    );
}
