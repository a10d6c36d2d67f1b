//! The selection along one dimension.

use std::ops::Range;

use super::{coordinate, lexer};
use crate::calendar;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::format::domain::Dimension;
use crate::format::schema::Schema;
use crate::scalar::{Scalar, ScalarRange};

/// The largest number of coordinates that a strided axis may select.
const STRIDED_MAX: u64 = 1 << 22;

/// The selection along a dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The closed range; `None` for all of a string dimension.
    pub range: Option<ScalarRange>,
    /// Select every `step`-th coordinate from the start of the range; at least 1.
    pub step: u64,
    /// A single coordinate is selected, so images and numpy arrays drop this axis.
    pub single: bool,
    /// The ranges of a list, in their order. `range` then goes from their least coordinate to the greatest one.
    pub list: Vec<ScalarRange>,
}

impl Axis {
    /// Selects a closed range, or all of a string dimension.
    pub const fn of(range: Option<ScalarRange>) -> Self {
        Self {
            range,
            step: 1,
            single: false,
            list: Vec::new(),
        }
    }

    /// Joins the parts of a list.
    pub(super) fn join(axes: Vec<Self>) -> Self {
        let list: Vec<ScalarRange> = axes.into_iter().filter_map(|axis| axis.range).collect();
        Self {
            list: list.clone(),
            ..Self::of(list.into_iter().reduce(|a, b| a.union(&b)))
        }
    }

    /// Whether the coordinates are those of one range.
    pub const fn is_range(&self) -> bool {
        self.step == 1 && self.list.is_empty()
    }

    pub(super) fn whole(
        schema: &Schema,
        dimension: &Dimension,
        index: usize,
        non_empty: Option<&[ScalarRange]>,
    ) -> Self {
        let written = non_empty.and_then(|b| b.get(index)).cloned();
        // The extent of a string dimension is unknown before the first write, so `None` selects all of it.
        let range = if dimension.domain.is_none() {
            None
        } else {
            let limits = schema.limits(index).cloned();
            // In time travel, fragments newer than the schema may exceed its current domain.
            match (written, limits) {
                (Some(written), Some(limits)) => {
                    let common = written.intersection(&limits);
                    Some(if common.is_empty() { limits } else { common })
                }
                (written, limits) => written.or(limits),
            }
        };
        Self::of(range)
    }

    /// The number of selected coordinates; `None` for floats and strings, which cannot be counted.
    pub fn len(&self) -> Option<u64> {
        let mut counts = self.parts().iter().map(|range| self.count(range));
        counts.try_fold(0, |n: u64, count| n.checked_add(count?))
    }

    /// The ranges that are selected one after the other.
    fn parts(&self) -> &[ScalarRange] {
        match &self.range {
            Some(range) if self.list.is_empty() => std::slice::from_ref(range),
            _ => &self.list,
        }
    }

    fn count(&self, range: &ScalarRange) -> Option<u64> {
        let (lo, hi) = (range.lo.as_i128()?, range.hi.as_i128()?);
        if hi < lo {
            return Some(0);
        }
        u64::try_from((hi - lo) / i128::from(self.step.max(1)) + 1).ok()
    }

    /// The selected coordinates with these indices, as ranges.
    pub(in crate::view) fn at(&self, indices: &Range<u64>, datatype: Datatype) -> Vec<ScalarRange> {
        let step = i128::from(self.step.max(1));
        let (mut before, mut out) = (0_u64, Vec::new());
        for part in self.parts() {
            let (Some(low), Some(count)) = (part.lo.as_i128(), self.count(part)) else {
                continue;
            };
            let start = indices.start.saturating_sub(before).min(count);
            let end = indices.end.saturating_sub(before).min(count);
            before = before.saturating_add(count);
            let at = |i: u64| Scalar::from_i128(datatype, low + i128::from(i) * step);
            let range = |a: u64, b: u64| Some(ScalarRange { lo: at(a)?, hi: at(b)? });
            if start >= end {
                continue;
            } else if step == 1 {
                out.extend(range(start, end - 1));
            } else {
                out.extend((start..end).filter_map(|i| range(i, i)));
            }
        }
        out
    }

    /// Whether no coordinate is selected.
    pub fn is_empty(&self) -> bool {
        self.range.as_ref().is_some_and(ScalarRange::is_empty)
    }

    /// Fails if a step selects too many single coordinates.
    pub(super) fn check_step(&self, dimension: &Dimension) -> Result<()> {
        let count = self.len().unwrap_or(0);
        if self.range.is_none() || self.is_range() || count <= STRIDED_MAX {
            return Ok(());
        }
        let what = format!(
            "coordinates selected along dimension '{}' (leave out the step or the list, or select fewer)",
            dimension.name
        );
        Err(Error::LimitExceeded {
            what,
            found: count,
            limit: STRIDED_MAX,
        })
    }

    /// The selected ranges. [`Axis::check_step`] must have succeeded.
    pub(super) fn ranges(&self, dimension: &Dimension) -> Vec<ScalarRange> {
        let Some(range) = &self.range else {
            return Vec::new();
        };
        if !self.list.is_empty() {
            return self.list.clone();
        }
        if self.step <= 1 {
            return vec![range.clone()];
        }
        let count = self.len().unwrap_or(0);
        let lo = range.lo.as_i128().unwrap_or(0);
        let at = |i: u64| Scalar::from_i128(dimension.datatype, lo + i128::from(i) * i128::from(self.step));
        // Reserved at once, because a growing list takes up to three times as much memory.
        let mut all = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
        all.extend((0..count).filter_map(|i| at(i).map(|v| ScalarRange { lo: v.clone(), hi: v })));
        all
    }

    /// Formats the selection of the axis in the grammar.
    pub(in crate::view) fn text(&self, datatype: Datatype) -> String {
        let Some(range) = &self.range else {
            return "_".to_owned();
        };
        if !self.list.is_empty() {
            let part = |range: &ScalarRange| {
                let single = range.lo == range.hi;
                let axis = Self::of(Some(range.clone()));
                Self { single, ..axis }.text(datatype)
            };
            let parts: Vec<String> = self.list.iter().map(part).collect();
            return format!("{{{}}}", parts.join(","));
        }
        if self.single {
            return coordinate_text(&range.lo, datatype);
        }
        let hi = match range.hi.as_i128() {
            Some(hi) if !datatype.is_datetime() => (hi + 1).to_string(),
            None if range.hi == Scalar::Bytes(coordinate::AFTER_STRINGS.to_vec()) => String::new(),
            _ => coordinate_text(&range.hi, datatype),
        };
        let lo = match &range.lo {
            // The range starts at the empty string, which sorts first.
            Scalar::Bytes(v) if v.is_empty() && range.hi != range.lo => String::new(),
            lo => coordinate_text(lo, datatype),
        };
        if self.step > 1 {
            format!("{lo}:{hi}:{}", self.step)
        } else {
            format!("{lo}:{hi}")
        }
    }
}

/// Formats a coordinate in the grammar.
pub(super) fn coordinate_text(value: &Scalar, datatype: Datatype) -> String {
    match value {
        Scalar::I64(v) if datatype.is_datetime() => calendar::format(*v, datatype),
        Scalar::F32(v) => format!("{v:?}"),
        Scalar::F64(v) => format!("{v:?}"),
        // An empty coordinate would select everything.
        Scalar::Bytes(v) if v.is_empty() => "''".to_owned(),
        Scalar::Bytes(v) => lexer::quote(&String::from_utf8_lossy(v)),
        other => other.as_i128().unwrap_or(0).to_string(),
    }
}
