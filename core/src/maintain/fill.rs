//! Attributes whose filters make another value of their fill value, which a merge would store in cells that nobody wrote.

use std::sync::Arc;

use crate::array::Fragment;
use crate::error::{Error, Result};
use crate::filter::{Nonces, TileFormat, decode_tile, encode_tile};
use crate::format::pipeline::Filter;
use crate::format::schema::{Attribute, Schema};
use crate::geometry::{Grid, Span, region};
use crate::query::tile::StoredField;

/// Boxes that a gap may fall into while the boxes around it are taken out.
const PIECES_MAX: usize = 1 << 16;

/// Complains if there is such an attribute, and `bounds` has cells that are in no box of these dense fragments.
pub(super) fn check_gaps(schema: &Schema, grid: &Grid, bounds: &[Span], run: &[Arc<Fragment>]) -> Result<()> {
    let Some(a) = schema.attributes.iter().find(|a| !keeps_fill(a)) else {
        return Ok(());
    };
    let mut gaps = vec![bounds.to_vec()];
    for domain in run.iter().filter(|f| f.dense).filter_map(|f| f.non_empty_domain()) {
        let written = grid.spans(domain)?;
        gaps = gaps.into_iter().flat_map(|gap| without(gap, &written)).collect();
        if gaps.len() > PIECES_MAX {
            break;
        }
    }
    if gaps.is_empty() { Ok(()) } else { Err(unstorable(a)) }
}

/// What is left of a box without another, in boxes.
fn without(mut gap: Vec<Span>, other: &[Span]) -> Vec<Vec<Span>> {
    let Some(common) = region::intersect(&gap, other) else {
        return vec![gap];
    };
    let mut left = Vec::new();
    for (d, cut) in common.into_iter().enumerate() {
        let whole = gap[d];
        let sides = [
            (whole.first < cut.first).then(|| Span {
                last: cut.first - 1,
                ..whole
            }),
            (cut.last < whole.last).then(|| Span {
                first: cut.last + 1,
                ..whole
            }),
        ];
        for side in sides.into_iter().flatten() {
            gap[d] = side;
            left.push(gap.clone());
        }
        gap[d] = cut;
    }
    left
}

/// Float scale makes a number of NaN, which is the default. What lies beneath a null is not read.
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

/// Complains if one of the fragments was written before there was such an attribute.
pub(super) fn check_absent(schema: &Schema, run: &[Arc<Fragment>]) -> Result<()> {
    for a in schema.attributes.iter().filter(|a| !keeps_fill(a)) {
        let is_absent = |f| StoredField::of_attribute(f, &a.name, a.datatype, a.cell).is_none();
        if run.iter().any(is_absent) {
            return Err(unstorable(a));
        }
    }
    Ok(())
}

/// A merge would change what is read of cells that hold the fill value of `a`.
fn unstorable(a: &Attribute) -> Error {
    Error::Unsupported(format!(
        "some of these cells were written without a value of '{}', and its filters cannot store its fill value: merged, they \
         would hold a number; leave the fragments as they are, or import the cells into a new array without float scale",
        a.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::pipeline::Pipeline;

    #[test]
    fn cells_that_nobody_wrote_stay_null_whatever_is_beneath() {
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

    #[test]
    fn what_is_left_of_a_box_is_every_cell_that_is_not_taken() {
        let span = |first, last| Span { first, last };
        let whole = vec![span(0, 4), span(0, 4)];
        for taken in [
            [span(1, 3), span(1, 3)],
            [span(0, 4), span(3, 9)],
            [span(0, 9), span(0, 9)],
            [span(7, 9), span(0, 1)],
        ] {
            let left = without(whole.clone(), &taken);
            for (y, x) in (0..5).flat_map(|y| (0..5).map(move |x| (y, x))) {
                let cell = [span(y, y), span(x, x)];
                let pieces = left.iter().filter(|piece| region::covers(piece, &cell)).count();
                assert_eq!(
                    pieces,
                    usize::from(!region::covers(&taken, &cell)),
                    "{y}, {x} without {taken:?}"
                );
            }
        }
    }
}
