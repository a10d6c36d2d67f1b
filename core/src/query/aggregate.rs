//! Sums, extremes and counts over the cells of a query.

use std::cmp::Ordering;

use crate::datatype::{CellCount, Datatype, Physical};
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::scalar::Scalar;

/// An aggregate to compute over the cells of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// The number of cells, including nulls.
    Count,
    /// The number of nulls.
    NullCount,
    /// The sum of the values: `i64` for signed integers, `u64` for unsigned integers, `f64` for floats. Integer sums
    /// saturate. Floats may be summed tile by tile and part by part, so the last digits depend on the tiles.
    Sum,
    /// The sum divided by the number of values, as `f64`.
    Mean,
    /// The least value. Strings are compared by bytes. NaN is ignored unless there are only NaNs.
    Min,
    /// The greatest value, by the same rules.
    Max,
}

impl Aggregate {
    /// Whether the aggregate is defined for cells of this type: sums and means for single numbers, extremes for single
    /// numbers and text, counts for all.
    ///
    /// ```
    /// use hyperslab::{Aggregate, CellCount, Datatype};
    /// assert!(Aggregate::Mean.is_defined_for(Datatype::Int8, CellCount::ONE));
    /// assert!(!Aggregate::Mean.is_defined_for(Datatype::StringUtf8, CellCount::Var));
    /// ```
    pub fn is_defined_for(self, datatype: Datatype, cell: CellCount) -> bool {
        let single = cell == CellCount::ONE && !datatype.is_opaque();
        match self {
            Self::Count | Self::NullCount => true,
            Self::Sum | Self::Mean => single && !datatype.is_string(),
            Self::Min | Self::Max => single || is_text(datatype, cell),
        }
    }
}

/// Aggregated facts about the cells of a tile.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Summary {
    pub(crate) cells: u64,
    /// Cells that are not null.
    pub(crate) values: u64,
    /// The sum of integer values.
    pub(crate) whole: i128,
    /// The sum of float values.
    pub(crate) real: f64,
    pub(crate) min: Option<Scalar>,
    pub(crate) max: Option<Scalar>,
}

impl Summary {
    /// A summary of `cells` cells, none of them null, without further facts.
    pub(crate) fn of_cells(cells: u64) -> Self {
        Self {
            cells,
            values: cells,
            ..Self::default()
        }
    }

    /// A summary of this many times the same cells.
    pub(crate) fn times(self, n: u64) -> Self {
        Self {
            cells: self.cells.saturating_mul(n),
            values: self.values.saturating_mul(n),
            whole: self.whole.saturating_mul(n.into()),
            real: self.real * n as f64,
            ..self
        }
    }
}

/// Accumulates an aggregate of one field.
#[derive(Debug)]
pub(crate) struct Accumulator {
    aggregate: Aggregate,
    cells: u64,
    values: u64,
    whole: i128,
    real: f64,
    best: Option<Scalar>,
    physical: Physical,
}

impl Accumulator {
    /// Starts an aggregate of `field`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the aggregate is not defined for the field's type.
    pub(crate) fn new(aggregate: Aggregate, field: &Field) -> Result<Self> {
        if !aggregate.is_defined_for(field.datatype, field.cell) {
            let name = &field.name;
            return Err(Error::invalid(format!(
                "{aggregate:?} is not defined for '{name}', which holds {} cells",
                field.datatype
            )));
        }
        let physical = field.datatype.physical();
        Ok(Self {
            aggregate,
            cells: 0,
            values: 0,
            whole: 0,
            real: 0.0,
            best: None,
            physical,
        })
    }

    /// Adds a summary of cells.
    pub(crate) fn add_summary(&mut self, summary: &Summary) {
        self.cells += summary.cells;
        self.values += summary.values;
        match self.aggregate {
            Aggregate::Count | Aggregate::NullCount => {}
            Aggregate::Sum | Aggregate::Mean => {
                self.whole = self.whole.saturating_add(summary.whole);
                self.real += summary.real;
            }
            Aggregate::Min => self.offer(summary.min.clone()),
            Aggregate::Max => self.offer(summary.max.clone()),
        }
    }

    /// Whether a value is better than the best so far. `order` is the result of comparing the two.
    fn better(&self, order: Ordering) -> bool {
        if self.aggregate == Aggregate::Min {
            order.is_lt()
        } else {
            order.is_gt()
        }
    }

    fn offer(&mut self, value: Option<Scalar>) {
        let Some(value) = value else { return };
        let nan = |s: &Scalar| s.as_f64().is_some_and(f64::is_nan);
        let takes = self
            .best
            .as_ref()
            .is_none_or(|old| !nan(&value) && (nan(old) || self.better(value.order(old))));
        if takes {
            self.best = Some(value);
        }
    }

    /// The result; `None` if there was no value.
    // Sums are clamped to the range of the result type; means are not.
    pub(crate) fn finish(self) -> Option<Scalar> {
        let float = matches!(self.physical, Physical::F32 | Physical::F64);
        let signed = matches!(
            self.physical,
            Physical::I8 | Physical::I16 | Physical::I32 | Physical::I64
        );
        match self.aggregate {
            Aggregate::Count => Some(Scalar::U64(self.cells)),
            Aggregate::NullCount => Some(Scalar::U64(self.cells - self.values)),
            Aggregate::Min | Aggregate::Max => self.best,
            _ if self.values == 0 => None,
            Aggregate::Mean => Some(Scalar::F64(
                if float { self.real } else { self.whole as f64 } / self.values as f64,
            )),
            Aggregate::Sum if float => Some(Scalar::F64(self.real)),
            Aggregate::Sum if signed => Some(Scalar::I64(self.whole.clamp(i64::MIN.into(), i64::MAX.into()) as i64)),
            Aggregate::Sum => Some(Scalar::U64(self.whole.clamp(0, u64::MAX.into()) as u64)),
        }
    }
}

/// Whether cells are compared as byte strings: text of variable length, or of several characters.
pub(crate) fn is_text(datatype: Datatype, cell: CellCount) -> bool {
    match cell {
        CellCount::Var => datatype.size() == 1,
        CellCount::Fixed(n) => n > 1 && matches!(datatype, Datatype::Char | Datatype::StringAscii),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;
    use crate::cpu::Cpu;
    use crate::query::tally::{Needs, tally};

    #[track_caller]
    fn check(aggregate: Aggregate, columns: &[Column], expect: Option<Scalar>) {
        let first = &columns[0];
        let field = Field {
            nullable: first.validity.is_some(),
            ..Field::new("a", first.datatype, first.cell)
        };
        let mut a = Accumulator::new(aggregate, &field).unwrap();
        let needs = Needs::of([aggregate].into_iter());
        let summaries = columns.iter().flat_map(|c| tally(c, None, needs, Cpu::Inline));
        summaries.for_each(|s| a.add_summary(&s));
        assert_eq!(a.finish(), expect);
    }

    #[test]
    fn nulls_are_counted_but_otherwise_ignored() {
        let c = || vec![Column::from_values(Datatype::Int32, &[5, -9, 2]).with_validity(vec![1, 0, 1])];
        check(Aggregate::Count, &c(), Some(Scalar::U64(3)));
        check(Aggregate::NullCount, &c(), Some(Scalar::U64(1)));
        check(Aggregate::Sum, &c(), Some(Scalar::I64(7)));
        check(Aggregate::Mean, &c(), Some(Scalar::F64(3.5)));
        check(Aggregate::Min, &c(), Some(Scalar::I32(2)));
        check(Aggregate::Max, &c(), Some(Scalar::I32(5)));
        let none = vec![Column::from_values(Datatype::Int32, &[5]).with_validity(vec![0])];
        check(Aggregate::Sum, &none, None);
        check(Aggregate::Min, &none, None);
    }

    #[test]
    fn sums_saturate_at_the_limit_of_their_type() {
        check(
            Aggregate::Sum,
            &[Column::from_values(Datatype::Int64, &[i64::MAX, 1])],
            Some(Scalar::I64(i64::MAX)),
        );
        check(
            Aggregate::Sum,
            &[Column::from_values(Datatype::Uint64, &[u64::MAX, 1])],
            Some(Scalar::U64(u64::MAX)),
        );
        check(
            Aggregate::Sum,
            &[Column::from_values(Datatype::Uint8, &[255_u8, 1])],
            Some(Scalar::U64(256)),
        );
    }

    #[test]
    fn extremes_span_batches() {
        let text = |cells: &[&str]| Column::from_cells(Datatype::StringAscii, cells);
        check(
            Aggregate::Min,
            &[text(&["b", "ab"]), text(&["", "c"])],
            Some(Scalar::from("")),
        );
        check(
            Aggregate::Max,
            &[text(&["b", "ab"]), text(&["", "c"])],
            Some(Scalar::from("c")),
        );
        let code = |cells: &[u8]| Column {
            cell: CellCount::Fixed(2),
            ..Column::from_values(Datatype::Char, cells)
        };
        check(Aggregate::Min, &[code(b"xyab"), code(b"ba")], Some(Scalar::from("ab")));
        check(Aggregate::Max, &[code(b"xyab"), code(b"ba")], Some(Scalar::from("xy")));
        let float = |v: &[f64]| Column::from_values(Datatype::Float64, v);
        check(
            Aggregate::Max,
            &[float(&[f64::NAN, 1.0]), float(&[f64::NAN])],
            Some(Scalar::F64(1.0)),
        );
        check(
            Aggregate::Min,
            &[float(&[f64::NAN]), float(&[2.0, f64::NAN])],
            Some(Scalar::F64(2.0)),
        );
    }
}
