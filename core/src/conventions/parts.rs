//! Axes, variables and tables as the schema alone describes them: what every application starts from.

use std::collections::BTreeMap;

use serde_json::Value;

use super::driver::Scope;
use super::model::{Axis, Column, Coordinates, Missing, Role, Table, Variable};
use super::object::{Array, Object};
use super::value;
use crate::datatype::CellCount;
use crate::format::attribute::display_name;
use crate::format::schema::Attribute;
use crate::scalar::{Scalar, ScalarRange};

/// The most attributes that are passed on.
const ATTRIBUTES_MAX: usize = 256;

/// The axis of dimension `d`. Its length is that of the current domain; of the domain, unless that is most of its type's
/// range; or else of the cells that were written.
pub(super) fn axis(array: Array<'_>, d: usize) -> Axis {
    let Some(dimension) = array.schema.dimensions.get(d) else {
        return Axis::default();
    };
    let written = array.non_empty.and_then(|r| r.get(d));
    let current = array.schema.current_domain.as_ref().and_then(|c| c.ranges.get(d));
    let domain = dimension.domain.as_ref();
    let limits = match (current, written) {
        (Some(current), _) => Some(current),
        (None, Some(written)) if domain.is_none_or(is_open_ended) => Some(written),
        _ => domain,
    };
    let ends = limits.and_then(|r| Some((r.lo.as_i128()?, r.hi.as_i128()?)));
    let first = ends.and_then(|(lo, _)| i64::try_from(lo).ok());
    let length = ends.and_then(|(lo, hi)| u64::try_from(hi - lo + 1).ok());
    let is_own = !dimension.datatype.is_integer() || first.is_some_and(|f| f != 0);
    Axis {
        name: match dimension.name.as_str() {
            "" => format!("dim_{d}"),
            name => name.to_owned(),
        },
        dimension: dimension.name.clone(),
        role: if dimension.datatype.is_datetime() {
            Role::Time
        } else {
            Role::Other
        },
        first,
        length,
        stride: 1,
        coordinates: if is_own {
            Coordinates::Dimension
        } else {
            Coordinates::Index
        },
        ..Axis::default()
    }
}

/// The axes of all dimensions.
pub(super) fn axes(array: Array<'_>) -> Vec<Axis> {
    (0..array.schema.dimensions.len()).map(|d| axis(array, d)).collect()
}

/// Whether a domain is much of what a wide integer can hold: room to grow, not a size.
fn is_open_ended(domain: &ScalarRange) -> bool {
    let (Some(lo), Some(hi)) = (domain.lo.as_i128(), domain.hi.as_i128()) else {
        return true;
    };
    let bits = match domain.lo.to_le_bytes().len() {
        8 => 62,
        4 => 30,
        _ => return false,
    };
    hi - lo >= 1 << bits
}

/// The attribute as a variable over all dimensions.
pub(super) fn variable(path: &str, array: Array<'_>, attribute: &Attribute) -> Variable {
    Variable {
        name: display_name(&attribute.name).to_owned(),
        path: path.to_owned(),
        attribute: attribute.name.clone(),
        datatype: attribute.datatype.name(),
        sparse: !array.schema.is_dense(),
        axes: axes(array),
        missing: Missing {
            values: fill(attribute).into_iter().collect(),
            ..Missing::default()
        },
        enumeration: attribute.enumeration.clone(),
        ..Variable::default()
    }
}

/// The fill value, if it means "no data": if somebody chose it.
fn fill(attribute: &Attribute) -> Option<Value> {
    let chosen = attribute.cell == CellCount::ONE
        && !attribute.datatype.is_bytes()
        && attribute.fill != attribute.datatype.default_fill();
    let fill = Scalar::from_le_bytes(attribute.datatype.physical(), &attribute.fill)?;
    chosen.then(|| value::scalar(&fill, attribute.datatype))
}

/// The array as a table: dimensions are columns too.
pub(super) fn table(name: &str, path: &str, array: Array<'_>) -> Table {
    let dimensions = array.schema.dimensions.iter().map(|d| Column {
        name: d.name.clone(),
        datatype: d.datatype.name(),
        dimension: true,
        ..Column::default()
    });
    let attributes = array.schema.attributes.iter().map(|a| Column {
        name: display_name(&a.name).to_owned(),
        datatype: a.datatype.name(),
        nullable: a.nullable,
        enumeration: a.enumeration.clone(),
        ..Column::default()
    });
    let shape = axes(array).iter().map(|a| a.length).collect::<Option<Vec<u64>>>();
    let cells = shape.and_then(|s| s.iter().try_fold(1, |n: u64, l| n.checked_mul(*l)));
    Table {
        name: name.to_owned(),
        path: path.to_owned(),
        rows: cells.filter(|_| array.schema.is_dense()),
        key: array.schema.dimensions.iter().map(|d| d.name.clone()).collect(),
        columns: dimensions.chain(attributes).collect(),
        ..Table::default()
    }
}

/// Whether these dimensions exist and are `float64`.
pub(super) fn has_float_dimensions(array: Array<'_>, names: &[&str]) -> bool {
    let is_float = |name: &&str| {
        let found = array.schema.dimension(name);
        found.is_some_and(|(_, d)| d.datatype == crate::Datatype::Float64)
    };
    names.iter().all(is_float)
}

/// The metadata that no application claims, for people: texts and numbers. Values that programs evaluate are left out.
pub(super) fn attributes(scope: &Scope<'_>, path: &str, object: &Object, claimed: &[&str]) -> BTreeMap<String, Value> {
    let is_code = |key: &str| {
        key.starts_with("pickled_")
            || key.starts_with("json_")
            || key.ends_with("source_code")
            || key == "original_metadata"
    };
    let is_free = |key: &&String| {
        !key.starts_with("__") && !key.starts_with("soma_") && !claimed.contains(&key.as_str()) && !is_code(key)
    };
    let free: Vec<&String> = object.metadata.keys().filter(is_free).collect();
    if free.len() > ATTRIBUTES_MAX {
        scope.note_at(
            path,
            &format!("only {ATTRIBUTES_MAX} of {} metadata keys are shown", free.len()),
        );
    }
    let entry = |key: &String| Some((value::shortened(key), value::shown(object.metadata.get(key)?)?));
    free.into_iter().take(ATTRIBUTES_MAX).filter_map(entry).collect()
}

/// Places an axis by a one-dimensional array: where it is, whether its values are evenly spaced, whether they fall.
pub(super) fn place_by_array(scope: &Scope<'_>, axis: &mut Axis, path: &str, attribute: &str, own: &Axis) {
    let length = axis.length.or(own.length);
    let read = Axis {
        first: own.first,
        length,
        ..Axis::default()
    };
    let values = scope.numbers(path, attribute, &read);
    let ends = values.and_then(|v| Some((v.first()?, v.last()?)));
    axis.coordinates = Coordinates::Array {
        path: path.to_owned(),
        attribute: attribute.to_owned(),
        descending: ends.is_some_and(|(first, last)| last < first),
        regular: values.and_then(value::regular),
    };
}
