//! Positions along the Hilbert curve, as the format defines them.
//!
//! Each coordinate is in one of `2^bits` buckets with `bits = 63 / dimensions`. Skilling's transform turns the buckets
//! into a position.

mod curve;
mod machine;

use std::ops::Range;

use crate::column::{Column, typed};
use crate::error::{Error, Result};
use crate::format::check::HILBERT_DIMENSIONS_MAX;
use crate::format::schema::Schema;
use crate::scalar::Scalar;
use crate::with_type;

/// The curve over a schema's domain.
#[derive(Debug, Clone)]
pub(crate) struct Hilbert {
    bits: u32,
    /// The low and the high end of each dimension's domain; `None` for strings.
    domain: Vec<Option<(f64, f64)>>,
}

impl Hilbert {
    /// The curve over the domain of `schema`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there are more dimensions than the curve supports.
    pub(crate) fn new(schema: &Schema) -> Result<Self> {
        let n = schema.dimensions.len();
        if n == 0 || n > HILBERT_DIMENSIONS_MAX {
            return Err(Error::invalid(format!(
                "Hilbert order needs 1 to {HILBERT_DIMENSIONS_MAX} dimensions, not {n}"
            )));
        }
        let ends = |s: &Scalar| s.as_f64();
        let domain = schema
            .dimensions
            .iter()
            .map(|d| d.domain.as_ref().and_then(|r| Some((ends(&r.lo)?, ends(&r.hi)?))));
        Ok(Self {
            bits: curve::bits(n),
            domain: domain.collect(),
        })
    }

    /// The bucket of a number along dimension `d`.
    // The format computes buckets in doubles and truncates them.
    fn buckets(&self, d: usize) -> impl Fn(f64) -> u64 {
        let max = (1_u64 << self.bits) - 1;
        // A domain with a single value has one bucket. The quotient would be 0 / 0.
        let (lo, hi) = match self.domain.get(d) {
            Some(&Some((lo, hi))) if hi > lo => (lo, hi),
            _ => (f64::NAN, f64::NAN),
        };
        // Processors convert to signed integers with one instruction, and buckets have at most 63 bits. NaN is in
        // bucket 0.
        move |value| {
            ((((value - lo) / (hi - lo)) * max as f64) as i64)
                .max(0)
                .cast_unsigned()
                .min(max)
        }
    }

    /// The bucket of a string: its first eight bytes. Non-ASCII bytes are taken as signed.
    fn string_bucket(&self, bytes: &[u8]) -> u64 {
        let mut word = 0_u64;
        for i in 0..8 {
            let byte = bytes.get(i).copied().unwrap_or(0).cast_signed();
            word = (word << 8) | i64::from(byte).cast_unsigned();
        }
        word >> (64 - self.bits)
    }

    /// The positions of a range of the cells. `dims` are the coordinates, one column per dimension.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the number of columns is wrong, or a column is too short.
    #[allow(
        clippy::unnecessary_cast,
        reason = "the format computes buckets in doubles, whatever the type"
    )]
    pub(crate) fn positions(&self, dims: &[&Column], cells: Range<usize>) -> Result<Vec<u64>> {
        if dims.len() != self.domain.len() || dims.iter().any(|c| c.len() < cells.end) {
            return Err(Error::invalid(
                "coordinates need one column per dimension, all of the same length",
            ));
        }
        let mut buckets = Vec::with_capacity(cells.len() * dims.len());
        for (d, column) in dims.iter().enumerate() {
            if column.cell.is_var() {
                buckets.extend(cells.clone().map(|i| self.string_bucket(column.cell(i))));
            } else {
                let bucket = self.buckets(d);
                with_type!(column.datatype.physical(), T => {
                    let values = typed::<T>(column.numbers(&cells));
                    buckets.extend(values.iter().map(|&v| bucket(v as f64)));
                });
            }
        }
        Ok(curve::positions(buckets, dims.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;
    use crate::format::domain::Dimension;
    use crate::format::schema::{ArrayType, Layout};

    fn schema(dims: Vec<Dimension>) -> Schema {
        let mut s = Schema::new(ArrayType::Sparse, dims, vec![]);
        s.cell_order = Layout::Hilbert;
        s
    }

    #[test]
    fn sixteen_cells_have_libtiledb_order() {
        let h = Hilbert::new(&schema(vec![
            Dimension::new("y", Datatype::Int32, 1, 4, 2),
            Dimension::new("x", Datatype::Int32, 1, 4, 2),
        ]))
        .unwrap();
        let cells: Vec<(i32, i32)> = (1..=4).flat_map(|y| (1..=4).map(move |x| (y, x))).collect();
        let y = Column::from_values(Datatype::Int32, &cells.iter().map(|c| c.0).collect::<Vec<_>>());
        let x = Column::from_values(Datatype::Int32, &cells.iter().map(|c| c.1).collect::<Vec<_>>());
        let mut order: Vec<_> = h
            .positions(&[&y, &x], 0..y.len())
            .unwrap()
            .into_iter()
            .zip(cells)
            .collect();
        order.sort_unstable();
        let order: Vec<_> = order.into_iter().map(|(_, c)| c).collect();
        assert_eq!(
            order,
            [
                (1, 1),
                (2, 1),
                (2, 2),
                (1, 2),
                (1, 3),
                (1, 4),
                (2, 4),
                (2, 3),
                (3, 3),
                (3, 4),
                (4, 4),
                (4, 3),
                (4, 2),
                (3, 2),
                (3, 1),
                (4, 1)
            ]
        );
    }

    #[test]
    fn positions_in_one_dimension_are_buckets() {
        let h = Hilbert::new(&schema(vec![Dimension::new("x", Datatype::Float64, 0.0, 1.0, 1.0)])).unwrap();
        let x = Column::from_values(Datatype::Float64, &[0.0, 1.0]);
        assert_eq!(h.positions(&[&x], 0..2).unwrap(), [0, (1 << 63) - 1]);
    }
}
