//! Conditions on the values of cells: `mag >= 4.5 and place != 'Alaska'`.
//!
//! A condition consists of names and plain values. [`bind`] turns it into tests of typed columns, [`eval`] evaluates
//! them, and [`exclude`] finds tiles that need not be read.

mod bind;
mod eval;
mod exclude;
mod parse;
mod pattern;
mod stored;
mod values;

use std::str::FromStr;

pub(crate) use bind::{Bound, bind, field_name};
pub(crate) use eval::{TestColumn, evaluate};
pub(crate) use exclude::{fails, statistics};
pub(crate) use stored::{any_of, bind_stored, in_box, no_cell, to_keep};

use crate::error::{Error, Result};
pub use crate::format::condition::CompareOp;
use crate::scalar::Scalar;

/// A test of one cell. Nulls fail every comparison. NaN, and NaT among dates, satisfy only `!=`, but lists find them
/// (`f in (nan)`, `t in ('NaT')`). If a cell's fragment lacks the field, the field's fill value is tested.
///
/// ```
/// use hyperslab::{CompareOp, Condition, Scalar};
/// let parsed: Condition = "mag >= 4.5 and place is not null".parse()?;
/// let built = Condition::And(vec![
///     Condition::Compare { field: "mag".into(), op: CompareOp::Ge, value: Scalar::F64(4.5) },
///     Condition::IsNull { field: "place".into(), negated: true },
/// ]);
/// assert_eq!(parsed, built);
/// # Ok::<(), hyperslab::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Compares the field with a value. Integers, floats and strings are converted to the field's type. If the field
    /// has an enumeration, the value is one of the enumeration's values.
    Compare {
        /// Name of an attribute or dimension.
        field: String,
        /// The comparison.
        op: CompareOp,
        /// The value to compare with.
        value: Scalar,
    },
    /// Whether the field's value is in a list.
    In {
        /// Name of an attribute or dimension.
        field: String,
        /// The list.
        values: Vec<Scalar>,
        /// True for "not in".
        negated: bool,
    },
    /// Whether text matches a pattern of SQL: `%` stands for any text and `_` for any character. A backslash before
    /// one of them, or before another backslash, makes it plain. Letters match in their own case only.
    Like {
        /// Name of an attribute or dimension with text in bytes, or of one with an enumeration of such text.
        field: String,
        /// The pattern.
        pattern: String,
        /// True for "not like".
        negated: bool,
    },
    /// Whether the field is null.
    IsNull {
        /// Name of an attribute.
        field: String,
        /// True for "is not null".
        negated: bool,
    },
    /// True if all conditions are true.
    And(Vec<Condition>),
    /// True if any condition is true.
    Or(Vec<Condition>),
    /// The opposite condition. It is pushed down to the comparisons, so that nulls still fail them.
    Not(Box<Condition>),
}

impl Condition {
    /// The opposite condition, pushed down to the comparisons. Nulls fail both.
    #[must_use]
    pub fn negated(&self) -> Self {
        let all = |children: &[Self]| children.iter().map(Self::negated).collect();
        match self {
            Self::Compare { field, op, value } => Self::Compare {
                field: field.clone(),
                op: op.negated(),
                value: value.clone(),
            },
            Self::In { field, values, negated } => Self::In {
                field: field.clone(),
                values: values.clone(),
                negated: !negated,
            },
            Self::Like {
                field,
                pattern,
                negated,
            } => Self::Like {
                field: field.clone(),
                pattern: pattern.clone(),
                negated: !negated,
            },
            Self::IsNull { field, negated } => Self::IsNull {
                field: field.clone(),
                negated: !negated,
            },
            Self::And(children) => Self::Or(all(children)),
            Self::Or(children) => Self::And(all(children)),
            Self::Not(inner) => (**inner).clone(),
        }
    }

    /// The names of the tested fields, without duplicates.
    pub fn fields(&self) -> Vec<&str> {
        let mut out = Vec::new();
        self.collect_fields(&mut out);
        out
    }

    fn collect_fields<'a>(&'a self, out: &mut Vec<&'a str>) {
        match self {
            Self::Compare { field, .. }
            | Self::In { field, .. }
            | Self::Like { field, .. }
            | Self::IsNull { field, .. } => {
                if !out.contains(&field.as_str()) {
                    out.push(field);
                }
            }
            Self::And(children) | Self::Or(children) => children.iter().for_each(|c| c.collect_fields(out)),
            Self::Not(inner) => inner.collect_fields(out),
        }
    }
}

impl FromStr for Condition {
    type Err = Error;

    /// Parses a condition.
    ///
    /// ```text
    /// any    := all { "or" all }          all := one { "and" one }
    /// one    := "not" one | "(" any ")" | test
    /// test   := value op value | field ["not"] "in" "(" value {"," value} ")" | field "is" ["not"] "null"
    ///         | field ["not"] "between" value "and" value | field ["not"] "like" pattern
    /// op     := "<" | "<=" | ">" | ">=" | "=" | "==" | "!=" | "<>"
    /// ```
    ///
    /// `between` includes both ends. In a pattern, `%` stands for any text and `_` for any character.
    /// Strings are enclosed in single or double quotes. Double the quote to include it. Quote unusual field names with
    /// backquotes. The unnamed attribute, which arrays with a single attribute may have, is called `data` unless
    /// another field has that name. `&&`, `||` and `!` can be used instead of the words.
    fn from_str(text: &str) -> Result<Self> {
        parse::parse(text)
    }
}
