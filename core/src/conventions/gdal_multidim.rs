//! Multidimensional arrays of GDAL: an array for each variable, with dimension labels as coordinates.

use super::cf;
use super::driver::Scope;
use super::members::{Found, resolve, sibling};
use super::model::{Application, Axis, Dataset, Role, Variable, VariableRole};
use super::object::{Array, Object};
use super::{bare, crs, parts, recognise, value};

/// Metadata that the model has a place for.
const CLAIMED: [&str; 6] = ["_CRS", "_UNIT", "units", "long_name", "standard_name", "calendar"];

/// The variables of a group.
pub(super) fn group<'a>(scope: &Scope<'a>, path: &str, group: &Object, found: &[Found<'a>]) -> Dataset {
    let mut dataset = Dataset {
        application: Application::GdalMultidim,
        title: group.shown("title"),
        attributes: parts::attributes(scope, path, group, &["title"]),
        ..Dataset::default()
    };
    let dense = |f: &&Found<'a>| f.object.array().filter(|a| a.schema.is_dense());
    for (member, array) in found.iter().filter_map(|f| Some((f, dense(&f)?))) {
        let coordinates = |name: &str| found.iter().find(|f| f.name == name)?.object.array();
        add_variables(scope, &member.path, array, &mut dataset, coordinates);
    }
    dataset.children = recognise::children(scope, path, found.iter().filter(|f| dense(f).is_none()));
    dataset
}

/// The variables of a single array. Units of its axes are looked for beside it.
pub(super) fn array(scope: &Scope<'_>, path: &str, array: Array<'_>) -> Dataset {
    let mut dataset = Dataset {
        application: Application::GdalMultidim,
        ..Dataset::default()
    };
    let beside = |name: &str| match name.contains('/') {
        true => None,
        false => scope.object(&sibling(path, name)?)?.array(),
    };
    add_variables(scope, path, array, &mut dataset, beside);
    dataset
}

fn add_variables<'a>(
    scope: &Scope<'_>,
    path: &str,
    array: Array<'_>,
    dataset: &mut Dataset,
    coordinates: impl Fn(&str) -> Option<Array<'a>>,
) {
    let object = array.object;
    let keys: cf::Keys<'_> = object.metadata.iter().map(|(k, v)| (k.as_str(), v)).collect();
    let system = object.text("_CRS").and_then(|text| {
        let found = crs::from_text(&text);
        if found.is_none() {
            scope.note_at(path, "the metadata '_CRS' is neither PROJJSON nor WKT and was ignored");
        }
        found
    });
    let system = system.map(|c| crs::add(dataset, c));
    let mut axes = parts::axes(array);
    bare::place_by_labels(scope, path, array, &mut axes);
    for (d, axis) in axes.iter_mut().enumerate() {
        describe_axis(scope, path, array, d, axis);
        let own = axis.name.clone();
        // The array `time` has the dimension `time_dim`.
        if let Some(found) = coordinates(&own).filter(|a| a.schema.dimensions.len() == 1) {
            let keys: cf::Keys<'_> = found.object.metadata.iter().map(|(k, v)| (k.as_str(), v)).collect();
            axis.unit = cf::text(&keys, "_UNIT").or_else(|| cf::text(&keys, "units"));
            axis.calendar = cf::text(&keys, "calendar");
            if axis.role == Role::Other {
                axis.role = cf::role(&keys).unwrap_or_default();
            }
        }
    }
    for attribute in &array.schema.attributes {
        let is_coordinate = axes.len() == 1 && array.schema.dimension(&format!("{}_dim", attribute.name)).is_some();
        let mut axes = axes.clone();
        if let (true, Some(axis)) = (is_coordinate, axes.first_mut()) {
            let own = axis.clone();
            parts::place_by_array(scope, axis, path, &attribute.name, &own);
            axis.unit = cf::text(&keys, "_UNIT").or_else(|| cf::text(&keys, "units"));
            axis.calendar = cf::text(&keys, "calendar");
            axis.role = cf::role(&keys).unwrap_or(axis.role);
        }
        dataset.variables.push(Variable {
            axes,
            role: if is_coordinate {
                VariableRole::Coordinate
            } else {
                VariableRole::Data
            },
            unit: cf::text(&keys, "_UNIT").or_else(|| cf::text(&keys, "units")),
            calendar: cf::text(&keys, "calendar"),
            long_name: cf::text(&keys, "long_name"),
            standard_name: cf::text(&keys, "standard_name"),
            crs: system,
            attributes: parts::attributes(scope, path, object, &CLAIMED),
            ..parts::variable(path, array, attribute)
        });
    }
}

/// The role of an axis, as the metadata of its label says.
fn describe_axis(scope: &Scope<'_>, path: &str, array: Array<'_>, d: usize, axis: &mut Axis) {
    let of_axis = |l: &&crate::format::dimension_label::DimensionLabel| usize::try_from(l.dimension).ok() == Some(d);
    let label = array.schema.labels.iter().find(of_axis);
    let found = label.and_then(|l| scope.object(&resolve(path, &l.uri)?));
    let kind = found.and_then(|o| value::text(o.metadata.get("_DIM_TYPE")?));
    axis.role = match kind.as_deref() {
        Some("HORIZONTAL_X") => Role::X,
        Some("HORIZONTAL_Y") => Role::Y,
        Some("VERTICAL") => Role::Z,
        Some("TEMPORAL") => Role::Time,
        _ => return,
    };
}
