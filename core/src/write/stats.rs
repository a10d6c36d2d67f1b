//! Statistics of tiles: minimum, maximum, sum and null count, as the format defines which field has which.
//!
//! NaN takes no part in minima and maxima unless there is nothing else. Sums stop at the limit of
//! their type.

use std::cmp::Ordering;
use std::ops::Range;

use super::field::Field;
use super::pack::TileCells;
use crate::column::typed;
use crate::datatype::{CellCount, Datatype, Physical};
use crate::format::fragment::slots::FieldId;
use crate::format::fragment::stats::FieldStats;
use crate::with_type;

/// Which statistics a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds {
    pub(crate) min_max: MinMax,
    pub(crate) sum: bool,
}

/// How the cells of a field compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MinMax {
    None,
    Numbers,
    Bytes,
}

impl Kinds {
    pub(crate) fn of(field: &Field) -> Self {
        use Datatype::{Char, StringAscii};
        let text = matches!(field.datatype, Char | StringAscii);
        let opaque = field.datatype.is_opaque() || (field.datatype.is_string() && !text);
        let one = field.cell == CellCount::ONE;
        let min_max = match field.id {
            FieldId::Coords | FieldId::Dimension(_) => MinMax::None,
            _ if text => MinMax::Bytes,
            // Times of writing and deletion have what an attribute of their type has.
            _ if one && !opaque => MinMax::Numbers,
            _ => MinMax::None,
        };
        Self {
            min_max,
            sum: one && !opaque && field.datatype != StringAscii,
        }
    }
}

/// The statistics of one tile. `min` and `max` are `None` where the field has none or all is null.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TileStats {
    pub(crate) min: Option<Vec<u8>>,
    pub(crate) max: Option<Vec<u8>>,
    pub(crate) sum: u64,
    pub(crate) null_count: u64,
}

impl TileStats {
    /// The statistics of the cells in `live`, the others being padding, in a tile of at most `capacity` cells.
    pub(crate) fn of(field: &Field, cells: &TileCells<'_>, live: &[Range<usize>], capacity: u64) -> Self {
        let kinds = Kinds::of(field);
        let mut stats = Self::default();
        if let Some(validity) = &cells.validity {
            let nulls = |r: &Range<usize>| validity[r.clone()].iter().filter(|&&v| v == 0).count() as u64;
            stats.null_count = live.iter().map(nulls).sum();
        }
        if kinds.min_max == MinMax::Bytes {
            stats.bytes(field, cells, live);
        }
        if kinds.min_max == MinMax::Numbers || kinds.sum {
            with_type!(field.datatype.physical(), T => stats.numbers::<T>(kinds, cells, live, capacity));
        }
        stats
    }

    fn numbers<T: Number>(&mut self, kinds: Kinds, cells: &TileCells<'_>, live: &[Range<usize>], capacity: u64) {
        let values = typed::<T>(&cells.data);
        let mut ends: Option<(T, T)> = None;
        let mut sum = T::Sum::default();
        for range in live {
            let values = &values[range.clone()];
            let validity = cells.validity.as_ref().map(|v| &v[range.clone()]);
            if kinds.min_max == MinMax::Numbers {
                ends = T::ends(ends, values, validity);
            }
            // A sum that has met its limit goes on with the next run, as in the reference.
            if kinds.sum {
                T::add(&mut sum, values, validity);
            }
        }
        // A tile that is padded, or not full, and whose cells are all null is not "all null" to the
        // reference, which then stores the interval it starts from.
        let padded = cells.validity.is_some() && self.null_count < capacity;
        let ends = ends.or((kinds.min_max == MinMax::Numbers && padded).then_some((T::GREATEST, T::LEAST)));
        if let Some((min, max)) = ends {
            self.min = Some(bytemuck::bytes_of(&min).to_vec());
            self.max = Some(bytemuck::bytes_of(&max).to_vec());
        }
        self.sum = T::bits(sum);
    }

    fn bytes(&mut self, field: &Field, cells: &TileCells<'_>, live: &[Range<usize>]) {
        let mut ends: Option<(&[u8], &[u8])> = None;
        for i in live.iter().flat_map(Range::clone) {
            if cells.is_null(i) {
                continue;
            }
            let cell = cells.cell(field, i);
            ends = Some(ends.map_or((cell, cell), |(min, max)| (min.min(cell), max.max(cell))));
        }
        self.min = ends.map(|e| e.0.to_vec());
        self.max = ends.map(|e| e.1.to_vec());
    }
}

/// Statistics of the whole fragment, from those of its tiles.
pub(crate) fn of_fragment<'a>(field: &Field, tiles: impl Iterator<Item = &'a TileStats> + Clone) -> FieldStats {
    let kinds = Kinds::of(field);
    let mut out = FieldStats {
        null_count: tiles.clone().map(|t| t.null_count).sum(),
        ..FieldStats::default()
    };
    match kinds.min_max {
        MinMax::None => {}
        MinMax::Bytes => {
            out.min = tiles.clone().filter_map(|t| t.min.clone()).min().unwrap_or_default();
            out.max = tiles.clone().filter_map(|t| t.max.clone()).max().unwrap_or_default();
        }
        MinMax::Numbers => with_type!(field.datatype.physical(), T => {
            let value = |bytes: &Option<Vec<u8>>| bytes.as_deref().and_then(|b| bytemuck::try_pod_read_unaligned::<T>(b).ok());
            let mut ends = None;
            for tile in tiles.clone() {
                if let (Some(min), Some(max)) = (value(&tile.min), value(&tile.max))
                    && min.partial_cmp(&max) != Some(Ordering::Greater)
                {
                    ends = T::ends(ends, &[min, max], None);
                }
            }
            // Nothing but nulls: an empty interval, as the reference writes it.
            let (min, max) = ends.unwrap_or((T::GREATEST, T::LEAST));
            out.min = bytemuck::bytes_of(&min).to_vec();
            out.max = bytemuck::bytes_of(&max).to_vec();
        }),
    }
    // The reference adds up characters tile by tile only.
    if kinds.sum && field.datatype != Datatype::Char {
        out.sum = match sum_kind(field.datatype.physical()) {
            SumKind::Signed => total::<i64>(tiles),
            SumKind::Unsigned => total::<u64>(tiles),
            SumKind::Float => total::<f64>(tiles),
        };
    }
    out
}

fn total<'a, T: Number<Sum = T> + Default>(tiles: impl Iterator<Item = &'a TileStats>) -> u64 {
    let mut sum = T::default();
    for tile in tiles {
        if !T::add(&mut sum, &[T::from_bits(tile.sum)], None) {
            break;
        }
    }
    T::bits(sum)
}

enum SumKind {
    Signed,
    Unsigned,
    Float,
}

const fn sum_kind(physical: Physical) -> SumKind {
    match physical {
        Physical::I8 | Physical::I16 | Physical::I32 | Physical::I64 => SumKind::Signed,
        Physical::U8 | Physical::U16 | Physical::U32 | Physical::U64 => SumKind::Unsigned,
        Physical::F32 | Physical::F64 => SumKind::Float,
    }
}

/// A type with statistics.
trait Number: bytemuck::Pod + PartialOrd {
    /// The type of sums.
    type Sum: Copy + Default;
    const LEAST: Self;
    const GREATEST: Self;
    /// The smallest and greatest of `so_far` and the values that are not null.
    fn ends(so_far: Option<(Self, Self)>, values: &[Self], validity: Option<&[u8]>) -> Option<(Self, Self)>;
    /// Adds the values that are not null. `false` once the sum has met its limit.
    fn add(sum: &mut Self::Sum, values: &[Self], validity: Option<&[u8]>) -> bool;
    /// The sum as stored.
    fn bits(sum: Self::Sum) -> u64;
    /// The value of a stored sum, for the three types of sums.
    fn from_bits(bits: u64) -> Self;
}

fn valid<'a, T: Copy>(values: &'a [T], validity: &'a [u8]) -> impl Iterator<Item = T> + 'a {
    values.iter().zip(validity).filter(|(_, v)| **v != 0).map(|(v, _)| *v)
}

macro_rules! integers {
    ($($T:ty => $S:ty),*) => {$(
        #[allow(clippy::cast_lossless, clippy::unnecessary_cast, reason = "one body for all widths")]
        #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "bits are carried, not values")]
        impl Number for $T {
            type Sum = $S;
            const LEAST: Self = <$T>::MIN;
            const GREATEST: Self = <$T>::MAX;

            fn ends(so_far: Option<(Self, Self)>, values: &[Self], validity: Option<&[u8]>) -> Option<(Self, Self)> {
                let none = (<$T>::MAX, <$T>::MIN);
                let widen = |(min, max): (Self, Self), v: Self| (min.min(v), max.max(v));
                let found = match validity {
                    None => values.iter().fold(none, |e, &v| widen(e, v)),
                    Some(validity) => valid(values, validity).fold(none, widen),
                };
                let found = (found.0 <= found.1).then_some(found);
                match (so_far, found) {
                    (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
                    (a, b) => a.or(b),
                }
            }

            fn add(sum: &mut $S, values: &[Self], validity: Option<&[u8]>) -> bool {
                // Narrow values cannot overflow within a block, so that most of the work has no checks.
                if let (None, true) = (validity, size_of::<$T>() < 8) {
                    for block in values.chunks(1 << 16) {
                        let part: $S = block.iter().map(|&v| v as $S).sum();
                        match sum.checked_add(part) {
                            Some(s) => *sum = s,
                            None => return add_each(sum, block.iter().map(|&v| v as $S)),
                        }
                    }
                    return true;
                }
                match validity {
                    None => add_each(sum, values.iter().map(|&v| v as $S)),
                    Some(validity) => add_each(sum, valid(values, validity).map(|v| v as $S)),
                }
            }

            fn bits(sum: $S) -> u64 {
                sum as u64
            }

            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
        }
    )*};
}
integers!(i8 => i64, i16 => i64, i32 => i64, i64 => i64, u8 => u64, u16 => u64, u32 => u64, u64 => u64);

/// A sum that stops at the limit of its type.
trait Saturating: Copy {
    fn checked(self, other: Self) -> Option<Self>;
    fn saturated(self, other: Self) -> Self;
}

macro_rules! saturating {
    ($($T:ty),*) => {$(
        impl Saturating for $T {
            fn checked(self, other: Self) -> Option<Self> { self.checked_add(other) }
            fn saturated(self, other: Self) -> Self { self.saturating_add(other) }
        }
    )*};
}
saturating!(i64, u64);

impl Saturating for f64 {
    fn checked(self, other: Self) -> Option<Self> {
        let over = (self < 0.0) == (other < 0.0) && self.abs() > Self::MAX - other.abs();
        (!over).then_some(self + other)
    }
    fn saturated(self, _: Self) -> Self {
        if self < 0.0 { Self::MIN } else { Self::MAX }
    }
}

fn add_each<S: Saturating>(sum: &mut S, values: impl Iterator<Item = S>) -> bool {
    for v in values {
        match sum.checked(v) {
            Some(s) => *sum = s,
            None => {
                *sum = sum.saturated(v);
                return false;
            }
        }
    }
    true
}

macro_rules! floats {
    ($($T:ty),*) => {$(
        #[allow(clippy::cast_lossless, clippy::cast_possible_truncation, reason = "one body for both widths")]
        impl Number for $T {
            type Sum = f64;
            const LEAST: Self = <$T>::MIN;
            const GREATEST: Self = <$T>::MAX;

            fn ends(so_far: Option<(Self, Self)>, values: &[Self], validity: Option<&[u8]>) -> Option<(Self, Self)> {
                // Of equal values (0.0 and -0.0) the last one counts, as in the reference.
                let widen = |e: Option<(Self, Self)>, v: Self| match e {
                    Some((min, max)) if !min.is_nan() => {
                        Some((if min < v || v.is_nan() { min } else { v }, if max > v || v.is_nan() { max } else { v }))
                    }
                    _ => Some((v, v)),
                };
                match validity {
                    None => values.iter().copied().fold(so_far, widen),
                    Some(validity) => valid(values, validity).fold(so_far, widen),
                }
            }

            fn add(sum: &mut f64, values: &[Self], validity: Option<&[u8]>) -> bool {
                let plain = match validity {
                    None => values.iter().fold(*sum, |s, &v| s + f64::from(v)),
                    Some(validity) => valid(values, validity).fold(*sum, |s, v| s + f64::from(v)),
                };
                // A sum far from the limit never met it on the way: infinities and NaN stay.
                if plain.abs() < f64::MAX / 2.0 {
                    *sum = plain;
                    return true;
                }
                match validity {
                    None => add_each(sum, values.iter().map(|&v| f64::from(v))),
                    Some(validity) => add_each(sum, valid(values, validity).map(f64::from)),
                }
            }

            fn bits(sum: f64) -> u64 {
                sum.to_bits()
            }

            fn from_bits(bits: u64) -> Self {
                f64::from_bits(bits) as Self
            }
        }
    )*};
}
floats!(f32, f64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::pipeline::Pipeline;
    use std::borrow::Cow;

    fn stats<T: bytemuck::Pod>(datatype: Datatype, values: &[T], validity: Option<&[u8]>) -> (TileStats, FieldStats) {
        stats_in(datatype, values, validity, values.len() as u64)
    }

    fn stats_in<T: bytemuck::Pod>(
        datatype: Datatype,
        values: &[T],
        validity: Option<&[u8]>,
        capacity: u64,
    ) -> (TileStats, FieldStats) {
        let field = Field {
            id: FieldId::Attribute(0),
            name: "a".into(),
            datatype,
            cell: CellCount::ONE,
            nullable: validity.is_some(),
            filters: Pipeline::default(),
        };
        let cells = TileCells {
            data: Cow::Borrowed(bytemuck::cast_slice(values)),
            offsets: None,
            validity: validity.map(Cow::Borrowed),
        };
        let tile = TileStats::of(&field, &cells, &[0..values.len()], capacity);
        let fragment = of_fragment(&field, [&tile].into_iter());
        (tile, fragment)
    }

    #[test]
    fn nulls_are_counted_and_left_out() {
        let (tile, fragment) = stats(Datatype::Int32, &[5_i32, -7, 100], Some(&[1, 1, 0]));
        assert_eq!(
            (tile.min, tile.max, tile.sum, tile.null_count),
            (
                Some((-7_i32).to_le_bytes().to_vec()),
                Some(5_i32.to_le_bytes().to_vec()),
                (-2_i64) as u64,
                1
            )
        );
        assert_eq!(fragment.min, (-7_i32).to_le_bytes());
        let (tile, _) = stats(Datatype::Int32, &[5_i32], Some(&[0]));
        assert_eq!((tile.min, tile.sum, tile.null_count), (None, 0, 1));
        // Where the tile has room for more it is an empty interval.
        let (tile, _) = stats_in(Datatype::Int32, &[5_i32], Some(&[0]), 2);
        assert_eq!(tile.min, Some(i32::MAX.to_le_bytes().to_vec()));
    }

    #[test]
    fn sums_stop_at_the_limit_and_skip_the_rest() {
        let (tile, _) = stats(Datatype::Int64, &[i64::MAX, 1, -5], None);
        assert_eq!(tile.sum, i64::MAX as u64);
        let (tile, _) = stats(Datatype::Uint64, &[u64::MAX, 1, 5], None);
        assert_eq!(tile.sum, u64::MAX);
        let (tile, _) = stats(Datatype::Float64, &[f64::MAX, f64::MAX, -1.0], None);
        assert_eq!(f64::from_bits(tile.sum), f64::MAX);
    }

    #[test]
    fn nan_is_no_minimum_unless_alone() {
        let (tile, _) = stats(Datatype::Float32, &[f32::NAN, 2.0, f32::NAN, 1.0], None);
        assert_eq!(
            (tile.min, tile.max),
            (
                Some(1.0_f32.to_le_bytes().to_vec()),
                Some(2.0_f32.to_le_bytes().to_vec())
            )
        );
        let (tile, _) = stats(Datatype::Float32, &[f32::NAN], None);
        assert!(f32::from_le_bytes(tile.min.unwrap().try_into().unwrap()).is_nan());
    }

    #[test]
    fn characters_compare_unsigned_and_add_signed() {
        let (tile, _) = stats(Datatype::Char, &[0xff_u8, 1], None);
        assert_eq!((tile.min, tile.max, tile.sum), (Some(vec![1]), Some(vec![0xff]), 0));
    }
}
