//! Single-cell data of SOMA: tables of cells and genes, matrices over both, and embeddings.

use super::driver::Scope;
use super::members::{Found, members};
use super::model::{Application, Axis, Dataset, Embedding, Role, Table, Variable};
use super::object::{Array, Object};
use super::{parts, recognise, soma_spatial};

/// The dataset of a group.
pub(super) fn group(scope: &Scope<'_>, path: &str, group: &Object) -> Dataset {
    let mut dataset = start(group);
    let found = members(scope, path, group);
    match group.text("soma_object_type").as_deref() {
        Some("SOMAExperiment") => experiment(scope, path, &found, &mut dataset),
        Some("SOMAMeasurement") => measurement(scope, &found, None, &mut dataset),
        Some("SOMAScene") => soma_spatial::scene(scope, path, &found, &mut dataset),
        Some("SOMAMultiscaleImage") => soma_spatial::image(scope, path, group, &found, &mut dataset),
        _ => dataset.children = recognise::children(scope, path, &found),
    }
    dataset
}

fn start(object: &Object) -> Dataset {
    Dataset {
        application: Application::Soma,
        version: object.shown("soma_encoding_version"),
        ..Dataset::default()
    }
}

/// The dataset of an array: a table or a matrix.
pub(super) fn array(scope: &Scope<'_>, path: &str, name: &str, array: Array<'_>) -> Dataset {
    let mut dataset = start(array.object);
    add_array(scope, path, name, array, &mut dataset);
    dataset
}

fn add_array(scope: &Scope<'_>, path: &str, name: &str, array: Array<'_>, dataset: &mut Dataset) {
    match array.object.text("soma_object_type").as_deref() {
        Some("SOMADataFrame") => dataset.tables.push(table(name, path, array)),
        Some("SOMAPointCloudDataFrame") => dataset.tables.push(soma_spatial::points(scope, path, name, array)),
        Some("SOMAGeometryDataFrame") => dataset.tables.push(soma_spatial::geometries(scope, path, name, array)),
        Some("SOMASparseNDArray" | "SOMADenseNDArray") => {
            dataset.variables.push(matrix(path, name, array, [None, None]))
        }
        other => scope.note_at(
            path,
            &format!("the SOMA type '{}' is unknown", other.unwrap_or_default()),
        ),
    }
}

/// A table. Its rows are counted by `soma_joinid`, whose current domain ends with the last.
pub(super) fn table(name: &str, path: &str, array: Array<'_>) -> Table {
    let joined = array
        .schema
        .dimension("soma_joinid")
        .map(|(d, _)| parts::axis(array, d));
    Table {
        rows: joined
            .filter(|_| array.schema.dimensions.len() == 1)
            .and_then(|a| a.length),
        key: vec!["soma_joinid".to_owned()],
        ..parts::table(name, path, array)
    }
}

/// A matrix whose rows and columns are numbered like the rows of these tables.
fn matrix(path: &str, name: &str, array: Array<'_>, tables: [Option<&str>; 2]) -> Variable {
    let mut axes = parts::axes(array);
    for (axis, (role, table)) in axes.iter_mut().zip([Role::Row, Role::Column].into_iter().zip(tables)) {
        axis.role = role;
        axis.table = table.map(str::to_owned);
    }
    let attribute = array.schema.attributes.first();
    let mut variable = attribute.map(|a| parts::variable(path, array, a)).unwrap_or_default();
    if !name.is_empty() {
        name.clone_into(&mut variable.name);
    }
    Variable { axes, ..variable }
}

fn experiment<'a>(scope: &Scope<'a>, path: &str, found: &[Found<'a>], dataset: &mut Dataset) {
    let mut observations = None;
    for member in found {
        match (member.name.as_str(), member.object.array()) {
            ("obs", Some(array)) => {
                dataset.tables.push(table("obs", &member.path, array));
                observations = Some(member.path.clone());
            }
            (_, Some(array)) => add_array(scope, &member.path, &member.name, array, dataset),
            _ => {}
        }
    }
    for member in found.iter().filter(|f| f.object.is_group()) {
        let inside = members(scope, &member.path, member.object);
        if member.name != "ms" {
            dataset.children.extend(recognise::children(scope, path, &inside));
            continue;
        }
        for one in inside {
            let mut child = start(one.object);
            child.name.clone_from(&one.name);
            child.path.clone_from(&one.path);
            let own = members(scope, &one.path, one.object);
            measurement(scope, &own, observations.as_deref(), &mut child);
            dataset.children.push(child);
        }
    }
}

/// The collections of a measurement, with the tables of their rows and columns.
fn measurement<'a>(scope: &Scope<'a>, found: &[Found<'a>], obs: Option<&str>, dataset: &mut Dataset) {
    let var = found.iter().find(|f| f.name == "var" && f.object.array().is_some());
    let var_path = var.map(|f| f.path.as_str());
    if let Some((member, array)) = var.and_then(|f| Some((f, f.object.array()?))) {
        dataset.tables.push(table("var", &member.path, array));
    }
    for member in found.iter().filter(|f| f.object.is_group()) {
        let inside = members(scope, &member.path, member.object);
        let tables = match member.name.as_str() {
            "X" => [obs, var_path],
            "obsp" => [obs, obs],
            "varp" => [var_path, var_path],
            "obsm" | "varm" => [if member.name == "obsm" { obs } else { var_path }, None],
            _ => {
                let mut other = start(member.object);
                other.name.clone_from(&member.name);
                other.path.clone_from(&member.path);
                other.attributes = parts::attributes(scope, &member.path, member.object, &["dataset_type"]);
                other.children = recognise::children(scope, &member.path, &inside);
                dataset.children.push(other);
                continue;
            }
        };
        for (one, array) in inside.iter().filter_map(|f| Some((f, f.object.array()?))) {
            let name = format!("{}/{}", member.name, one.name);
            match member.name.as_str() {
                "obsm" | "varm" => dataset.embeddings.push(embedding(&one.path, &name, array, tables[0])),
                _ => dataset.variables.push(matrix(&one.path, &name, array, tables)),
            }
        }
    }
}

fn embedding(path: &str, name: &str, array: Array<'_>, table: Option<&str>) -> Embedding {
    let axes = parts::axes(array);
    let length = |d: usize| axes.get(d).and_then(|a: &Axis| a.length);
    Embedding {
        name: name.to_owned(),
        path: path.to_owned(),
        attribute: array
            .schema
            .attributes
            .first()
            .map(|a| a.name.clone())
            .unwrap_or_default(),
        rows: "soma_dim_0".to_owned(),
        components: "soma_dim_1".to_owned(),
        row_count: length(0),
        component_count: length(1),
        table: table.map(str::to_owned),
        ids: None,
    }
}
