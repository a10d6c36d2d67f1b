//! Conditions as delete commits store them: a tree of comparisons with raw values.
//!
//! ```text
//! value       1 u8 | op u8 | field str32 | value str64 | for in and not in: size of the offsets u64, offsets
//! expression  0 u8 | 0 for and, 1 for or (u8) | children u64 | children
//! ```
//!
//! A delete commit holds the condition of the cells to **keep**: see [`StoredCondition::negated`].

use super::cursor::{Decoded, Reader, Writer};
use crate::error::Malformed;
use crate::limits;

/// A condition. Its values are raw little-endian bytes of the field's type, or of the index type if the field has an
/// enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredCondition {
    /// Compares a field with a value. An empty value is the empty string.
    Compare {
        /// Name of the attribute or dimension.
        field: String,
        /// The comparison.
        op: CompareOp,
        /// The value to compare with.
        value: Vec<u8>,
    },
    /// Tests whether a field's value is in a list.
    In {
        /// Name of the attribute or dimension.
        field: String,
        /// True for "not in".
        negated: bool,
        /// The values.
        values: Vec<Vec<u8>>,
    },
    /// Always true or always false.
    Always(bool),
    /// True if all children are true.
    And(Vec<StoredCondition>),
    /// True if any child is true.
    Or(Vec<StoredCondition>),
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

impl StoredCondition {
    /// Decodes the payload of a delete commit, or the condition at the start of an update commit's payload.
    ///
    /// # Errors
    /// The payload is damaged, nested too deep, or holds a `not`, which is never stored.
    pub fn decode(payload: &[u8]) -> Decoded<Self> {
        Self::read(&mut Reader::new(payload), 0)
    }

    /// Encodes the payload of a delete commit.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        self.write(&mut w);
        w.into_bytes()
    }

    /// Names of the fields that it tests, with repetitions.
    pub fn fields(&self) -> Vec<&str> {
        match self {
            Self::Compare { field, .. } | Self::In { field, .. } => vec![field],
            Self::Always(_) => Vec::new(),
            Self::And(children) | Self::Or(children) => children.iter().flat_map(Self::fields).collect(),
        }
    }

    /// The opposite condition. Comparisons are negated in place, so null still fails them.
    ///
    /// An `And` never directly contains an `And`, nor an `Or` an `Or`: libtiledb never writes such nesting and selects
    /// the wrong cells when it reads it.
    #[must_use]
    pub fn negated(&self) -> Self {
        let all = |children: &[Self]| -> Vec<Self> {
            let mut flat = Vec::with_capacity(children.len());
            for child in children.iter().map(Self::negated) {
                match (self, child) {
                    (Self::And(_), Self::Or(inner)) | (Self::Or(_), Self::And(inner)) => flat.extend(inner),
                    (_, other) => flat.push(other),
                }
            }
            flat
        };
        match self {
            Self::Compare { field, op, value } => Self::Compare {
                field: field.clone(),
                op: op.negated(),
                value: value.clone(),
            },
            Self::In { field, negated, values } => Self::In {
                field: field.clone(),
                negated: !negated,
                values: values.clone(),
            },
            Self::Always(b) => Self::Always(!b),
            Self::And(children) => Self::Or(all(children)),
            Self::Or(children) => Self::And(all(children)),
        }
    }

    fn read(r: &mut Reader<'_>, depth: u32) -> Decoded<Self> {
        if depth > limits::CONDITION_DEPTH_MAX {
            return Err(r.malformed(
                "condition",
                format!("nested more than {} deep", limits::CONDITION_DEPTH_MAX),
            ));
        }
        let at = r.offset();
        match r.u8("condition node type")? {
            0 => Self::read_expression(r, depth),
            1 => Self::read_value(r),
            other => Err(Malformed::new(
                "condition node type",
                at,
                format!("{other} is neither expression nor value"),
            )),
        }
    }

    fn read_expression(r: &mut Reader<'_>, depth: u32) -> Decoded<Self> {
        let at = r.offset();
        let op = r.u8("condition combination")?;
        let n = r.u64("condition child count")?;
        let n = r.count(n, NODE_BYTES_MIN, "condition children")?;
        let children = (0..n).map(|_| Self::read(r, depth + 1)).collect::<Decoded<_>>()?;
        match op {
            0 => Ok(Self::And(children)),
            1 => Ok(Self::Or(children)),
            other => Err(Malformed::new(
                "condition combination",
                at,
                format!("{other} is neither 0 (and) nor 1 (or)"),
            )),
        }
    }

    fn read_value(r: &mut Reader<'_>) -> Decoded<Self> {
        let at = r.offset();
        let op = r.u8("condition operator")?;
        let field = r.string32("condition field")?.to_owned();
        let value = r.bytes64("condition value")?;
        Ok(match op {
            IN | NOT_IN => {
                let values = read_members(r, value)?;
                Self::In {
                    field,
                    negated: op == NOT_IN,
                    values,
                }
            }
            ALWAYS_TRUE => Self::Always(true),
            ALWAYS_FALSE => Self::Always(false),
            _ => match CompareOp::from_id(op) {
                Some(op) => Self::Compare {
                    field,
                    op,
                    value: value.to_vec(),
                },
                None => {
                    return Err(Malformed::new(
                        "condition operator",
                        at,
                        format!("{op} is not an operator"),
                    ));
                }
            },
        })
    }

    fn write(&self, w: &mut Writer) {
        match self {
            Self::Compare { field, op, value } => {
                w.u8(1).u8(op.id()).bytes32(field.as_bytes()).bytes64(value);
            }
            Self::In { field, negated, values } => {
                w.u8(1).u8(if *negated { NOT_IN } else { IN }).bytes32(field.as_bytes());
                w.bytes64(&values.concat()).u64(values.len() as u64 * 8);
                let mut start = 0;
                for value in values {
                    w.u64(start);
                    start += value.len() as u64;
                }
            }
            Self::Always(b) => {
                w.u8(1)
                    .u8(if *b { ALWAYS_TRUE } else { ALWAYS_FALSE })
                    .bytes32(b"")
                    .bytes64(b"");
            }
            Self::And(children) | Self::Or(children) => {
                w.u8(0)
                    .u8(u8::from(matches!(self, Self::Or(_))))
                    .u64(children.len() as u64);
                for child in children {
                    child.write(w);
                }
            }
        }
    }
}

/// Size of the shortest node, an expression without children.
const NODE_BYTES_MIN: usize = 10;
const IN: u8 = 6;
const NOT_IN: u8 = 7;
const ALWAYS_TRUE: u8 = 253;
const ALWAYS_FALSE: u8 = 254;

fn read_members(r: &mut Reader<'_>, data: &[u8]) -> Decoded<Vec<Vec<u8>>> {
    let what = "condition member offsets";
    let at = r.offset();
    let bytes = r.u64(what)?;
    let starts: Vec<u64> = r.u64s(bytes / 8, what)?.collect();
    if bytes % 8 != 0 {
        return Err(Malformed::new(
            what,
            at,
            format!("{bytes} bytes are not a whole number of offsets"),
        ));
    }
    let ends = starts.iter().skip(1).copied().chain([data.len() as u64]);
    let member = |(start, end): (&u64, u64)| {
        let range = usize::try_from(*start).ok()?..usize::try_from(end).ok()?;
        data.get(range).map(<[u8]>::to_vec)
    };
    let members: Option<Vec<_>> = starts.iter().zip(ends).map(member).collect();
    members.ok_or_else(|| {
        Malformed::new(
            what,
            at,
            format!("they do not increase within the {} bytes of the value", data.len()),
        )
    })
}

impl CompareOp {
    const ALL: [Self; 6] = [Self::Lt, Self::Le, Self::Gt, Self::Ge, Self::Eq, Self::Ne];

    const fn id(self) -> u8 {
        self as u8
    }

    fn from_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }

    /// The opposite comparison: `<` becomes `>=`.
    #[must_use]
    pub const fn negated(self) -> Self {
        match self {
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
        }
    }

    /// The comparison with its sides exchanged: `1 < x` becomes `x > 1`.
    #[must_use]
    pub const fn mirrored(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(field: &str, op: CompareOp, value: &[u8]) -> StoredCondition {
        StoredCondition::Compare {
            field: field.into(),
            op,
            value: value.to_vec(),
        }
    }

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks(2)
            .map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap())
            .collect()
    }

    #[test]
    fn a_negation_is_flat() {
        let a = || compare("a", CompareOp::Eq, &[1]);
        let nested = StoredCondition::And(vec![StoredCondition::And(vec![a(), a()]), a()]);
        let StoredCondition::Or(children) = nested.negated() else {
            unreachable!("the negation of a conjunction is a disjunction")
        };
        assert_eq!(children, vec![a().negated(); 3]);
    }

    #[test]
    fn a_delete_stores_the_cells_to_keep() {
        let delete = compare("a", CompareOp::Gt, &35_i32.to_le_bytes());
        let bytes = hex("01 01 01000000 61 0400000000000000 23000000");
        assert_eq!(delete.negated().encode(), bytes);
        assert_eq!(StoredCondition::decode(&bytes).unwrap().negated(), delete);
    }

    #[test]
    fn lists_and_expressions() {
        let delete = StoredCondition::And(vec![
            StoredCondition::In {
                field: "a".into(),
                negated: false,
                values: vec![10_i32.to_le_bytes().to_vec(), 20_i32.to_le_bytes().to_vec()],
            },
            compare("s", CompareOp::Eq, b"p"),
        ]);
        let bytes = hex(
            "00 01 0200000000000000 | 01 07 01000000 61 0800000000000000 0A000000 14000000 1000000000000000
             0000000000000000 0400000000000000 | 01 05 01000000 73 0100000000000000 70",
        );
        assert_eq!(delete.negated().encode(), bytes);
        assert_eq!(StoredCondition::decode(&bytes).unwrap().negated(), delete);
    }

    #[test]
    fn a_condition_nested_too_deep_is_an_error() {
        let bytes = [0, 0, 1, 0, 0, 0, 0, 0, 0, 0].repeat(1000);
        assert!(StoredCondition::decode(&bytes).unwrap_err().why.contains("deep"));
    }

    #[test]
    fn offsets_outside_the_value_are_an_error() {
        let bytes = hex("01 06 01000000 61 0400000000000000 0A000000 0800000000000000 0500000000000000");
        assert!(StoredCondition::decode(&bytes).is_err());
    }
}
