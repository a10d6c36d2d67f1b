//! Schema evolution: a new schema file beside the old ones.

use crate::array::Array;
use crate::column::Column;
use crate::error::Result;
use crate::format::attribute::Attribute;
use crate::format::enumeration::Enumeration;
use crate::scalar::ScalarRange;
use crate::write::WriteOptions;

/// What changes, all at once.
#[derive(Debug, Clone, Default)]
pub struct Evolution {
    /// Attributes to add; older cells hold their fill value.
    pub add: Vec<Attribute>,
    /// Names of attributes to drop.
    pub drop: Vec<String>,
    /// Enumerations to add.
    pub add_enumerations: Vec<Enumeration>,
    /// Enumerations to extend: name, and the values to append.
    pub extend_enumerations: Vec<(String, Column)>,
    /// Enumerations to drop.
    pub drop_enumerations: Vec<String>,
    /// The new current domain, which must hold the old one.
    pub current_domain: Option<Vec<ScalarRange>>,
}

/// Writes the array's next schema, valid from the time of the write on.
///
/// # Errors
/// [`crate::Error::InvalidArgument`] says which change is not possible and why.
pub async fn evolve(array: &Array, change: &Evolution, options: &WriteOptions) -> Result<()> {
    let _ = (array, change, options);
    unimplemented!()
}
