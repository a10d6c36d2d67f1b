//! Turns a condition's names and values into tests of typed columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::values::{FieldType, cell_bytes, enumeration_indexes, exact};
use super::{CompareOp, Condition};
use crate::calendar;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::attribute::display_name;
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
    /// Whether it is one of these numbers; or, if negated, none of them. A NaN is every NaN, and -0.0 is 0.0.
    Numbers(Vec<Scalar>, bool),
    /// The same by the bytes of the numbers, as deletes and libtiledb compare them.
    NumberBytes(Vec<Scalar>, bool),
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
    pub(super) const ANY_VALUE: Self = Self::Null(true);
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
        let member = |v: &Scalar| match v.as_bytes() {
            Some(text) if is_nat(text) => Ok(Bound::Test(name.clone(), Test::Number(op, NOT_A_TIME))),
            _ => bind_compare(field, op, v, ty),
        };
        let mut each = values.iter().map(member).collect::<Result<Vec<_>>>()?;
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
        return Ok(compare(field, op, v, datatype));
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
        Some(v) => Ok(compare(
            field,
            if below { CompareOp::Le } else { CompareOp::Ge },
            v,
            datatype,
        )),
        None if (whole > 0) == below && datatype.is_datetime() => test(Test::Number(CompareOp::Ne, NOT_A_TIME)),
        None if (whole > 0) == below => test(Test::ANY_VALUE),
        None => Ok(Bound::Always(false)),
    }
}

/// The date that is none, which numpy calls NaT: the least number of all.
const NOT_A_TIME: Scalar = Scalar::I64(i64::MIN);

fn is_nat(text: &[u8]) -> bool {
    text.trim_ascii().eq_ignore_ascii_case(b"NaT")
}

/// A comparison with a value of the field's type. NaN and NaT meet no comparison but `!=`, with whatever value, and no
/// value meets another comparison with them.
fn compare(field: &str, op: CompareOp, v: Scalar, datatype: Datatype) -> Bound {
    let test = |t| Bound::Test(field.to_owned(), t);
    let dated = datatype.is_datetime();
    if dated && v == NOT_A_TIME || v.as_f64().is_some_and(f64::is_nan) {
        return if op == CompareOp::Ne {
            test(Test::ANY_VALUE)
        } else {
            Bound::Always(false)
        };
    }
    let plain = test(Test::Number(op, v));
    if dated && matches!(op, CompareOp::Lt | CompareOp::Le) {
        return Bound::And(vec![plain, test(Test::Number(CompareOp::Ne, NOT_A_TIME))]);
    }
    plain
}

/// A comparison with a date as text, which may name a whole period: `t == '2020'` is any time of 2020.
fn date_test(field: &str, op: CompareOp, text: &[u8], datatype: Datatype) -> Result<Bound> {
    if is_nat(text) {
        return Ok(compare(field, op, NOT_A_TIME, datatype));
    }
    let text = std::str::from_utf8(text).map_err(|_| Error::invalid("condition: a date that is not UTF-8"))?;
    let (first, last) =
        calendar::starts(text, datatype).map_err(|e| Error::invalid(format!("condition on '{field}': {e}")))?;
    let test = |op, v: i64| Bound::Test(field.to_owned(), Test::Number(op, Scalar::I64(v)));
    Ok(match op {
        CompareOp::Lt | CompareOp::Ge => compare(field, op, Scalar::I64(first), datatype),
        CompareOp::Eq | CompareOp::Ne if first == last => test(op, first),
        CompareOp::Eq if first > last => Bound::Always(false),
        CompareOp::Ne if first > last => Bound::Test(field.to_owned(), Test::ANY_VALUE),
        CompareOp::Le | CompareOp::Gt => compare(field, op, Scalar::I64(last), datatype),
        CompareOp::Eq => Bound::And(vec![test(CompareOp::Ge, first), test(CompareOp::Le, last)]),
        CompareOp::Ne => Bound::Or(vec![test(CompareOp::Lt, first), test(CompareOp::Gt, last)]),
    })
}

/// A value without the zeros that pad it to a cell, as cells are compared.
pub(super) fn unpadded(mut value: Vec<u8>, ty: &FieldType) -> Vec<u8> {
    if !ty.cell.is_var() {
        let end = value.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
        value.truncate(end);
    }
    value
}
