//! The spatial part of SOMA, which is experimental: scenes with images, point clouds and geometries.

use serde_json::Value;

use super::driver::Scope;
use super::members::{Found, members};
use super::model::{Axis, Coordinates, Dataset, Geometry, Level, Regular, Role, Table, Variable};
use super::object::{Array, Object};
use super::value::{json_lengths, json_text};
use super::{parts, recognise, soma};

/// The most axes of a coordinate space.
const AXES_MAX: usize = 8;

/// The elements of a scene.
pub(super) fn scene<'a>(scope: &Scope<'a>, path: &str, found: &[Found<'a>], dataset: &mut Dataset) {
    for collection in found.iter().filter(|f| f.object.is_group()) {
        for element in members(scope, &collection.path, collection.object) {
            let mut child = recognise::at(scope, &element.path, &element.name, element.object);
            let key = format!("soma_scene_registry_{}", element.name);
            match collection.object.json(&key) {
                Some(registered) => place(&mut child, &registered),
                None if collection.object.has(&key) => {
                    scope.note_at(
                        &collection.path,
                        &format!("the metadata '{key}' is not valid JSON and was ignored"),
                    );
                }
                None => {}
            }
            dataset.children.push(child);
        }
    }
    let loose = found.iter().filter(|f| !f.object.is_group());
    dataset.children.extend(recognise::children(scope, path, loose));
}

/// Places an image in its scene. The stored transform leads from the scene to the element.
fn place(element: &mut Dataset, registered: &Value) {
    element
        .attributes
        .insert("scene_transform".to_owned(), registered.clone());
    let transform = registered.get("transform");
    let kind = registered.get("transform_type").and_then(Value::as_str);
    let number = |v: &Value| v.as_f64().filter(|s| s.is_finite() && *s != 0.0);
    let scales: Option<Vec<f64>> = match kind {
        Some("IdentityTransform") => Some(vec![1.0; 2]),
        Some("UniformScaleTransform") => transform.and_then(|t| Some(vec![number(t.get("scale")?)?; 2])),
        Some("ScaleTransform") => {
            transform.and_then(|t| t.get("scale_factors")?.as_array()?.iter().map(number).collect())
        }
        _ => None,
    };
    let (Some(scales), false) = (scales, element.levels.is_empty() && element.variables.is_empty()) else {
        return;
    };
    for axis in element.variables.iter_mut().flat_map(|v| &mut v.axes) {
        let scale = match axis.role {
            Role::X => scales.first(),
            Role::Y => scales.get(1),
            _ => None,
        };
        // Reads of a region round outwards, so pixel i spans i to i + 1.
        if let Some(step) = scale.map(|s| 1.0 / s) {
            axis.coordinates = Coordinates::Regular(Regular {
                start: step / 2.0,
                step,
            });
        }
    }
}

/// The levels of an image.
pub(super) fn image(scope: &Scope<'_>, path: &str, group: &Object, found: &[Found<'_>], dataset: &mut Dataset) {
    let schema = group.json("soma_multiscale_image_schema");
    if schema.is_none() {
        scope.note_at(
            path,
            "the metadata 'soma_multiscale_image_schema' is absent or no JSON; axes are not named",
        );
    }
    let space = space(group);
    let permutation = schema
        .as_ref()
        .and_then(|s| json_lengths(s.get("data_axis_permutation")))
        .unwrap_or_default();
    let mut levels: Vec<(&Found<'_>, Array<'_>, Vec<Axis>)> = Vec::new();
    for (member, array) in found.iter().filter_map(|f| Some((f, f.object.array()?))) {
        let shape = group.json(&format!("soma_level_{}", member.name));
        let shape = json_lengths(shape.as_ref());
        let mut axes = parts::axes(array);
        for (i, axis) in axes.iter_mut().enumerate() {
            axis.length = shape.as_ref().and_then(|s| s.get(i).copied()).or(axis.length);
            let target = permutation.get(i).and_then(|p| usize::try_from(*p).ok());
            name_axis(axis, target, &space);
        }
        levels.push((member, array, axes));
    }
    let cells = |axes: &[Axis]| {
        axes.iter()
            .map(|a| u128::from(a.length.unwrap_or(0)))
            .fold(1, u128::saturating_mul)
    };
    levels.sort_by_key(|(f, _, axes)| (std::cmp::Reverse(cells(axes)), f.name.clone()));
    let Some((finest, array, axes)) = levels.first() else {
        return;
    };
    dataset
        .variables
        .extend(array.schema.attributes.first().map(|a| Variable {
            axes: axes.clone(),
            ..parts::variable(&finest.path, *array, a)
        }));
    let length = |a: &Axis| a.length.unwrap_or(0);
    let ratio = |(fine, own): (&Axis, &Axis)| length(fine) as f64 / length(own).max(1) as f64;
    let level = |(f, _, own): &(&Found<'_>, Array<'_>, Vec<Axis>)| Level {
        path: f.path.clone(),
        shape: own.iter().map(length).collect(),
        factors: axes.iter().zip(own).map(ratio).collect(),
        geotransform: None,
    };
    dataset.levels = levels.iter().map(level).collect();
}

/// Names a stored dimension after an axis of the coordinate space. The number after the last axis means channel.
fn name_axis(axis: &mut Axis, target: Option<usize>, space: &[(String, Option<String>)]) {
    let Some(target) = target else { return };
    if let Some((name, unit)) = space.get(target) {
        axis.name.clone_from(name);
        axis.unit.clone_from(unit);
        axis.role = role(name);
        axis.down = axis.role == Role::Y;
    } else if target == space.len() {
        "channel".clone_into(&mut axis.name);
        axis.role = Role::Channel;
    }
}

fn role(name: &str) -> Role {
    match name {
        "x" => Role::X,
        "y" => Role::Y,
        "z" => Role::Z,
        _ => Role::Other,
    }
}

/// The axes of a coordinate space: name and unit.
fn space(object: &Object) -> Vec<(String, Option<String>)> {
    let json = object.json("soma_coordinate_space");
    let axes = json
        .as_ref()
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let axis = |a: &Value| Some((json_text(a.get("name"))?, json_text(a.get("unit"))));
    axes.iter().take(AXES_MAX).filter_map(axis).collect()
}

/// A table of points. Its dimensions are the axes of the coordinate space.
pub(super) fn points(scope: &Scope<'_>, path: &str, name: &str, array: Array<'_>) -> Table {
    let space = space(array.object);
    if space.is_empty() {
        scope.note_at(path, "the metadata 'soma_coordinate_space' is absent or no JSON");
    }
    Table {
        points: space
            .iter()
            .map(|(n, _)| n.clone())
            .filter(|n| array.schema.dimension(n).is_some())
            .collect(),
        unit: space.first().and_then(|(_, unit)| unit.clone()),
        ..soma::table(name, path, array)
    }
}

/// A table of geometries. Its dimensions are the boxes of the geometries.
pub(super) fn geometries(scope: &Scope<'_>, path: &str, name: &str, array: Array<'_>) -> Table {
    let space = space(array.object);
    let bound = |end: &str| {
        let names = space.iter().map(move |(n, _)| format!("tiledb__internal__{n}__{end}"));
        names.collect::<Vec<_>>()
    };
    let bounds = [bound("min"), bound("max")].concat();
    let known = |n: &String| array.schema.dimension(n).is_some();
    let is_sound = !bounds.is_empty() && bounds.iter().all(known);
    if !is_sound {
        scope.note_at(
            path,
            "the boxes of the geometries are not those of the coordinate space",
        );
    }
    let column = array.schema.attribute("soma_geometry").map(|(_, a)| a.name.clone());
    Table {
        geometry: column.map(|column| Geometry {
            column,
            bounds: if is_sound { bounds } else { Vec::new() },
            ..Geometry::default()
        }),
        unit: space.first().and_then(|(_, unit)| unit.clone()),
        ..soma::table(name, path, array)
    }
}
