//! Files that are cut short or have wrong bits end in an error, or in cells, but never in a panic or without end.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should say where"
)]

mod common;

use std::io::Write as _;

use common::{file, read_all};
use hyperslab_formats::Format;

/// Reads variants of a file: cut at many places, and with a bit flipped at many places.
fn damage(name: &str, format: Format) {
    let whole = std::fs::read(file(name)).unwrap();
    assert!(read_all(&file(name), format), "{name} cannot be read undamaged");
    let mut refused = 0;
    let steps = 200;
    for n in 0..steps {
        let at = whole.len() * n / steps;
        refused += usize::from(!read(&whole[..at], format));
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (n % 8);
        read(&flipped, format);
        flipped[at] = !flipped[at];
        read(&flipped, format);
    }
    assert!(
        refused > steps * 3 / 4,
        "{name}: only {refused} of {steps} cut files were refused"
    );
}

fn read(bytes: &[u8], format: Format) -> bool {
    let mut copy = tempfile::NamedTempFile::new().unwrap();
    copy.write_all(bytes).unwrap();
    read_all(copy.path(), format)
}

#[cfg(feature = "netcdf")]
#[test]
fn damaged_netcdf_files_end_in_errors() {
    damage("climate3.nc", Format::NetCdf);
    damage("climate4.nc", Format::NetCdf);
}

#[cfg(feature = "hdf5")]
#[test]
fn damaged_hdf5_files_end_in_errors() {
    damage("plain.h5", Format::Hdf5);
}

#[cfg(feature = "h5ad")]
#[test]
fn damaged_anndata_files_end_in_errors() {
    damage("cells.h5ad", Format::H5ad);
}

/// Damages each file of a store in turn.
#[cfg(feature = "zarr")]
#[test]
fn damaged_zarr_stores_end_in_errors() {
    for name in ["sample2.zarr", "sample3.zarr"] {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join(name);
        let files = copied(&file(name), &copy);
        assert!(read_all(&copy, Format::Zarr), "{name} cannot be read undamaged");
        let mut refused = 0;
        for path in &files {
            let whole = std::fs::read(path).unwrap();
            std::fs::write(path, &whole[..whole.len() / 2]).unwrap();
            refused += usize::from(!read_all(&copy, Format::Zarr));
            for n in 0..8 {
                let mut flipped = whole.clone();
                let at = whole.len() * n / 8;
                flipped[at] ^= 1 << n;
                std::fs::write(path, &flipped).unwrap();
                read_all(&copy, Format::Zarr);
            }
            std::fs::write(path, &whole).unwrap();
        }
        assert!(
            refused > files.len() / 3,
            "{name}: only {refused} of {} cut files were refused",
            files.len()
        );
    }
}

/// Copies a folder. Returns the new files.
fn copied(from: &std::path::Path, to: &std::path::Path) -> Vec<std::path::PathBuf> {
    std::fs::create_dir_all(to).unwrap();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            files.extend(copied(&entry.path(), &target));
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
            files.push(target);
        }
    }
    files
}

#[cfg(feature = "las")]
#[test]
fn damaged_point_clouds_end_in_errors() {
    damage("cloud.las", Format::Las);
    damage("cloud.laz", Format::Las);
}

/// The libraries allocate as much memory as these lengths say.
#[cfg(all(feature = "h5ad", feature = "las", feature = "tiff"))]
#[test]
fn lengths_that_the_file_does_not_have_are_refused() {
    let refused = |name: &str, format, changes: &[(usize, u8)], why: &str| {
        let mut bytes = std::fs::read(file(name)).unwrap();
        changes.iter().for_each(|(at, byte)| bytes[*at] = *byte);
        let mut copy = tempfile::NamedTempFile::new().unwrap();
        copy.write_all(&bytes).unwrap();
        let opened = hyperslab_formats::open(copy.path(), format, &hyperslab_formats::Options::default());
        let read = opened.and_then(|mut source| match source.plan().arrays[0].length {
            hyperslab_formats::Length::Box(_) => source.read_box(0, &[0..1, 0..1, 0..1]).map(drop),
            hyperslab_formats::Length::Rows(_) => source.read_rows(0, 1).map(drop),
        });
        let error = format!("{:#}", read.err().unwrap());
        assert!(error.contains(why), "{name}: {error}");
    };
    // The count of the predictor's values, and the size of an item of compressed points.
    refused("strips.tif", Format::Tiff, &[(136, 0x7f)], "the value of tag 317");
    refused("cloud.laz", Format::Las, &[(2836, 0x7f)], "points of");
}
