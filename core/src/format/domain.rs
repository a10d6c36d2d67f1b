//! Dimensions: name, type, domain and tile extent.
//!
//! ```text
//! name str32 | since 5: datatype u8, values a coordinate u32, filters, bytes of the domain u64
//! | domain lo, hi (nothing for strings) | no extent u8 | extent, if there is one
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
    /// Its name; may be empty.
    pub name: String,
    /// The type of its coordinates.
    pub datatype: Datatype,
    /// One value a coordinate, or a string.
    pub cell: CellCount,
    /// Its own filters; none means the schema's coordinate filters.
    pub filters: Pipeline,
    /// The coordinates that exist; `None` for strings.
    pub domain: Option<ScalarRange>,
    /// Coordinates a tile spans; `None` for strings and where there is no tiling.
    pub extent: Option<Scalar>,
}

impl Dimension {
    /// A dimension of `datatype` over the closed range `lo..=hi`, cut every `extent`.
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

    /// A dimension of ASCII strings: no domain and no tiles; sparse arrays only.
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

    /// The extent as a number of cells. Signed types store extents beyond their own range as the
    /// unsigned number of the same bits. `None` for floats, strings and where there is no tiling.
    pub fn extent_cells(&self) -> Option<u64> {
        let bits = 8 * self.datatype.size() as u32;
        let mask = u64::MAX >> (64 - bits);
        let value = self.extent.as_ref()?.as_i128()?;
        Some(value as u64 & mask)
    }

    /// Reads a dimension of a schema of this version; `shared` is the datatype of all dimensions
    /// before version 5.
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
            let why = format!("{domain_bytes} bytes for coordinates of {datatype}, {cell:?} a cell");
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
