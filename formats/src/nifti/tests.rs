//! Small files, made byte by byte.

use super::*;
use crate::{Format, open};

/// A header of version 1 for `int16`, with pixel sizes of 2 and units of millimetres and seconds.
fn header(lengths: &[i16]) -> Vec<u8> {
    let mut raw = vec![0; 352];
    let mut put = |at: usize, bytes: &[u8]| raw[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &348_i32.to_le_bytes());
    put(40, &(lengths.len() as i16).to_le_bytes());
    for (axis, length) in lengths.iter().enumerate() {
        put(42 + 2 * axis, &length.to_le_bytes());
        put(80 + 4 * axis, &2_f32.to_le_bytes());
    }
    put(70, &4_i16.to_le_bytes());
    put(72, &16_i16.to_le_bytes());
    put(108, &352_f32.to_le_bytes());
    put(112, &0.5_f32.to_le_bytes());
    put(116, &3_f32.to_le_bytes());
    put(123, &[2 + 8]);
    put(254, &1_i16.to_le_bytes());
    for (place, value) in [-2_f32, 0.0, 0.0, 90.0, 0.0, 2.0, 0.0, -126.0, 0.0, 0.0, 2.0, -72.0]
        .iter()
        .enumerate()
    {
        put(280 + 4 * place, &value.to_le_bytes());
    }
    put(344, b"n+1\0");
    raw
}

fn scan() -> Vec<u8> {
    let mut bytes = header(&[3, 2, 2, 2]);
    bytes.extend((0..24_i16).flat_map(i16::to_le_bytes));
    bytes
}

fn opened(bytes: &[u8], options: &Options) -> Result<Box<dyn Source>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    std::fs::write(&path, bytes).unwrap();
    open(&path, Format::Nifti, options)
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::copy(&mut &*bytes, &mut encoder).unwrap();
    encoder.finish().unwrap()
}

fn value<'a>(entries: &'a [Entry], key: &str) -> &'a MetaValue {
    let entry = entries.iter().find(|e| e.key == key);
    entry.and_then(|e| e.value.as_ref()).unwrap()
}

#[test]
fn voxels_and_their_place_are_read() {
    for bytes in [scan(), zipped(&scan())] {
        let mut source = opened(&bytes, &Options::default()).unwrap();
        let plan = source.plan().clone();
        assert_eq!(plan.arrays[0].length, Length::Box(vec![2, 2, 2, 3]));
        let names: Vec<&str> = plan.arrays[0]
            .schema
            .dimensions
            .iter()
            .map(|d| d.name.as_str())
            .collect();
        assert_eq!(names, ["T", "Z", "Y", "X"]);
        let affine = value(&plan.groups[0].metadata, "nifti_affine");
        let numbers: Vec<f64> = affine
            .data
            .as_chunks::<8>()
            .0
            .iter()
            .map(|b| f64::from_le_bytes(*b))
            .collect();
        assert_eq!(numbers[..4], [-2.0, 0.0, 0.0, 90.0]);
        assert_eq!(value(&plan.groups[0].metadata, "nifti_header").data, scan()[..348]);
        let scale = value(&plan.arrays[0].metadata, "__tiledb_attr.intensity.scale_factor");
        assert_eq!(scale.data, 0.5_f64.to_le_bytes());
        let meaning = String::from_utf8_lossy(&value(&plan.groups[0].metadata, "metadata").data).into_owned();
        assert!(
            meaning.contains(r#""physicalSizeZ":2.0,"physicalSizeZUnit":"mm","timeIncrement":2.0"#),
            "{meaning}"
        );
        let cells = source.read_box(0, &[1..2, 0..2, 1..2, 1..3]).unwrap();
        assert_eq!(*cells[0].1.values::<i16>().unwrap(), [16, 17, 22, 23]);
    }
}

#[test]
fn voxels_are_unpacked_if_asked() {
    let options = Options {
        unpack: true,
        ..Options::default()
    };
    let mut source = opened(&scan(), &options).unwrap();
    let cells = source.read_box(0, &[0..1, 0..1, 0..1, 0..3]).unwrap();
    assert_eq!(*cells[0].1.values::<f64>().unwrap(), [3.0, 3.5, 4.0]);
}

#[test]
fn more_axes_than_an_image_has_are_numbered() {
    let mut bytes = header(&[3, 1, 1, 1, 2, 2]);
    bytes.extend((0..12_i16).flat_map(i16::to_le_bytes));
    let mut source = opened(&bytes, &Options::default()).unwrap();
    let names: Vec<String> = source.plan().arrays[0]
        .schema
        .dimensions
        .iter()
        .map(|d| d.name.clone())
        .collect();
    assert_eq!(names, ["dim_6", "dim_5", "Y", "X"]);
    let cells = source.read_box(0, &[1..2, 0..1, 0..1, 0..3]).unwrap();
    assert_eq!(*cells[0].1.values::<i16>().unwrap(), [6, 7, 8]);
}

fn read_all(bytes: &[u8]) -> Result<()> {
    let mut source = opened(bytes, &Options::default())?;
    let Length::Box(lengths) = source.plan().arrays[0].length.clone() else {
        return Ok(());
    };
    let ranges: Vec<_> = lengths.iter().map(|n| 0..(*n).min(8)).collect();
    source.read_box(0, &ranges).map(drop)
}

#[test]
fn cut_files_are_errors_and_flipped_bits_do_no_harm() {
    for whole in [scan(), zipped(&scan())] {
        read_all(&whole).unwrap();
        // The checksum at the end of a gzip stream is not needed to read the voxels.
        for length in 0..whole.len() - 12 {
            assert!(read_all(&whole[..length]).is_err(), "{length} of {} bytes", whole.len());
        }
        for at in 0..whole.len() {
            for bit in [0, 3, 7] {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                let _ = read_all(&flipped);
            }
        }
    }
    let error = read_all(&scan()[..380]).unwrap_err().to_string();
    assert!(
        error.contains("cut off: it has 380 bytes, but its voxels end at byte 400"),
        "{error}"
    );
}
