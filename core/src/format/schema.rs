//! The array schema: dimensions, attributes, orders and filters.
//!
//! ```text
//! version u32 | since 5: duplicates u8 | array type u8 | tile order u8 | cell order u8 | capacity u64
//! | coordinate filters | offset filters | since 7: validity filters
//! | before 5: datatype u8 | dimensions: count u32, each | attributes: count u32, each
//! | since 18: labels: count u32, each | since 20: enumerations: count u32, each name str32, file str32
//! | since 22: current domain
//! ```

pub use super::attribute::Attribute;
use super::current_domain::CurrentDomain;
use super::cursor::{Decoded, Reader, Writer};
use super::dimension_label::{DimensionLabel, LABEL_BYTES_MIN};
pub use super::domain::Dimension;
use super::enumeration::Enumeration;
use super::pipeline::{DEFAULT_LEVEL, Filter, Pipeline};
use super::version::Version;
use crate::datatype::{CellCount, Datatype};
use crate::error::Malformed;
use crate::limits;
use crate::scalar::ScalarRange;

/// The definition of an array: its dimensions, its attributes, and the layout of its cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// Format version of the stored schema.
    pub version: Version,
    /// Dense or sparse.
    pub array_type: ArrayType,
    /// Whether several cells may have the same coordinates. Sparse arrays only.
    pub allows_duplicates: bool,
    /// Order of tiles: row-major or column-major.
    pub tile_order: Layout,
    /// Order of cells in a tile: row-major, column-major or Hilbert.
    pub cell_order: Layout,
    /// Number of cells per tile of a sparse fragment.
    pub capacity: u64,
    /// Filters of dimensions without filters of their own.
    pub coords_filters: Pipeline,
    /// Filters for the offsets of variable-length fields.
    pub offsets_filters: Pipeline,
    /// Filters for the validity of nullable attributes.
    pub validity_filters: Pipeline,
    /// The dimensions. In row-major order, the first varies slowest.
    pub dimensions: Vec<Dimension>,
    /// The attributes.
    pub attributes: Vec<Attribute>,
    /// The dimension labels.
    pub labels: Vec<DimensionLabel>,
    /// The enumerations, each with the name of the file of its values.
    pub enumerations: Vec<EnumerationRef>,
    /// The part of the domain that is in use.
    pub current_domain: Option<CurrentDomain>,
}

/// An enumeration's name and its file in `__schema/__enumerations`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumerationRef {
    /// The name that attributes refer to.
    pub name: String,
    /// The name of the file. Empty until the array is created.
    pub file: String,
}

impl From<&Enumeration> for EnumerationRef {
    fn from(enumeration: &Enumeration) -> Self {
        Self {
            name: enumeration.name.clone(),
            file: enumeration.file.clone(),
        }
    }
}

/// Dense arrays have a value in every cell of their domain. Sparse arrays store coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the enum's comment describes the variants")]
pub enum ArrayType {
    Dense,
    Sparse,
}

/// An order of tiles, cells or results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The last dimension varies fastest.
    RowMajor,
    /// The first dimension varies fastest.
    ColMajor,
    /// Tile by tile in tile order, and in cell order within a tile: the order in files.
    Global,
    /// Any order, whichever is cheapest.
    Unordered,
    /// Along the Hilbert curve. Only for cells of sparse arrays.
    Hilbert,
}

impl Schema {
    /// A schema with the format's defaults: row-major orders, a capacity of 10000, zstd for coordinates and offsets,
    /// run-length encoding for validity.
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

    /// The attribute with this name, and its index.
    pub fn attribute(&self, name: &str) -> Option<(usize, &Attribute)> {
        self.attributes.iter().enumerate().find(|(_, a)| a.name == name)
    }

    /// The dimension with this name, and its index.
    pub fn dimension(&self, name: &str) -> Option<(usize, &Dimension)> {
        self.dimensions.iter().enumerate().find(|(_, d)| d.name == name)
    }

    /// The range that coordinates along dimension `d` may have: its current domain if there is one, or else its domain
    /// if it has one.
    pub fn limits(&self, d: usize) -> Option<&ScalarRange> {
        let current = self.current_domain.as_ref().and_then(|c| c.ranges.get(d));
        current.or_else(|| self.dimensions.get(d)?.domain.as_ref())
    }

    /// The datatype and the number of values per cell of the attribute or dimension with this name.
    pub fn type_of(&self, name: &str) -> Option<(Datatype, CellCount)> {
        let attribute = self.attribute(name).map(|(_, a)| (a.datatype, a.cell));
        attribute.or_else(|| self.dimension(name).map(|(_, d)| (d.datatype, d.cell)))
    }

    /// All filter pipelines in the schema.
    pub fn pipelines(&self) -> impl Iterator<Item = &Pipeline> {
        let fields = self.attributes.iter().map(|a| &a.filters);
        let fields = fields.chain(self.dimensions.iter().map(|d| &d.filters));
        fields.chain([&self.coords_filters, &self.offsets_filters, &self.validity_filters])
    }

    /// Whether a filter rounds coordinates. Then the stored coordinates may sort differently, be equal, or be outside
    /// the bounding box of their tile, which describes them before filtering.
    pub fn rounds_coordinates(&self) -> bool {
        self.dimensions.iter().any(|d| !self.dimension_filters(d).is_exact())
    }

    /// The filters of a dimension's data file: its own, or the coordinate filters if it has none. Schemas older than
    /// dimension files do not inherit.
    pub fn dimension_filters<'a>(&'a self, dimension: &'a Dimension) -> &'a Pipeline {
        let inherits = dimension.filters.is_empty() && self.version.has_dimension_files();
        if inherits {
            &self.coords_filters
        } else {
            &dimension.filters
        }
    }
}

impl Schema {
    /// Decodes the payload of a schema file.
    ///
    /// # Errors
    /// The payload is damaged or has a newer version.
    #[doc(hidden)]
    pub fn decode(payload: &[u8]) -> Decoded<Self> {
        let mut r = Reader::new(payload);
        let version = Version::new(r.u32("schema version")?)?;
        let allows_duplicates = version.has_dimension_files() && r.bool("schema duplicates flag")?;
        let array_type = if r.bool("array type")? {
            ArrayType::Sparse
        } else {
            ArrayType::Dense
        };
        let tile_order = Layout::decode(&mut r, "tile order")?;
        let cell_order = Layout::decode(&mut r, "cell order")?;
        let capacity = r.u64("schema capacity")?;
        let coords_filters = Pipeline::decode(&mut r, version)?;
        let offsets_filters = Pipeline::decode(&mut r, version)?;
        let validity_filters = if version.has_validity() {
            Pipeline::decode(&mut r, version)?
        } else {
            Pipeline::default()
        };
        let dimensions = decode_dimensions(&mut r, version)?;
        let attributes = decode_attributes(&mut r, version)?;
        let labels = if version.has_dimension_labels() {
            decode_labels(&mut r, dimensions.len())?
        } else {
            Vec::new()
        };
        let enumerations = if version.has_enumerations() {
            decode_enumerations(&mut r)?
        } else {
            Vec::new()
        };
        let current_domain = if version.has_current_domain() {
            CurrentDomain::decode(&mut r, &dimensions)?
        } else {
            None
        };
        r.finish("schema")?;
        Ok(Self {
            version,
            array_type,
            allows_duplicates,
            tile_order,
            cell_order,
            capacity,
            coords_filters,
            offsets_filters,
            validity_filters,
            dimensions,
            attributes,
            labels,
            enumerations,
            current_domain,
        })
    }

    /// The type that coordinate filters see for cell timestamps in a fragment by this writer. Normally 64-bit integers.
    /// If filters pass on types but dimensions have no files, the bytes are seen as coordinates of the first dimension
    /// (libtiledb 2.17 to 2.30).
    pub(crate) fn times_as(&self, writer: Version) -> (Datatype, CellCount) {
        match self.dimensions.first().filter(|_| writer.has_types_of_filters()) {
            Some(d) if !self.version.has_dimension_files() => {
                let width = d.datatype.size().clamp(1, 8);
                (d.datatype, CellCount::Fixed((8 / width) as u32))
            }
            _ => (Datatype::Uint64, CellCount::ONE),
        }
    }

    /// Encodes the payload of a schema file, always in the current version.
    #[doc(hidden)]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u32(Version::CURRENT.number())
            .bool(self.allows_duplicates)
            .bool(!self.is_dense());
        w.u8(self.tile_order.id()).u8(self.cell_order.id()).u64(self.capacity);
        for filters in [&self.coords_filters, &self.offsets_filters, &self.validity_filters] {
            filters.encode(&mut w);
        }
        w.u32(count(self.dimensions.len()));
        self.dimensions.iter().for_each(|d| d.encode(&mut w));
        w.u32(count(self.attributes.len()));
        self.attributes.iter().for_each(|a| a.encode(&mut w));
        w.u32(count(self.labels.len()));
        self.labels.iter().for_each(|l| l.encode(&mut w));
        w.u32(count(self.enumerations.len()));
        for e in &self.enumerations {
            w.bytes32(e.name.as_bytes()).bytes32(e.file.as_bytes());
        }
        CurrentDomain::encode(self.current_domain.as_ref(), &mut w);
        w.into_bytes()
    }
}

/// Converts a count; no schema has 2^32 fields.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Size of a dimension before version 5, with an empty name, a one-byte type and no extent.
const DIMENSION_BYTES_MIN: usize = 7;
/// Size of an attribute before version 6, with an empty name and no filters.
const ATTRIBUTE_BYTES_MIN: usize = 17;

fn decode_dimensions(r: &mut Reader<'_>, version: Version) -> Decoded<Vec<Dimension>> {
    let shared = if version.has_dimension_files() {
        Datatype::Int32
    } else {
        r.datatype("domain datatype")?
    };
    let n = r.u32("dimension count")?;
    let n = r.count(u64::from(n), DIMENSION_BYTES_MIN, "dimensions")?;
    if n == 0 || n > limits::DIMENSIONS_MAX {
        return Err(r.malformed(
            "dimensions",
            format!("{n} dimensions; there must be 1 to {}", limits::DIMENSIONS_MAX),
        ));
    }
    (0..n).map(|_| Dimension::decode(r, version, shared)).collect()
}

fn decode_attributes(r: &mut Reader<'_>, version: Version) -> Decoded<Vec<Attribute>> {
    let n = r.u32("attribute count")?;
    let n = r.count(u64::from(n), ATTRIBUTE_BYTES_MIN, "attributes")?;
    let mut attributes = (0..n)
        .map(|_| Attribute::decode(r, version))
        .collect::<Decoded<Vec<_>>>()?;
    if !version.has_fill_values() {
        let bytes: u64 = attributes.iter().map(Attribute::default_fill_bytes).sum();
        if bytes > limits::DEFAULT_FILL_BYTES_MAX {
            return Err(r.malformed("attributes", format!("their cells take {bytes} bytes")));
        }
        attributes.iter_mut().for_each(Attribute::set_default_fill);
    }
    Ok(attributes)
}

fn decode_labels(r: &mut Reader<'_>, dimensions: usize) -> Decoded<Vec<DimensionLabel>> {
    let n = r.u32("label count")?;
    let n = r.count(u64::from(n), LABEL_BYTES_MIN, "labels")?;
    let mut labels = Vec::with_capacity(n);
    for _ in 0..n {
        let at = r.offset();
        let label = DimensionLabel::decode(r)?;
        if label.dimension as usize >= dimensions {
            return Err(Malformed::new(
                "label dimension",
                at,
                format!("{} of {dimensions}", label.dimension),
            ));
        }
        labels.push(label);
    }
    Ok(labels)
}

fn decode_enumerations(r: &mut Reader<'_>) -> Decoded<Vec<EnumerationRef>> {
    let n = r.u32("enumeration count")?;
    let n = r.count(u64::from(n), 8, "enumerations")?;
    let one = |_| {
        Ok(EnumerationRef {
            name: r.string32("enumeration name")?.to_owned(),
            file: r.string32("enumeration file name")?.to_owned(),
        })
    };
    (0..n).map(one).collect()
}

impl Layout {
    const fn id(self) -> u8 {
        self as u8
    }

    fn decode(r: &mut Reader<'_>, what: &str) -> Decoded<Self> {
        let at = r.offset();
        match r.u8(what)? {
            0 => Ok(Self::RowMajor),
            1 => Ok(Self::ColMajor),
            2 => Ok(Self::Global),
            3 => Ok(Self::Unordered),
            4 => Ok(Self::Hilbert),
            other => Err(Malformed::new(what, at, format!("{other} is not an order"))),
        }
    }
}
