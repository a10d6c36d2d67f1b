//! The region of a sparse read: sorted, merged ranges that are tested against bounding boxes and coordinates.

use crate::column::{Column, typed};
use crate::datatype::Physical;
use crate::error::{Error, Result};
use crate::format::domain::Dimension;
use crate::format::fragment::rtree::{Bounds, Level};
use crate::format::schema::Schema;
use crate::geometry::Span;
use crate::key::{self, Keyed};
use crate::query::Region;
use crate::scalar::{Scalar, ScalarRange};
use crate::sort::{sort_by, sort_by_number};
use crate::with_type;

/// The ranges of every dimension.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranges(Vec<DimensionRanges>);

/// The ranges along one dimension, ascending and disjoint.
#[derive(Debug, Clone, PartialEq)]
enum DimensionRanges {
    All,
    /// Ranges of sort keys.
    Numbers(Vec<Span>),
    Strings(Vec<(Vec<u8>, Vec<u8>)>),
}

/// How a box relates to a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Relation {
    Outside,
    Partial,
    Inside,
}

impl Ranges {
    /// The ranges of `region` in arrays of `schema`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a range does not fit its dimension's type, or is empty.
    pub(crate) fn new(region: &Region, schema: &Schema) -> Result<Self> {
        let n = schema.dimensions.len();
        if !region.0.is_empty() && region.0.len() != n {
            return Err(Error::invalid(format!(
                "ranges are given for {} dimensions; the array has {n}",
                region.0.len()
            )));
        }
        let along = |(d, dim)| DimensionRanges::new(region.0.get(d).map_or(&[], Vec::as_slice), dim);
        Ok(Self(
            schema.dimensions.iter().enumerate().map(along).collect::<Result<_>>()?,
        ))
    }

    /// The ranges of sort keys along dimension `d`, if it is one of numbers and has ranges.
    pub(crate) fn numbers(&self, d: usize) -> Option<&[Span]> {
        match self.0.get(d) {
            Some(DimensionRanges::Numbers(spans)) => Some(spans),
            _ => None,
        }
    }

    /// The ranges along dimension `d`, if it is one of strings and has ranges.
    pub(crate) fn strings(&self, d: usize) -> Option<&[(Vec<u8>, Vec<u8>)]> {
        match self.0.get(d) {
            Some(DimensionRanges::Strings(ranges)) => Some(ranges),
            _ => None,
        }
    }

    /// How bounding box `i` relates to the region.
    pub(crate) fn relation(&self, boxes: &Level, i: usize) -> Relation {
        let each = self
            .0
            .iter()
            .zip(&boxes.dimensions)
            .map(|(along, bounds)| along.relation(bounds, i));
        each.min().unwrap_or(Relation::Inside)
    }

    /// Whether bounding box `i` may extend past the region along dimension `d`.
    pub(crate) fn cuts(&self, d: usize, boxes: &Level, i: usize) -> bool {
        match (self.0.get(d), boxes.dimensions.get(d)) {
            (Some(along), Some(bounds)) => along.relation(bounds, i) != Relation::Inside,
            _ => true,
        }
    }

    /// How a box of ranges relates to the region.
    pub(crate) fn relation_to(&self, ranges: &[ScalarRange]) -> Relation {
        let each = self
            .0
            .iter()
            .zip(ranges)
            .map(|(along, range)| match (along, &range.lo, &range.hi) {
                (DimensionRanges::All, ..) => Relation::Inside,
                (DimensionRanges::Strings(all), Scalar::Bytes(lo), Scalar::Bytes(hi)) => strings(all, lo, hi),
                (DimensionRanges::Numbers(all), lo, hi) => match (key::key(lo), key::key(hi)) {
                    (Some(lo), Some(hi)) => numbers(all, lo, hi),
                    _ => Relation::Partial,
                },
                _ => Relation::Partial,
            });
        each.min().unwrap_or(Relation::Inside)
    }

    /// The indices of the cells in the region; `None` if all are. A missing column means that all cells are inside
    /// along that dimension.
    pub(crate) fn select(&self, dims: &[Option<&Column>]) -> Option<Vec<u32>> {
        let mut kept: Option<Vec<u32>> = None;
        for (along, column) in self.0.iter().zip(dims) {
            kept = match (along, column) {
                (DimensionRanges::All, _) | (_, None) => kept,
                (DimensionRanges::Numbers(all), Some(column)) => select_numbers(kept, all, column),
                (DimensionRanges::Strings(all), Some(column)) => select_strings(kept, all, column),
            }
        }
        kept
    }
}

/// Selects the strings in `ranges`, out of all cells or those in `among`. Returns `None` if all cells are selected.
fn select_strings(among: Option<Vec<u32>>, ranges: &[(Vec<u8>, Vec<u8>)], column: &Column) -> Option<Vec<u32>> {
    let inside = |i: &u32| {
        let cell = column.cell(*i as usize);
        match ranges {
            [(lo, hi)] => lo.as_slice() <= cell && cell <= hi.as_slice(),
            all => strings(all, cell, cell) == Relation::Inside,
        }
    };
    if let Some(mut among) = among {
        among.retain(inside);
        return Some(among);
    }
    let found: Vec<u32> = (0..column.len() as u32).filter(inside).collect();
    (found.len() < column.len()).then_some(found)
}

/// Selects the numbers in `ranges`, out of all cells or those in `among`. Returns `None` if all cells are selected.
fn select_numbers(among: Option<Vec<u32>>, ranges: &[Span], column: &Column) -> Option<Vec<u32>> {
    let physical = column.datatype.physical();
    match (ranges, physical) {
        ([one], Physical::I64) => return select_keys::<i64>(among, *one, column),
        ([one], Physical::U64) => return select_keys::<u64>(among, *one, column),
        _ => {}
    }
    with_type!(physical, T => {
        let values = typed::<T>(&column.data);
        match ranges {
            [one] => {
                let (lo, hi) = (T::from_key(one.first), T::from_key(one.last));
                narrow(among, &values, |v| (lo <= *v) & (*v <= hi))
            }
            all => narrow(among, &values, |v| {
                v.key().is_some_and(|k| numbers(all, k, k) == Relation::Inside)
            }),
        }
    })
}

/// Like [`select_numbers`], for 8-byte integers. SIMD registers of 16 bytes can subtract such integers but not compare
/// them.
fn select_keys<T: Keyed>(among: Option<Vec<u32>>, range: Span, column: &Column) -> Option<Vec<u32>> {
    let (width, values) = (range.last - range.first, typed::<T>(&column.data));
    let from_first = |v: &T| v.total_key().wrapping_sub(range.first);
    if width > u64::MAX / 2 {
        return narrow(among, &values, |v| from_first(v) <= width);
    }
    // The top bit of either term is set if its first operand is greater.
    narrow(among, &values, |v| {
        (from_first(v) | width.wrapping_sub(from_first(v))) >> 63 == 0
    })
}

/// Cells that are tested together. In most groups all cells are inside, or none is.
const GROUP: usize = 32;

/// Selects the `values` that are `inside`, out of all or those in `among`. Returns `None` if all are selected.
fn narrow<T>(among: Option<Vec<u32>>, values: &[T], inside: impl Fn(&T) -> bool) -> Option<Vec<u32>> {
    if let Some(mut among) = among {
        among.retain(|&i| values.get(i as usize).is_some_and(&inside));
        return Some(among);
    }
    let mut out = Vec::new();
    let mut take = |start: usize, group: &[T], found: usize| {
        let numbered = (start as u32..).zip(group);
        let taken = numbered.filter(|(_, v)| found == group.len() || inside(v));
        out.extend(taken.map(|(i, _)| i));
    };
    let count = |v: &T| usize::from(inside(v));
    let (groups, rest) = values.as_chunks::<GROUP>();
    for (i, group) in groups.iter().enumerate() {
        let found: usize = group.iter().map(count).sum();
        if found > 0 {
            take(i * GROUP, group, found);
        }
    }
    take(groups.len() * GROUP, rest, rest.iter().map(count).sum());
    (out.len() < values.len()).then_some(out)
}

/// How `lo..=hi` relates to ascending ranges.
fn numbers(all: &[Span], lo: u64, hi: u64) -> Relation {
    match all.get(all.partition_point(|r| r.last < lo)) {
        Some(r) if r.first <= lo && hi <= r.last => Relation::Inside,
        Some(r) if r.first <= hi => Relation::Partial,
        _ => Relation::Outside,
    }
}

fn strings(all: &[(Vec<u8>, Vec<u8>)], lo: &[u8], hi: &[u8]) -> Relation {
    match all.get(all.partition_point(|r| r.1.as_slice() < lo)) {
        Some(r) if r.0.as_slice() <= lo && hi <= r.1.as_slice() => Relation::Inside,
        Some(r) if r.0.as_slice() <= hi => Relation::Partial,
        _ => Relation::Outside,
    }
}

impl DimensionRanges {
    fn new(ranges: &[ScalarRange], dim: &Dimension) -> Result<Self> {
        if ranges.is_empty() {
            return Ok(Self::All);
        }
        let bad = |r: &ScalarRange, why: &str| {
            let range = r.shown(dim.datatype);
            Error::invalid(format!("dimension '{}': the range {range} {why}", dim.name))
        };
        if dim.cell.is_var() {
            let mut all = Vec::with_capacity(ranges.len());
            for r in ranges {
                match (&r.lo, &r.hi) {
                    (Scalar::Bytes(lo), Scalar::Bytes(hi)) if lo <= hi => all.push((lo.clone(), hi.clone())),
                    (Scalar::Bytes(_), Scalar::Bytes(_)) => return Err(bad(r, "ends before it starts")),
                    _ => return Err(bad(r, "must have string bounds")),
                }
            }
            sort_by(&mut all, Ord::cmp);
            let mut merged: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            for (lo, hi) in all {
                match merged.last_mut() {
                    Some(last) if lo <= last.1 => last.1 = hi.max(std::mem::take(&mut last.1)),
                    _ => merged.push((lo, hi)),
                }
            }
            return Ok(Self::Strings(merged));
        }
        let mut all = Vec::with_capacity(ranges.len());
        for r in ranges {
            let end = |s: &Scalar| coordinate(s, dim).and_then(|s| key::key(&s));
            let (Some(lo), Some(hi)) = (end(&r.lo), end(&r.hi)) else {
                return Err(bad(r, &format!("does not fit {}", dim.datatype)));
            };
            all.push(Span::new(lo, hi).ok_or_else(|| bad(r, "ends before it starts"))?);
        }
        sort_by_number(&mut all, |s: &Span| s.first);
        let mut merged: Vec<Span> = Vec::new();
        for span in all {
            match merged.last_mut() {
                Some(last) if span.first <= last.last.saturating_add(1) => *last = last.union(span),
                _ => merged.push(span),
            }
        }
        Ok(Self::Numbers(merged))
    }

    fn relation(&self, bounds: &Bounds, i: usize) -> Relation {
        match (self, bounds) {
            (Self::All, _) => Relation::Inside,
            (Self::Numbers(all), Bounds::Keys { lo, hi, .. }) => match (lo.get(i), hi.get(i)) {
                (Some(&lo), Some(&hi)) => numbers(all, lo, hi),
                _ => Relation::Partial,
            },
            (Self::Strings(all), Bounds::Strings { lo, hi }) => strings(all, lo.get(i), hi.get(i)),
            _ => Relation::Partial,
        }
    }
}

/// Converts a number to the dimension's type.
fn coordinate(value: &Scalar, dim: &Dimension) -> Option<Scalar> {
    match value.as_i128() {
        Some(v) => Scalar::from_i128(dim.datatype, v),
        // A float32 dimension accepts doubles.
        None => match (value, dim.datatype.physical()) {
            (Scalar::F64(v), Physical::F32) => Some(Scalar::F32(*v as f32)),
            (Scalar::F32(v), Physical::F64) => Some(Scalar::F64(f64::from(*v))),
            (Scalar::F32(_), Physical::F32) | (Scalar::F64(_), Physical::F64) => Some(value.clone()),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;
    use crate::format::schema::ArrayType;

    fn schema() -> Schema {
        Schema::new(
            ArrayType::Sparse,
            vec![
                Dimension::new("x", Datatype::Int32, -100, 100, 10),
                Dimension::string("s"),
            ],
            vec![],
        )
    }

    fn ranges(x: &[(i32, i32)], s: &[(&str, &str)]) -> Result<Ranges> {
        let x = x.iter().map(|r| ScalarRange::new(r.0, r.1)).collect();
        let s = s.iter().map(|r| ScalarRange::new(r.0, r.1)).collect();
        Ranges::new(&Region(vec![x, s]), &schema())
    }

    #[test]
    fn ranges_are_merged_and_select_cells() {
        let r = ranges(&[(5, 9), (-3, 1), (8, 20), (2, 3)], &[("b", "c"), ("bb", "d")]).unwrap();
        let DimensionRanges::Numbers(x) = &r.0[0] else { panic!() };
        assert_eq!(x.len(), 2, "-3 to 3 and 5 to 20");
        assert_eq!(r.0[1], DimensionRanges::Strings(vec![(b"b".to_vec(), b"d".to_vec())]));
        let dims = [
            Column::from_values(Datatype::Int32, &[-3, 3, 4, 20, 21, 6]),
            Column::from_cells(Datatype::StringAscii, ["b", "a", "c", "d", "b", "da"]),
        ]
        .map(Some);
        let dims = dims.each_ref().map(Option::as_ref);
        assert_eq!(r.select(&dims), Some(vec![0, 3]));
        assert_eq!(r.select(&[dims[0], None]), Some(vec![0, 1, 3, 5]));
        assert_eq!(r.select(&[None, dims[1]]), Some(vec![0, 2, 3, 4]));
        let all = Ranges::new(&Region::all(), &schema()).unwrap();
        assert_eq!(all.select(&dims), None);
    }

    #[test]
    fn groups_of_cells_are_selected_like_single_cells() {
        let r = ranges(&[(-40, 30)], &[("b", "k")]).unwrap();
        for cells in [0_usize, 1, GROUP - 1, GROUP, GROUP + 1, 5 * GROUP + 7] {
            for step in [0, 1, 7] {
                // Stretches of varying length make groups full, empty or mixed.
                let x: Vec<i32> = (0..cells as i32).map(|i| (i * step / 3) % 100 - 50).collect();
                let s: Vec<String> = (0..cells)
                    .map(|i| char::from(b'a' + (i / 9 % 20) as u8).to_string())
                    .collect();
                let inside = |i: &u32| {
                    let (x, s) = (x[*i as usize], s[*i as usize].as_str());
                    (-40..=30).contains(&x) && ("b"..="k").contains(&s)
                };
                let plain: Vec<u32> = (0..cells as u32).filter(inside).collect();
                let dims = [
                    Column::from_values(Datatype::Int32, &x),
                    Column::from_cells(Datatype::StringAscii, &s),
                ];
                let found = r.select(&dims.each_ref().map(Some));
                assert_eq!(
                    found.unwrap_or_else(|| (0..cells as u32).collect()),
                    plain,
                    "{cells}, {step}"
                );
            }
        }
    }

    #[test]
    fn integers_of_8_bytes_are_selected_up_to_their_ends() {
        let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
        let signed = Column::from_values(Datatype::Int64, &ends);
        let unsigned: Vec<u64> = ends.iter().map(|v| v.cast_unsigned()).collect();
        let unsigned = Column::from_values(Datatype::Uint64, &unsigned);
        let numbers = |inside: &dyn Fn(i64) -> bool| -> Vec<u32> {
            (0..).zip(ends).filter(|(_, v)| inside(*v)).map(|(i, _)| i).collect()
        };
        for lo in ends {
            for hi in ends {
                let span = |lo: Option<u64>, hi: Option<u64>| Span::new(lo?, hi?);
                if let Some(one) = span(lo.key(), hi.key()) {
                    let plain = numbers(&|v| (lo..=hi).contains(&v));
                    let found = select_numbers(None, &[one], &signed);
                    assert_eq!(found.unwrap_or_else(|| (0..7).collect()), plain, "{lo} to {hi}");
                }
                let (lo, hi) = (lo.cast_unsigned(), hi.cast_unsigned());
                if let Some(one) = span(lo.key(), hi.key()) {
                    let plain = numbers(&|v| (lo..=hi).contains(&v.cast_unsigned()));
                    let found = select_numbers(None, &[one], &unsigned);
                    assert_eq!(found.unwrap_or_else(|| (0..7).collect()), plain, "{lo} to {hi}");
                }
            }
        }
    }

    #[test]
    fn boxes_are_inside_outside_or_partial() {
        let r = ranges(&[(0, 9), (20, 29)], &[]).unwrap();
        let x = |lo, hi| r.relation_to(&[ScalarRange::new(lo, hi), ScalarRange::new("", "z")]);
        assert_eq!(
            [x(0, 9), x(5, 12), x(10, 19), x(15, 40), x(30, 31)],
            [
                Relation::Inside,
                Relation::Partial,
                Relation::Outside,
                Relation::Partial,
                Relation::Outside
            ]
        );
    }

    #[test]
    fn invalid_ranges_are_refused() {
        assert!(
            ranges(&[(5, 4)], &[])
                .unwrap_err()
                .to_string()
                .contains("ends before it starts")
        );
        assert!(ranges(&[], &[("b", "a")]).is_err());
        assert!(Ranges::new(&Region(vec![vec![]]), &schema()).is_err());
        let strings = Region(vec![vec![ScalarRange::new("a", "b")], vec![]]);
        assert!(
            Ranges::new(&strings, &schema())
                .unwrap_err()
                .to_string()
                .contains("does not fit int32")
        );
    }
}
