//! The current domain: the part of the domain that is in use, expandable over time.

use crate::scalar::ScalarRange;

/// A box inside the domain, one closed range a dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentDomain {
    /// A range for each dimension, in order.
    pub ranges: Vec<ScalarRange>,
}
