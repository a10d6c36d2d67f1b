//! Small files, made byte by byte.

use super::header::{quaternion, srow};
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

/// The decoded header that a volume starts with.
fn started(volume: &NiftiVolume) -> Header {
    let (raw, big_endian) = volume.start().unwrap();
    let header = Header::decode(&raw).unwrap();
    assert_eq!((header.big_endian, header.data_at), (big_endian, raw.len() as u64));
    header
}

#[test]
fn each_axis_is_converted_from_its_own_unit() {
    let volume = |steps: [(f64, Option<&str>); 3]| NiftiVolume {
        lengths: vec![2, 2, 2],
        windows: vec![[0, 1]; 3],
        datatype: Some(Datatype::Int16),
        samples: 1,
        steps: steps.map(|(step, unit)| Some((step, unit.map(str::to_owned)))).to_vec(),
        ..NiftiVolume::default()
    };
    for (steps, unit, sizes) in [
        (
            [(2.0, Some("mm")), (1.5, Some("cm")), (0.5, Some("m"))],
            Some("mm"),
            [2.0, 15.0, 500.0],
        ),
        (
            [(2.0, Some("m")), (500.0, Some("mm")), (4.0, None)],
            Some("m"),
            [2.0, 0.5, 4.0],
        ),
        (
            [(500.0, Some("nm")), (1.0, None), (2.0, Some("mm"))],
            Some("µm"),
            [0.5, 0.001, 2000.0],
        ),
        (
            [(2.0, None), (0.5, Some("m")), (3.0, Some("m"))],
            Some("m"),
            [2.0, 0.5, 3.0],
        ),
        // A header has no unit for angles, and one for all axes.
        (
            [(2.0, Some("mm")), (0.5, Some("degree")), (3.0, Some("m"))],
            None,
            [2.0, 0.5, 3000.0],
        ),
        ([(2.0, Some("s")), (0.5, None), (3.0, Some("m"))], None, [2.0, 0.5, 3.0]),
    ] {
        let header = started(&volume(steps));
        assert_eq!(header.space_unit(), unit, "{steps:?}");
        let found: Vec<f32> = header.steps.iter().map(|step| *step as f32).collect();
        assert_eq!(found, sizes.map(|size: f64| size as f32), "{steps:?}");
    }
}

/// The same header with all fields set, in big-endian order if asked.
fn full_header(big_endian: bool) -> Vec<u8> {
    let mut raw = header(&[3, 2, 2, 2])[..348].to_vec();
    let mut put = |at: usize, bytes: &[u8]| raw[at..at + bytes.len()].copy_from_slice(bytes);
    put(39, &[57]);
    for (at, value) in [(68, 1001_i16), (74, 1), (120, 5), (252, 2)] {
        put(at, &value.to_le_bytes());
    }
    let floats = [56, 60, 64, 76, 124, 128, 132, 136, 256, 260, 264, 268, 272, 276];
    for (n, at) in floats.into_iter().enumerate() {
        put(at, &(0.5 - n as f32 / 32.0).to_le_bytes());
    }
    put(76, &(-1_f32).to_le_bytes());
    put(122, &[3]);
    put(148, b"a scan");
    put(228, b"a file");
    put(328, b"a name");
    if big_endian {
        raw[..4].reverse();
        let shorts = (40..56).step_by(2).chain([68, 70, 72, 74, 120, 252, 254]);
        shorts.for_each(|at| raw[at..at + 2].reverse());
        let floats = (56..68).chain(76..120).chain(124..140).chain(256..328).step_by(4);
        floats.for_each(|at| raw[at..at + 4].reverse());
    }
    raw
}

#[test]
fn a_header_keeps_its_fields_when_an_axis_outgrows_it() {
    for big_endian in [false, true] {
        let raw = full_header(big_endian);
        let old = Header::decode(&raw).unwrap();
        let volume = NiftiVolume {
            lengths: vec![40_000, 2, 2, 2],
            windows: vec![[0, 1]; 4],
            datatype: Some(old.datatype),
            samples: 1,
            packing: old.packing,
            header: Some(raw.clone()),
            ..NiftiVolume::default()
        };
        let new = started(&volume);
        assert_eq!((new.raw.len(), &new.raw[4..12]), (540, b"n+2\0\r\n\x1a\n".as_slice()));
        assert_eq!(
            (new.big_endian, new.lengths.clone()),
            (big_endian, vec![40_000, 2, 2, 2])
        );
        assert_eq!(
            (new.affine, new.packing, new.range),
            (old.affine, old.packing, old.range)
        );
        assert_eq!((new.space_unit(), new.time_unit()), (old.space_unit(), old.time_unit()));
        assert_eq!(srow(&new.raw).unwrap(), srow(&old.raw).unwrap());
        assert!(quaternion(&new.raw).unwrap().is_some());
        assert_eq!(quaternion(&new.raw).unwrap(), quaternion(&old.raw).unwrap());
        assert_eq!(new.delay().unwrap(), old.delay().unwrap());
        for axis in 0..8 {
            assert_eq!(new.signed_step(axis).unwrap(), old.signed_step(axis).unwrap());
        }
        // The fields that no code here reads are at their place in version 2.
        let number = |at: usize, bytes: usize| {
            let mut number = [0; 8];
            number[..bytes].copy_from_slice(&new.raw[at..at + bytes]);
            if big_endian {
                number[..bytes].reverse();
            }
            u64::from_le_bytes(number)
        };
        let integers = [(344, 4), (348, 4), (496, 4), (500, 4), (504, 4)].map(|(at, bytes)| number(at, bytes));
        assert_eq!(integers, [2, 1, 3, 10, 1001]);
        assert_eq!([number(12, 2), number(14, 2)], [4, 16]);
        let floats = [80, 88, 96, 208].map(|at| f64::from_bits(number(at, 8)));
        assert_eq!(floats, [0.5, 0.46875, 0.4375, 0.3125]);
        assert_eq!([&new.raw[240..247], &new.raw[320..327]], [b"a scan\0", b"a file\0"]);
        assert_eq!((&new.raw[508..515], new.raw[524]), (b"a name\0".as_slice(), 57));
    }
}
