//! What the statistics of a tile say of its cells, where they can be relied on.
//!
//! Who wrote a fragment is not known, and libtiledb gets some statistics wrong: null counts of fields
//! that have no minimum, extremes of nullable text, extremes of variable-length text in dense fragments of
//! fewer tiles than fields, extremes of text of fixed length that goes on behind a zero byte, extremes of
//! floats among which is NaN, sums that met the limit of their type on the way. None of these is used, nor
//! are those of fields whose filters lose something: statistics are of the cells as they were given. What
//! padding does to statistics does not matter here: only tiles are asked about whose cells were all written.

use crate::array::Fragment;
use crate::array::index::Section;
use crate::datatype::{CellCount, Datatype, Physical};
use crate::format::fragment::slots::FieldId;
use crate::format::fragment::stats::TileValues;
use crate::query::aggregate::{Aggregate, is_text};
use crate::query::field::Field;
use crate::scalar::Scalar;

/// Where doubles are added up, nothing near this has been met: their own limit is 1.8e308.
const REAL_MAX: f64 = 1e300;

/// The cells of a tile, taken together.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Summary {
    pub(crate) cells: u64,
    /// Cells that are not null.
    pub(crate) values: u64,
    /// The sum of integers.
    pub(crate) whole: i128,
    /// The sum of floats.
    pub(crate) real: f64,
    pub(crate) min: Option<Scalar>,
    pub(crate) max: Option<Scalar>,
}

impl Summary {
    /// Of cells of which nothing else is known; none is null.
    pub(crate) fn of_cells(cells: u64) -> Self {
        Self {
            cells,
            values: cells,
            ..Self::default()
        }
    }
}

/// What is wanted of one field in one fragment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    aggregate: Aggregate,
    field: &'a Field,
    fragment: &'a Fragment,
    /// The attribute's number in the fragment's schema, and its place in the statistics; `None` where they are not
    /// needed.
    stored: Option<(usize, usize)>,
}

/// How the statistics of a field are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integers,
    Floats,
    Text,
    /// There are none, or none that can be relied on.
    Other,
}

/// Whether an aggregate needs to know nothing but how many cells there are.
pub(crate) fn is_count(aggregate: Aggregate, field: &Field) -> bool {
    aggregate == Aggregate::Count || (aggregate == Aggregate::NullCount && !field.nullable)
}

fn kind(field: &Field) -> Kind {
    let plain_text = matches!(field.datatype, Datatype::Char | Datatype::StringAscii);
    if is_text(field.datatype, field.cell) {
        return if plain_text { Kind::Text } else { Kind::Other };
    }
    if field.cell != CellCount::ONE || field.datatype.is_opaque() || field.datatype.is_string() {
        return Kind::Other;
    }
    if field.datatype.is_float() {
        Kind::Floats
    } else {
        Kind::Integers
    }
}

impl<'a> Question<'a> {
    /// `None` where the fragment's statistics cannot answer it: it lacks the field or has it as
    /// another type, or its statistics of such a field are not relied on.
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
        let alike = stored.datatype == field.datatype && stored.cell == field.cell && stored.nullable == field.nullable;
        let reliable = match (kind(field), aggregate) {
            (Kind::Integers | Kind::Floats, _) => true,
            (Kind::Text, Aggregate::Min | Aggregate::Max) => !(field.nullable || fragment.dense && field.cell.is_var()),
            _ => false,
        };
        let told = alike && reliable && stored.filters.is_exact();
        let slot = fragment.slots.index(id).filter(|_| told)?;
        Some(Self {
            stored: Some((i, slot)),
            ..counts
        })
    }

    /// The sections of the fragment's index that answer it.
    pub(crate) fn sections(&self) -> Vec<Section> {
        let Some((_, slot)) = self.stored else {
            return Vec::new();
        };
        let mut out = vec![Section::Mins(slot), Section::Maxs(slot)];
        let sums = match kind(self.field) {
            Kind::Integers => self.adds(),
            // These tell of NaN.
            Kind::Floats => true,
            Kind::Text | Kind::Other => false,
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

    /// What the statistics say of a tile of `cells` cells, as far as the question goes. The sections
    /// must be loaded. `None` where they do not say, or not reliably.
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
        let end = |values: Option<&TileValues>| Some(values?.get(number, self.field.width())?.to_vec());
        let (min, max) = (end(index.mins(slot))?, end(index.maxs(slot))?);
        match kind(self.field) {
            Kind::Text => {
                let unsure = |end: &Vec<u8>| !self.field.cell.is_var() && goes_on_behind_zero(end);
                if min > max || unsure(&min) || unsure(&max) {
                    return None;
                }
                out.min = Some(Scalar::Bytes(min));
                out.max = Some(Scalar::Bytes(max));
            }
            Kind::Integers => {
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
            Kind::Floats => {
                let (min, max) = (
                    Scalar::from_le_bytes(physical, &min)?,
                    Scalar::from_le_bytes(physical, &max)?,
                );
                out.real = f64::from_bits(index.sum(slot, tile)?);
                let (lo, hi) = (min.as_f64()?, max.as_f64()?);
                // A NaN, which the extremes may not show, would make the sum NaN; unless that had met its
                // limit before, for which some of the numbers must be huge.
                // It is a bound with room to spare.
                let most = lo.abs().max(hi.abs()) * out.values as f64;
                if !(out.real.abs() < REAL_MAX && most < REAL_MAX && lo <= hi) {
                    return None;
                }
                (out.min, out.max) = (Some(min), Some(max));
            }
            Kind::Other => return None,
        }
        Some(out)
    }
}

/// The least and the greatest value of a tile of attribute number `attribute`, of integers, which has the place `slot`
/// among the fragment's statistics. `None` where they are not those of the cells that are read.
fn ends(fragment: &Fragment, attribute: usize, slot: usize, physical: Physical, tile: u64) -> Option<(Scalar, Scalar)> {
    let tile = usize::try_from(tile).ok()?;
    let end = |values: Option<&TileValues>| Scalar::from_le_bytes(physical, values?.get(tile, Some(physical.size()))?);
    let (min, max) = (end(fragment.index.mins(slot))?, end(fragment.index.maxs(slot))?);
    let (lo, hi) = (min.as_i128()?, max.as_i128()?);
    let filters = &fragment.schema.attributes.get(attribute)?.filters;
    (lo <= hi && filters.keeps(physical, lo, hi)).then_some((min, max))
}

/// Whether text of this length that is alike up to its first zero byte may yet be other text: it is not
/// compared any further.
fn goes_on_behind_zero(text: &[u8]) -> bool {
    text.iter()
        .position(|&b| b == 0)
        .is_some_and(|zero| zero + 1 < text.len())
}

/// Whether `values` integers from `lo` to `hi` cannot meet the limit of their sum in any order.
fn fits(physical: Physical, lo: i128, hi: i128, values: u64) -> bool {
    let most = lo.unsigned_abs().max(hi.unsigned_abs()).checked_mul(u128::from(values));
    let limit = if physical.is_signed() {
        i64::MAX.unsigned_abs()
    } else {
        u64::MAX
    };
    most.is_some_and(|most| most <= u128::from(limit))
}
