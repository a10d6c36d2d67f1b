//! Sums, extremes and counts over decoded cells.

use std::convert::Infallible;
use std::ops::Range;

use bytemuck::Pod;

use super::aggregate::{Aggregate, Summary, is_text};
use crate::column::{Column, typed};
use crate::cpu::{Cpu, parts};
use crate::datatype::Physical;
use crate::scalar::Scalar;
use crate::with_type;

/// Cells per job. Sums of floats depend on this size, but not on the number of threads.
const PART: usize = 1 << 16;

/// The values to compute besides the number of cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) sum: bool,
    ends: bool,
}

impl Needs {
    /// Collects the needs of these aggregates of one field.
    pub(crate) fn of(aggregates: impl Iterator<Item = Aggregate>) -> Self {
        aggregates.fold(Self::default(), |needs, aggregate| match aggregate {
            Aggregate::Count | Aggregate::NullCount => needs,
            Aggregate::Sum | Aggregate::Mean => Self { sum: true, ..needs },
            Aggregate::Min | Aggregate::Max => Self { ends: true, ..needs },
        })
    }
}

/// Summarizes the cells whose mask is 1, or all cells. Returns one summary for each part of the column, in order.
pub(crate) fn tally(column: &Column, mask: Option<&[u8]>, needs: Needs, cpu: Cpu) -> Vec<Summary> {
    let Ok(summaries) = cpu.try_map(&parts(column.len(), PART), |cells| {
        Ok::<_, Infallible>(part(column, mask, needs, cells))
    });
    summaries
}

fn part(column: &Column, mask: Option<&[u8]>, needs: Needs, cells: &Range<usize>) -> Summary {
    let of_part = |bytes: &[u8], set: fn(u8) -> bool| -> Vec<bool> {
        let bytes = bytes.get(cells.clone()).unwrap_or_default();
        bytes.iter().map(|&b| set(b)).collect()
    };
    let count = |chosen: &Option<Vec<bool>>| match chosen {
        Some(chosen) => chosen.iter().map(|&c| u64::from(c)).sum(),
        None => cells.len() as u64,
    };
    let mut chosen = mask.map(|mask| of_part(mask, |b| b == 1));
    let mut out = Summary::of_cells(count(&chosen));
    if let Some(validity) = &column.validity {
        let mut valid = of_part(validity, |b| b != 0);
        if let Some(chosen) = &chosen {
            valid.iter_mut().zip(chosen).for_each(|(v, c)| *v &= c);
        }
        chosen = Some(valid);
        out.values = count(&chosen);
    }
    let chosen = chosen.as_deref();
    if needs.sum {
        let bytes = column.numbers(cells);
        match column.datatype.physical() {
            Physical::F32 => out.real = sum_floats(&typed::<f32>(bytes), chosen, f64::from),
            Physical::F64 => out.real = sum_floats(&typed::<f64>(bytes), chosen, |v| v),
            integer => with_type!(integer, T => out.whole = sum_integers(&typed::<T>(bytes), chosen)),
        }
    }
    if needs.ends && is_text(column.datatype, column.cell) {
        let values = cells.clone().map(|i| column.cell(i));
        let least = chosen_values(values.clone(), chosen).reduce(|a, b| if b < a { b } else { a });
        let greatest = chosen_values(values, chosen).reduce(|a, b| if b > a { b } else { a });
        let text = |cell: &[u8]| Scalar::Bytes(cell.to_vec());
        (out.min, out.max) = (least.map(text), greatest.map(text));
    } else if needs.ends {
        with_type!(column.datatype.physical(), T => {
            let values = typed::<T>(column.numbers(cells));
            (out.min, out.max) = extremes(&values, chosen).map(|(a, b)| (a.into(), b.into())).unzip();
        });
    }
    out
}

/// The chosen values, or all of them.
fn chosen_values<V>(values: impl Iterator<Item = V>, chosen: Option<&[bool]>) -> impl Iterator<Item = V> {
    let mut chosen = chosen.map(<[bool]>::iter);
    values.filter(move |_| chosen.as_mut().is_none_or(|c| c.next() == Some(&true)))
}

/// Sums integers. A part has too few values to overflow an `i128`.
// Adding 0 for cells that are not chosen avoids a branch that the processor could not predict.
fn sum_integers<T: Pod + Into<Scalar>>(values: &[T], chosen: Option<&[bool]>) -> i128 {
    let number = |v: &T| (*v).into().as_i128().unwrap_or(0);
    match chosen {
        None => values.iter().map(number).sum(),
        Some(chosen) => values
            .iter()
            .zip(chosen)
            .map(|(v, &c)| if c { number(v) } else { 0 })
            .sum(),
    }
}

/// Sums floats in eight independent lanes. If the result is not finite, sums them again in order.
// With a single sum, each addition would wait for the previous one. A lane may overflow although the sum does not. Two
// lanes that overflow with opposite signs give NaN.
fn sum_floats<T: Copy>(values: &[T], chosen: Option<&[bool]>, number: impl Fn(T) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    match chosen {
        None => {
            for values in values.chunks(LANES) {
                sums.iter_mut().zip(values).for_each(|(sum, v)| *sum += number(*v));
            }
        }
        Some(chosen) => {
            for (values, chosen) in values.chunks(LANES).zip(chosen.chunks(LANES)) {
                let values = values
                    .iter()
                    .zip(chosen)
                    .map(|(v, &c)| if c { number(*v) } else { 0.0 });
                sums.iter_mut().zip(values).for_each(|(sum, v)| *sum += v);
            }
        }
    }
    let sum: f64 = sums.iter().sum();
    if sum.is_finite() {
        return sum;
    }
    chosen_values(values.iter().copied(), chosen).map(number).sum()
}

/// The least and the greatest value. Of equal values the first is kept. The result is NaN only if every value is NaN.
// Cells that are not chosen count as a value already seen, which avoids a branch.
fn extremes<T: Copy + PartialOrd>(values: &[T], chosen: Option<&[bool]>) -> Option<(T, T)> {
    let all = || chosen_values(values.iter().copied(), chosen);
    // NaN compares with nothing, not even itself.
    let first = all().find(|v| v.partial_cmp(v).is_some()).or_else(|| all().next())?;
    let widen = |(min, max): (T, T), v: T| (if v < min { v } else { min }, if v > max { v } else { max });
    Some(match chosen {
        None => values.iter().fold((first, first), |ends, v| widen(ends, *v)),
        Some(chosen) => {
            let values = values.iter().zip(chosen).map(|(v, &c)| if c { *v } else { first });
            values.fold((first, first), widen)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;

    fn of_i32(of: fn(&Summary) -> &Option<Scalar>) -> impl Fn(&Summary) -> Option<i32> {
        move |summary| match of(summary) {
            Some(Scalar::I32(value)) => Some(*value),
            _ => None,
        }
    }

    #[test]
    fn parts_are_summarized_by_mask_and_validity() {
        let n = 2 * PART + 100;
        let values: Vec<i32> = (0..n as i32).map(|i| i % 1000 - 300).collect();
        let bytes = |every: usize| (0..n).map(|i| u8::from(i % every != 0)).collect::<Vec<u8>>();
        let (mask, validity) = (bytes(3), bytes(5));
        let needs = Needs::of([Aggregate::Mean, Aggregate::Max].into_iter());
        for (mask, validity) in [
            (None, None),
            (Some(&mask), None),
            (None, Some(&validity)),
            (Some(&mask), Some(&validity)),
        ] {
            let is = |bytes: Option<&Vec<u8>>, i: usize| bytes.is_none_or(|b| b[i] == 1);
            let mut column = Column::from_values(Datatype::Int32, &values);
            column.validity = validity.cloned();
            for cpu in [Cpu::Inline, Cpu::default()] {
                let found = tally(&column, mask.map(Vec::as_slice), needs, cpu);
                assert_eq!(found.len(), 3);
                let cells = (0..n).filter(|&i| is(mask, i)).count() as u64;
                assert_eq!(found.iter().map(|s| s.cells).sum::<u64>(), cells);
                let chosen = || (0..n).filter(|&i| is(mask, i) && is(validity, i)).map(|i| values[i]);
                assert_eq!(found.iter().map(|s| s.values).sum::<u64>(), chosen().count() as u64);
                assert_eq!(
                    found.iter().map(|s| s.whole).sum::<i128>(),
                    chosen().map(i128::from).sum::<i128>()
                );
                let ends =
                    |of: fn(&Summary) -> &Option<Scalar>| found.iter().filter_map(of_i32(of)).collect::<Vec<_>>();
                assert_eq!(ends(|s| &s.min).into_iter().min(), chosen().min());
                assert_eq!(ends(|s| &s.max).into_iter().max(), chosen().max());
            }
        }
    }

    #[test]
    fn float_summaries_use_chosen_cells_and_extremes_skip_nan() {
        let nan = f32::NAN;
        let of = |values: &[f32], mask: &[u8]| {
            let column = Column::from_values(Datatype::Float32, values);
            let needs = Needs::of([Aggregate::Sum, Aggregate::Min].into_iter());
            let found = tally(&column, Some(mask), needs, Cpu::Inline).swap_remove(0);
            let end = |end: Option<Scalar>| end.and_then(|v| v.as_f64()).map(|v| v as f32);
            (end(found.min), end(found.max), found.real)
        };
        let values: [f32; 11] = [nan, 9.0, 2.0, nan, -7.0, 0.5, f32::INFINITY, 3.0, -2.0, 4.0, 1.0];
        let (min, max, sum) = of(&values, &[1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1]);
        assert_eq!((min, max), (Some(-2.0), Some(4.0)));
        assert!(sum.is_nan());
        let (min, max, sum) = of(&values, &[0, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1]);
        assert_eq!((min, max, sum), (Some(-2.0), Some(4.0), 8.5));
        assert_eq!(of(&values, &[0; 11]), (None, None, 0.0));
        let (min, max, _) = of(&values, &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert!(min.is_some_and(f32::is_nan) && max.is_some_and(f32::is_nan));
    }

    #[test]
    fn float_sums_are_taken_in_order_if_a_lane_overflows() {
        let great = f64::MAX;
        // Indices 0 and 8 share a lane, and so do 1 and 9.
        let mut values = [0.0; 16];
        (values[0], values[1], values[8], values[9]) = (great, -great, great, -great);
        assert_eq!(sum_floats(&values, None, |v| v), 0.0);
        assert_eq!(sum_floats(&values, Some(&[true; 16]), |v: f64| v), 0.0);
        values[15] = f64::INFINITY;
        assert_eq!(sum_floats(&values, None, |v| v), f64::INFINITY);
    }
}
