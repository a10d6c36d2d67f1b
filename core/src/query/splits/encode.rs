//! Splits as bytes.
//!
//! ```text
//! fingerprint 16 bytes | bytes u64 | all fragments u8, otherwise 0 u8, fragments u32: index u32 | query
//! query      all fields u8, otherwise 0 u8, fields u32: name str32 | order u8 | batch bytes u64
//!            | dimensions u32: ranges u32: lo, hi | condition u8, condition
//! value      kind u8 | number, or str32
//! condition  kind u8 | compare: field str32, op u8, value | in: field str32, negated u8, values u32: value
//!            | like: field str32, negated u8, pattern str32 | is null: field str32, negated u8
//!            | and, or: children u32: condition | not: condition
//! ```

use super::Split;
use crate::datatype::Physical;
use crate::error::{Error, Malformed, MalformedKind, Result};
use crate::format::cursor::{Decoded, Reader, Writer};
use crate::format::envelope::{self, Kind};
use crate::format::schema::Layout;
use crate::limits::{CONDITION_DEPTH_MAX, SPLIT_BYTES_MAX};
use crate::query::{CompareOp, Condition, Query, Region};
use crate::scalar::{Scalar, ScalarRange};

const KIND: Kind = Kind {
    magic: *b"HSLBPART",
    what: "split",
    version: 1,
    bytes_max: SPLIT_BYTES_MAX,
    smaller: "select fewer ranges, or compare with fewer values",
};

/// In the order of their numbers.
const LAYOUTS: [Layout; 5] = [
    Layout::RowMajor,
    Layout::ColMajor,
    Layout::Global,
    Layout::Unordered,
    Layout::Hilbert,
];
const OPS: [CompareOp; 6] = [
    CompareOp::Lt,
    CompareOp::Le,
    CompareOp::Gt,
    CompareOp::Ge,
    CompareOp::Eq,
    CompareOp::Ne,
];
const NUMBERS: [Physical; 10] = [
    Physical::I8,
    Physical::I16,
    Physical::I32,
    Physical::I64,
    Physical::U8,
    Physical::U16,
    Physical::U32,
    Physical::U64,
    Physical::F32,
    Physical::F64,
];
/// The number of strings among the kinds of values.
const TEXT: u8 = NUMBERS.len() as u8;

impl Split {
    /// The split as bytes, for another process.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if its condition is nested more than 64 levels deep, or if it has more than 16 MiB.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut w = Writer::new();
        w.put(&self.fingerprint).u64(self.bytes);
        w.bool(self.fragments.is_none());
        if let Some(fragments) = &self.fragments {
            w.count32(fragments.len());
            for n in fragments {
                w.u32(*n);
            }
        }
        let sealed = write_query(&mut w, &self.query).and_then(|()| envelope::seal(KIND, &w.into_bytes()));
        sealed.map_err(refused)
    }

    /// Decodes a split.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the bytes are damaged, truncated or something else, [`Error::Unsupported`] if a
    /// newer release made them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        decode(bytes).map_err(refused)
    }
}

/// An error about a split.
fn refused(malformed: Malformed) -> Error {
    match malformed.kind {
        MalformedKind::Unsupported => Error::Unsupported(format!("{}: {}", malformed.what, malformed.why)),
        _ => Error::invalid(format!("the split cannot be used: {malformed}; plan the splits again")),
    }
}

fn decode(bytes: &[u8]) -> Decoded<Split> {
    let body = envelope::open(KIND, bytes)?;
    let r = &mut Reader::new(&body);
    let fingerprint = r.array("fingerprint of a snapshot")?;
    let bytes = r.u64("bytes of a split")?;
    let fragments = if r.bool("fragments of a split")? {
        None
    } else {
        Some(read_fragments(r)?)
    };
    let query = read_query(r)?;
    r.finish("split")?;
    Ok(Split {
        fingerprint,
        fragments,
        query,
        bytes,
    })
}

/// Indices of fragments. A fragment that is there twice would give its cells twice, and a newer one before an older one
/// would lose.
fn read_fragments(r: &mut Reader<'_>) -> Decoded<Vec<u32>> {
    const WHAT: &str = "fragments of a split";
    let at = r.offset();
    let fragments = r.list32(4, WHAT, |r| r.u32(WHAT))?;
    if fragments.is_sorted_by(|a, b| a < b) {
        return Ok(fragments);
    }
    Err(Malformed::new(WHAT, at, "they are not in ascending order"))
}

fn write_query(w: &mut Writer, query: &Query) -> Decoded<()> {
    w.bool(query.fields.is_none());
    if let Some(fields) = &query.fields {
        w.count32(fields.len());
        for field in fields {
            w.bytes32(field.as_bytes());
        }
    }
    w.u8(number_of(&LAYOUTS, &query.order)).u64(query.batch_bytes);
    w.count32(query.region.0.len());
    for ranges in &query.region.0 {
        w.count32(ranges.len());
        for range in ranges {
            write_value(w, &range.lo);
            write_value(w, &range.hi);
        }
    }
    w.bool(query.condition.is_some());
    query.condition.iter().try_for_each(|c| write_condition(w, c, 0))
}

fn read_query(r: &mut Reader<'_>) -> Decoded<Query> {
    let fields = if r.bool("fields of a query")? {
        None
    } else {
        Some(r.list32(4, "fields of a query", |r| {
            Ok(r.string32("field of a query")?.to_owned())
        })?)
    };
    let order = of_number(r, &LAYOUTS, "order of a query")?;
    let batch_bytes = r.u64("batch bytes of a query")?;
    let region = r.list32(4, "dimensions of a region", |r| {
        r.list32(4, "ranges of a region", |r| {
            let (lo, hi) = (read_value(r)?, read_value(r)?);
            Ok(ScalarRange { lo, hi })
        })
    })?;
    let condition = if r.bool("condition of a query")? {
        Some(read_condition(r, 0)?)
    } else {
        None
    };
    Ok(Query {
        fields,
        region: Region(region),
        order,
        condition,
        batch_bytes,
    })
}

fn write_value(w: &mut Writer, value: &Scalar) {
    match value.physical() {
        Some(physical) => w.u8(number_of(&NUMBERS, &physical)).put(&value.to_le_bytes()),
        None => w.u8(TEXT).bytes32(&value.to_le_bytes()),
    };
}

fn read_value(r: &mut Reader<'_>) -> Decoded<Scalar> {
    const WHAT: &str = "value of a query";
    if r.clone().u8(WHAT)? == TEXT {
        r.u8(WHAT)?;
        return Ok(Scalar::Bytes(r.bytes32(WHAT)?.to_vec()));
    }
    let physical = of_number(r, &NUMBERS, WHAT)?;
    r.scalar(physical, WHAT)
}

/// Checks that a condition is not nested too deep to be decoded with bounded memory.
fn check_depth(depth: u32) -> Decoded<()> {
    if depth < CONDITION_DEPTH_MAX {
        return Ok(());
    }
    let why = format!("it is nested more than {CONDITION_DEPTH_MAX} levels deep; simplify it");
    Err(Malformed::unsupported("condition of a split", why))
}

fn write_condition(w: &mut Writer, condition: &Condition, depth: u32) -> Decoded<()> {
    check_depth(depth)?;
    let all = |w: &mut Writer, children: &[Condition]| {
        w.count32(children.len());
        children.iter().try_for_each(|c| write_condition(w, c, depth + 1))
    };
    match condition {
        Condition::Compare { field, op, value } => {
            w.u8(0).bytes32(field.as_bytes()).u8(number_of(&OPS, op));
            write_value(w, value);
        }
        Condition::In { field, values, negated } => {
            w.u8(1).bytes32(field.as_bytes()).bool(*negated).count32(values.len());
            values.iter().for_each(|v| write_value(w, v));
        }
        Condition::Like {
            field,
            pattern,
            negated,
        } => {
            w.u8(2)
                .bytes32(field.as_bytes())
                .bool(*negated)
                .bytes32(pattern.as_bytes());
        }
        Condition::IsNull { field, negated } => {
            w.u8(3).bytes32(field.as_bytes()).bool(*negated);
        }
        Condition::And(children) => all(w.u8(4), children)?,
        Condition::Or(children) => all(w.u8(5), children)?,
        Condition::Not(inner) => write_condition(w.u8(6), inner, depth + 1)?,
    }
    Ok(())
}

fn read_condition(r: &mut Reader<'_>, depth: u32) -> Decoded<Condition> {
    const WHAT: &str = "condition of a split";
    check_depth(depth)?;
    let at = r.offset();
    let kind = r.u8(WHAT)?;
    let field = |r: &mut Reader<'_>| Ok(r.string32("field of a condition")?.to_owned());
    let all = |r: &mut Reader<'_>| r.list32(1, WHAT, |r| read_condition(r, depth + 1));
    Ok(match kind {
        0 => Condition::Compare {
            field: field(r)?,
            op: of_number(r, &OPS, "comparison of a condition")?,
            value: read_value(r)?,
        },
        1 => Condition::In {
            field: field(r)?,
            negated: r.bool(WHAT)?,
            values: r.list32(2, "values of a condition", read_value)?,
        },
        2 => Condition::Like {
            field: field(r)?,
            negated: r.bool(WHAT)?,
            pattern: r.string32("pattern of a condition")?.to_owned(),
        },
        3 => Condition::IsNull {
            field: field(r)?,
            negated: r.bool(WHAT)?,
        },
        4 => Condition::And(all(r)?),
        5 => Condition::Or(all(r)?),
        6 => Condition::Not(Box::new(read_condition(r, depth + 1)?)),
        other => return Err(Malformed::new(WHAT, at, format!("{other} is not a kind of condition"))),
    })
}

fn number_of<T: PartialEq>(all: &[T], value: &T) -> u8 {
    let number = all.iter().position(|v| v == value);
    number.and_then(|n| u8::try_from(n).ok()).unwrap_or(u8::MAX)
}

fn of_number<T: Copy>(r: &mut Reader<'_>, all: &[T], what: &str) -> Decoded<T> {
    let at = r.offset();
    let number = r.u8(what)?;
    let found = all.get(usize::from(number)).copied();
    found.ok_or_else(|| Malformed::new(what, at, format!("{number} is not known")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split() -> Split {
        let condition = "(a > 3 or not s like 'x%') and n is not null and f in (1.5, nan) and a != -7";
        Split {
            fingerprint: [7; 16],
            fragments: Some(vec![1, 3]),
            query: Query {
                fields: Some(vec!["a".to_owned(), String::new()]),
                region: Region(vec![
                    vec![ScalarRange::new(-3_i32, 9_i32), ScalarRange::new(1.5, f64::INFINITY)],
                    vec![],
                    vec![ScalarRange::new("", "zz")],
                ]),
                order: Layout::Hilbert,
                condition: Some(condition.parse().unwrap()),
                batch_bytes: 99,
            },
            bytes: 1 << 40,
        }
    }

    #[test]
    fn splits_round_trip() {
        let plain = Split {
            fragments: None,
            query: Query::default(),
            ..split()
        };
        assert_eq!(Split::from_bytes(&plain.to_bytes().unwrap()).unwrap(), plain);
        // NaN differs from itself.
        let found = Split::from_bytes(&split().to_bytes().unwrap()).unwrap();
        assert_eq!(format!("{found:?}"), format!("{:?}", split()));
    }

    #[test]
    fn fragments_are_in_order_and_once() {
        for fragments in [vec![0, 0], vec![1, 0], vec![0, 2, 1]] {
            let forged = Split {
                fragments: Some(fragments),
                ..split()
            };
            let error = Split::from_bytes(&forged.to_bytes().unwrap()).unwrap_err().to_string();
            assert!(error.contains("ascending"), "{error}");
        }
    }

    #[test]
    fn a_split_of_too_many_values_is_refused() {
        let mut large = split();
        large.query.condition = Some(Condition::In {
            field: "a".to_owned(),
            values: vec![Scalar::I64(1); 2 << 20],
            negated: false,
        });
        let error = large.to_bytes().unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
        assert!(error.to_string().contains("fewer values"), "{error}");
    }

    #[test]
    fn damage_is_an_error_or_another_split() {
        let bytes = split().to_bytes().unwrap();
        let body = envelope::open(KIND, &bytes).unwrap();
        for at in 0..body.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bad = body.clone();
                bad[at] ^= flip;
                let found = Split::from_bytes(&envelope::seal(KIND, &bad).unwrap());
                assert!(
                    found.is_err() || found.unwrap().to_bytes().unwrap() != bytes,
                    "byte {at}"
                );
            }
            let cut = Split::from_bytes(&envelope::seal(KIND, &body[..at]).unwrap());
            let error = cut.unwrap_err().to_string();
            assert!(error.contains("plan the splits again"), "{error}");
            assert!(Split::from_bytes(&bytes[..at.min(bytes.len() - 1)]).is_err());
        }
    }

    #[test]
    fn deep_conditions_are_refused_on_both_sides() {
        let leaf = "a > 1".parse::<Condition>().unwrap();
        let deep = (0..70).fold(leaf, |c, _| Condition::Not(Box::new(c)));
        let mut split = split();
        split.query.condition = Some(deep);
        assert!(split.to_bytes().unwrap_err().to_string().contains("64 levels"));
        let mut w = Writer::new();
        w.put(&[7; 16])
            .u64(1)
            .bool(true)
            .bool(true)
            .u8(0)
            .u64(1)
            .u32(0)
            .bool(true);
        w.put(&[6; 1 << 20]);
        let forged = envelope::seal(KIND, &w.into_bytes()).unwrap();
        assert!(
            Split::from_bytes(&forged)
                .unwrap_err()
                .to_string()
                .contains("64 levels")
        );
    }
}
