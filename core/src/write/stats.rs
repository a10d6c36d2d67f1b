//! Statistics of tiles: minimum, maximum, sum and null count. The format defines which field has which.

use std::cmp::Ordering;
use std::ops::Range;

use super::number::Number;
use crate::column::typed;
use crate::datatype::{CellCount, Datatype, Physical};
use crate::format::field::Field;
use crate::format::fragment::stats::FieldStats;
use crate::with_type;

/// The statistics a field has.
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
        let min_max = match field.is_dimension() {
            true => MinMax::None,
            false if text => MinMax::Bytes,
            // Write and delete timestamps are treated like an attribute of their type.
            false if one && !opaque => MinMax::Numbers,
            false => MinMax::None,
        };
        Self {
            min_max,
            sum: one && !opaque && field.datatype != StringAscii,
        }
    }
}

/// The statistics of one tile. `min` and `max` are `None` if the field has none or all cells are null.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TileStats {
    pub(crate) min: Option<Vec<u8>>,
    pub(crate) max: Option<Vec<u8>>,
    pub(crate) sum: u64,
    pub(crate) null_count: u64,
}

/// Computes the statistics of a tile from its cells, piece by piece.
pub(super) struct StatsBuilder<'a> {
    datatype: Datatype,
    /// Bytes of a cell; `None` for variable-length cells.
    width: Option<usize>,
    kinds: Kinds,
    validity: Option<&'a [u8]>,
    /// The cells that are not padding, in ascending order.
    live: &'a [Range<usize>],
    /// Number of cells added so far.
    at: usize,
    /// Whether the sum saturated in the current range of `live`.
    full: bool,
    stats: TileStats,
}

impl<'a> StatsBuilder<'a> {
    /// Starts a tile of `field` with this validity. Cells outside `live` are padding.
    pub(super) fn new(field: &Field, validity: Option<&'a [u8]>, live: &'a [Range<usize>]) -> Self {
        let mut stats = TileStats::default();
        if let Some(validity) = validity {
            let nulls = |r: &Range<usize>| validity[r.clone()].iter().filter(|&&v| v == 0).count() as u64;
            stats.null_count = live.iter().map(nulls).sum();
        }
        Self {
            datatype: field.datatype,
            width: field.cell_bytes(),
            kinds: Kinds::of(field),
            validity,
            live,
            at: 0,
            full: false,
            stats,
        }
    }

    /// Adds the next fixed-size cells.
    pub(super) fn add(&mut self, data: &[u8]) {
        let width = self.width.unwrap_or(1).max(1);
        if self.kinds.min_max == MinMax::Bytes {
            self.bytes(data.len() / width, |i| &data[i * width..(i + 1) * width]);
        }
        if self.kinds.min_max == MinMax::Numbers || self.kinds.sum {
            with_type!(self.datatype.physical(), T => self.numbers::<T>(&typed(data)));
        }
        self.at += data.len() / width;
    }

    /// Adds the next variable-length cells, delimited by these offsets.
    pub(super) fn add_var(&mut self, data: &[u8], offsets: &[u64]) {
        let cells = offsets.len() - 1;
        if self.kinds.min_max == MinMax::Bytes {
            self.bytes(cells, |i| &data[offsets[i] as usize..offsets[i + 1] as usize]);
        }
        self.at += cells;
    }

    /// The ranges of live cells among the next `cells`, relative to the first, and whether each continues an earlier
    /// range.
    fn live(&self, cells: usize) -> impl Iterator<Item = (Range<usize>, bool)> + use<'a> {
        let (live, next) = (self.live, self.at..self.at + cells);
        let first = live.partition_point(|r| r.end <= next.start);
        let ranges = live[first..].iter().take_while({
            let end = next.end;
            move |r| r.start < end
        });
        ranges.map(move |r| {
            let inside = r.start.max(next.start) - next.start..r.end.min(next.end) - next.start;
            (inside, r.start < next.start)
        })
    }

    fn numbers<T: Number>(&mut self, values: &[T]) {
        let value = |b: &Option<Vec<u8>>| b.as_deref().and_then(|b| bytemuck::try_pod_read_unaligned::<T>(b).ok());
        let mut ends = value(&self.stats.min).zip(value(&self.stats.max));
        let mut sum = T::Sum::from_bits(self.stats.sum);
        let validity = self.validity.map(|v| &v[self.at..]);
        for (range, goes_on) in self.live(values.len()) {
            let values = &values[range.clone()];
            let validity = validity.map(|v| &v[range]);
            if self.kinds.min_max == MinMax::Numbers {
                ends = T::ends(ends, values, validity);
            }
            // A saturated sum resumes at the next range, as in libtiledb.
            self.full &= goes_on;
            if self.kinds.sum && !self.full {
                self.full = !T::add(&mut sum, values, validity);
            }
        }
        if self.kinds.min_max == MinMax::Numbers {
            self.ends(ends);
        }
        self.stats.sum = T::Sum::bits(sum);
    }

    fn ends<T: Number>(&mut self, ends: Option<(T, T)>) {
        self.stats.min = ends.map(|e| bytemuck::bytes_of(&e.0).to_vec());
        self.stats.max = ends.map(|e| bytemuck::bytes_of(&e.1).to_vec());
    }

    fn bytes<'b>(&mut self, cells: usize, cell: impl Fn(usize) -> &'b [u8]) {
        let mut ends: Option<(&[u8], &[u8])> = self.stats.min.as_deref().zip(self.stats.max.as_deref());
        for i in self.live(cells).flat_map(|(range, _)| range) {
            if self.validity.is_some_and(|v| v[self.at + i] == 0) {
                continue;
            }
            let cell = cell(i);
            ends = Some(ends.map_or((cell, cell), |(min, max)| (min.min(cell), max.max(cell))));
        }
        let ends = ends.map(|(min, max)| (min.to_vec(), max.to_vec()));
        (self.stats.min, self.stats.max) = ends.unzip();
    }

    /// Finishes the statistics of a tile with room for `capacity` cells.
    pub(super) fn finish(mut self, capacity: u64) -> TileStats {
        // libtiledb does not detect that all cells are null if the tile is padded or not full. It then stores the empty
        // interval it starts from.
        let padded = self.validity.is_some() && self.stats.null_count < capacity;
        if self.kinds.min_max == MinMax::Numbers && self.stats.min.is_none() && padded {
            with_type!(self.datatype.physical(), T => self.ends(Some((T::GREATEST, T::LEAST))));
        }
        self.stats
    }
}

/// Computes the statistics of a fragment from those of its tiles.
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
            // All cells are null: store an empty interval, as libtiledb does.
            let (min, max) = ends.unwrap_or((T::GREATEST, T::LEAST));
            out.min = bytemuck::bytes_of(&min).to_vec();
            out.max = bytemuck::bytes_of(&max).to_vec();
        }),
    }
    // libtiledb sums characters per tile only.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field(datatype: Datatype) -> Field {
        Field::new("a", datatype, CellCount::ONE)
    }

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
            nullable: validity.is_some(),
            ..field(datatype)
        };
        let live = [0..values.len()];
        let mut tally = StatsBuilder::new(&field, validity, &live);
        tally.add(bytemuck::cast_slice(values));
        let tile = tally.finish(capacity);
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
        // If the tile has room for more cells, its range is an empty interval.
        let (tile, _) = stats_in(Datatype::Int32, &[5_i32], Some(&[0]), 2);
        assert_eq!(tile.min, Some(i32::MAX.to_le_bytes().to_vec()));
    }

    #[test]
    fn saturated_sums_skip_the_remaining_values() {
        let (tile, _) = stats(Datatype::Int64, &[i64::MAX, 1, -5], None);
        assert_eq!(tile.sum, i64::MAX as u64);
        let (tile, _) = stats(Datatype::Uint64, &[u64::MAX, 1, 5], None);
        assert_eq!(tile.sum, u64::MAX);
        let (tile, _) = stats(Datatype::Float64, &[f64::MAX, f64::MAX, -1.0], None);
        assert_eq!(f64::from_bits(tile.sum), f64::MAX);
    }

    #[test]
    fn nan_is_the_minimum_only_if_all_values_are_nan() {
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
    fn characters_compare_as_unsigned_and_sum_as_signed() {
        let (tile, _) = stats(Datatype::Char, &[0xff_u8, 1], None);
        assert_eq!((tile.min, tile.max, tile.sum), (Some(vec![1]), Some(vec![0xff]), 0));
    }

    /// Values near the limits of their type, so that sums saturate.
    fn values() -> impl Strategy<Value = Vec<i64>> {
        let one = prop_oneof![
            Just(i64::MAX),
            Just(i64::MIN),
            Just(-1),
            Just(0x7ff8_0000_0000_0000),
            -9_i64..9
        ];
        prop::collection::vec(one, 1..40)
    }

    proptest! {
        #[test]
        fn statistics_of_pieces_equal_those_of_the_whole(
            values in values(),
            datatype in prop_oneof![Just(Datatype::Int64), Just(Datatype::Uint64), Just(Datatype::Float64), Just(Datatype::Int32), Just(Datatype::Char)],
            (piece, live, null) in (1_usize..9, (0_usize..9, 1_usize..9), 0_i64..4),
        ) {
            let field = Field { nullable: null > 0, ..field(datatype) };
            let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()[..datatype.size()].to_vec()).collect();
            let validity: Vec<u8> = values.iter().map(|v| u8::from(v % 4 != null)).collect();
            let (gap, length) = live;
            let live: Vec<_> = (gap..values.len()).step_by(gap + length).map(|at| at..values.len().min(at + length)).collect();
            let tally = || StatsBuilder::new(&field, field.nullable.then_some(&validity), &live);
            let mut whole = tally();
            whole.add(&data);
            let mut pieces = tally();
            data.chunks(piece * datatype.size()).for_each(|piece| pieces.add(piece));
            prop_assert_eq!(whole.finish(40), pieces.finish(40));
        }
    }
}
