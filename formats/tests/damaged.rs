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
