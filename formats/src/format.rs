//! The formats, their file extensions and their first bytes.

use std::path::Path;

use anyhow::Result;

use crate::{Options, Source};

/// A format that is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// NetCDF-3 and NetCDF-4.
    NetCdf,
    /// HDF5 of any other kind.
    Hdf5,
    /// AnnData in HDF5.
    H5ad,
    /// GeoTIFF, COG and plain TIFF.
    Tiff,
    /// NIfTI-1 and NIfTI-2, also with gzip.
    Nifti,
    /// Zarr of version 2 or 3: a folder, by its path or URL.
    Zarr,
    /// LAS and LAZ.
    Las,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::NetCdf,
        Self::Hdf5,
        Self::H5ad,
        Self::Tiff,
        Self::Nifti,
        Self::Zarr,
        Self::Las,
    ];

    /// The extensions of its files, without the dot. The first is its name on the command line.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::NetCdf => &["nc", "nc4", "cdf", "netcdf"],
            Self::Hdf5 => &["h5", "hdf5", "hdf", "he5", "mnc"],
            Self::H5ad => &["h5ad"],
            Self::Tiff => &["tif", "tiff", "gtiff", "geotiff"],
            Self::Nifti => &["nii", "nifti"],
            Self::Zarr => &["zarr"],
            Self::Las => &["las", "laz"],
        }
    }

    /// What its files are called in messages.
    pub fn title(self) -> &'static str {
        match self {
            Self::NetCdf => "NetCDF",
            Self::Hdf5 => "HDF5",
            Self::H5ad => "AnnData",
            Self::Tiff => "TIFF",
            Self::Nifti => "NIfTI",
            Self::Zarr => "Zarr",
            Self::Las => "LAS",
        }
    }

    /// The format of a file with these first bytes.
    pub fn of_content(head: &[u8]) -> Option<Self> {
        const MAGIC: [(&[u8], Format); 9] = [
            (b"\x89HDF\r\n\x1a\n", Format::Hdf5),
            (b"CDF\x01", Format::NetCdf),
            (b"CDF\x02", Format::NetCdf),
            (b"CDF\x05", Format::NetCdf),
            (b"II*\0", Format::Tiff),
            (b"MM\0*", Format::Tiff),
            (b"II+\0", Format::Tiff),
            (b"MM\0+", Format::Tiff),
            (b"LASF", Format::Las),
        ];
        let found = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
        found.map(|(_, format)| *format)
    }

    /// The format of a folder of the local disk, by the files in it.
    pub fn of_folder(folder: &Path) -> Option<Self> {
        #[cfg(feature = "zarr")]
        if crate::zarr::is_store(folder) {
            return Some(Self::Zarr);
        }
        let _ = folder;
        None
    }

    /// Whether the reader opens URLs, such as `https://example.org/a.zarr`.
    pub fn reads_urls(self) -> bool {
        self == Self::Zarr
    }

    /// Opens a file of this format.
    pub(crate) fn open(self, path: &Path, options: &Options) -> Result<Box<dyn Source>> {
        let _ = (path, options);
        match self {
            #[cfg(feature = "las")]
            Self::Las => crate::las::open(path, options),
            #[cfg(feature = "nifti")]
            Self::Nifti => crate::nifti::open(path, options),
            #[cfg(feature = "tiff")]
            Self::Tiff => crate::tiff::open(path, options),
            #[cfg(feature = "netcdf")]
            Self::NetCdf => crate::netcdf::open(path, options),
            #[cfg(feature = "hdf5")]
            Self::Hdf5 => crate::hdf5::open(path, options),
            #[cfg(feature = "zarr")]
            Self::Zarr => crate::zarr::open(path, options),
            #[cfg(feature = "h5ad")]
            Self::H5ad => crate::hdf5::anndata::open(path, options),
            #[cfg(not(all(
                feature = "h5ad",
                feature = "las",
                feature = "netcdf",
                feature = "nifti",
                feature = "tiff",
                feature = "zarr"
            )))]
            other => anyhow::bail!(
                "this build of hyperslab does not read {} files; build it with its default features",
                other.title()
            ),
        }
    }
}
