//! A copy under construction: the sum and the count of the values in each of its cells.

use std::ops::Range;

use anyhow::Result;
use hyperslab::{CellCount, Column, Datatype, with_type};

use super::axis::Axis;

/// A copy under construction.
pub(super) struct Level {
    pub(super) factor: u64,
    /// First coordinate and length of each axis.
    pub(super) low: Vec<i128>,
    pub(super) lengths: Vec<usize>,
    /// For each attribute, the sum and the count of the values in each cell.
    pub(super) sums: Vec<Vec<(f64, u64)>>,
}

impl Level {
    pub(super) fn new(factor: u64, axes: &[Axis], fields: usize) -> Result<Self> {
        let (mut low, mut lengths) = (Vec::new(), Vec::new());
        for axis in axes {
            let (first, length) = axis.shrunk(factor);
            low.push(first);
            lengths.push(usize::try_from(length)?);
        }
        let cells = lengths.iter().product();
        Ok(Self {
            factor,
            low,
            lengths,
            sums: vec![vec![(0.0, 0); cells]; fields],
        })
    }

    /// Adds a run of values along the last axis that starts at `at`.
    pub(super) fn add<T: Number>(&mut self, field: usize, at: &[i128], values: &Run<'_, T>) {
        let f = i128::from(self.factor);
        let axes = at
            .iter()
            .zip(&self.low)
            .zip(&self.lengths)
            .take(at.len().saturating_sub(1));
        let row = axes.fold(0_usize, |n, ((c, lo), len)| {
            n * len + usize::try_from(c.div_euclid(f) - lo).unwrap_or(0)
        });
        let (Some(first), Some(lo), Some(length)) = (at.last(), self.low.last(), self.lengths.last()) else {
            return;
        };
        let Some(cells) = self
            .sums
            .get_mut(field)
            .and_then(|s| s.get_mut(row * length..(row + 1) * length))
        else {
            return;
        };
        let cell = usize::try_from(first.div_euclid(f) - lo).unwrap_or(0);
        // Split the run at the cells of the copy.
        let (mut start, mut end) = (0, usize::try_from(f - first.rem_euclid(f)).unwrap_or(usize::MAX));
        for (sum, n) in cells.iter_mut().skip(cell) {
            let (s, k) = values.sum(start..end.min(values.values.len()));
            *sum += s;
            *n += k;
            (start, end) = (end, end.saturating_add(usize::try_from(f).unwrap_or(usize::MAX)));
            if start >= values.values.len() {
                break;
            }
        }
    }
}

/// A type of values that have a mean.
pub(super) trait Number: Copy + PartialEq + bytemuck::Pod {
    fn double(self) -> f64;
}

macro_rules! numbers {
    ($($T:ty),*) => {$(
        impl Number for $T {
            // Rounds to the nearest double.
            fn double(self) -> f64 {
                self as f64
            }
        }
    )*};
}
numbers!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

/// Consecutive values along the last axis.
pub(super) struct Run<'a, T> {
    pub(super) values: &'a [T],
    /// 0 for null.
    pub(super) validity: Option<&'a [u8]>,
    /// The values of cells without data.
    pub(super) absent: Absent<'a, T>,
}

/// The values of cells without data.
#[derive(Clone, Copy)]
pub(super) struct Absent<'a, T> {
    pub(super) fill: Option<T>,
    /// Values that the metadata declares as "no data".
    pub(super) nodata: &'a [f64],
}

impl<T: Number> Run<'_, T> {
    /// The sum and the count of these values, without nulls, NaN and "no data".
    fn sum(&self, range: Range<usize>) -> (f64, u64) {
        let (mut sum, mut n) = (0.0, 0);
        let values = self.values.get(range.clone()).unwrap_or(&[]);
        let mut add = |v: T| {
            let double = v.double();
            let is_absent = Some(v) == self.absent.fill || double.is_nan() || self.absent.nodata.contains(&double);
            if !is_absent {
                sum += double;
                n += 1;
            }
        };
        match self.validity.and_then(|v| v.get(range)) {
            None => values.iter().for_each(|v| add(*v)),
            Some(valid) => values
                .iter()
                .zip(valid)
                .filter(|(_, valid)| **valid != 0)
                .for_each(|(v, _)| add(*v)),
        }
        (sum, n)
    }
}

/// The means of a copy's cells. Cells without a value get `fill`, and are null if the attribute is nullable.
pub(super) fn means(datatype: Datatype, fill: &[u8], nullable: bool, sums: &[(f64, u64)]) -> Column {
    let mut data = Vec::with_capacity(sums.len() * datatype.size());
    for (sum, n) in sums {
        let mean = sum / *n as f64;
        let value = if datatype.is_float() { mean } else { mean.round() };
        let bytes = with_type!(datatype.physical(), T => (value as T).to_le_bytes().to_vec());
        data.extend_from_slice(if *n == 0 { fill } else { &bytes });
    }
    let validity = nullable.then(|| sums.iter().map(|(_, n)| u8::from(*n > 0)).collect());
    Column {
        datatype,
        cell: CellCount::ONE,
        data,
        offsets: None,
        validity,
    }
}

#[cfg(test)]
mod tests {
    use hyperslab::ScalarRange;
    use hyperslab::schema::Dimension;

    use super::*;

    #[test]
    fn a_copy_holds_means_of_the_values() {
        let dimension = |n| Dimension::new(n, Datatype::Int32, 0_i32, 9_i32, 5_i32);
        let axis = |n, (lo, hi): (i32, i32)| Axis::new(&dimension(n), &ScalarRange::new(lo, hi)).unwrap();
        let axes = [axis("y", (0, 1)), axis("x", (1, 4))];
        let mut level = Level::new(2, &axes, 1).unwrap();
        assert_eq!(level.lengths, [1, 3]);
        let run = |values| Run {
            values,
            validity: None,
            absent: Absent {
                fill: Some(9_i16),
                nodata: &[-9999.0, 7.0],
            },
        };
        level.add(0, &[0, 1], &run(&[1, 2, 3, 9]));
        level.add(0, &[1, 1], &run(&[2, 4, 6, -9999]));
        let column = means(Datatype::Int16, &[9, 0], false, &level.sums[0]);
        assert_eq!(*column.values::<i16>().unwrap(), [2, 4, 9]);
    }
}
