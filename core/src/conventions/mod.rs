//! Describes the meaning of arrays and groups: axes, units, coordinate systems, missing values, levels, channels, tables.
//!
//! Applications lay out their data in ways of their own. [`of`] reads what they store about it and returns one neutral
//! [`Dataset`], whichever application wrote it:
//!
//! | application | is known by | gives |
//! | --- | --- | --- |
//! | TileDB-CF (NetCDF, xarray) | metadata `__tiledb_attr.*` | variables, coordinates, units, packing |
//! | GDAL raster | metadata `_gdal` | bands, geotransform, CRS, levels |
//! | GDAL vector | dimensions `_X`, `_Y` | a table with geometries |
//! | GDAL multidimensional | dimension labels, `_CRS`, `_UNIT` | variables, coordinates |
//! | TileDB-BioImaging | `dataset_type` = `bioimg` | channels with colours, pixel sizes, levels |
//! | TileDB-SOMA | `soma_object_type` | tables, matrices, embeddings, scenes |
//! | PDAL | dimensions `X`, `Y` | a table with points |
//! | TileDB-VCF | `dataset_type` = `vcf` | tables |
//! | TileDB-Vector-Search | `dataset_type` = `vector_search` | an embedding |
//! | pandas | `__pandas_*` | a table |
//! | Hyperslab | metadata `overviews` | levels |
//!
//! Facts that are not stored stay unknown. If only the name of a dimension tells the role of an axis, the axis says that
//! it is [guessed](Axis::guessed). Metadata may be hostile: it is bounded and never evaluated, and odd metadata becomes
//! a [note](Dataset::notes).
//!
//! [`Description`] does the same without I/O: it names what it needs, so that a caller can fetch it in few rounds.

mod bare;
mod bioimg;
mod cf;
mod condition;
mod crs;
mod driver;
mod fetch;
mod fields;
mod gdal_multidim;
mod gdal_raster;
mod gdal_vector;
mod members;
mod model;
mod object;
mod overviews;
mod pandas;
mod parts;
mod pdal;
mod recognise;
mod soma;
mod soma_spatial;
mod summary;
mod value;
mod vcf;
mod vector_search;

pub use condition::{not_nan, stored_condition, valid_condition};
pub use driver::{Answer, Description, Request, Step};
pub use fetch::{of, of_array};
pub(crate) use fetch::{of_complete, place};
pub use fields::{FieldFacts, field_facts, metadata_of_facts};
pub use gdal_raster::raster_axes;
pub use model::{
    Application, Axis, Bits, Channel, Column, Coordinates, Crs, Dataset, Embedding, Flag, Geometry, Level, Missing,
    Packing, Regular, Role, Table, Variable, VariableRole,
};
pub use object::{Content, Member, Object};
pub use value::stored_number;
