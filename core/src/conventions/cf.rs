//! NetCDF variables, as TileDB-CF stores them, with the rules of the CF conventions.
//!
//! The attributes of variable `v` are metadata under `__tiledb_attr.v.`. The variable of the coordinates of dimension
//! `lat` is called `lat`, `lat.data`, `lat.index` or `lat_`.

mod axis;
mod variable;

use std::collections::BTreeMap;

use super::driver::Scope;
use super::members::{Found, members, sibling};
use super::model::{Application, Axis, Dataset, Table};
use super::object::{Array, Object};
use super::{bare, parts, recognise};
use crate::format::attribute::display_name;
use crate::format::metadata::MetaValue;
use crate::format::schema::Attribute;
pub(super) use axis::{Keys, role, text};
use variable::Builder;

/// The dimension of variables without axes.
const SCALARS: &str = "__scalars";
/// Group metadata of the specification's versions 0.1 and 0.2.
const GROUP_ARRAY: &str = "__tiledb_group";
const ATTRIBUTE_PREFIX: &str = "__tiledb_attr.";
const DIMENSION_PREFIX: &str = "__tiledb_dim.";

/// A NetCDF variable.
#[derive(Clone)]
pub(super) struct Var<'a> {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) array: Array<'a>,
    pub(super) attribute: &'a Attribute,
    pub(super) keys: BTreeMap<&'a str, &'a MetaValue>,
}

/// Whether an array has attributes of NetCDF variables, or coordinates: `lat.data` along `lat`.
pub(super) fn is_variable(array: Array<'_>) -> bool {
    let mut keys = array.object.metadata.keys();
    let [dimension] = array.schema.dimensions.as_slice() else {
        return keys.any(|k| is_key(k));
    };
    let suffix = |a: &Attribute| a.name.strip_prefix(dimension.name.as_str()).map(str::to_owned);
    let mut suffixes = array.schema.attributes.iter().filter_map(suffix);
    keys.any(|k| is_key(k)) || suffixes.any(|s| s == ".data" || s == ".index")
}

fn is_key(key: &str) -> bool {
    key.starts_with(ATTRIBUTE_PREFIX) || key.starts_with(DIMENSION_PREFIX)
}

/// Places the axes of an array by the coordinates beside it.
pub(super) fn place_by_siblings(scope: &Scope<'_>, path: &str, array: Array<'_>, axes: &mut [Axis]) {
    let known = siblings(scope, path, array, &[]);
    let builder = Builder::new(scope, &known);
    axes.iter_mut().for_each(|axis| builder.place(axis));
}

/// Whether a group says that it follows CF.
pub(super) fn is_named(group: &Object) -> bool {
    group
        .text("Conventions")
        .is_some_and(|c| c.to_ascii_uppercase().contains("CF"))
}

/// The variables of a group.
pub(super) fn group<'a>(scope: &Scope<'a>, path: &str, group: &Object, found: &[Found<'a>]) -> Dataset {
    group_below(scope, path, group, found, &[])
}

/// The variables of a group, whose axes may have their coordinates in the groups around it.
fn group_below<'a>(scope: &Scope<'a>, path: &str, group: &Object, found: &[Found<'a>], around: &[Var<'a>]) -> Dataset {
    let mut dataset = Dataset {
        application: Application::Cf,
        version: group.shown("Conventions"),
        title: group.shown("title"),
        attributes: parts::attributes(scope, path, group, &["title"]),
        ..Dataset::default()
    };
    let is_known = |object: &Object| object.array().is_some_and(|a| is_plain(a));
    let mut all = Vec::new();
    for member in found.iter().filter(|f| is_known(f.object)) {
        let Some(array) = member.object.array() else { continue };
        if member.name == GROUP_ARRAY {
            dataset
                .attributes
                .extend(parts::attributes(scope, path, member.object, &[]));
        } else if array.schema.is_dense() {
            all.extend(variables(&member.path, array));
        } else {
            let mut table = bare::table(&member.name, &member.path, array);
            add_units(&mut table, array);
            dataset.tables.push(table);
        }
    }
    let own = all.len();
    all.extend_from_slice(around);
    let mut builder = Builder::new(scope, &all);
    for var in all.iter().take(own) {
        let variable = builder.variable(var, &mut dataset);
        dataset.variables.push(variable);
    }
    dataset.variables.sort_by(|a, b| a.name.cmp(&b.name));
    for child in found.iter().filter(|f| !is_known(f.object)) {
        recognise::note_unlisted(scope, path, child);
        dataset.children.push(subgroup(scope, child, &all));
    }
    dataset
}

fn subgroup<'a>(scope: &Scope<'a>, child: &Found<'a>, around: &[Var<'a>]) -> Dataset {
    let inside = members(scope, &child.path, child.object);
    if !recognise::is_cf_group(child.object, &inside) || recognise::is_too_deep(&child.path) {
        return recognise::at(scope, &child.path, &child.name, child.object);
    }
    let mut dataset = group_below(scope, &child.path, child.object, &inside, around);
    recognise::finish(&mut dataset, &child.path, &child.name);
    dataset
}

/// Whether the array belongs to no other application.
fn is_plain(array: Array<'_>) -> bool {
    matches!(
        recognise::application_of_array(array),
        Application::Cf | Application::Bare
    )
}

/// The variables of a single array. Coordinates are looked for beside it.
pub(super) fn array(scope: &Scope<'_>, path: &str, name: &str, array: Array<'_>) -> Dataset {
    let mut dataset = Dataset {
        application: Application::Cf,
        attributes: parts::attributes(scope, path, array.object, &["overviews"]),
        ..Dataset::default()
    };
    let own = variables(path, array);
    if !array.schema.is_dense() {
        let mut table = bare::table(name, path, array);
        add_units(&mut table, array);
        dataset.tables.push(table);
        return dataset;
    }
    let mut known = variables(path, array);
    known.extend(siblings(scope, path, array, &own));
    let mut builder = Builder::new(scope, &known);
    for var in &own {
        let variable = builder.variable(var, &mut dataset);
        dataset.variables.push(variable);
    }
    dataset
}

/// Adds the units of attributes and dimensions to the columns of a table.
pub(super) fn add_units(table: &mut Table, array: Array<'_>) {
    let attributes = variables("", array);
    for column in &mut table.columns {
        let of_attribute = || {
            text(
                &attributes.iter().find(|v| v.attribute.name == column.name)?.keys,
                "units",
            )
        };
        column.unit = match column.dimension {
            true => array.object.shown(&format!("{DIMENSION_PREFIX}{}.units", column.name)),
            false => of_attribute(),
        };
    }
}

/// The variables beside an array that its axes and grid mappings name.
fn siblings<'a>(scope: &Scope<'a>, path: &str, array: Array<'_>, own: &[Var<'_>]) -> Vec<Var<'a>> {
    let dimensions = array.schema.dimensions.iter().map(|d| d.name.clone());
    let grids = own.iter().filter_map(variable::grid_mapping);
    let mut names: Vec<String> = dimensions
        .chain(grids)
        .filter(|n| n != SCALARS && !n.contains('/'))
        .collect();
    if own.iter().any(|v| variable::grid_mapping(v).is_some()) {
        names.push("scalars".to_owned());
    }
    names.sort();
    names.dedup();
    let paths: Vec<String> = names
        .iter()
        .filter_map(|n| sibling(path, n))
        .filter(|p| p != path)
        .collect();
    let found: Vec<_> = paths.iter().map(|p| (p, scope.object(p))).collect();
    let arrays = found.into_iter().filter_map(|(p, object)| Some((p, object?.array()?)));
    let small = arrays.filter(|(_, a)| a.schema.is_dense() && a.schema.dimensions.len() == 1);
    small.flat_map(|(p, a)| variables(p, a)).collect()
}

/// The variables of an array.
pub(super) fn variables<'a>(path: &str, array: Array<'a>) -> Vec<Var<'a>> {
    let mut names: Vec<&str> = array.schema.attributes.iter().map(|a| a.name.as_str()).collect();
    // Names may contain dots, so the longest name that fits is meant.
    names.sort_by_key(|n| std::cmp::Reverse(n.len()));
    let mut keys: BTreeMap<&str, BTreeMap<&str, &MetaValue>> = BTreeMap::new();
    for (key, value) in &array.object.metadata {
        let Some(rest) = key.strip_prefix(ATTRIBUTE_PREFIX) else {
            continue;
        };
        let split = names
            .iter()
            .find_map(|name| Some((*name, rest.strip_prefix(name)?.strip_prefix('.')?)));
        if let Some((name, key)) = split {
            keys.entry(name).or_default().insert(key, value);
        }
    }
    let attributes = array.schema.attributes.iter();
    let var = |attribute: &'a Attribute| Var {
        name: variable_name(array, &attribute.name),
        path: path.to_owned(),
        array,
        attribute,
        keys: keys.remove(attribute.name.as_str()).unwrap_or_default(),
    };
    attributes.map(var).collect()
}

/// The name of a variable. An attribute cannot have the name of a dimension, so coordinates have a suffix.
fn variable_name(array: Array<'_>, attribute: &str) -> String {
    let plain = [".data", ".index", "_"]
        .iter()
        .filter_map(|suffix| attribute.strip_suffix(suffix));
    let mut plain = plain.filter(|name| array.schema.dimension(name).is_some());
    plain.next().unwrap_or(display_name(attribute)).to_owned()
}
