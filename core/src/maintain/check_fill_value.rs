//! Detects attributes whose filters cannot round-trip the fill value. A merge would store a different value in cells
//! that were never written.

use std::sync::Arc;

use crate::array::Fragment;
use crate::error::{Error, Result};
use crate::filter::{Nonces, TileFormat, decode_tile, encode_tile};
use crate::format::pipeline::Filter;
use crate::format::schema::{Attribute, Schema};
use crate::geometry::{Grid, Span, region};
use crate::query::tile::StoredField;

/// The maximum number of boxes that the gaps may be split into.
const PIECES_MAX: usize = 1 << 16;

/// Fails if there is such an attribute and `bounds` has cells outside the boxes of these dense fragments.
pub(super) fn check_gaps(schema: &Schema, grid: &Grid, bounds: &[Span], run: &[Arc<Fragment>]) -> Result<()> {
    let Some(a) = schema.attributes.iter().find(|a| !keeps_fill(a)) else {
        return Ok(());
    };
    let mut gaps = vec![bounds.to_vec()];
    for written in run.iter().filter(|f| f.dense).filter_map(|f| f.spans(grid).transpose()) {
        gaps = region::without(gaps, &written?, |_| {});
        if gaps.len() > PIECES_MAX {
            break;
        }
    }
    if gaps.is_empty() { Ok(()) } else { Err(unstorable(a)) }
}

/// Float scale turns NaN, the default fill value, into a number. The values of null cells are not read.
fn keeps_fill(a: &Attribute) -> bool {
    let is_null = a.nullable && !a.fill_valid;
    if is_null || !a.filters.filters.iter().any(|f| matches!(f, Filter::FloatScale { .. })) {
        return true;
    }
    let format = TileFormat::new(a.datatype, a.cell);
    let tile = encode_tile(&a.fill, &a.filters, &format, &Nonces::none());
    let stored = tile.and_then(|tile| decode_tile(&tile, &a.filters, &format, a.fill.len() as u64));
    stored.is_ok_and(|stored| stored == a.fill)
}

/// Fails if there is such an attribute and one of the fragments lacks it.
pub(super) fn check_absent(schema: &Schema, run: &[Arc<Fragment>]) -> Result<()> {
    for a in schema.attributes.iter().filter(|a| !keeps_fill(a)) {
        let is_absent = |f| StoredField::of_attribute(f, &a.name, a.datatype, a.cell).is_none();
        if run.iter().any(is_absent) {
            return Err(unstorable(a));
        }
    }
    Ok(())
}

/// A merge would change the value of cells that hold the fill value of `a`.
fn unstorable(a: &Attribute) -> Error {
    Error::Unsupported(format!(
        "some of these cells have no value of '{}', and its filters cannot store its fill value: after a merge they \
         would hold a number; do not merge these fragments, or import the cells into a new array without float scale",
        a.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::pipeline::Pipeline;

    #[test]
    fn unwritten_cells_stay_null_whatever_their_value() {
        let mut a = Attribute::new("a", Datatype::Float64, CellCount::ONE);
        a.filters = Pipeline::new(vec![Filter::FloatScale {
            scale: 1.0,
            offset: 0.0,
            byte_width: 4,
        }]);
        assert!(!keeps_fill(&a));
        (a.nullable, a.fill_valid) = (true, false);
        assert!(keeps_fill(&a));
        a.fill_valid = true;
        assert!(!keeps_fill(&a));
    }
}
