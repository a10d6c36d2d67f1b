//! TIFF: rasters as GDAL stores them in TileDB, and images and stacks as TileDB-BioImaging does.
//!
//! A file with a place on earth, or with tags of GDAL, is a raster: see [`raster`]. Any other is an image: see
//! [`image`].

mod chunks;
mod directory;
mod geo;
mod grid;
mod image;
mod ome;
mod page;
mod raster;
#[cfg(test)]
mod tests;
mod wkt;
mod write;

#[cfg(feature = "las")]
pub(crate) use self::geo::crs_of_keys;
pub use self::write::{RasterInfo, RasterWriter};

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use hyperslab::schema::{Attribute, Filter, Pipeline};
use hyperslab::{CellCount, Column, Datatype};

use self::directory::{Directory, TiffFile, tag};
use self::grid::{Boxes, Grid};
use self::page::Page;
use crate::{Options, Plan, Source};

/// A TIFF that was opened for import.
struct Tiff {
    plan: Plan,
    /// One for each array of the plan.
    grids: Vec<Grid>,
    boxes: Boxes,
    /// Scales and offsets of the bands, if the cells are unpacked.
    unpack: Option<raster::Unpack>,
}

/// What an import of pages makes.
struct Made {
    plan: Plan,
    grids: Vec<Grid>,
    unpack: Option<raster::Unpack>,
}

/// Opens a TIFF.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Box<dyn Source>> {
    let mut file = TiffFile::open(path)?;
    let directories = file.directories()?;
    let geographic = directories.first().is_some_and(is_raster);
    let mut pages = Pages {
        file: &mut file,
        list: Vec::new(),
        memory_bytes: options.memory_bytes,
    };
    let made = if geographic {
        raster::plan(&mut pages, directories, options)?
    } else {
        image::plan(&mut pages, directories)?
    };
    let boxes = Boxes::new(path, pages.list, options.memory_bytes);
    Ok(Box::new(Tiff {
        plan: made.plan,
        grids: made.grids,
        boxes,
        unpack: made.unpack,
    }))
}

/// Whether a file has a place, or tags of GDAL.
fn is_raster(directory: &Directory) -> bool {
    let tags = [
        tag::GEO_KEYS,
        tag::PIXEL_SCALE,
        tag::TIE_POINTS,
        tag::TRANSFORMATION,
        tag::GDAL_METADATA,
        tag::GDAL_NODATA,
    ];
    tags.iter().any(|tag| directory.has(*tag))
}

/// The pages of a file that are used.
struct Pages<'a> {
    file: &'a mut TiffFile,
    list: Vec<Page>,
    memory_bytes: u64,
}

impl Pages<'_> {
    /// Reads a page, and returns its number.
    fn add(&mut self, directory: Directory) -> Result<usize> {
        let page = Page::read(self.file, directory, self.memory_bytes)?;
        self.list.push(page);
        Ok(self.list.len() - 1)
    }

    fn get(&self, number: usize) -> Result<&Page> {
        self.list.get(number).context("there is no such page")
    }

    /// The directories that belong to a page, which are smaller copies of it.
    fn below(&mut self, number: usize) -> Result<Vec<Directory>> {
        let directory = self.get(number)?.directory.clone();
        let offsets = self.file.integers(&directory, tag::SUB_DIRECTORIES)?;
        let most = offsets.iter().take(64);
        most.map(|at| self.file.directory(*at)).collect()
    }
}

impl Source for Tiff {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn read_box(&mut self, array: usize, ranges: &[Range<u64>]) -> Result<Vec<(String, Column)>> {
        let grid = self.grids.get(array).context("there is no such array")?;
        let attribute = self.plan.arrays.get(array).and_then(|a| a.schema.attributes.first());
        let attribute = attribute.context("the array has no attribute")?;
        let data = self.boxes.read(grid, ranges)?;
        let data = match &self.unpack {
            Some(unpack) => unpack.cells(&data, ranges)?,
            None => data,
        };
        let column = Column {
            datatype: attribute.datatype,
            cell: CellCount::ONE,
            data,
            offsets: None,
            validity: None,
        };
        Ok(vec![(attribute.name.clone(), column)])
    }

    fn read_rows(&mut self, _: usize, _: usize) -> Result<Option<Vec<(String, Column)>>> {
        bail!("a TIFF has no rows")
    }
}

/// An attribute with the filters that suit pixels.
fn pixels(name: &str, datatype: Datatype, fill: Option<Vec<u8>>) -> Attribute {
    let mut attribute = Attribute::new(name, datatype, CellCount::ONE);
    let zstd = Filter::Zstd { level: 5 };
    let filters = if datatype.size() > 1 {
        vec![Filter::Byteshuffle, zstd]
    } else {
        vec![zstd]
    };
    attribute.filters = Pipeline::new(filters);
    if let Some(fill) = fill {
        attribute.fill = fill;
    }
    attribute
}
