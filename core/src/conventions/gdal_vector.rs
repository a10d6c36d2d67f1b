//! Vector layers of GDAL: a sparse array with a geometry in each cell, placed at the centre of its box.

use super::driver::Scope;
use super::members::Found;
use super::model::{Application, Dataset, Geometry, Table};
use super::object::{Array, Object};
use super::recognise::{application_of_array, children};
use super::{crs, parts};
use crate::datatype::Datatype;

/// Metadata that the model has a place for.
const CLAIMED: [&str; 14] = [
    "dataset_type",
    "FID_ATTRIBUTE_NAME",
    "GEOMETRY_ATTRIBUTE_NAME",
    "GeometryType",
    "CRS",
    "PAD_X",
    "PAD_Y",
    "PAD_Z",
    "FEATURE_COUNT",
    "LAYER_EXTENT_MINX",
    "LAYER_EXTENT_MINY",
    "LAYER_EXTENT_MAXX",
    "LAYER_EXTENT_MAXY",
    "overviews",
];

/// The layer of an array.
pub(super) fn layer(scope: &Scope<'_>, path: &str, name: &str, array: Array<'_>) -> Dataset {
    let mut dataset = Dataset {
        application: Application::GdalVector,
        attributes: parts::attributes(scope, path, array.object, &CLAIMED),
        ..Dataset::default()
    };
    add_layer(scope, path, name, array, &mut dataset);
    dataset
}

/// The layers of a group.
pub(super) fn group<'a>(scope: &Scope<'a>, path: &str, group: &Object, found: &[Found<'a>]) -> Dataset {
    let mut dataset = Dataset {
        application: Application::GdalVector,
        attributes: parts::attributes(scope, path, group, &[]),
        ..Dataset::default()
    };
    let layer = |f: &&Found<'a>| {
        f.object
            .array()
            .filter(|a| application_of_array(*a) == Application::GdalVector)
    };
    for (member, array) in found.iter().filter_map(|f| Some((f, layer(&f)?))) {
        add_layer(scope, &member.path, &member.name, array, &mut dataset);
    }
    dataset.children = children(scope, path, found.iter().filter(|f| layer(f).is_none()));
    dataset
}

fn add_layer(scope: &Scope<'_>, path: &str, name: &str, array: Array<'_>, dataset: &mut Dataset) {
    let object = array.object;
    let mut table: Table = parts::table(name, path, array);
    let dimension = |name: &&str| array.schema.dimension(name).is_some();
    let names = match dimension(&"_X") {
        true => ["_X", "_Y", "_Z"],
        false => ["X", "Y", "Z"],
    };
    let points = names.iter().copied().filter(|n| dimension(n));
    let points: Vec<String> = points.map(str::to_owned).collect();
    let rows = object.number("FEATURE_COUNT").filter(|n| (0.0..9e15).contains(n));
    table.rows = rows.map(|n| n as u64);
    table.key = object.shown("FID_ATTRIBUTE_NAME").into_iter().collect();
    table.crs = object.text("CRS").and_then(|text| {
        let found = crs::from_text(&text);
        if found.is_none() && !text.is_empty() {
            scope.note_at(path, "the metadata 'CRS' is neither PROJJSON nor WKT and was ignored");
        }
        Some(crs::add(dataset, found?))
    });
    let wkb = |datatype: Datatype| datatype == Datatype::GeomWkb;
    let first = || {
        array
            .schema
            .attributes
            .iter()
            .find(|a| wkb(a.datatype))
            .map(|a| a.name.clone())
    };
    match object.shown("GEOMETRY_ATTRIBUTE_NAME").or_else(first) {
        Some(column) if array.schema.attribute(&column).is_some() => {
            let kind = object.text("GeometryType").filter(|k| k != "Unknown");
            let pad = ["PAD_X", "PAD_Y", "PAD_Z"].map(|k| object.number(k).filter(|p| p.is_finite()));
            table.geometry = Some(Geometry {
                column,
                kind: kind.map(|k| super::value::shortened(&k)),
                pad: pad
                    .into_iter()
                    .take(points.len())
                    .map(Option::unwrap_or_default)
                    .collect(),
                bounds: Vec::new(),
            });
        }
        Some(column) => scope.note_at(path, &format!("there is no attribute '{column}' for geometries")),
        None => {}
    }
    table.points = points;
    dataset.tables.push(table);
}
