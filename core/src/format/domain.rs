//! Dimensions: name, type, domain and tile extent.

use super::pipeline::Pipeline;
use crate::datatype::{CellCount, Datatype};
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
    pub fn new(name: &str, datatype: Datatype, lo: impl Into<Scalar>, hi: impl Into<Scalar>, extent: impl Into<Scalar>) -> Self {
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
}
