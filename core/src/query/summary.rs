//! Answers aggregates from a tile's statistics, if those are reliable.
//!
//! The fragment's writer is unknown, and some statistics that libtiledb writes are wrong. These are never used:
//! - null counts of fields that have no minimum
//! - extremes of nullable text
//! - extremes of variable-length text in dense fragments that have fewer tiles than fields
//! - extremes of fixed-length text that continues after a zero byte
//! - extremes of floats that include NaN
//! - sums that overflowed along the way
//! - statistics of fields with lossy filters, because statistics describe the cells before filtering
//!
//! Padding cells distort statistics too. That does not matter here, because callers ask only about tiles whose cells
//! were all written.

use crate::array::Fragment;
use crate::array::index::Section;
use crate::datatype::{CellCount, Datatype, Physical};
use crate::format::field::Field;
use crate::format::fragment::slots::FieldId;
use crate::format::fragment::stats::TileValues;
use crate::query::aggregate::{Aggregate, Summary, is_text};
use crate::scalar::Scalar;

/// A bound far below the limit of doubles (1.8e308). A sum of doubles that stays below it did not overflow.
const REAL_MAX: f64 = 1e300;

/// An aggregate of one field in one fragment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatisticsQuery<'a> {
    aggregate: Aggregate,
    field: &'a Field,
    fragment: &'a Fragment,
    /// The attribute's index in the fragment's schema and its slot in the statistics. `None` if the answer needs no
    /// statistics.
    stored: Option<(usize, usize)>,
}

/// How to read the statistics of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatisticsKind {
    Integers,
    Floats,
    Text,
    /// There are no statistics, or none that are reliable.
    Other,
}

/// Whether the number of cells suffices to compute the aggregate.
pub(crate) fn is_count(aggregate: Aggregate, field: &Field) -> bool {
    aggregate == Aggregate::Count || (aggregate == Aggregate::NullCount && !field.nullable)
}

fn kind(field: &Field) -> StatisticsKind {
    let plain_text = matches!(field.datatype, Datatype::Char | Datatype::StringAscii);
    if is_text(field.datatype, field.cell) {
        return if plain_text {
            StatisticsKind::Text
        } else {
            StatisticsKind::Other
        };
    }
    if field.cell != CellCount::ONE || field.datatype.is_bytes() {
        return StatisticsKind::Other;
    }
    if field.datatype.is_float() {
        StatisticsKind::Floats
    } else {
        StatisticsKind::Integers
    }
}

impl<'a> StatisticsQuery<'a> {
    /// Returns `None` if the fragment's statistics cannot answer: the fragment lacks the field, stores it with another
    /// type, or its statistics of such a field are unreliable.
    pub(crate) fn new(aggregate: Aggregate, field: &'a Field, fragment: &'a Fragment) -> Option<Self> {
        let counts = Self {
            aggregate,
            field,
            fragment,
            stored: None,
        };
        if is_count(aggregate, field) {
            return Some(counts);
        }
        let id = fragment.attribute(&field.name)?;
        let FieldId::Attribute(i) = id else { return None };
        field.attribute_index()?;
        let stored = fragment.schema.attributes.get(i)?;
        let same_type =
            stored.datatype == field.datatype && stored.cell == field.cell && stored.nullable == field.nullable;
        let reliable = match (kind(field), aggregate) {
            (StatisticsKind::Integers | StatisticsKind::Floats, _) => true,
            (StatisticsKind::Text, Aggregate::Min | Aggregate::Max) => {
                !(field.nullable || fragment.dense && field.cell.is_var())
            }
            _ => false,
        };
        let usable = same_type && reliable && stored.filters.is_exact();
        let slot = fragment.slots.index(id).filter(|_| usable)?;
        Some(Self {
            stored: Some((i, slot)),
            ..counts
        })
    }

    /// The sections of the fragment's index that are needed for the answer.
    pub(crate) fn sections(&self) -> Vec<Section> {
        let Some((_, slot)) = self.stored else {
            return Vec::new();
        };
        let mut out = vec![Section::Mins(slot), Section::Maxs(slot)];
        let sums = match kind(self.field) {
            StatisticsKind::Integers => self.adds(),
            // Sums show whether there are NaNs.
            StatisticsKind::Floats => true,
            StatisticsKind::Text | StatisticsKind::Other => false,
        };
        out.extend(sums.then_some(Section::Sums(slot)));
        if self.field.nullable {
            out.push(Section::NullCounts(slot));
        }
        out
    }

    const fn adds(&self) -> bool {
        matches!(self.aggregate, Aggregate::Sum | Aggregate::Mean)
    }

    /// Summarizes a tile of `cells` cells, as far as the aggregate needs. The sections must be loaded. Returns `None`
    /// if the statistics are missing or unreliable.
    pub(crate) fn answer(&self, tile: u64, cells: u64) -> Option<Summary> {
        let mut out = Summary::of_cells(cells);
        let Some((attribute, slot)) = self.stored else {
            return Some(out);
        };
        let index = &self.fragment.index;
        if self.field.nullable {
            out.values = cells.checked_sub(index.null_count(slot, tile)?)?;
        }
        if self.aggregate == Aggregate::NullCount || out.values == 0 {
            return Some(out);
        }
        let physical = self.field.datatype.physical();
        let number = usize::try_from(tile).ok()?;
        let end = |values: Option<&TileValues>| Some(values?.get(number, self.field.cell_bytes())?.to_vec());
        let (min, max) = (end(index.mins(slot))?, end(index.maxs(slot))?);
        match kind(self.field) {
            StatisticsKind::Text => {
                let unsure = |end: &Vec<u8>| !self.field.cell.is_var() && continues_after_zero(end);
                if min > max || unsure(&min) || unsure(&max) {
                    return None;
                }
                out.min = Some(Scalar::Bytes(min));
                out.max = Some(Scalar::Bytes(max));
            }
            StatisticsKind::Integers => {
                let (min, max) = ends(self.fragment, attribute, slot, physical, tile)?;
                if self.adds() {
                    if !fits(physical, min.as_i128()?, max.as_i128()?, out.values) {
                        return None;
                    }
                    let bits = index.sum(slot, tile)?;
                    out.whole = if physical.is_signed() {
                        i128::from(bits.cast_signed())
                    } else {
                        i128::from(bits)
                    };
                }
                (out.min, out.max) = (Some(min), Some(max));
            }
            StatisticsKind::Floats => {
                let (min, max) = (
                    Scalar::from_le_bytes(physical, &min)?,
                    Scalar::from_le_bytes(physical, &max)?,
                );
                out.real = f64::from_bits(index.sum(slot, tile)?);
                let (lo, hi) = (min.as_f64()?, max.as_f64()?);
                // The extremes may not show a NaN, but the sum would be NaN, unless libtiledb's sum had overflowed
                // before. For that, some of the values must be huge. The bound leaves room to spare.
                let most = lo.abs().max(hi.abs()) * out.values as f64;
                if !(out.real.abs() < REAL_MAX && most < REAL_MAX && lo <= hi) {
                    return None;
                }
                (out.min, out.max) = (Some(min), Some(max));
            }
            StatisticsKind::Other => return None,
        }
        Some(out)
    }
}

/// The least and the greatest value of a tile of an integer attribute with index `attribute`, whose statistics are in
/// `slot`. Returns `None` if filters may have changed the values.
fn ends(fragment: &Fragment, attribute: usize, slot: usize, physical: Physical, tile: u64) -> Option<(Scalar, Scalar)> {
    let tile = usize::try_from(tile).ok()?;
    let end = |values: Option<&TileValues>| Scalar::from_le_bytes(physical, values?.get(tile, Some(physical.size()))?);
    let (min, max) = (end(fragment.index.mins(slot))?, end(fragment.index.maxs(slot))?);
    let (lo, hi) = (min.as_i128()?, max.as_i128()?);
    let filters = &fragment.schema.attributes.get(attribute)?.filters;
    (lo <= hi && filters.keeps(physical, lo, hi)).then_some((min, max))
}

/// Whether fixed-length text continues after its first zero byte. Comparisons stop at that byte, so such text may
/// differ from other text that they find equal.
fn continues_after_zero(text: &[u8]) -> bool {
    text.iter()
        .position(|&b| b == 0)
        .is_some_and(|zero| zero + 1 < text.len())
}

/// Whether a sum of `values` integers from `lo` to `hi` cannot overflow, in any order.
fn fits(physical: Physical, lo: i128, hi: i128, values: u64) -> bool {
    let most = lo.unsigned_abs().max(hi.unsigned_abs()).checked_mul(u128::from(values));
    let limit = if physical.is_signed() {
        i64::MAX.unsigned_abs()
    } else {
        u64::MAX
    };
    most.is_some_and(|most| most <= u128::from(limit))
}
