//! Reads files of other formats, as the arrays and groups that the application of each format would have written in
//! TileDB.
//!
//! [`open`] looks at a file and returns a [`Source`]: its [`Plan`] says which arrays and groups an import makes, with
//! their schemas and metadata. Then the cells are read box by box, or row by row, in as much memory as the caller
//! likes. Nothing here writes an array.
//!
//! Each format is a module behind a feature of its name.

#[cfg(any(feature = "nifti", feature = "tiff", feature = "zarr"))]
mod bioimg;
#[cfg(any(feature = "hdf5", feature = "zarr"))]
mod cf;
#[cfg(any(feature = "hdf5", feature = "zarr"))]
mod codecs;
mod format;
mod guard;
#[cfg(feature = "hdf5")]
mod hdf5;
mod joined;
#[cfg(feature = "las")]
mod las;
#[cfg(any(feature = "nifti", feature = "tiff", feature = "zarr"))]
mod meta;
#[cfg(feature = "netcdf")]
mod netcdf;
#[cfg(feature = "nifti")]
mod nifti;
#[cfg(feature = "tiff")]
mod pam;
mod plan;
#[cfg(any(feature = "hdf5", feature = "las", feature = "zarr"))]
mod text;
#[cfg(feature = "tiff")]
mod tiff;
pub mod tiles;
#[cfg(feature = "zarr")]
mod zarr;

use std::path::{Path, PathBuf};

use anyhow::Result;

#[cfg(feature = "las")]
pub use self::las::{CloudInfo, PointWriter};
pub use format::Format;
pub use guard::guarded;
pub use joined::{check_next, open_along};
#[cfg(feature = "netcdf")]
pub use netcdf::{NetcdfFile, NetcdfVariable};
#[cfg(feature = "nifti")]
pub use nifti::{NiftiVolume, big_endian};
pub use plan::{Length, NewArray, NewGroup, Plan};
#[cfg(feature = "tiff")]
pub use tiff::{RasterInfo, RasterWriter};

use hyperslab::Column;
use std::ops::Range;

/// How a file is read.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes that the reader may keep in memory, besides the box that it was asked for. Default: 64 MiB.
    pub memory_bytes: u64,
    /// Whether packed integers are stored as the numbers that they stand for. Default: they stay packed, and the
    /// metadata says how to unpack them.
    pub unpack: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            unpack: false,
        }
    }
}

/// A file to import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// What messages call it: the path or URL that the user gave.
    pub name: String,
    /// Where it is read. The path of a Zarr store may be a URL.
    pub path: PathBuf,
}

impl InputFile {
    /// A file that messages call by its path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            name: path.display().to_string(),
            path,
        }
    }
}

/// A file that was opened for import.
pub trait Source: Send {
    /// The arrays and groups to make.
    fn plan(&self) -> &Plan;

    /// Reads a box of the dense array `plan().arrays[array]`. `ranges` counts from the start of each dimension's domain
    /// and stays within the array's [`Length::Box`]. Returns every attribute with its name, and the cells in row-major
    /// order.
    ///
    /// # Errors
    /// The file is damaged: the message names the object, or the offset in the file.
    fn read_box(&mut self, array: usize, ranges: &[Range<u64>]) -> Result<Vec<(String, Column)>>;

    /// Reads the next rows of the sparse array `plan().arrays[array]`, at most `rows` and at least one. Returns every
    /// dimension and attribute with its name; `None` after the last row.
    ///
    /// # Errors
    /// As for [`Source::read_box`].
    fn read_rows(&mut self, array: usize, rows: usize) -> Result<Option<Vec<(String, Column)>>>;
}

/// Opens a file for import. The path of a Zarr store may be an address, such as `https://example.org/a.zarr`.
///
/// # Errors
/// The file cannot be read, or this build does not read its format.
pub fn open(path: &Path, format: Format, options: &Options) -> Result<Box<dyn Source>> {
    let source = guard::guarded(|| format.open(path, options))?;
    source.plan().check()?;
    Ok(Box::new(guard::Guarded(source)))
}
