//! Imports of files that describe their own arrays: HDF5, NetCDF, TIFF, NIfTI, LAS and LAZ.

use std::io::Write as _;

use hyperslab_cli::fuzz::{Format, import_file};
use tempfile::NamedTempFile;

use super::{Allowance, Target};

/// A file of the tests of formats.
macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../../formats/tests/files/", $name)).as_slice()
    };
}

/// The name of a target, its format, the files to start from, and the bytes that reading any of them may take.
const FILES: &[(&str, Format, &[&[u8]], usize)] = &[
    // The models of the codec.
    (
        "cloud",
        Format::Las,
        &[file!("cloud.las"), file!("cloud.laz")],
        64 << 20,
    ),
    ("h5ad", Format::H5ad, &[file!("cells.h5ad")], 64 << 20),
    (
        "hdf5",
        Format::Hdf5,
        &[
            file!("plain.h5"),
            file!("filters.h5"),
            file!("links_old.h5"),
            file!("links_new.h5"),
            file!("unknown.h5"),
        ],
        64 << 20,
    ),
    ("netcdf3", Format::NetCdf, &[file!("climate3.nc")], 16 << 20),
    ("netcdf4", Format::NetCdf, &[file!("climate4.nc")], 64 << 20),
    (
        "nifti",
        Format::Nifti,
        &[file!("scan.nii"), file!("scan2.nii"), file!("scan.nii.gz")],
        16 << 20,
    ),
    (
        "tiff",
        Format::Tiff,
        &[
            file!("tiles.tif"),
            file!("strips.tif"),
            file!("big.tif"),
            file!("pages.ome.tif"),
        ],
        64 << 20,
    ),
];

pub(super) fn targets() -> Vec<Target> {
    let target = |(name, format, seeds, fixed): &(&str, Format, &[&[u8]], usize)| {
        let (format, fixed) = (*format, *fixed);
        for seed in *seeds {
            run(seed, format).unwrap_or_else(|why| panic!("{name}: {why:#}"));
        }
        let seeds = seeds.iter().map(|seed| seed.to_vec()).collect();
        Target::new(*name, seeds, move |bytes| {
            // Most inputs are damaged.
            let _ = run(bytes, format);
            Allowance {
                bytes: bytes.len(),
                fixed,
            }
        })
    };
    FILES.iter().map(target).collect()
}

fn run(bytes: &[u8], format: Format) -> anyhow::Result<()> {
    let mut file = NamedTempFile::new()?;
    file.write_all(bytes)?;
    import_file(file.path(), format)
}
