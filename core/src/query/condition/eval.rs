//! Evaluates a condition's tests on columns.

use std::cmp::Ordering;
use std::collections::HashSet;

use bytemuck::Pod;
use hashlink::DefaultHashBuilder;

use super::CompareOp;
use super::bind::{Bound, Test, trimmed};
use crate::column::{Column, typed};
use crate::datatype::Physical;
use crate::scalar::Scalar;
use crate::with_type;

/// The cells of a tested field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestColumn<'a> {
    /// The values.
    pub(crate) column: &'a Column,
    /// A mask with 0 for cells that fail every test because their fragment lacks the field, as libtiledb tests the
    /// conditions of deletes. `None` if the values of all cells count.
    pub(crate) present: Option<&'a [u8]>,
}

/// Returns a mask with 1 for each of `cells` cells that satisfies `condition`. `column` finds a field by name. Tests of
/// missing fields fail.
pub(crate) fn evaluate<'a>(
    condition: &Bound,
    cells: usize,
    column: &dyn Fn(&str) -> Option<TestColumn<'a>>,
) -> Vec<u8> {
    match condition {
        Bound::Always(b) => vec![u8::from(*b); cells],
        Bound::And(children) => {
            let mut out = vec![1; cells];
            for child in children {
                let found = evaluate(child, cells, column);
                out.iter_mut().zip(found).for_each(|(a, b)| *a &= b);
            }
            out
        }
        Bound::Or(children) => {
            let mut out = vec![0; cells];
            any_of(children, cells, column, &mut out);
            out
        }
        Bound::Test(field, test) => {
            let Some(c) = column(field) else { return vec![0; cells] };
            let mut out = run(test, c.column, cells);
            let mask = |out: &mut Vec<u8>, by: &[u8]| out.iter_mut().zip(by).for_each(|(o, b)| *o &= b);
            if let (Some(validity), false) = (&c.column.validity, matches!(test, Test::Null(_))) {
                out.iter_mut().zip(validity).for_each(|(o, &v)| *o &= u8::from(v != 0));
            }
            if let Some(present) = c.present {
                mask(&mut out, present);
            }
            out
        }
    }
}

/// Sets `out` for cells that satisfy one of `children`. Nested disjunctions are flattened.
fn any_of<'a>(children: &[Bound], cells: usize, column: &dyn Fn(&str) -> Option<TestColumn<'a>>, out: &mut [u8]) {
    for child in children {
        if let Bound::Or(inner) = child {
            any_of(inner, cells, column, out);
            continue;
        }
        discard_absent(child, column, out);
        let found = evaluate(child, cells, column);
        out.iter_mut().zip(found).for_each(|(a, b)| *a |= b);
    }
}

/// A test of a field that a cell's fragment lacks discards the results of earlier alternatives for that cell. Libtiledb
/// evaluates disjunctions like this, which affects deletes on evolved arrays.
fn discard_absent<'a>(test: &Bound, column: &dyn Fn(&str) -> Option<TestColumn<'a>>, out: &mut [u8]) {
    let Bound::Test(field, _) = test else { return };
    match column(field) {
        None => out.fill(0),
        Some(TestColumn { present: Some(by), .. }) => out.iter_mut().zip(by).for_each(|(o, b)| *o &= b),
        Some(_) => {}
    }
}

fn run(test: &Test, column: &Column, cells: usize) -> Vec<u8> {
    let mut out = match test {
        Test::Null(negated) => match &column.validity {
            Some(validity) => validity.iter().map(|&v| u8::from((v == 0) != *negated)).collect(),
            None => vec![u8::from(*negated); cells],
        },
        Test::Number(op, value) => with_type!(column.datatype.physical(), T => match number::<T>(value) {
            Some(v) => compare_numbers(&typed::<T>(&column.data), *op, v),
            None => Vec::new(),
        }),
        Test::Numbers(values, negated) => match column.datatype.physical() {
            Physical::F32 => one_of::<u32>(&column.data, values, *negated, normalized_f32),
            Physical::F64 => one_of::<u64>(&column.data, values, *negated, normalized_f64),
            _ => one_of_bytes(column, values, *negated),
        },
        Test::NumberBytes(values, negated) => one_of_bytes(column, values, *negated),
        Test::Bytes(op, value) => (0..cells)
            .map(|i| u8::from(holds(*op, trimmed(column, i).cmp(value.as_slice()))))
            .collect(),
        Test::Padded(op, value) => (0..cells)
            .map(|i| u8::from(holds(*op, column.cell(i).cmp(value.as_slice()))))
            .collect(),
        Test::FirstByte(op, value) => {
            let first = |i| column.cell(i).first().map_or(0, |&byte| byte as i8);
            (0..cells).map(|i| u8::from(holds(*op, first(i).cmp(value)))).collect()
        }
        Test::Like(pattern, negated) => (0..cells)
            .map(|i| u8::from(pattern.matches(trimmed(column, i)) != *negated))
            .collect(),
        Test::ByteStrings(values, negated) => {
            let values: HashSet<&[u8], DefaultHashBuilder> = values.iter().map(Vec::as_slice).collect();
            (0..cells)
                .map(|i| u8::from(values.contains(trimmed(column, i)) != *negated))
                .collect()
        }
    };
    out.resize(cells, 0);
    out
}

/// Normalizes NaNs and -0.0, so that equal floats have equal bits.
fn normalized_f32(bits: u32) -> u32 {
    let v = f32::from_bits(bits);
    if v.is_nan() {
        f32::NAN.to_bits()
    } else {
        (v + 0.0).to_bits()
    }
}

/// Like [`normalized_f32`].
fn normalized_f64(bits: u64) -> u64 {
    let v = f64::from_bits(bits);
    if v.is_nan() {
        f64::NAN.to_bits()
    } else {
        (v + 0.0).to_bits()
    }
}

/// Whether the bytes of each number are among `values`, or not among them if negated.
fn one_of_bytes(column: &Column, values: &[Scalar], negated: bool) -> Vec<u8> {
    match column.datatype.size() {
        1 => one_of::<u8>(&column.data, values, negated, |v| v),
        2 => one_of::<u16>(&column.data, values, negated, |v| v),
        4 => one_of::<u32>(&column.data, values, negated, |v| v),
        _ => one_of::<u64>(&column.data, values, negated, |v| v),
    }
}

/// Whether each number is among `values`, or not among them if negated. `T` is any type of the numbers' size. `same`
/// normalizes bits, so that equal numbers have equal bits.
fn one_of<T: Pod + Eq + Into<u64>>(data: &[u8], values: &[Scalar], negated: bool, same: fn(T) -> T) -> Vec<u8> {
    let (cells, values) = (typed::<T>(data), values.iter().filter_map(number::<T>).map(same));
    if values.size_hint().1.is_some_and(|n| n <= FEW) {
        let values: Vec<T> = values.collect();
        return cells
            .iter()
            .map(|v| u8::from(values.contains(&same(*v)) != negated))
            .collect();
    }
    let values: HashSet<u64, DefaultHashBuilder> = values.map(Into::into).collect();
    let is_one = |v: &T| values.contains(&same(*v).into());
    cells.iter().map(|v| u8::from(is_one(v) != negated)).collect()
}

/// Comparing with this many numbers takes less time than hashing one.
const FEW: usize = 8;

fn number<T: Pod>(value: &Scalar) -> Option<T> {
    bytemuck::try_pod_read_unaligned(&value.to_le_bytes()).ok()
}

fn compare_numbers<T: PartialOrd + Copy>(values: &[T], op: CompareOp, v: T) -> Vec<u8> {
    let each = |test: fn(&T, &T) -> bool| values.iter().map(|x| u8::from(test(x, &v))).collect();
    match op {
        CompareOp::Lt => each(T::lt),
        CompareOp::Le => each(T::le),
        CompareOp::Gt => each(T::gt),
        CompareOp::Ge => each(T::ge),
        CompareOp::Eq => each(T::eq),
        CompareOp::Ne => each(T::ne),
    }
}

fn holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
        CompareOp::Eq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
    }
}

#[cfg(test)]
mod tests;
