//! The second dimension of sparse test arrays: integers, floats, or text.

use hyperslab::schema::Dimension;
use hyperslab::{Column, Datatype, Scalar};
use proptest::prelude::*;

/// The type of the second dimension of a sparse array. It decides how coordinates are compared and packed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Second {
    Whole,
    /// Floats that differ in their highest bits. Together with another coordinate they take more than 64 bits.
    Wide,
    Text,
}

impl Second {
    /// The distance between floats. A power of two, so that tiles are computed without rounding.
    const STEP: f64 = (1_u64 << 60) as f64;
    const LOW: i64 = -64;

    pub(crate) fn any() -> impl Strategy<Value = Self> {
        prop_oneof![Just(Self::Whole), Just(Self::Wide), Just(Self::Text)]
    }

    pub(crate) fn dimension(self, extent: i64) -> Dimension {
        match self {
            Self::Whole => Dimension::new("y", Datatype::Int64, 0_i64, 40_i64, extent),
            Self::Wide => {
                let [lo, hi, extent] = [Self::LOW, -Self::LOW, extent].map(|v| v as f64 * Self::STEP);
                Dimension::new("y", Datatype::Float64, lo, hi, extent)
            }
            Self::Text => Dimension::string("y"),
        }
    }

    pub(crate) fn value(self, y: i64) -> Scalar {
        match self {
            Self::Whole => Scalar::I64(y),
            Self::Wide => Scalar::F64((y - 9) as f64 * Self::STEP),
            Self::Text => Scalar::Bytes(Self::text(y)),
        }
    }

    /// Numbers below 100 in order. Some are prefixes of others.
    fn text(y: i64) -> Vec<u8> {
        let units = "a".repeat(y as usize % 10);
        format!("{}{units}", y / 10).into_bytes()
    }

    pub(crate) fn column(self, places: impl Iterator<Item = i64>) -> Column {
        match self {
            Self::Whole => Column::from_values(Datatype::Int64, &places.collect::<Vec<_>>()),
            Self::Wide => {
                let values: Vec<f64> = places.map(|y| (y - 9) as f64 * Self::STEP).collect();
                Column::from_values(Datatype::Float64, &values)
            }
            Self::Text => Column::from_cells(Datatype::StringAscii, places.map(Self::text)),
        }
    }

    pub(crate) fn places(self, column: &Column) -> Vec<i64> {
        match self {
            Self::Whole => column.values::<i64>().unwrap().to_vec(),
            Self::Wide => column
                .values::<f64>()
                .unwrap()
                .iter()
                .map(|v| (v / Self::STEP) as i64 + 9)
                .collect(),
            Self::Text => {
                let place = |k| (0..100).find(|y| Self::text(*y) == column.cell(k)).unwrap();
                (0..column.len()).map(place).collect()
            }
        }
    }

    pub(crate) fn tile(self, y: i64, extent: i64) -> i64 {
        match self {
            Self::Whole => y / extent,
            Self::Wide => (y - 9 - Self::LOW) / extent,
            Self::Text => 0,
        }
    }
}
