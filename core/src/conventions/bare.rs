//! Arrays and groups of no known application. The schema is all there is; names of dimensions are a guess.

use super::driver::Scope;
use super::members::{Found, resolve};
use super::model::{Axis, Dataset, Role};
use super::object::{Array, Object};
use super::{cf, parts, recognise};

/// A dense array as variables, a sparse one as a table.
pub(super) fn array(scope: &Scope<'_>, path: &str, name: &str, array: Array<'_>) -> Dataset {
    let mut dataset = Dataset {
        attributes: parts::attributes(scope, path, array.object, &["overviews"]),
        ..Dataset::default()
    };
    if !array.schema.is_dense() {
        dataset.tables.push(table(name, path, array));
        return dataset;
    }
    let mut axes = parts::axes(array);
    place_by_labels(scope, path, array, &mut axes);
    // For a single array only, because each axis takes a request.
    if path.is_empty() {
        cf::place_by_siblings(scope, path, array, &mut axes);
    }
    axes.iter_mut().for_each(guess_role);
    for attribute in &array.schema.attributes {
        let mut variable = parts::variable(path, array, attribute);
        variable.axes.clone_from(&axes);
        let nodata = crate::format::metadata::nodata(&array.object.metadata, &attribute.name);
        for value in nodata.into_iter().map(|v| number(v, attribute.datatype.is_integer())) {
            if !variable.missing.values.contains(&value) {
                variable.missing.values.push(value);
            }
        }
        dataset.variables.push(variable);
    }
    dataset
}

fn number(v: f64, integer: bool) -> serde_json::Value {
    match integer && v.fract() == 0.0 && v.abs() < 9e15 {
        true => serde_json::Value::from(v as i64),
        false => super::value::float(v),
    }
}

/// A sparse array as a table, with points if two of its dimensions are named like axes.
pub(super) fn table(name: &str, path: &str, array: Array<'_>) -> super::model::Table {
    let mut table = parts::table(name, path, array);
    let mut axes = parts::axes(array);
    axes.iter_mut().for_each(guess_role);
    let of = |role: Role| axes.iter().find(|a| a.role == role).map(|a| a.dimension.clone());
    if let (Some(x), Some(y)) = (of(Role::X), of(Role::Y)) {
        table.points = [Some(x), Some(y), of(Role::Z)].into_iter().flatten().collect();
    }
    table
}

/// The datasets of a group's members.
pub(super) fn group<'a>(scope: &Scope<'a>, path: &str, group: &Object, found: &[Found<'a>]) -> Dataset {
    Dataset {
        attributes: parts::attributes(scope, path, group, &[]),
        children: recognise::children(scope, path, found),
        ..Dataset::default()
    }
}

/// Takes the role of an axis from the name of its dimension, if that is one of few words.
pub(super) fn guess_role(axis: &mut Axis) {
    if axis.role != Role::Other {
        return;
    }
    axis.role = match axis.name.to_ascii_lowercase().as_str() {
        "x" | "lon" | "longitude" | "easting" | "col" => Role::X,
        "y" | "lat" | "latitude" | "northing" | "row" => Role::Y,
        "z" | "depth" | "level" | "lev" | "height" | "altitude" => Role::Z,
        "t" | "time" | "date" => Role::Time,
        "c" | "band" | "bands" | "channel" => Role::Channel,
        _ => return,
    };
    axis.guessed = true;
}

/// Places axes by the array's dimension labels.
pub(super) fn place_by_labels(scope: &Scope<'_>, path: &str, array: Array<'_>, axes: &mut [Axis]) {
    for label in &array.schema.labels {
        let axis = usize::try_from(label.dimension).ok().and_then(|d| axes.get_mut(d));
        let at = resolve(path, &label.uri).filter(|_| label.relative);
        let (Some(axis), Some(at)) = (axis, at) else {
            scope.note_at(
                path,
                &format!("label '{}' was ignored: its array is elsewhere", label.name),
            );
            continue;
        };
        let Some(found) = scope.object(&at).and_then(Object::array) else {
            if let Some(why) = scope.why_missing(&at) {
                scope.note_at(path, &format!("label '{}' was ignored: {why}", label.name));
            }
            continue;
        };
        let own = parts::axis(found, 0);
        parts::place_by_array(scope, axis, &at, &label.attribute, &own);
    }
}
