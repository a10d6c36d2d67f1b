//! The neutral model: what an array or a group holds, whichever application wrote it.

mod tables;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub use tables::{Bits, Column, Embedding, Geometry, Table};

/// The application whose layout an array or group follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Application {
    /// NetCDF and xarray, as TileDB-CF stores them.
    Cf,
    /// Rasters of GDAL.
    GdalRaster,
    /// Vector layers of GDAL.
    GdalVector,
    /// Multidimensional arrays of GDAL.
    GdalMultidim,
    /// Images of TileDB-BioImaging.
    Bioimg,
    /// Single-cell data of TileDB-SOMA.
    Soma,
    /// Point clouds of PDAL.
    Pdal,
    /// Variant calls of TileDB-VCF.
    Vcf,
    /// Indexes of TileDB-Vector-Search.
    VectorSearch,
    /// Data frames of pandas.
    Pandas,
    /// Arrays with Hyperslab's overviews.
    Hyperslab,
    /// No known layout.
    #[default]
    Bare,
}

impl Application {
    /// What a person calls the data.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Cf => "variables, as in NetCDF (CF)",
            Self::GdalRaster => "GDAL raster",
            Self::GdalVector => "GDAL vector layer",
            Self::GdalMultidim => "GDAL multidimensional arrays",
            Self::Bioimg => "image (TileDB-BioImaging)",
            Self::Soma => "single-cell data (SOMA)",
            Self::Pdal => "point cloud (PDAL)",
            Self::Vcf => "variant calls (TileDB-VCF)",
            Self::VectorSearch => "vector index (TileDB-Vector-Search)",
            Self::Pandas => "data frame (pandas)",
            Self::Hyperslab => "array with overviews",
            Self::Bare => "no known application",
        }
    }
}

/// What an array or a group holds. Paths are relative to the object that was described; its own path is empty.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Dataset {
    /// The application whose layout it follows.
    pub application: Application,
    /// The version of that layout, if stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its name: that of the group member, or empty for the object itself.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Its title, if stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The arrays of numbers. With levels, only the finest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// The coordinate reference systems.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crs: Vec<Crs>,
    /// The same data at several resolutions, finest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// The channels of an image, or the bands of a raster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Channel>,
    /// The tables: rows and columns, points, or geometries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// The matrices that give each row of a table a position in a space.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub embeddings: Vec<Embedding>,
    /// The datasets inside this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Dataset>,
    /// Other facts that the application stored, by their own names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Value>,
    /// What is odd, missing or left out. Only on the dataset that was described, not on its children.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An attribute of an array, with the meaning of its values and axes.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Path of the array.
    pub path: String,
    /// The attribute of the array.
    pub attribute: String,
    /// The datatype of the stored values.
    pub datatype: &'static str,
    /// Its use.
    pub role: VariableRole,
    /// Whether absent cells are zeros: the array is a sparse matrix.
    #[serde(skip_serializing_if = "is_false")]
    pub sparse: bool,
    /// Its axes, in the order of the array's dimensions.
    pub axes: Vec<Axis>,
    /// The unit of the unpacked values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The calendar of the values, if they are times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calendar: Option<String>,
    /// A description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_name: Option<String>,
    /// Its CF standard name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard_name: Option<String>,
    /// How to unpack stored values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packing: Option<Packing>,
    /// Which stored values mean "no data".
    #[serde(skip_serializing_if = "Missing::is_empty")]
    pub missing: Missing,
    /// Its coordinate reference system, as an index into [`Dataset::crs`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crs: Option<usize>,
    /// Where it lies: `x = g0 + column·g1 + row·g2`, `y = g3 + column·g4 + row·g5`, at the outer corner of the first cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geotransform: Option<[f64; 6]>,
    /// Names of variables with more coordinates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<String>,
    /// Name of the variable with the bounds of each value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<String>,
    /// The meanings of single values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The enumeration whose values the stored integers index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enumeration: Option<String>,
    /// Other facts that the application stored, by their own names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Value>,
}

/// The use of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum VariableRole {
    /// What the dataset is about.
    #[default]
    Data,
    /// The coordinates of one axis.
    Coordinate,
    /// More coordinates, which data variables name.
    Auxiliary,
    /// The bounds of the cells of a coordinate.
    Bounds,
    /// The parameters of a map projection; its value means nothing.
    GridMapping,
}

/// An axis of a variable.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// The dimension of the array.
    pub dimension: String,
    /// Its direction.
    pub role: Role,
    /// Whether only the name of the dimension tells the role.
    #[serde(skip_serializing_if = "is_false")]
    pub guessed: bool,
    /// The coordinate in the array of the first position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<i64>,
    /// Number of positions. Less than the dimension's if that is padded or has room to grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Cells from one position to the next. More than 1 if the samples of a pixel follow each other.
    #[serde(skip_serializing_if = "is_one")]
    pub stride: u64,
    /// Whether the first position of a y axis is drawn at the top: rows of an image, or coordinates that fall.
    #[serde(skip_serializing_if = "is_false")]
    pub down: bool,
    /// The unit of the coordinates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The calendar of the coordinates, if they are times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calendar: Option<String>,
    /// A description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_name: Option<String>,
    /// Its CF standard name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard_name: Option<String>,
    /// Where the coordinates are.
    pub coordinates: Coordinates,
    /// Path of the table that has a row for each position. Positions are the row's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
}

/// The direction of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Role {
    X,
    Y,
    Z,
    Time,
    Channel,
    Row,
    Column,
    /// Unknown, or none of the others.
    #[default]
    Other,
}

impl Role {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::Y => "y",
            Self::Z => "z",
            Self::Time => "time",
            Self::Channel => "channel",
            Self::Row => "row",
            Self::Column => "column",
            Self::Other => "other",
        }
    }
}

/// Where the coordinates of an axis are.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Coordinates {
    /// Nowhere: positions are only numbered.
    #[default]
    Index,
    /// The dimension's own values are the coordinates.
    Dimension,
    /// Evenly spaced.
    Regular(Regular),
    /// In a one-dimensional array.
    Array {
        /// Path of the array.
        path: String,
        /// The attribute of the array.
        attribute: String,
        /// Whether the values fall.
        #[serde(skip_serializing_if = "is_false")]
        descending: bool,
        /// The same values as a formula, if they are evenly spaced.
        #[serde(skip_serializing_if = "Option::is_none")]
        regular: Option<Regular>,
    },
}

impl Coordinates {
    /// The formula of evenly spaced coordinates, also if an array stores them.
    pub const fn regular(&self) -> Option<Regular> {
        match self {
            Self::Regular(regular) => Some(*regular),
            Self::Array { regular, .. } => *regular,
            Self::Index | Self::Dimension => None,
        }
    }

    /// Whether the coordinates fall along the axis.
    pub const fn fall(&self) -> bool {
        match self {
            Self::Regular(regular) => regular.step < 0.0,
            Self::Array { descending, .. } => *descending,
            Self::Index | Self::Dimension => false,
        }
    }
}

/// Evenly spaced coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Regular {
    /// The coordinate at the centre of the first position.
    pub start: f64,
    /// The difference between neighbours. Negative if they fall.
    pub step: f64,
}

/// A linear packing: `value = stored · scale + offset`, after the test for missing values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Packing {
    /// The factor.
    pub scale: f64,
    /// The value of a stored 0.
    pub offset: f64,
}

/// Which stored values mean "no data". Compare before unpacking.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Missing {
    /// These values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
    /// Values below this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_min: Option<Value>,
    /// Values above this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_max: Option<Value>,
}

impl Missing {
    /// Whether every value is valid.
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty() && self.valid_min.is_none() && self.valid_max.is_none()
    }
}

/// The meaning of one value of a variable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flag {
    /// The value, or the bits that are set if there is a mask.
    pub value: Value,
    /// The bits to compare; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mask: Option<Value>,
    /// What it means. May be empty if only the colour is known.
    pub meaning: String,
    /// Its colour: red, green, blue, alpha.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<[u8; 4]>,
}

/// A coordinate reference system, in each form that was stored. Converting between forms is left to PROJ.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Crs {
    /// Its name, such as `WGS 84 / UTM zone 33N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its code, such as `EPSG:32633`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Well-known text, version 1 or 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wkt: Option<String>,
    /// PROJJSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projjson: Option<Value>,
    /// The attributes of a CF grid mapping.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cf: BTreeMap<String, Value>,
    /// Whether the first axis of the CRS is y. Coordinates in the data are x, y in any case.
    #[serde(skip_serializing_if = "is_false")]
    pub y_first: bool,
}

/// One resolution of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Level {
    /// Path of the array.
    pub path: String,
    /// Number of positions along each axis.
    pub shape: Vec<u64>,
    /// How many positions of the finest level one position covers, along each axis.
    pub factors: Vec<f64>,
    /// Where it lies; see [`Variable::geotransform`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geotransform: Option<[f64; 6]>,
}

/// A channel of an image, or a band of a raster.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Channel {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the variable.
    pub variable: String,
    /// Its coordinate along the channel axis; `None` if the whole variable is the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<i64>,
    /// What it shows: `red`, `green`, `blue`, `alpha`, `gray`, `palette` or another word of the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpretation: Option<String>,
    /// The colour to draw it in: red, green, blue, alpha.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<[u8; 4]>,
    /// The values to draw darkest and brightest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// The unit of the unpacked values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How to unpack stored values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packing: Option<Packing>,
    /// The emission wavelength, with its unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wavelength: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_one(value: &u64) -> bool {
    *value <= 1
}
