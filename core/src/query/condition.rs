//! Conditions on the values of cells.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// A test of one cell. A null fails every comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// The field compared with a value. Integers, floats and strings are converted to the field's
    /// type; where the field has an enumeration the value is one of the enumeration's.
    Compare {
        /// Attribute or dimension.
        field: String,
        /// How.
        op: CompareOp,
        /// With what.
        value: Scalar,
    },
    /// Whether the field's value is in a list.
    In {
        /// Attribute or dimension.
        field: String,
        /// The list.
        values: Vec<Scalar>,
        /// True for "not in".
        negated: bool,
    },
    /// Whether the field is null.
    IsNull {
        /// Attribute.
        field: String,
        /// True for "is not null".
        negated: bool,
    },
    /// All of them.
    And(Vec<Condition>),
    /// Any of them.
    Or(Vec<Condition>),
    /// The opposite; pushed down to the comparisons, so that a null still fails them.
    Not(Box<Condition>),
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the usual six")]
pub enum CompareOp {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

impl FromStr for Condition {
    type Err = Error;

    /// Parses `mag >= 4.5 and place != 'Alaska'`.
    fn from_str(text: &str) -> Result<Self> {
        let _ = text;
        unimplemented!()
    }
}
