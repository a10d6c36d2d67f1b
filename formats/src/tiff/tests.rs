//! Small files, made byte by byte.

use std::path::Path;

use hyperslab::metadata::Entry;

use super::*;
use crate::{Format, Length, Options, Source, open};

/// A tag: its number, its type, and its values.
type Tag = (u16, u16, Vec<u8>);

fn shorts(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn long(value: u32) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

/// A file with these directories; each has its pixels in one strip.
fn file(directories: &[(Vec<Tag>, Vec<u8>)]) -> Vec<u8> {
    let mut out = b"II*\0\0\0\0\0".to_vec();
    let mut link = 4;
    for (tags, pixels) in directories {
        let mut tags = tags.clone();
        tags.push((tag::STRIP_OFFSETS, 4, long(out.len() as u32)));
        tags.push((tag::STRIP_BYTES, 4, long(pixels.len() as u32)));
        tags.sort_by_key(|t| t.0);
        out.extend_from_slice(pixels);
        let mut entries = Vec::new();
        for (id, kind, value) in &tags {
            let size = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8][*kind as usize];
            let place = if value.len() > 4 {
                let at = out.len() as u32;
                out.extend_from_slice(value);
                long(at)
            } else {
                let mut inline = value.clone();
                inline.resize(4, 0);
                inline
            };
            entries.extend([shorts(&[*id, *kind]), long((value.len() / size) as u32), place].concat());
        }
        let at = long(out.len() as u32);
        out[link..link + 4].copy_from_slice(&at);
        out.extend(shorts(&[tags.len() as u16]));
        out.extend(entries);
        link = out.len();
        out.extend(long(0));
    }
    out
}

/// The tags of an image of `int16`.
fn tags(width: u32, height: u32) -> Vec<Tag> {
    vec![
        (tag::WIDTH, 4, long(width)),
        (tag::HEIGHT, 4, long(height)),
        (tag::BITS, 3, shorts(&[16])),
        (tag::SAMPLE_FORMAT, 3, shorts(&[2])),
        (tag::PHOTOMETRIC, 3, shorts(&[1])),
        (tag::ROWS_PER_STRIP, 4, long(height)),
    ]
}

/// The tags that place an image: UTM zone 33 N, pixels of 10 m.
fn place(raster_type: u16) -> Vec<Tag> {
    vec![
        (tag::PIXEL_SCALE, 12, doubles(&[10.0, 10.0, 0.0])),
        (tag::TIE_POINTS, 12, doubles(&[0.0, 0.0, 0.0, 5e5, 5e6, 0.0])),
        (
            tag::GEO_KEYS,
            3,
            shorts(&[1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, raster_type, 3072, 0, 1, 32633]),
        ),
    ]
}

fn raster() -> Vec<u8> {
    let mut full = [tags(5, 3), place(1)].concat();
    full.push((tag::GDAL_NODATA, 2, b"-7\0".to_vec()));
    let items = "<GDALMetadata><Item name=\"a\">b</Item><Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.5</Item>\
                 </GDALMetadata>\0";
    full.push((tag::GDAL_METADATA, 2, items.into()));
    let mut half = tags(2, 1);
    half.push((tag::SUBFILE_TYPE, 4, long(1)));
    let cells: Vec<u16> = (0..15).collect();
    file(&[(full, shorts(&cells)), (half, shorts(&[100, 101]))])
}

fn opened(bytes: &[u8], options: &Options) -> (tempfile::TempDir, Result<Box<dyn Source>>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tif");
    std::fs::write(&path, bytes).unwrap();
    let source = open(Path::new(&path), Format::Tiff, options);
    (folder, source)
}

fn metadata<'a>(entries: &'a [Entry], key: &str) -> &'a [u8] {
    let found = entries.iter().find(|e| e.key == key);
    found.and_then(|e| e.value.as_ref()).map_or(&[], |v| &v.data)
}

fn xml(source: &dyn Source, array: usize) -> String {
    String::from_utf8(metadata(&source.plan().arrays[array].metadata, "_gdal").to_vec()).unwrap()
}

#[test]
fn a_raster_has_its_place_and_its_smaller_copies() {
    let (_folder, source) = opened(&raster(), &Options::default());
    let mut source = source.unwrap();
    let plan = source.plan().clone();
    assert_eq!(
        plan.arrays.iter().map(|a| a.path.as_str()).collect::<Vec<_>>(),
        ["l_0", "l_1"]
    );
    assert_eq!(plan.arrays[0].length, Length::Box(vec![1, 3, 5]));
    assert_eq!(plan.arrays[0].schema.attributes[0].fill, (-7_i16).to_le_bytes());
    assert_eq!(plan.notes, [""; 0]);
    let full = xml(source.as_ref(), 0);
    for part in [
        "<SRS>EPSG:32633</SRS>",
        "<GeoTransform>5.0000000000000000e5, 1.0000000000000000e1, 0.0",
        "<MDI key=\"a\">b</MDI>",
        "<Scale>0.5</Scale>",
        "<MDI key=\"X_SIZE\">5</MDI>",
        "<tiledb:OverviewCount>1<",
    ] {
        assert!(full.contains(part), "{part}: {full}");
    }
    assert!(
        xml(source.as_ref(), 1).contains("2.5000000000000000e1, 0.0"),
        "{}",
        xml(source.as_ref(), 1)
    );
    let cells = source.read_box(0, &[0..1, 1..3, 2..4]).unwrap();
    assert_eq!(cells[0].0, "TDB_VALUES");
    assert_eq!(*cells[0].1.values::<i16>().unwrap(), [7, 8, 12, 13]);
    let cells = source.read_box(1, &[0..1, 0..1, 0..2]).unwrap();
    assert_eq!(*cells[0].1.values::<i16>().unwrap(), [100, 101]);
}

#[test]
fn points_are_placed_by_their_corners() {
    let bytes = file(&[([tags(2, 1), place(2)].concat(), shorts(&[1, 2]))]);
    let (_folder, source) = opened(&bytes, &Options::default());
    let xml = xml(source.unwrap().as_ref(), 0);
    assert!(
        xml.contains("4.9999500000000000e5, ") && xml.contains("5.0000050000000000e6, "),
        "{xml}"
    );
    assert!(xml.contains("<MDI key=\"AREA_OR_POINT\">Point</MDI>"), "{xml}");
}

#[test]
fn cells_are_unpacked_if_asked() {
    let options = Options {
        unpack: true,
        ..Options::default()
    };
    let mut bytes = raster();
    // The second cell has no data.
    bytes[10..12].copy_from_slice(&(-7_i16).to_le_bytes());
    let (_folder, source) = opened(&bytes, &options);
    let mut source = source.unwrap();
    let cells = source.read_box(0, &[0..1, 0..1, 0..4]).unwrap();
    let numbers = cells[0].1.values::<f64>().unwrap().into_owned();
    assert_eq!([numbers[0], numbers[2], numbers[3]], [0.0, 1.0, 1.5]);
    assert!(numbers[1].is_nan());
    assert!(!xml(source.as_ref(), 0).contains("Scale"));
}

#[test]
fn pages_without_a_place_are_a_stack() {
    let page = |first: u16| (tags(2, 2), shorts(&[first, first + 1, first + 2, first + 3]));
    let (_folder, source) = opened(&file(&[page(0), page(10), page(20)]), &Options::default());
    let mut source = source.unwrap();
    assert_eq!(source.plan().arrays[0].path, "l_0.tdb");
    assert_eq!(source.plan().arrays[0].length, Length::Box(vec![3, 2, 2]));
    let group = &source.plan().groups[0].metadata;
    assert_eq!(metadata(group, "axes"), b"ZYX");
    assert_eq!(metadata(group, "dataset_type"), b"bioimg");
    let cells = source.read_box(0, &[1..3, 1..2, 0..2]).unwrap();
    assert_eq!(*cells[0].1.values::<i16>().unwrap(), [12, 13, 22, 23]);
}

/// Opens a file and reads all of its cells.
fn read_all(bytes: &[u8]) -> Result<()> {
    let (_folder, source) = opened(bytes, &Options::default());
    let mut source = source?;
    for (number, array) in source.plan().arrays.clone().iter().enumerate() {
        let Length::Box(lengths) = &array.length else { continue };
        let ranges: Vec<_> = lengths.iter().map(|n| 0..(*n).min(16)).collect();
        source.read_box(number, &ranges)?;
    }
    Ok(())
}

#[test]
fn cut_files_are_errors_and_flipped_bits_do_no_harm() {
    let whole = raster();
    read_all(&whole).unwrap();
    for length in 0..whole.len() {
        let error = read_all(&whole[..length]);
        assert!(error.is_err(), "{length} of {} bytes", whole.len());
    }
    for at in 0..whole.len() {
        for bit in [0, 3, 7] {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            // An error or other cells, but no panic and no endless work.
            let _ = read_all(&flipped);
        }
    }
}

#[test]
fn an_error_names_the_place_of_the_damage() {
    let mut bytes = raster();
    let offset = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    bytes.truncate(offset as usize + 20);
    let error = format!("{:#}", read_all(&bytes).unwrap_err());
    assert!(
        error.contains(&format!("the directory at byte {offset} is damaged")),
        "{error}"
    );
}

#[test]
fn an_exported_raster_imports_as_the_same() {
    let (_folder, source) = opened(&raster(), &Options::default());
    let mut source = source.unwrap();
    let first = xml(source.as_ref(), 0);
    let info = |width, height, columns: [u64; 2], rows: [u64; 2]| RasterInfo {
        width,
        height,
        bands: 1,
        datatype: Datatype::Int16,
        nodata: Some("-7".to_owned()),
        xml: Some(first.clone()),
        window: [[columns[0], rows[0]], [columns[1], rows[1]]],
    };
    let cells = source.read_box(0, &[0..1, 0..3, 0..5]).unwrap().remove(0).1.data;
    let mut writer = RasterWriter::new(info(5, 3, [0, 1], [0, 1])).unwrap();
    // Cells come in any pieces.
    cells.chunks(7).for_each(|piece| writer.push(piece).unwrap());
    let mut file = Vec::new();
    assert_eq!(writer.finish(&mut file).unwrap(), [""; 0]);
    let (_folder, again) = opened(&file, &Options::default());
    let mut again = again.unwrap();
    assert_eq!(
        xml(again.as_ref(), 0),
        first.replace("  <tiledb:OverviewCount>1</tiledb:OverviewCount>\n", "")
    );
    assert_eq!(again.plan().arrays[0].schema.attributes[0].fill, (-7_i16).to_le_bytes());
    assert_eq!(again.read_box(0, &[0..1, 0..3, 0..5]).unwrap()[0].1.data, cells);
    // Every second column from the second one, of the last row.
    let mut part = RasterWriter::new(info(2, 1, [1, 2], [2, 1])).unwrap();
    part.push(&[1, 0, 2, 0]).unwrap();
    let mut file = Vec::new();
    part.finish(&mut file).unwrap();
    let (_folder, part) = opened(&file, &Options::default());
    let moved = xml(part.unwrap().as_ref(), 0);
    assert!(
        moved.contains("5.0001000000000000e5, 2.0000000000000000e1, 0.0"),
        "{moved}"
    );
    assert!(moved.contains("4.9999800000000000e6, "), "{moved}");
    let missing = RasterWriter::new(info(5, 3, [0, 1], [0, 1]))
        .unwrap()
        .finish(&mut Vec::new());
    assert!(missing.unwrap_err().to_string().contains("missing"));
}

#[test]
fn projections_without_a_code_keep_their_parameters() {
    let wkt = "PROJCS[\"mine\",GEOGCS[\"unknown\",DATUM[\"unknown\",SPHEROID[\"GRS80\",6378137,298.257222101]],\
               PRIMEM[\"Greenwich\",0],UNIT[\"degree\",0.0174532925199433]],\
               PROJECTION[\"Albers_Conic_Equal_Area\"],PARAMETER[\"latitude_of_center\",34],\
               PARAMETER[\"longitude_of_center\",-120],PARAMETER[\"standard_parallel_1\",43],\
               PARAMETER[\"standard_parallel_2\",48],PARAMETER[\"false_easting\",600000],\
               PARAMETER[\"false_northing\",0],UNIT[\"metre\",1],AXIS[\"Easting\",EAST],AXIS[\"Northing\",NORTH]]";
    let keys = wkt::keys(wkt).unwrap();
    assert_eq!(wkt::of(&keys).unwrap(), wkt);
    assert!(wkt::keys("PROJCS[\"a\"]").is_none());
}
