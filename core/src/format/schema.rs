//! The array schema: dimensions, attributes, orders and filters.

use super::current_domain::CurrentDomain;
use super::dimension_label::DimensionLabel;
use super::pipeline::{DEFAULT_LEVEL, Filter, Pipeline};
use super::version::Version;
pub use super::attribute::Attribute;
pub use super::domain::Dimension;

/// Everything fixed about an array: what a cell holds and how cells are laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The format version of the schema as stored.
    pub version: Version,
    /// Dense or sparse.
    pub array_type: ArrayType,
    /// Whether several cells may share coordinates (sparse arrays only).
    pub allows_duplicates: bool,
    /// The order of tiles: row-major or column-major.
    pub tile_order: Layout,
    /// The order of cells in a tile: row-major, column-major or Hilbert.
    pub cell_order: Layout,
    /// Cells in a tile of a sparse fragment.
    pub capacity: u64,
    /// Filters of dimensions that have none of their own.
    pub coords_filters: Pipeline,
    /// Filters of the offsets of variable-length fields.
    pub offsets_filters: Pipeline,
    /// Filters of the validity of nullable attributes.
    pub validity_filters: Pipeline,
    /// The dimensions, first varies slowest in row-major order.
    pub dimensions: Vec<Dimension>,
    /// The attributes.
    pub attributes: Vec<Attribute>,
    /// Dimension labels.
    pub labels: Vec<DimensionLabel>,
    /// Names of enumerations and of the files that hold their values.
    pub enumerations: Vec<EnumerationRef>,
    /// The part of the domain in use.
    pub current_domain: Option<CurrentDomain>,
}

/// An enumeration's name and its file in `__schema/__enumerations`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumerationRef {
    /// The name attributes refer to.
    pub name: String,
    /// The file's name.
    pub file: String,
}

/// Dense arrays have a value in every cell of their domain; sparse ones store coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "defined by the enum's own sentence")]
pub enum ArrayType {
    Dense,
    Sparse,
}

/// Orders of tiles, cells and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The last dimension varies fastest.
    RowMajor,
    /// The first dimension varies fastest.
    ColMajor,
    /// Tile by tile in tile order, cells in cell order: the order on disk.
    Global,
    /// Whatever is cheapest.
    Unordered,
    /// Along the Hilbert curve (cells of sparse arrays only).
    Hilbert,
}

impl Schema {
    /// A schema of these dimensions and attributes with the format's defaults: row-major orders,
    /// capacity 10000, zstd on coordinates and offsets, run-length coding on validity.
    pub fn new(array_type: ArrayType, dimensions: Vec<Dimension>, attributes: Vec<Attribute>) -> Self {
        let zstd = || Pipeline::new(vec![Filter::Zstd { level: DEFAULT_LEVEL }]);
        Self {
            version: Version::CURRENT,
            array_type,
            allows_duplicates: false,
            tile_order: Layout::RowMajor,
            cell_order: Layout::RowMajor,
            capacity: 10_000,
            coords_filters: zstd(),
            offsets_filters: zstd(),
            validity_filters: Pipeline::new(vec![Filter::Rle { level: DEFAULT_LEVEL }]),
            dimensions,
            attributes,
            labels: Vec::new(),
            enumerations: Vec::new(),
            current_domain: None,
        }
    }

    /// Whether the array is dense.
    pub const fn is_dense(&self) -> bool {
        matches!(self.array_type, ArrayType::Dense)
    }

    /// The attribute of this name and its index.
    pub fn attribute(&self, name: &str) -> Option<(usize, &Attribute)> {
        self.attributes.iter().enumerate().find(|(_, a)| a.name == name)
    }

    /// The dimension of this name and its index.
    pub fn dimension(&self, name: &str) -> Option<(usize, &Dimension)> {
        self.dimensions.iter().enumerate().find(|(_, d)| d.name == name)
    }

    /// The filters a dimension is stored with: its own, or the coordinates' where it has none.
    pub fn dimension_filters<'a>(&'a self, dimension: &'a Dimension) -> &'a Pipeline {
        if dimension.filters.is_empty() { &self.coords_filters } else { &dimension.filters }
    }
}

impl Schema {
    /// Reads the payload of a schema file.
    ///
    /// # Errors
    /// The payload is damaged, or of a newer version.
    pub fn decode(payload: &[u8]) -> super::cursor::Decoded<Self> {
        let _ = payload;
        unimplemented!()
    }

    /// The payload of a schema file. Whatever version the schema was read from, this is the current one.
    pub fn encode(&self) -> Vec<u8> {
        unimplemented!()
    }

    /// Whether an array may be created with this schema.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] names the dimension, attribute or filter, and says what would do.
    pub fn check(&self) -> crate::Result<()> {
        unimplemented!()
    }

    /// The schema as it is stored at creation: a dimension without tiles gets one tile of its whole
    /// domain, unless it is a string or the cells are in Hilbert order.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] if the domain is as wide as its type, so that no extent spans it.
    pub fn completed(self) -> crate::Result<Self> {
        unimplemented!()
    }
}
