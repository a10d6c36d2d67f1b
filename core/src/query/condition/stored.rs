//! Binds and builds the conditions of delete commits, in a form that libtiledb evaluates identically.

use super::CompareOp;
use super::bind::{Bound, Test, unpadded};
use super::values::is_number;
use crate::datatype::{CellCount, Datatype};
use crate::error::Malformed;
use crate::format::condition::StoredCondition;
use crate::format::field::Field;
use crate::format::schema::Schema;
use crate::scalar::{Scalar, ScalarRange};

/// Binds a stored condition, whose values are already bytes of the fields' types.
///
/// # Errors
/// The schema lacks a field, which is an error in libtiledb too, or a value does not have the size of its field.
pub(crate) fn bind_stored(condition: &StoredCondition, schema: &Schema) -> Result<Bound, Malformed> {
    let all = |children: &[StoredCondition]| {
        children
            .iter()
            .map(|c| bind_stored(c, schema))
            .collect::<Result<Vec<_>, _>>()
    };
    let known = |field: &str| {
        Field::find(schema, field).ok_or_else(|| {
            let why = format!(
                "it tests '{field}', which the array does not have at this time; read the array at a time when it has \
                 the field, or add the field again"
            );
            Malformed::unsupported("delete condition", why)
        })
    };
    let number = |field: &Field, value: &[u8]| {
        Scalar::from_le_bytes(field.datatype.physical(), value).ok_or_else(|| {
            let (found, size) = (value.len(), field.datatype.size());
            let what = format!(
                "it tests '{}', whose values have {size} bytes, with a value of {found} bytes",
                field.name
            );
            if matches!(found, 1 | 2 | 4 | 8) {
                let why = "the field was dropped and added again with another type; read the array at an earlier time";
                return Malformed::unsupported("delete condition", format!("{what}; {why}"));
            }
            Malformed::new(
                "delete condition",
                0,
                format!("{what}; removing this file restores the cells that it deletes"),
            )
        })
    };
    match condition {
        StoredCondition::Always(b) => Ok(Bound::Always(*b)),
        StoredCondition::And(children) => Ok(Bound::And(all(children)?)),
        StoredCondition::Or(children) => Ok(Bound::Or(all(children)?)),
        StoredCondition::Compare { field, op, value } => {
            let field = known(field)?;
            let test = match (op, is_number(&field)) {
                // A test of null. Libtiledb stores it without a value, and most releases cannot read it back. For
                // variable-length fields it is identical to a test of the empty string.
                (CompareOp::Eq | CompareOp::Ne, _) if value.is_empty() && !field.cell.is_var() => {
                    Test::Null(*op == CompareOp::Ne)
                }
                (_, true) => Test::Number(*op, number(&field, value)?),
                (_, false) => stored_text(*op, value, &field),
            };
            Ok(Bound::Test(field.name, test))
        }
        StoredCondition::In { field, negated, values } => {
            let field = known(field)?;
            let test = if is_number(&field) {
                let values = values.iter().map(|v| number(&field, v));
                Test::NumberBytes(values.collect::<Result<_, _>>()?, *negated)
            } else {
                Test::ByteStrings(values.iter().map(|v| unpadded(v.clone(), &field)).collect(), *negated)
            };
            Ok(Bound::Test(field.name, test))
        }
    }
}

/// Creates a test of text as libtiledb evaluates it for deletes. That evaluation determines the content of the array.
fn stored_text(op: CompareOp, value: &[u8], field: &Field) -> Test {
    match (field.datatype, value.first()) {
        (Datatype::Char, Some(&first)) if !field.cell.is_var() => Test::FirstByte(op, first as i8),
        (Datatype::StringAscii | Datatype::StringUtf8, _) if !field.cell.is_var() => Test::Padded(op, value.to_vec()),
        _ => Test::Bytes(op, value.to_vec()),
    }
}

/// Size of the field's cells in bytes; `None` if it varies.
fn cell_length(schema: &Schema, field: &str) -> Option<usize> {
    schema
        .type_of(field)
        .and_then(|(datatype, cell)| cell.cell_bytes(datatype))
}

/// The values that fit into cells of `length` bytes, padded to that length. Libtiledb cannot read lists with other
/// values.
fn of_length(values: &[Vec<u8>], length: Option<usize>) -> Vec<Vec<u8>> {
    let Some(length) = length else { return values.to_vec() };
    let mut fitting: Vec<_> = values.iter().filter(|v| v.len() <= length).cloned().collect();
    fitting.iter_mut().for_each(|v| v.resize(length, 0));
    fitting
}

/// Creates a list that libtiledb can read. Libtiledb accepts neither empty lists nor lists of empty values.
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

/// The condition of the cells to keep, as a delete commit stores it, for a delete of the cells that meet `delete`.
/// `lacks` says whether some fragments lack a field.
///
/// In libtiledb, a test fails for null and for a cell whose fragment lacks the field, so such cells are not kept by it.
/// For all other cells, the result is the exact opposite of `delete`. The only exception are NaNs whose bits differ
/// from those of [`nans`].
pub(crate) fn to_keep(delete: &Bound, schema: &Schema, lacks: &dyn Fn(&str) -> bool) -> StoredCondition {
    let each = |children: &[Bound]| children.iter().map(|c| to_keep(c, schema, lacks)).collect();
    match delete {
        Bound::Always(b) => StoredCondition::Always(!b),
        Bound::And(children) => any_of(each(children), lacks),
        Bound::Or(children) => all_of(each(children)),
        Bound::Test(field, test) => keep_of_test(field, test, schema),
    }
}

/// Builds a disjunction in the form that libtiledb reads: flat, without constants, and with at least two parts. Tests
/// of fields that fragments lack come first, because they discard the results of earlier tests.
pub(crate) fn any_of(parts: Vec<StoredCondition>, lacks: &dyn Fn(&str) -> bool) -> StoredCondition {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            StoredCondition::Or(inner) => flat.extend(inner),
            StoredCondition::Always(true) => return StoredCondition::Always(true),
            StoredCondition::Always(false) => {}
            other => flat.push(other),
        }
    }
    flat.sort_by_key(|part| match part {
        StoredCondition::Compare { field, .. } | StoredCondition::In { field, .. } => !lacks(field),
        _ => true,
    });
    match flat.len() {
        0 => StoredCondition::Always(false),
        1 => flat.remove(0),
        _ => StoredCondition::Or(flat),
    }
}

/// Builds a conjunction in the form that libtiledb reads: flat, without constants, and with at least two parts.
pub(crate) fn all_of(parts: Vec<StoredCondition>) -> StoredCondition {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            StoredCondition::And(inner) => flat.extend(inner),
            StoredCondition::Always(false) => return StoredCondition::Always(false),
            StoredCondition::Always(true) => {}
            other => flat.push(other),
        }
    }
    match flat.len() {
        0 => StoredCondition::Always(true),
        1 => flat.remove(0),
        _ => StoredCondition::And(flat),
    }
}

/// A condition that no cell meets: a coordinate, which is never null, must both equal and differ from the same value.
/// Libtiledb stores no constants.
pub(crate) fn no_cell(schema: &Schema) -> StoredCondition {
    let Some(dimension) = schema.dimensions.first() else {
        return StoredCondition::Always(false);
    };
    // An empty value makes it a test of null.
    let bytes = dimension.cell.cell_bytes(dimension.datatype).unwrap_or(1);
    let both = [CompareOp::Eq, CompareOp::Ne].map(|op| StoredCondition::Compare {
        field: dimension.name.clone(),
        op,
        value: vec![0; bytes],
    });
    StoredCondition::And(both.into())
}

fn keep_of_test(field: &str, test: &Test, schema: &Schema) -> StoredCondition {
    let compare = |op: CompareOp, value: Vec<u8>| StoredCondition::Compare {
        field: field.to_owned(),
        op,
        value,
    };
    let padded = |v: &[u8]| {
        let mut value = v.to_vec();
        // An empty value would make it a test of null.
        value.resize(v.len().max(cell_length(schema, field).unwrap_or(0)), 0);
        value
    };
    match test {
        Test::Number(op, v) => {
            let kept = compare(op.negated(), v.to_le_bytes());
            match nans(v) {
                Some(values) if !matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                    StoredCondition::Or(vec![kept, stored_list(field.to_owned(), values, false)])
                }
                _ => kept,
            }
        }
        Test::Bytes(op, v) | Test::Padded(op, v) => compare(op.negated(), padded(v)),
        Test::FirstByte(op, v) => compare(op.negated(), v.to_le_bytes().to_vec()),
        Test::Numbers(values, negated) | Test::NumberBytes(values, negated) => keep_of_list(field, values, *negated),
        Test::ByteStrings(values, negated) => {
            let values = of_length(values, cell_length(schema, field));
            stored_list(field.to_owned(), values, !negated)
        }
        Test::Null(negated) if schema.attribute(field).is_none_or(|(_, a)| !a.nullable) => {
            StoredCondition::Always(!negated)
        }
        // Deletes refuse patterns, which cannot be stored.
        Test::Like(..) => StoredCondition::Always(true),
        // Every value either equals the other value or differs from it, but a null does neither.
        Test::Null(negated) => {
            let (datatype, cell) = schema.type_of(field).unwrap_or((Datatype::Int8, CellCount::ONE));
            let some = vec![0; cell.cell_bytes(datatype).unwrap_or(datatype.size())];
            let both = vec![compare(CompareOp::Eq, some.clone()), compare(CompareOp::Ne, some)];
            if *negated {
                StoredCondition::And(both)
            } else {
                StoredCondition::Or(both)
            }
        }
    }
}

/// The NaNs that programs usually produce, as bytes; `None` if `v` is not a float.
fn nans(v: &Scalar) -> Option<Vec<Vec<u8>>> {
    match v {
        Scalar::F32(_) => Some([f32::NAN, -f32::NAN].iter().map(|v| v.to_le_bytes().to_vec()).collect()),
        Scalar::F64(_) => Some([f64::NAN, -f64::NAN].iter().map(|v| v.to_le_bytes().to_vec()).collect()),
        _ => None,
    }
}

/// The condition to keep the cells that a test of a list does not delete.
fn keep_of_list(field: &str, values: &[Scalar], negated: bool) -> StoredCondition {
    let Some(nans) = values.first().and_then(nans) else {
        let values = values.iter().map(Scalar::to_le_bytes).collect();
        return stored_list(field.to_owned(), values, !negated);
    };
    let is = |v: &Scalar, test: fn(f64) -> bool| v.as_f64().is_some_and(test);
    let mut listed: Vec<Vec<u8>> = Vec::with_capacity(values.len());
    for v in values.iter().filter(|v| !is(v, f64::is_nan)) {
        let bytes = v.to_le_bytes();
        if is(v, |f| f == 0.0) {
            let mut other = bytes.clone();
            // The sign is the highest bit of the last byte.
            other.last_mut().into_iter().for_each(|last| *last ^= 0x80);
            listed.push(other);
        }
        listed.push(bytes);
    }
    let with_nan = values.iter().any(|v| is(v, f64::is_nan));
    if negated || !with_nan {
        listed.extend(nans.into_iter().filter(|_| with_nan));
        return stored_list(field.to_owned(), listed, !negated);
    }
    // Every float except NaN is either less than zero or not.
    let zero = vec![0; nans.first().map_or(0, Vec::len)];
    let sided = |op| StoredCondition::Compare {
        field: field.to_owned(),
        op,
        value: zero.clone(),
    };
    let numbers = StoredCondition::Or(vec![sided(CompareOp::Lt), sided(CompareOp::Ge)]);
    if listed.is_empty() {
        return numbers;
    }
    all_of(vec![stored_list(field.to_owned(), listed, true), numbers])
}

/// The condition that holds for the cells of a box, given by its lowest and highest coordinates. Deletes use it to
/// spare more cells.
pub(crate) fn in_box(schema: &Schema, bounds: &[ScalarRange]) -> StoredCondition {
    let mut parts = Vec::with_capacity(2 * bounds.len());
    for (dimension, range) in schema.dimensions.iter().zip(bounds) {
        let test = |op, v: &Scalar| StoredCondition::Compare {
            field: dimension.name.clone(),
            op,
            value: v.to_le_bytes(),
        };
        if range.lo == range.hi {
            parts.push(test(CompareOp::Eq, &range.lo));
            continue;
        }
        // Every string is at or after the empty string, and an empty value would make it a test of null.
        if range.lo.as_bytes().is_none_or(|text| !text.is_empty()) {
            parts.push(test(CompareOp::Ge, &range.lo));
        }
        parts.push(test(CompareOp::Le, &range.hi));
    }
    all_of(parts)
}
