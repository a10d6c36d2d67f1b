//! Conditions on the values of cells: `mag >= 4.5 and place != 'Alaska'`.
//!
//! A condition is written in terms of names and plain values; [`bind`] turns it into tests of typed
//! columns, [`eval`] runs those, [`exclude`] says which tiles need not be read.

mod bind;
mod eval;
mod exclude;
mod parse;
mod stored;
mod values;

use std::str::FromStr;

pub(crate) use bind::{Bound, bind, field_name};
pub(crate) use eval::{TestColumn, evaluate};
pub(crate) use exclude::{fails, statistics};
pub(crate) use stored::{any_of, bind_stored, in_box, to_keep};

use crate::error::{Error, Result};
pub use crate::format::condition::CompareOp;
use crate::scalar::Scalar;

/// A test of one cell. A null fails every comparison. NaN, and NaT among dates, meet none but `!=`; lists find them
/// (`f in (nan)`, `t in ('NaT')`). A cell whose fragment lacks the field is tested with the field's fill value.
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

impl Condition {
    /// The opposite, pushed down to the comparisons: a null fails both.
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
            Self::IsNull { field, negated } => Self::IsNull {
                field: field.clone(),
                negated: !negated,
            },
            Self::And(children) => Self::Or(all(children)),
            Self::Or(children) => Self::And(all(children)),
            Self::Not(inner) => (**inner).clone(),
        }
    }

    /// Names of the fields it tests, each once.
    pub fn fields(&self) -> Vec<&str> {
        let mut out = Vec::new();
        self.collect_fields(&mut out);
        out
    }

    fn collect_fields<'a>(&'a self, out: &mut Vec<&'a str>) {
        match self {
            Self::Compare { field, .. } | Self::In { field, .. } | Self::IsNull { field, .. } => {
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
    /// op     := "<" | "<=" | ">" | ">=" | "=" | "==" | "!=" | "<>"
    /// ```
    ///
    /// Strings stand in single or double quotes, which are doubled inside; field names that are no
    /// plain words stand in backquotes. The attribute without a name, which arrays of one attribute may
    /// have, is called `data` where no other field is. `&&`, `||` and `!` may be written for the words.
    fn from_str(text: &str) -> Result<Self> {
        parse::parse(text)
    }
}
