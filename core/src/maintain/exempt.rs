//! Exempts cells that a stored delete condition would remove although they do not meet the delete's condition.
//!
//! A stored condition selects the cells to keep. It cannot keep a cell by testing a null, or a field that the cell's
//! fragment lacks. Coordinates always exist. So boxes that contain such cells, and none to be deleted, are stored as
//! alternatives.

use crate::array::Array;
use crate::error::{Error, Result};
use crate::format::condition::StoredCondition;
use crate::format::schema::Schema;
use crate::query::condition::{Bound, any_of, in_box};
use crate::query::{Coordinates, DeleteEffect};
use crate::scalar::{Scalar, ScalarRange};

/// The most boxes a stored condition may list. Every reader tests each of them.
const BOXES_MAX: usize = 256;

/// Whether a fragment of `array` lacks the attribute, or has it with another type.
pub(super) fn is_lacking(array: &Array, name: &str) -> bool {
    let Some((_, attribute)) = array.schema().attribute(name) else {
        return false;
    };
    array.fragments().iter().any(|fragment| {
        let own = fragment.schema.attribute(name).map(|(_, a)| a);
        own.is_none_or(|a| a.datatype.size() != attribute.datatype.size() || a.cell != attribute.cell)
    })
}

/// Whether a delete may remove cells that do not meet the condition. This is possible if it tests nulls, NaN, or fields
/// that some fragments lack.
pub(super) fn depends_on_cells(bound: &Bound, schema: &Schema, lacks: &dyn Fn(&str) -> bool) -> bool {
    bound.fields().into_iter().any(|name| {
        let attribute = schema.attribute(name).map(|(_, a)| a);
        attribute.is_some_and(|a| a.nullable || a.datatype.is_float() || lacks(name))
    })
}

/// Extends `keep` so that it also keeps the cells that do not meet the delete's condition.
///
/// # Errors
/// [`Error::Unsupported`] says what to do instead.
pub(super) fn exempt(
    keep: StoredCondition,
    effect: &DeleteEffect,
    bound: &Bound,
    schema: &Schema,
    lacks: &dyn Fn(&str) -> bool,
) -> Result<StoredCondition> {
    if effect.others.count == 0 && effect.missed == 0 {
        return Ok(keep);
    }
    let boxes = boxes(&effect.others, &effect.met).filter(|_| effect.missed == 0);
    let Some(boxes) = boxes else {
        return Err(refused(effect, bound, schema, lacks));
    };
    let mut parts = vec![keep];
    parts.extend(boxes.iter().map(|bounds| in_box(schema, bounds)));
    Ok(any_of(parts, lacks))
}

fn refused(effect: &DeleteEffect, bound: &Bound, schema: &Schema, lacks: &dyn Fn(&str) -> bool) -> Error {
    let count = effect.others.count.max(effect.missed);
    let fields = bound.fields();
    if let Some(field) = fields.iter().find(|name| lacks(name)) {
        return Error::Unsupported(format!(
            "the delete would remove {count} cells that do not meet the condition, because fragments lack the field \
             '{field}'; run `hyperslab consolidate ARRAY`, then delete again"
        ));
    }
    let nullable = |name: &&&str| schema.attribute(name).is_some_and(|(_, a)| a.nullable);
    let dimension = schema.dimensions.first().map_or("", |d| d.name.as_str());
    let what = match fields.iter().find(nullable) {
        Some(field) => format!(
            "because '{field}' is null or NaN there; add `or {field} is null` to delete the nulls too, or delete fewer \
             cells at a time, with `and {dimension} < VALUE`"
        ),
        None => {
            format!("because a tested field is NaN there; delete fewer cells at a time, with `and {dimension} < VALUE`")
        }
    };
    Error::Unsupported(format!(
        "the delete would remove {count} cells that do not meet the condition, {what}"
    ))
}

/// Boxes that contain all of `cells` and none of `others`. `None` if both have a cell at the same coordinates, or if
/// too many boxes are needed.
fn boxes(cells: &Coordinates, others: &Coordinates) -> Option<Vec<Vec<ScalarRange>>> {
    let bounds = cells.bounds.as_ref()?;
    if !others.is_complete() {
        let apart = others.bounds.as_ref().is_some_and(|o| are_apart(o, bounds));
        return apart.then(|| vec![bounds.clone()]);
    }
    let inside: Vec<&Vec<Scalar>> = others.cells.iter().filter(|cell| contains(bounds, cell)).collect();
    if inside.is_empty() {
        return Some(vec![bounds.clone()]);
    }
    if !cells.is_complete() {
        return None;
    }
    let mut out = Vec::new();
    divide(cells.cells.iter().collect(), &inside, &mut out).then_some(out)
}

fn are_apart(a: &[ScalarRange], b: &[ScalarRange]) -> bool {
    a.iter().zip(b).any(|(a, b)| a.intersection(b).is_empty())
}

fn contains(bounds: &[ScalarRange], cell: &[Scalar]) -> bool {
    bounds.iter().zip(cell).all(|(range, v)| range.contains(v))
}

/// Halves `cells` until the box of each part contains none of `others`. Returns whether that succeeded.
fn divide(mut cells: Vec<&Vec<Scalar>>, others: &[&Vec<Scalar>], out: &mut Vec<Vec<ScalarRange>>) -> bool {
    let Some(bounds) = bounds_of(&cells) else { return true };
    let inside: Vec<&Vec<Scalar>> = others.iter().filter(|cell| contains(&bounds, cell)).copied().collect();
    if inside.is_empty() {
        out.push(bounds);
        return out.len() <= BOXES_MAX;
    }
    // Split along the dimension that divides the cells most evenly.
    let Some((d, middle)) = cut(&mut cells, bounds.len()) else {
        return false;
    };
    let (low, high): (Vec<_>, Vec<_>) = cells
        .into_iter()
        .partition(|cell| cell.get(d).is_some_and(|v| v.order(&middle).is_lt()));
    divide(low, &inside, out) && divide(high, &inside, out)
}

/// A dimension and a value that split the cells as evenly as possible: those below the value, and the rest.
fn cut(cells: &mut [&Vec<Scalar>], dimensions: usize) -> Option<(usize, Scalar)> {
    let mut best: Option<(usize, usize, Scalar)> = None;
    let half = cells.len() / 2;
    for d in 0..dimensions {
        cells.sort_by(|a, b| order(a, b, d));
        let first = cells.first()?;
        let middle = *cells.get(half)?;
        // Cells with equal coordinates stay together.
        let mut start = cells.partition_point(|cell| order(cell, middle, d).is_lt());
        if start == 0 {
            start = cells.partition_point(|cell| order(cell, first, d).is_le());
        }
        let Some(value) = cells.get(start).and_then(|cell| cell.get(d)) else {
            continue;
        };
        let smaller = start.min(cells.len() - start);
        if best.as_ref().is_none_or(|b| smaller > b.0) {
            best = Some((smaller, d, value.clone()));
        }
    }
    best.map(|(_, d, value)| (d, value))
}

fn order(a: &[Scalar], b: &[Scalar], d: usize) -> std::cmp::Ordering {
    match (a.get(d), b.get(d)) {
        (Some(a), Some(b)) => a.order(b),
        _ => std::cmp::Ordering::Equal,
    }
}

fn bounds_of(cells: &[&Vec<Scalar>]) -> Option<Vec<ScalarRange>> {
    let mut bounds: Vec<ScalarRange> = point(cells.first()?);
    for cell in cells {
        for (range, v) in bounds.iter_mut().zip(cell.iter()) {
            if v.order(&range.lo).is_lt() {
                range.lo = v.clone();
            } else if v.order(&range.hi).is_gt() {
                range.hi = v.clone();
            }
        }
    }
    Some(bounds)
}

fn point(cell: &[Scalar]) -> Vec<ScalarRange> {
    cell.iter().map(|v| ScalarRange::new(v.clone(), v.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coordinates(cells: &[[i32; 2]]) -> Coordinates {
        let cells: Vec<Vec<Scalar>> = cells.iter().map(|c| c.map(Scalar::I32).to_vec()).collect();
        Coordinates {
            count: cells.len() as u64,
            bounds: bounds_of(&cells.iter().collect::<Vec<_>>()),
            cells,
        }
    }

    #[test]
    fn boxes_contain_the_cells_and_none_of_the_others() {
        let all: Vec<[i32; 2]> = (0..12).flat_map(|y| (0..12).map(move |x| [y, x])).collect();
        for modulus in [3, 7, 40] {
            let is_other = |c: &[i32; 2]| (c[0] * 12 + c[1]) % modulus == 0;
            let (others, cells): (Vec<_>, Vec<_>) = all.iter().copied().partition(is_other);
            let found = boxes(&coordinates(&cells), &coordinates(&others)).unwrap();
            let inside = |c: &[i32; 2]| found.iter().filter(|b| contains(b, &c.map(Scalar::I32))).count();
            assert!(cells.iter().all(|c| inside(c) == 1), "{modulus}");
            assert!(others.iter().all(|c| inside(c) == 0), "{modulus}");
        }
    }

    #[test]
    fn shared_coordinates_and_too_many_boxes_are_refused() {
        let (a, b) = (coordinates(&[[1, 1], [2, 2]]), coordinates(&[[2, 2]]));
        assert_eq!(boxes(&a, &b), None);
        let line = |odd| (0..2000).filter(|i| i % 2 == odd).map(|i| [0, i]).collect::<Vec<_>>();
        assert_eq!(boxes(&coordinates(&line(0)), &coordinates(&line(1))), None);
        let unknown = Coordinates {
            count: 9,
            ..coordinates(&[[5, 5]])
        };
        assert_eq!(
            boxes(&a, &unknown).map(|b| b.len()),
            Some(1),
            "the bounds do not overlap"
        );
        assert_eq!(boxes(&unknown, &coordinates(&[[1, 1]])).map(|b| b.len()), Some(1));
        assert_eq!(
            boxes(
                &a,
                &Coordinates {
                    bounds: a.bounds.clone(),
                    ..unknown
                }
            ),
            None
        );
    }
}
