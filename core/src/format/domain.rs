//! Dimensions: name, type, domain and tile extent.
//!
//! ```text
//! name str32 | since 5: datatype u8, values per coordinate u32, filters, size of the domain u64
//! | domain lo, hi (absent for strings) | null extent flag u8 | extent, unless null
//! ```

use super::cursor::{Decoded, Reader, Writer};
use super::pipeline::Pipeline;
use super::version::Version;
use crate::datatype::{CellCount, Datatype};
use crate::error::Malformed;
use crate::scalar::{Scalar, ScalarRange};

/// One axis of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Dimension {
    /// Its name, which may be empty.
    pub name: String,
    /// The type of its coordinates.
    pub datatype: Datatype,
    /// One value per coordinate, or a string.
    pub cell: CellCount,
    /// Its own filters. If empty, the schema's coordinate filters apply.
    pub filters: Pipeline,
    /// The range of valid coordinates; `None` for strings.
    pub domain: Option<ScalarRange>,
    /// Number of coordinates per tile; `None` for strings and untiled dimensions.
    pub extent: Option<Scalar>,
}

impl Dimension {
    /// A dimension of `datatype` over the closed range `lo..=hi`, with tiles of `extent` coordinates.
    pub fn new(
        name: &str,
        datatype: Datatype,
        lo: impl Into<Scalar>,
        hi: impl Into<Scalar>,
        extent: impl Into<Scalar>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            datatype,
            cell: CellCount::ONE,
            filters: Pipeline::default(),
            domain: Some(ScalarRange::new(lo, hi)),
            extent: Some(extent.into()),
        }
    }

    /// A dimension of ASCII strings, without domain or tiles. Only for sparse arrays.
    pub fn string(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            datatype: Datatype::StringAscii,
            cell: CellCount::Var,
            filters: Pipeline::default(),
            domain: None,
            extent: None,
        }
    }

    /// The extent as a number of cells; `None` for floats, strings and untiled dimensions. Signed types store an extent
    /// beyond their range as the unsigned number with the same bits.
    pub fn extent_cells(&self) -> Option<u64> {
        let bits = 8 * self.datatype.size() as u32;
        let mask = u64::MAX >> (64 - bits);
        let value = self.extent.as_ref()?.as_i128()?;
        Some(value as u64 & mask)
    }

    /// Decodes a dimension of a schema of this version. Before version 5, all dimensions have the datatype `shared`.
    pub(super) fn decode(r: &mut Reader<'_>, version: Version, shared: Datatype) -> Decoded<Self> {
        let name = r.string32("dimension name")?.to_owned();
        let (datatype, cell, filters, domain_bytes) = if version.has_dimension_files() {
            let datatype = r.datatype("dimension datatype")?;
            let cell = r.cell_count("dimension values per coordinate")?;
            (
                datatype,
                cell,
                Pipeline::decode(r, version)?,
                r.u64("dimension domain size")?,
            )
        } else {
            (shared, CellCount::ONE, Pipeline::default(), 2 * shared.size() as u64)
        };
        let at = r.offset();
        let expected = if cell.is_var() { 0 } else { 2 * datatype.size() as u64 };
        if domain_bytes != expected || !matches!(cell, CellCount::Var | CellCount::ONE) {
            let why = format!("{domain_bytes} bytes for coordinates of {datatype}, {cell} per cell");
            return Err(Malformed::new("dimension domain", at, why));
        }
        let physical = datatype.physical();
        let domain = if cell.is_var() {
            None
        } else {
            Some(r.range(physical, false, "dimension domain")?)
        };
        let no_extent = r.bool("dimension null extent flag")?;
        let extent = if no_extent {
            None
        } else {
            Some(r.scalar(physical, "dimension extent")?)
        };
        Ok(Self {
            name,
            datatype,
            cell,
            filters,
            domain,
            extent,
        })
    }

    pub(super) fn encode(&self, w: &mut Writer) {
        w.bytes32(self.name.as_bytes())
            .u8(self.datatype.id())
            .cell_count(self.cell);
        self.filters.encode(w);
        match &self.domain {
            Some(domain) => w.u64(2 * self.datatype.size() as u64).range(domain),
            None => w.u64(0),
        };
        w.bool(self.extent.is_none());
        if let Some(extent) = &self.extent {
            w.put(&extent.to_le_bytes());
        }
    }
}
