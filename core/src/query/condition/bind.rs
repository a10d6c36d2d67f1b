//! Binds a condition's names and values to typed columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::pattern::{Pattern, after_prefix};
use super::values::{cell_bytes, enumeration_indexes, exact, is_number};
use super::{CompareOp, Condition};
use crate::calendar;
use crate::column::Column;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::attribute::display_name;
use crate::format::enumeration::Enumeration;
use crate::format::field::Field;
use crate::format::schema::Schema;
use crate::scalar::Scalar;
use crate::suggest;

/// A condition with values of its fields' types.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bound {
    /// The same result for every cell.
    Always(bool),
    /// A test of the field with this name.
    Test(String, Test),
    /// True if all children are true.
    And(Vec<Bound>),
    /// True if any child is true.
    Or(Vec<Bound>),
}

/// A test of one value. Nulls fail every test except [`Test::Null`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    /// Compares with a number of the field's type.
    Number(CompareOp, Scalar),
    /// Whether the value is one of these numbers, or none of them if negated. All NaNs are equal, and so are -0.0 and
    /// 0.0.
    Numbers(Vec<Scalar>, bool),
    /// Like `Numbers`, but compares bytes, as libtiledb does, also for deletes.
    NumberBytes(Vec<Scalar>, bool),
    /// Compares with the bytes of a whole cell. Fixed-length cells are compared without padding.
    Bytes(CompareOp, Vec<u8>),
    /// Whether the bytes are one of these, or none of them if negated. Fixed-length cells are compared without padding.
    ByteStrings(Vec<Vec<u8>>, bool),
    /// Compares with the bytes of a whole cell, including padding. Deletes compare fixed-length text like this.
    Padded(CompareOp, Vec<u8>),
    /// Compares with the first byte of a cell as a signed number. Libtiledb compares single `char` cells like this and,
    /// in deletes, all fixed-length `char` cells.
    FirstByte(CompareOp, i8),
    /// Whether the bytes match this pattern, or do not match it if negated. Fixed-length cells are compared without
    /// padding.
    Like(Pattern, bool),
    /// Whether the value is null, or not null if negated.
    Null(bool),
}

impl Test {
    /// True for every value except null.
    pub(super) const ANY_VALUE: Self = Self::Null(true);
}

impl Bound {
    /// The names of the tested fields, without duplicates.
    pub(crate) fn fields(&self) -> Vec<&str> {
        let mut out = Vec::new();
        self.collect_fields(&mut out);
        out
    }

    /// A field that is tested with a pattern.
    pub(crate) fn field_like(&self) -> Option<&str> {
        match self {
            Self::Test(field, Test::Like(..)) => Some(field),
            Self::And(children) | Self::Or(children) => children.iter().find_map(Self::field_like),
            Self::Always(_) | Self::Test(..) => None,
        }
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

/// Resolves a field name in a condition. The unnamed attribute may be called `data` if no field has that name.
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
    // An unnamed dimension cannot be referenced.
    let dimensions = dimensions.filter(|name| !name.is_empty());
    let attributes = schema.attributes.iter().map(|a| display_name(&a.name));
    let known: Vec<&str> = dimensions.chain(attributes).collect();
    Error::invalid(format!("condition: {}", suggest::unknown("field", name, &known)))
}

/// The field that a condition calls `name`, with the values of its enumeration.
fn find(schema: &Schema, enumerations: &BTreeMap<String, Arc<Enumeration>>, name: &str) -> Result<Field> {
    let name = field_name(schema, name);
    let mut field = Field::find(schema, name).ok_or_else(|| unknown(schema, name))?;
    if let Some(e) = schema.attribute(name).and_then(|(_, a)| a.enumeration.as_ref()) {
        let loaded = enumerations.get(e).cloned();
        field.enumeration = Some(loaded.ok_or_else(|| Error::invalid(format!("enumeration '{e}' is not loaded")))?);
    }
    Ok(field)
}

/// Binds `condition` to the fields of `schema`. `enumerations` must include the enumerations of its fields.
///
/// # Errors
/// [`Error::InvalidArgument`] for an unknown field, or a value that cannot be compared with its field.
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
        Condition::IsNull { field, negated } => Ok(Bound::Test(
            find(schema, enumerations, field)?.name,
            Test::Null(*negated),
        )),
        Condition::Compare { field, op, value } => bind_compare(&find(schema, enumerations, field)?, *op, value),
        Condition::Like {
            field,
            pattern,
            negated,
        } => bind_like(&find(schema, enumerations, field)?, pattern, *negated),
        Condition::In { field, values, negated } => bind_in(&find(schema, enumerations, field)?, values, *negated),
    }
}

fn bind_compare(field: &Field, op: CompareOp, value: &Scalar) -> Result<Bound> {
    let test = |t| Ok(Bound::Test(field.name.clone(), t));
    if let Some(e) = &field.enumeration {
        let ranked = !matches!(op, CompareOp::Eq | CompareOp::Ne);
        if ranked && !e.ordered {
            return Err(Error::invalid(format!(
                "condition: the values of '{}' have no order; use == or !=",
                field.name
            )));
        }
        return match enumeration_indexes(&field.name, std::slice::from_ref(value), e)?
            .first()
            .copied()
            .flatten()
        {
            Some(i) => number_test(field, op, &Scalar::U64(i)),
            None if op == CompareOp::Ne => test(Test::ANY_VALUE),
            None => Ok(Bound::Always(false)),
        };
    }
    if !is_number(field) {
        let value = cell_bytes(field, value)?;
        let single = field.datatype == Datatype::Char && field.cell == CellCount::ONE && value.len() <= 1;
        return test(if single {
            Test::FirstByte(op, value.first().map_or(0, |&byte| byte as i8))
        } else {
            Test::Bytes(op, unpadded(value, field))
        });
    }
    if let Some(text) = date_word(value, field.datatype) {
        return date_test(field, op, text);
    }
    number_test(field, op, value)
}

/// A test of text. A pattern that ends with its only `%` becomes a range, which statistics and deletes know.
fn bind_like(field: &Field, pattern: &str, negated: bool) -> Result<Bound> {
    let parsed = Pattern::new(pattern);
    let is_text = |datatype: Datatype| datatype.is_bytes() && datatype.size() == 1;
    let values = field.enumeration.as_ref().map(|e| &e.values);
    let datatype = values.map_or(field.datatype, |values| values.datatype);
    if !is_text(datatype) {
        let name = &field.name;
        let why = format!("condition: '{name}' holds {datatype}, and 'like' tests text; compare it with <, == or >");
        return Err(Error::invalid(why));
    }
    if let Some(values) = values {
        let matching = (0..).zip((0..values.len()).map(|i| trimmed(values, i)));
        let found = matching.filter(|(_, text)| parsed.matches(text)).map(|(i, _)| i);
        return Ok(members(field, found, negated));
    }
    if let Some(text) = parsed.text() {
        let op = if negated { CompareOp::Ne } else { CompareOp::Eq };
        return bind_compare(field, op, &Scalar::Bytes(text));
    }
    let test = |test| Bound::Test(field.name.clone(), test);
    let (prefix, is_whole) = parsed.prefix();
    if !is_whole || !field.cell.is_var() {
        return Ok(test(Test::Like(parsed, negated)));
    }
    let compare = |op, text| test(Test::Bytes(op, text));
    let after = after_prefix(&prefix);
    Ok(match (prefix.is_empty(), negated) {
        (true, true) => Bound::Always(false),
        (true, false) => test(Test::ANY_VALUE),
        (false, true) => {
            let below = compare(CompareOp::Lt, prefix);
            Bound::Or(
                std::iter::once(below)
                    .chain(after.map(|text| compare(CompareOp::Ge, text)))
                    .collect(),
            )
        }
        (false, false) => {
            let from = compare(CompareOp::Ge, prefix);
            Bound::And(
                std::iter::once(from)
                    .chain(after.map(|text| compare(CompareOp::Lt, text)))
                    .collect(),
            )
        }
    })
}

/// Whether a cell is one of these values of its field's enumeration.
fn members(field: &Field, indexes: impl Iterator<Item = u64>, negated: bool) -> Bound {
    let name = field.name.clone();
    let index = |i: u64| Scalar::from_i128(field.datatype, i128::from(i));
    let found: Vec<Scalar> = indexes.filter_map(index).collect();
    match (found.is_empty(), negated) {
        (false, _) => Bound::Test(name, Test::Numbers(found, negated)),
        (true, true) => Bound::Test(name, Test::ANY_VALUE),
        (true, false) => Bound::Always(false),
    }
}

fn bind_in(field: &Field, values: &[Scalar], negated: bool) -> Result<Bound> {
    let name = field.name.clone();
    if let Some(e) = &field.enumeration {
        let indexes = enumeration_indexes(&field.name, values, e)?;
        return Ok(members(field, indexes.into_iter().flatten(), negated));
    }
    if !is_number(field) {
        let bytes = |v| Ok(unpadded(cell_bytes(field, v)?, field));
        let values = values.iter().map(bytes).collect::<Result<_>>()?;
        return Ok(Bound::Test(name, Test::ByteStrings(values, negated)));
    }
    let dates = values.iter().any(|v| date_word(v, field.datatype).is_some());
    if dates {
        let op = if negated { CompareOp::Ne } else { CompareOp::Eq };
        let member = |v: &Scalar| match v.as_bytes() {
            Some(text) if is_nat(text) => Ok(Bound::Test(name.clone(), Test::Number(op, NOT_A_TIME))),
            _ => bind_compare(field, op, v),
        };
        let mut each = values.iter().map(member).collect::<Result<Vec<_>>>()?;
        // Dates between two values of the type equal none.
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
        fitting.extend(exact(&name, value, field.datatype)?);
    }
    Ok(Bound::Test(name, Test::Numbers(fitting, negated)))
}

/// A comparison with a number of any type. If the field's type cannot represent the number, it is replaced by the
/// nearest number that gives the same result: for integers, `x > 2.5` becomes `x >= 3`.
fn number_test(field: &Field, op: CompareOp, value: &Scalar) -> Result<Bound> {
    let datatype = field.datatype;
    let test = |t| Ok(Bound::Test(field.name.clone(), t));
    if let Some(v) = exact(&field.name, value, datatype)? {
        return Ok(compare(field, op, v));
    }
    // The value is between two integers, outside the range of the type, or NaN.
    let nearest = value.as_f64().unwrap_or(f64::NAN);
    if op == CompareOp::Ne {
        return test(Test::ANY_VALUE);
    }
    if nearest.is_nan() || op == CompareOp::Eq {
        return Ok(Bound::Always(false));
    }
    let below = matches!(op, CompareOp::Lt | CompareOp::Le);
    if datatype == Datatype::Float32 {
        // The bound is between the last finite float and infinity: `<` excludes infinity above, and `<=` includes it
        // below.
        let op = match (below, nearest > 0.0) {
            (true, true) => CompareOp::Lt,
            (true, false) => CompareOp::Le,
            (false, true) => CompareOp::Ge,
            (false, false) => CompareOp::Gt,
        };
        return test(Test::Number(op, Scalar::F32(nearest as f32)));
    }
    let bound = if below { nearest.floor() } else { nearest.ceil() };
    // The cast must saturate.
    let whole = value.as_i128().unwrap_or(bound as i128);
    match Scalar::from_i128(datatype, whole) {
        Some(v) => Ok(compare(field, if below { CompareOp::Le } else { CompareOp::Ge }, v)),
        None if (whole > 0) == below && datatype.is_temporal() => test(Test::Number(CompareOp::Ne, NOT_A_TIME)),
        None if (whole > 0) == below => test(Test::ANY_VALUE),
        None => Ok(Bound::Always(false)),
    }
}

/// The text of a date, or NaT for a date or time.
fn date_word(value: &Scalar, datatype: Datatype) -> Option<&[u8]> {
    let text = value.as_bytes()?;
    (datatype.is_datetime() || datatype.is_time() && is_nat(text)).then_some(text)
}

/// The date or time that numpy calls NaT: the least number.
const NOT_A_TIME: Scalar = Scalar::I64(i64::MIN);

fn is_nat(text: &[u8]) -> bool {
    text.trim_ascii().eq_ignore_ascii_case(b"NaT")
}

/// A comparison with a value of the field's type. NaN and NaT satisfy only `!=`, on either side of the comparison.
fn compare(field: &Field, op: CompareOp, v: Scalar) -> Bound {
    let test = |t| Bound::Test(field.name.clone(), t);
    let dated = field.datatype.is_temporal();
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

/// A comparison with a date in text form, which may name a period: `t == '2020'` means any time in 2020.
fn date_test(field: &Field, op: CompareOp, text: &[u8]) -> Result<Bound> {
    if is_nat(text) {
        return Ok(compare(field, op, NOT_A_TIME));
    }
    let text = std::str::from_utf8(text).map_err(|_| Error::invalid("condition: the date is not valid UTF-8"))?;
    let (first, last) = calendar::starts(text, field.datatype)
        .map_err(|e| Error::invalid(format!("condition on '{}': {e}", field.name)))?;
    let test = |op, v: i64| Bound::Test(field.name.clone(), Test::Number(op, Scalar::I64(v)));
    Ok(match op {
        CompareOp::Lt | CompareOp::Ge => compare(field, op, Scalar::I64(first)),
        CompareOp::Eq | CompareOp::Ne if first == last => test(op, first),
        CompareOp::Eq if first > last => Bound::Always(false),
        CompareOp::Ne if first > last => Bound::Test(field.name.clone(), Test::ANY_VALUE),
        CompareOp::Le | CompareOp::Gt => compare(field, op, Scalar::I64(last)),
        CompareOp::Eq => Bound::And(vec![test(CompareOp::Ge, first), test(CompareOp::Le, last)]),
        CompareOp::Ne => Bound::Or(vec![test(CompareOp::Lt, first), test(CompareOp::Gt, last)]),
    })
}

/// The bytes of a cell, without padding if cells have a fixed size.
pub(super) fn trimmed(column: &Column, i: usize) -> &[u8] {
    let cell = column.cell(i);
    if column.cell.is_var() {
        return cell;
    }
    let padding = cell.iter().rev().take_while(|&&b| b == 0).count();
    cell.get(..cell.len() - padding).unwrap_or(cell)
}

/// Removes the zero padding of a value for a fixed-length cell, because cells are compared without it.
pub(super) fn unpadded(mut value: Vec<u8>, field: &Field) -> Vec<u8> {
    if !field.cell.is_var() {
        let end = value.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
        value.truncate(end);
    }
    value
}
