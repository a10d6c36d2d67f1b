//! Turns a condition's names and values into tests of typed columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::values::{FieldType, cell_bytes, enumeration_indexes, exact};
use super::{CompareOp, Condition};
use crate::calendar;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Malformed, Result};
use crate::format::attribute::display_name;
use crate::format::condition::StoredCondition;
use crate::format::enumeration::Enumeration;
use crate::format::schema::Schema;
use crate::scalar::Scalar;

/// A condition whose values are of the types of its fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bound {
    /// The same for every cell.
    Always(bool),
    /// A test of the field of this name.
    Test(String, Test),
    /// All of them.
    And(Vec<Bound>),
    /// Any of them.
    Or(Vec<Bound>),
}

/// A test of one value, which a null fails.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    /// Against a number of the field's own kind.
    Number(CompareOp, Scalar),
    /// Whether it is one of these numbers; or, if negated, none of them.
    Numbers(Vec<Scalar>, bool),
    /// Against the bytes of a whole cell; without the zeros that pad either, where cells are of fixed length.
    Bytes(CompareOp, Vec<u8>),
    /// Whether it is one of these, likewise; or, if negated, none of them.
    ByteStrings(Vec<Vec<u8>>, bool),
    /// Against the bytes of a whole cell with the zeros that pad it: text of fixed length in deletes.
    Padded(CompareOp, Vec<u8>),
    /// Against the first byte of a cell, with its sign, as libtiledb compares `char`: cells of one; and in deletes all
    /// of fixed length, of which it looks at no more.
    FirstByte(CompareOp, i8),
    /// Whether it is null; or, if negated, not null.
    Null(bool),
}

impl Test {
    /// True of every value but null.
    const ANY_VALUE: Self = Self::Null(true);
}

impl Bound {
    /// Names of the fields it tests, each once.
    pub(crate) fn fields(&self) -> Vec<&str> {
        let mut out = Vec::new();
        self.collect_fields(&mut out);
        out
    }

    fn collect_fields<'a>(&'a self, out: &mut Vec<&'a str>) {
        match self {
            Self::Always(_) => {}
            Self::Test(field, _) => {
                if !out.contains(&field.as_str()) {
                    out.push(field);
                }
            }
            Self::And(children) | Self::Or(children) => children.iter().for_each(|c| c.collect_fields(out)),
        }
    }
}

/// The field that `name` stands for in a condition: the attribute without a name may be called `data`, where no
/// field is called so.
pub(crate) fn field_name<'a>(schema: &Schema, name: &'a str) -> &'a str {
    let is_field = |name: &str| schema.attribute(name).is_some() || schema.dimension(name).is_some();
    if display_name("") == name && !is_field(name) && is_field("") {
        ""
    } else {
        name
    }
}

fn unknown(schema: &Schema, name: &str) -> Error {
    let dimensions = schema.dimensions.iter().map(|d| d.name.as_str());
    // A dimension without a name cannot be called by any.
    let dimensions = dimensions.filter(|name| !name.is_empty());
    let attributes = schema.attributes.iter().map(|a| display_name(&a.name));
    let known: Vec<&str> = dimensions.chain(attributes).collect();
    Error::invalid(format!(
        "condition: there is no field '{name}'; the fields are {}",
        known.join(", ")
    ))
}

fn field_type(schema: &Schema, enumerations: &BTreeMap<String, Arc<Enumeration>>, name: &str) -> Result<FieldType> {
    let (datatype, cell) = schema.type_of(name).ok_or_else(|| unknown(schema, name))?;
    let named = schema.attribute(name).and_then(|(_, a)| a.enumeration.as_ref());
    let loaded = |e: &String| {
        let found = enumerations.get(e).cloned();
        found.ok_or_else(|| Error::invalid(format!("enumeration '{e}' is not loaded")))
    };
    Ok(FieldType {
        datatype,
        cell,
        enumeration: named.map(loaded).transpose()?,
    })
}

/// The tests of `condition` on cells of `schema`. `enumerations` must hold those of its fields.
///
/// # Errors
/// [`Error::InvalidArgument`] for an unknown field, or a value that its field cannot be compared with.
pub(crate) fn bind(
    condition: &Condition,
    schema: &Schema,
    enumerations: &BTreeMap<String, Arc<Enumeration>>,
) -> Result<Bound> {
    let all = |children: &[Condition]| {
        children
            .iter()
            .map(|c| bind(c, schema, enumerations))
            .collect::<Result<Vec<_>>>()
    };
    match condition {
        Condition::And(children) => Ok(Bound::And(all(children)?)),
        Condition::Or(children) => Ok(Bound::Or(all(children)?)),
        Condition::Not(inner) => bind(&inner.negated(), schema, enumerations),
        Condition::IsNull { field, negated } => {
            let field = field_name(schema, field);
            field_type(schema, enumerations, field)?;
            Ok(Bound::Test(field.to_owned(), Test::Null(*negated)))
        }
        Condition::Compare { field, op, value } => {
            let field = field_name(schema, field);
            bind_compare(field, *op, value, &field_type(schema, enumerations, field)?)
        }
        Condition::In { field, values, negated } => {
            let field = field_name(schema, field);
            bind_in(field, values, *negated, &field_type(schema, enumerations, field)?)
        }
    }
}

fn bind_compare(field: &str, op: CompareOp, value: &Scalar, ty: &FieldType) -> Result<Bound> {
    let test = |t| Ok(Bound::Test(field.to_owned(), t));
    if let Some(e) = &ty.enumeration {
        let ranked = !matches!(op, CompareOp::Eq | CompareOp::Ne);
        if ranked && !e.ordered {
            return Err(Error::invalid(format!(
                "condition: the values of '{field}' have no order; only == and != can be asked"
            )));
        }
        return match enumeration_indexes(field, std::slice::from_ref(value), e)?
            .first()
            .copied()
            .flatten()
        {
            Some(i) => number_test(field, op, &Scalar::U64(i), ty.datatype),
            None if op == CompareOp::Ne => test(Test::ANY_VALUE),
            None => Ok(Bound::Always(false)),
        };
    }
    if !ty.is_number() {
        let value = cell_bytes(field, value, ty)?;
        let single = ty.datatype == Datatype::Char && ty.cell == CellCount::ONE && value.len() <= 1;
        return test(if single {
            Test::FirstByte(op, value.first().map_or(0, |&byte| byte as i8))
        } else {
            Test::Bytes(op, unpadded(value, ty))
        });
    }
    if let (Scalar::Bytes(text), true) = (value, ty.datatype.is_datetime()) {
        return date_test(field, op, text, ty.datatype);
    }
    number_test(field, op, value, ty.datatype)
}

fn bind_in(field: &str, values: &[Scalar], negated: bool, ty: &FieldType) -> Result<Bound> {
    let name = field.to_owned();
    if let Some(e) = &ty.enumeration {
        let indexes = enumeration_indexes(field, values, e)?;
        let index = |i: u64| Scalar::from_i128(ty.datatype, i128::from(i));
        let found: Vec<Scalar> = indexes.into_iter().flatten().filter_map(index).collect();
        return Ok(match (found.is_empty(), negated) {
            (false, _) => Bound::Test(name, Test::Numbers(found, negated)),
            (true, true) => Bound::Test(name, Test::ANY_VALUE),
            (true, false) => Bound::Always(false),
        });
    }
    if !ty.is_number() {
        let bytes = |v| Ok(unpadded(cell_bytes(field, v, ty)?, ty));
        let values = values.iter().map(bytes).collect::<Result<_>>()?;
        return Ok(Bound::Test(name, Test::ByteStrings(values, negated)));
    }
    let dates = ty.datatype.is_datetime() && values.iter().any(|v| v.as_bytes().is_some());
    if dates {
        let op = if negated { CompareOp::Ne } else { CompareOp::Eq };
        let mut each = values
            .iter()
            .map(|v| bind_compare(field, op, v, ty))
            .collect::<Result<Vec<_>>>()?;
        // Dates between two values of the type are none of them.
        each.retain(|test| !matches!(test, Bound::Always(false) | Bound::Test(_, Test::ANY_VALUE)));
        let single = |test: &Bound| match test {
            Bound::Test(_, Test::Number(CompareOp::Eq | CompareOp::Ne, v)) => Some(v.clone()),
            _ => None,
        };
        return Ok(match each.iter().map(single).collect() {
            Some(values) => Bound::Test(name, Test::Numbers(values, negated)),
            None if negated => Bound::And(each),
            None => Bound::Or(each),
        });
    }
    let mut fitting = Vec::new();
    for value in values {
        fitting.extend(exact(field, value, ty.datatype)?);
    }
    Ok(Bound::Test(name, Test::Numbers(fitting, negated)))
}

/// A comparison with a number of any kind. One that no value of the field's type can tell apart from
/// its neighbours is moved to the next value that can: `x > 2.5` is `x >= 3` of integers.
fn number_test(field: &str, op: CompareOp, value: &Scalar, datatype: Datatype) -> Result<Bound> {
    let test = |t| Ok(Bound::Test(field.to_owned(), t));
    if let Some(v) = exact(field, value, datatype)? {
        return test(Test::Number(op, v));
    }
    // The value lies between two integers, or beyond all of them or all finite floats, or is NaN.
    let nearest = value.as_f64().unwrap_or(f64::NAN);
    if op == CompareOp::Ne {
        return test(Test::ANY_VALUE);
    }
    if nearest.is_nan() || op == CompareOp::Eq {
        return Ok(Bound::Always(false));
    }
    let below = matches!(op, CompareOp::Lt | CompareOp::Le);
    if datatype == Datatype::Float32 {
        // Between the last finite float and the infinite one, which `<` leaves out from above and `<=` takes from below.
        let op = match (below, nearest > 0.0) {
            (true, true) => CompareOp::Lt,
            (true, false) => CompareOp::Le,
            (false, true) => CompareOp::Ge,
            (false, false) => CompareOp::Gt,
        };
        return test(Test::Number(op, Scalar::F32(nearest as f32)));
    }
    let bound = if below { nearest.floor() } else { nearest.ceil() };
    // The cast saturates, which is what is wanted.
    let whole = value.as_i128().unwrap_or(bound as i128);
    match Scalar::from_i128(datatype, whole) {
        Some(v) => test(Test::Number(if below { CompareOp::Le } else { CompareOp::Ge }, v)),
        None if (whole > 0) == below => test(Test::ANY_VALUE),
        None => Ok(Bound::Always(false)),
    }
}

/// A comparison with a date as text, which may name a whole period: `t == '2020'` is any time of 2020.
fn date_test(field: &str, op: CompareOp, text: &[u8], datatype: Datatype) -> Result<Bound> {
    let text = std::str::from_utf8(text).map_err(|_| Error::invalid("condition: a date that is not UTF-8"))?;
    let (first, last) =
        calendar::starts(text, datatype).map_err(|e| Error::invalid(format!("condition on '{field}': {e}")))?;
    let test = |op, v: i64| Bound::Test(field.to_owned(), Test::Number(op, Scalar::I64(v)));
    Ok(match op {
        CompareOp::Lt | CompareOp::Ge => test(op, first),
        CompareOp::Eq | CompareOp::Ne if first == last => test(op, first),
        CompareOp::Eq if first > last => Bound::Always(false),
        CompareOp::Ne if first > last => Bound::Test(field.to_owned(), Test::ANY_VALUE),
        CompareOp::Le | CompareOp::Gt => test(op, last),
        CompareOp::Eq => Bound::And(vec![test(CompareOp::Ge, first), test(CompareOp::Le, last)]),
        CompareOp::Ne => Bound::Or(vec![test(CompareOp::Lt, first), test(CompareOp::Gt, last)]),
    })
}

/// The tests of a stored condition, whose values are bytes of the fields' types already.
///
/// # Errors
/// The schema does not have one of its fields, as libtiledb too complains; a value is not of its field's size.
pub(crate) fn bind_stored(condition: &StoredCondition, schema: &Schema) -> Result<Bound, Malformed> {
    let all = |children: &[StoredCondition]| {
        children
            .iter()
            .map(|c| bind_stored(c, schema))
            .collect::<Result<Vec<_>, _>>()
    };
    let known = |field: &str| {
        let plain = |(datatype, cell)| FieldType {
            datatype,
            cell,
            enumeration: None,
        };
        schema.type_of(field).map(plain).ok_or_else(|| {
            let why = format!(
                "it tests '{field}', which the array does not have at this time: read it at a time when it has, or add the \
                 field again"
            );
            Malformed::unsupported("delete condition", why)
        })
    };
    let number = |field: &str, ty: &FieldType, value: &[u8]| {
        Scalar::from_le_bytes(ty.datatype.physical(), value).ok_or_else(|| {
            let (found, size) = (value.len(), ty.datatype.size());
            let what = format!("it tests '{field}', of {size} bytes, with {found}");
            if matches!(found, 1 | 2 | 4 | 8) {
                let why = "the field was dropped and added again with another type: read the array as it was before";
                return Malformed::unsupported("delete condition", format!("{what}; {why}"));
            }
            Malformed::new(
                "delete condition",
                0,
                format!("{what}; without this file its cells are back"),
            )
        })
    };
    match condition {
        StoredCondition::Always(b) => Ok(Bound::Always(*b)),
        StoredCondition::And(children) => Ok(Bound::And(all(children)?)),
        StoredCondition::Or(children) => Ok(Bound::Or(all(children)?)),
        StoredCondition::Compare { field, op, value } => Ok(match known(field)? {
            // A test of null: libtiledb stores it without a value, and most releases then cannot read it. With
            // a field of variable length it is the same as a test of the empty string.
            ty if value.is_empty() && !ty.cell.is_var() && matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                Bound::Test(field.clone(), Test::Null(*op == CompareOp::Ne))
            }
            ty if ty.is_number() => Bound::Test(field.clone(), Test::Number(*op, number(field, &ty, value)?)),
            ty => Bound::Test(field.clone(), stored_text(*op, value, &ty)),
        }),
        StoredCondition::In { field, negated, values } => Ok(match known(field)? {
            ty if ty.is_number() => {
                let values = values.iter().map(|v| number(field, &ty, v)).collect::<Result<_, _>>()?;
                Bound::Test(field.clone(), Test::Numbers(values, *negated))
            }
            ty => {
                let values = values.iter().map(|v| unpadded(v.clone(), &ty)).collect();
                Bound::Test(field.clone(), Test::ByteStrings(values, *negated))
            }
        }),
    }
}

/// A value without the zeros that pad it to a cell, as cells are compared.
fn unpadded(mut value: Vec<u8>, ty: &FieldType) -> Vec<u8> {
    if !ty.cell.is_var() {
        let end = value.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
        value.truncate(end);
    }
    value
}

/// A test of text as libtiledb does it for deletes: what those leave is what an array holds.
fn stored_text(op: CompareOp, value: &[u8], ty: &FieldType) -> Test {
    match (ty.datatype, value.first()) {
        (Datatype::Char, Some(&first)) if !ty.cell.is_var() => Test::FirstByte(op, first as i8),
        (Datatype::StringAscii | Datatype::StringUtf8, _) if !ty.cell.is_var() => Test::Padded(op, value.to_vec()),
        _ => Test::Bytes(op, value.to_vec()),
    }
}

/// Bytes of a cell of this field, if all have the same.
fn cell_length(schema: &Schema, field: &str) -> Option<usize> {
    schema
        .type_of(field)
        .and_then(|(datatype, cell)| cell.cell_bytes(datatype))
}

/// The values that a cell of `length` bytes can have, padded to it: libtiledb reads no list with others.
fn of_length(values: &[Vec<u8>], length: Option<usize>) -> Vec<Vec<u8>> {
    let Some(length) = length else { return values.to_vec() };
    let mut fitting: Vec<_> = values.iter().filter(|v| v.len() <= length).cloned().collect();
    fitting.iter_mut().for_each(|v| v.resize(length, 0));
    fitting
}

/// A list as libtiledb can read it, which takes none without a value or without a byte in its values.
fn stored_list(field: String, values: Vec<Vec<u8>>, negated: bool) -> StoredCondition {
    if values.is_empty() {
        return StoredCondition::Always(negated);
    }
    if values.iter().all(Vec::is_empty) {
        return StoredCondition::Compare {
            field,
            op: if negated { CompareOp::Ne } else { CompareOp::Eq },
            value: Vec::new(),
        };
    }
    StoredCondition::In { field, negated, values }
}

/// The condition as a delete commit stores it: its values as bytes.
///
/// # Errors
/// [`Error::Unsupported`] for tests of null, which the format cannot store, on nullable attributes.
pub(crate) fn to_stored(condition: &Bound, schema: &Schema) -> Result<StoredCondition> {
    let all = |children: &[Bound]| {
        children
            .iter()
            .map(|c| to_stored(c, schema))
            .collect::<Result<Vec<_>>>()
    };
    let bytes = |values: &[Scalar]| values.iter().map(Scalar::to_le_bytes).collect::<Vec<_>>();
    Ok(match condition {
        Bound::Always(b) => StoredCondition::Always(*b),
        // libtiledb reads no combination of fewer than two.
        Bound::And(children) | Bound::Or(children) if children.len() == 1 => all(children)?.remove(0),
        Bound::And(children) => StoredCondition::And(all(children)?),
        Bound::Or(children) => StoredCondition::Or(all(children)?),
        Bound::Test(field, test) => {
            let field = field.clone();
            match test {
                Test::Number(op, v) => StoredCondition::Compare {
                    field,
                    op: *op,
                    value: v.to_le_bytes(),
                },
                Test::Bytes(op, v) | Test::Padded(op, v) => {
                    let mut value = v.clone();
                    // No value would be a test of null.
                    value.resize(v.len().max(cell_length(schema, &field).unwrap_or(0)), 0);
                    StoredCondition::Compare { field, op: *op, value }
                }
                Test::FirstByte(op, v) => StoredCondition::Compare {
                    field,
                    op: *op,
                    value: v.to_le_bytes().to_vec(),
                },
                Test::Numbers(values, negated) => stored_list(field, bytes(values), *negated),
                Test::ByteStrings(values, negated) => {
                    let values = of_length(values, cell_length(schema, &field));
                    stored_list(field, values, *negated)
                }
                Test::Null(negated) if schema.attribute(&field).is_none_or(|(_, a)| !a.nullable) => {
                    StoredCondition::Always(*negated)
                }
                Test::Null(_) => {
                    return Err(Error::Unsupported(format!(
                        "the format cannot store whether '{field}' is null; delete by its values"
                    )));
                }
            }
        }
    })
}
