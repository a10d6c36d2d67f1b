//! Where each filter may be used.

use crate::datatype::{CellCount, Datatype};
use crate::error::Result;
use crate::format::pipeline::Pipeline;

/// What the tiles of a pipeline hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the lists of a schema")]
pub enum Role {
    Attribute,
    Dimension,
    Offsets,
    Validity,
}

/// Whether an array may be created with this pipeline on a field of `datatype`.
///
/// # Errors
/// [`crate::Error::InvalidArgument`] names the filter and says what it needs.
pub fn check(_p: &Pipeline, _datatype: Datatype, _cell: CellCount, _role: Role) -> Result<()> {
    unimplemented!()
}
