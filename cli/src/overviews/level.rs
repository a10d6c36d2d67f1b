//! An overview under construction.

use hyperslab::internals::format::attribute::display_name;
use hyperslab::{CellCount, Column, Datatype};
use serde_json::{Map, Value, json};

use super::axis::Axis;
use super::field::Field;
use super::tally::{Number, Tally};
use crate::args::Method;

/// An overview under construction.
pub(super) struct Level {
    /// The factors that were asked for: one for all shrinking axes, or one for each axis.
    asked: Vec<u64>,
    /// Cells of the array along each axis in a cell of the overview.
    pub(super) factors: Vec<u64>,
    /// First coordinate of each axis.
    pub(super) low: Vec<i128>,
    /// Length of each axis.
    pub(super) lengths: Vec<usize>,
    /// The coordinates of the array that the overview covers.
    covers: Vec<[i128; 2]>,
    /// How each attribute was combined.
    methods: Vec<(String, Method)>,
    /// The cells of each attribute, in row-major order.
    pub(super) cells: Vec<Cells>,
}

/// The cells of an attribute.
pub(super) struct Cells {
    datatype: Datatype,
    data: Vec<u8>,
    /// 0 for null, if the attribute is nullable.
    validity: Option<Vec<u8>>,
}

impl Cells {
    /// Cells without a value, which have the bytes `empty`.
    pub(super) fn new(datatype: Datatype, empty: &[u8], nullable: bool, count: usize) -> Self {
        Self {
            datatype,
            data: empty.repeat(count),
            validity: nullable.then(|| vec![0; count]),
        }
    }

    pub(super) fn into_column(self) -> Column {
        Column {
            datatype: self.datatype,
            cell: CellCount::ONE,
            data: self.data,
            offsets: None,
            validity: self.validity,
        }
    }

    fn set<T: Number>(&mut self, at: usize, value: T) {
        let bytes = bytemuck::bytes_of(&value);
        if let Some(cell) = self.data.get_mut(at * bytes.len()..(at + 1) * bytes.len()) {
            cell.copy_from_slice(bytes);
        }
        if let Some(valid) = self.validity.as_mut().and_then(|v| v.get_mut(at)) {
            *valid = 1;
        }
    }
}

/// A block of the array that was read: cells in row-major order.
pub(super) struct Block<'a, T> {
    /// The first coordinate along each axis.
    pub(super) origin: &'a [i128],
    pub(super) lengths: &'a [i128],
    pub(super) values: &'a [T],
    /// 0 for null.
    pub(super) validity: Option<&'a [u8]>,
    pub(super) absent: Absent<'a, T>,
}

/// The values of cells without data. NaN is always one.
#[derive(Clone, Copy)]
pub(super) struct Absent<'a, T> {
    pub(super) fill: Option<T>,
    /// Values that the metadata declares as "no data".
    pub(super) nodata: &'a [f64],
    /// The smallest and the largest value that the metadata allows.
    pub(super) valid: [f64; 2],
}

impl<T: Number> Absent<'_, T> {
    fn has(&self, value: T) -> bool {
        let double = value.double();
        Some(value) == self.fill
            || self.nodata.contains(&double)
            || double.is_nan()
            || double < self.valid[0]
            || double > self.valid[1]
    }
}

impl Level {
    /// An overview without cells. `asked` are the factors that were asked for: one for all `shrinking` axes, or one for each
    /// axis. `None` if it has more cells than memory has addresses.
    pub(super) fn new(asked: &[u64], shrinking: &[bool], axes: &[Axis]) -> Option<Self> {
        let factors: Vec<u64> = factors(asked, shrinking);
        let (mut low, mut lengths) = (Vec::new(), Vec::new());
        for (axis, factor) in axes.iter().zip(&factors) {
            let (first, length) = axis.shrunk(*factor);
            low.push(first);
            lengths.push(usize::try_from(length).ok()?);
        }
        lengths.iter().try_fold(1_usize, |n, length| n.checked_mul(*length))?;
        Some(Self {
            asked: asked.to_vec(),
            factors,
            low,
            lengths,
            covers: axes.iter().map(|axis| [axis.lo, axis.hi]).collect(),
            methods: Vec::new(),
            cells: Vec::new(),
        })
    }

    /// Number of cells.
    pub(super) fn count(&self) -> usize {
        self.lengths.iter().product()
    }

    /// Makes room for the cells of these attributes.
    pub(super) fn allocate(&mut self, fields: &[Field]) {
        let count = self.count();
        self.methods = fields.iter().map(|f| (f.attribute.name.clone(), f.method)).collect();
        let cells = |f: &Field| Cells::new(f.attribute.datatype, &f.empty(), f.attribute.nullable, count);
        self.cells = fields.iter().map(cells).collect();
    }

    /// The part of the overview's name after the array's: `4`, or `1x4x4` if each axis was given a factor.
    pub(super) fn name(&self) -> String {
        let factors: Vec<String> = self.asked.iter().map(u64::to_string).collect();
        factors.join("x")
    }

    /// How the first attribute was combined.
    pub(super) fn method(&self) -> Method {
        self.methods.first().map_or(Method::Mean, |(_, method)| *method)
    }

    /// The entry of the overview at `path` in metadata. A cell at its edge combines fewer than `factors` cells of the array
    /// if the range that it `covers` ends within that cell.
    pub(super) fn entry(&self, path: &str) -> Value {
        let methods = self
            .methods
            .iter()
            .map(|(name, method)| (display_name(name).to_owned(), method.name().into()));
        let covers = self
            .covers
            .iter()
            .map(|ends| json!(ends.map(|c| i64::try_from(c).unwrap_or(i64::MAX))));
        json!({
            "factor": self.factors.iter().max(),
            "factors": self.factors,
            "path": path,
            "shape": self.lengths,
            "covers": covers.collect::<Vec<_>>(),
            "methods": methods.collect::<Map<String, Value>>(),
        })
    }

    /// Fills the cells of the overview that belong to a block, which has all of the array's cells for them.
    pub(super) fn fill<T: Number, A: Tally<T>>(&mut self, field: usize, block: &Block<'_, T>) {
        let axes = self.factors.iter().zip(block.origin.iter().zip(block.lengths));
        let boxes: Vec<(i128, i128)> = axes
            .map(|(f, (at, n))| {
                let f = i128::from(*f);
                (at.div_euclid(f), (at + n - 1).div_euclid(f) + 1)
            })
            .collect();
        let Some((last, outer)) = boxes.split_last() else {
            return;
        };
        let mut tallies = vec![A::default(); usize::try_from(last.1 - last.0).unwrap_or(0)];
        let mut at: Vec<i128> = outer.iter().map(|(lo, _)| *lo).collect();
        loop {
            self.tally(&at, last.0, block, &mut tallies);
            self.store(field, &at, last.0, &mut tallies);
            if !advance(&mut at, outer) {
                return;
            }
        }
    }

    /// Adds the cells of the array that belong to the row `at` of the overview, in row-major order.
    fn tally<T: Number, A: Tally<T>>(&self, at: &[i128], first: i128, block: &Block<'_, T>, row: &mut [A]) {
        let Some((f, length)) = self.factors.last().zip(block.lengths.last()) else {
            return;
        };
        let (f, origin) = (i128::from(*f), block.origin.last().copied().unwrap_or(0));
        let axes = self.factors.iter().zip(block.origin.iter().zip(block.lengths)).zip(at);
        let rows: Vec<(i128, i128)> = axes
            .map(|((f, (lo, n)), at)| {
                let f = i128::from(*f);
                ((at * f).max(*lo), ((at + 1) * f).min(lo + n))
            })
            .collect();
        let mut from: Vec<i128> = rows.iter().map(|(lo, _)| *lo).collect();
        loop {
            let axes = from.iter().zip(block.origin.iter().zip(block.lengths));
            let start = axes.fold(0, |n, (c, (lo, len))| n * len + (c - lo)) * length;
            let cells = |from: i128, to: i128| {
                let place = |c: i128| usize::try_from(start + c - origin).unwrap_or(usize::MAX);
                place(from.max(origin))..place(to.min(origin + length))
            };
            for (tally, cell) in row.iter_mut().zip(first..) {
                block.add(cells(cell * f, (cell + 1) * f), tally);
            }
            if !advance(&mut from, &rows) {
                return;
            }
        }
    }

    /// Stores the values of a row of the overview.
    fn store<T: Number, A: Tally<T>>(&mut self, field: usize, at: &[i128], first: i128, row: &mut [A]) {
        let place = at.iter().chain([&first]).zip(self.low.iter().zip(&self.lengths));
        let start = place.fold(0, |n, (c, (lo, len))| n * len + usize::try_from(c - lo).unwrap_or(0));
        let Some(cells) = self.cells.get_mut(field) else {
            return;
        };
        for (i, tally) in row.iter_mut().enumerate() {
            if let Some(value) = tally.take() {
                cells.set(start + i, value);
            }
        }
    }
}

impl<T: Number> Block<'_, T> {
    /// Adds the values of a run of cells, without nulls and "no data".
    fn add<A: Tally<T>>(&self, run: std::ops::Range<usize>, tally: &mut A) {
        let values = self.values.get(run.clone()).unwrap_or(&[]).iter().copied();
        match self.validity.and_then(|v| v.get(run)) {
            None => tally.add(values.filter(|v| !self.absent.has(*v))),
            Some(valid) => {
                let valid = values.zip(valid).filter(|(_, valid)| **valid != 0);
                tally.add(valid.map(|(v, _)| v).filter(|v| !self.absent.has(*v)));
            }
        }
    }
}

/// The factor of each axis.
pub(super) fn factors(asked: &[u64], shrinking: &[bool]) -> Vec<u64> {
    match asked {
        [factor] => shrinking.iter().map(|s| if *s { *factor } else { 1 }).collect(),
        factors => factors.to_vec(),
    }
}

/// The next position in these ranges, like an odometer; `false` after the last one.
fn advance(at: &mut [i128], ranges: &[(i128, i128)]) -> bool {
    for (at, (lo, end)) in at.iter_mut().zip(ranges).rev() {
        *at += 1;
        if *at < *end {
            return true;
        }
        *at = *lo;
    }
    false
}

#[cfg(test)]
mod tests {
    use hyperslab::ScalarRange;
    use hyperslab::schema::Dimension;

    use super::super::tally::{Mean, Mode};
    use super::*;

    fn level(factors: &[u64], ranges: &[(i32, i32)]) -> Level {
        let axis = |((lo, hi), f): (&(i32, i32), &u64)| {
            let dimension = Dimension::new("x", Datatype::Int32, -9_i32, 9_i32, 5_i32);
            Axis::new(&dimension, &ScalarRange::new(*lo, *hi), &[*f]).unwrap()
        };
        let axes: Vec<Axis> = ranges.iter().zip(factors).map(axis).collect();
        let mut level = Level::new(factors, &[], &axes).unwrap();
        level.cells = vec![Cells::new(Datatype::Int16, &[9, 0], false, level.count())];
        level
    }

    fn block<'a>(origin: &'a [i128], lengths: &'a [i128], values: &'a [i16]) -> Block<'a, i16> {
        Block {
            origin,
            lengths,
            values,
            validity: None,
            absent: Absent {
                fill: Some(9),
                nodata: &[-9999.0],
                valid: [f64::NEG_INFINITY, 100.0],
            },
        }
    }

    fn values(mut level: Level) -> Vec<i16> {
        level
            .cells
            .remove(0)
            .into_column()
            .values::<i16>()
            .unwrap()
            .into_owned()
    }

    #[test]
    fn a_copy_holds_means_of_the_values() {
        // Rows 0 to 1, columns 1 to 4: column 1 is alone in its cell.
        let mut means = level(&[2, 2], &[(0, 1), (1, 4)]);
        assert_eq!(means.lengths, [1, 3]);
        means.fill::<i16, Mean>(0, &block(&[0, 1], &[2, 4], &[1, 2, 3, 9, 2, 4, 6, -9999]));
        assert_eq!(values(means), [2, 4, 9]);
    }

    #[test]
    fn axes_shrink_by_their_own_factors() {
        let mut modes = level(&[1, 3], &[(-1, 0), (-3, 2)]);
        assert_eq!(
            (modes.low.as_slice(), modes.lengths.as_slice()),
            ([-1, -1].as_slice(), [2, 2].as_slice())
        );
        let cells = [1, 2, 2, 3, 4, 4, 101, 7, 101, 5, 6, 5];
        modes.fill::<i16, Mode<i16>>(0, &block(&[-1, -3], &[2, 6], &cells));
        assert_eq!(values(modes), [2, 4, 7, 5]);
    }

    #[test]
    fn blocks_fill_their_own_cells() {
        let mut means = level(&[2, 2], &[(0, 3), (0, 3)]);
        means.fill::<i16, Mean>(0, &block(&[2, 2], &[2, 2], &[1, 2, 3, 4]));
        means.fill::<i16, Mean>(0, &block(&[0, 0], &[2, 2], &[5, 5, 5, 5]));
        assert_eq!(values(means), [5, 9, 9, 3]);
    }
}
