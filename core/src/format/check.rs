//! Whether an array may be created with a schema.

use super::schema::Schema;

impl Schema {
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
